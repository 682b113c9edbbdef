//! Lists the files of a folder.

use std::fs;
use std::path::Path;

/// The names in a folder, sorted.
///
/// # Panics
/// If it is no folder.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
