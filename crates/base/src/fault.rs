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

/// Characters of a name.
const NAME_MAX: usize = 200;

/// What is wrong with the name of something that files are called after, and what to do; `None` if nothing is.
#[must_use]
pub fn wrong_name(name: &str) -> Option<(String, &'static str)> {
    const REMEDY: &str = "give it one, e.g. \"my-drive\"";
    let length = name.chars().count();
    if name.trim().is_empty() {
        Some(("is empty".to_owned(), REMEDY))
    } else if name.chars().any(char::is_control) {
        Some(("has a control character".to_owned(), "use letters, digits and signs in one line"))
    } else if length > NAME_MAX {
        Some((format!("has {length} characters"), "use at most 200"))
    } else if name.starts_with('.') {
        Some((format!("`{name}` begins with a point"), "begin it with a letter or a digit"))
    } else {
        None
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.remedy)
    }
}

impl std::error::Error for Fault {}
