//! The error for an output that cannot be written, with its remedy.

use std::fmt;
use std::path::{Path, PathBuf};

/// The error for an output that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputError {
    /// Path of the output as the user gave it.
    pub path: PathBuf,
    /// A sentence that says why the output cannot be written.
    pub reason: String,
    /// A sentence that says what the user can do.
    pub remedy: String,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}

impl std::error::Error for OutputError {}

impl OutputError {
    pub(crate) fn new(path: &Path, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into(), remedy: remedy.into() }
    }
}
