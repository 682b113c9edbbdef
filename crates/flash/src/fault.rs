//! What is wrong with a description, where, and what to do about it.

use std::fmt;

/// A fault in a description (of a device, a workload, a study): all of them are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, e.g. `ftl.gc.start`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Fault {
    /// A fault at a key.
    pub fn new(path: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.remedy)
    }
}

impl std::error::Error for Fault {}
