//! The contents of a store of results as tables.

use crate::grid::grid;

/// The table of studies that ran with a store: the name of each, the number of its runs, and the number of results in
/// the store.
pub fn studies_table(rows: impl IntoIterator<Item = [String; 3]>) -> String {
    grid(&["study", "runs", "there"], rows.into_iter().map(Vec::from), 1)
}

/// The table of results: the beginning of the digest, the device, the workload, the seed, and a remark on unused
/// results. Long names are cut.
pub fn points_table(rows: impl IntoIterator<Item = [String; 5]>) -> String {
    const NAME: usize = 22;
    let cut = |name: String| match name.chars().count() > NAME {
        true => name.chars().take(NAME - 1).chain(['\u{2026}']).collect(),
        false => name,
    };
    let row =
        |[digest, device, workload, seed, remark]: [String; 5]| vec![digest, cut(device), cut(workload), seed, remark];
    grid(&["digest", "device", "workload", "seed", ""], rows.into_iter().map(row), 3)
}
