//! Why an output cannot be written.

use std::fmt;
use std::path::{Path, PathBuf};

/// An output that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}

impl std::error::Error for OutputError {}

impl OutputError {
    pub(super) fn new(path: &Path, reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { path: path.to_owned(), reason: reason.into(), remedy }
    }
}
