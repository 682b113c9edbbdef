//! File names of a folder, for tests that compare folders with lists.

use std::fs;
use std::path::Path;

/// Lists the names in a folder, sorted.
///
/// # Panics
/// If `folder` is not a readable folder.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
