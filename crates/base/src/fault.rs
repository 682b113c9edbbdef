//! Faults of a description: key, message, and remedy.

use std::fmt;

/// A fault in a description (of a device, a workload, a study). All faults are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, e.g. `ftl.gc.start`.
    pub path: String,
    /// The fault in words, without the key and without a full stop.
    pub message: String,
    /// The remedy in words, as an imperative: "use two blocks or more".
    pub remedy: String,
}

impl Fault {
    /// Creates a fault at a key.
    pub fn new(path: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), remedy: remedy.into() }
    }
}

/// All faults of a description, so that the user sees them at once.
#[derive(Clone, Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Adds a fault at a key.
    pub fn add(&mut self, path: &str, message: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Fault::new(path, message, remedy));
    }

    /// Adds a fault if `value` is zero.
    pub fn positive(&mut self, path: &str, value: u32) {
        if value == 0 {
            self.add(path, "is zero", "there must be at least one");
        }
    }

    /// Adds a fault if `value` is outside of `range`.
    pub fn within(&mut self, path: &str, value: u32, range: std::ops::RangeInclusive<u32>) {
        if !range.contains(&value) {
            self.add(path, format!("is {value}"), format!("use {} to {}", range.start(), range.end()));
        }
    }
}

/// The most characters of a name.
const NAME_MAX: usize = 200;

/// The fault and the remedy of a name that will be part of file names; `None` if the name is valid.
#[must_use]
pub fn wrong_name(name: &str) -> Option<(String, &'static str)> {
    const REMEDY: &str = "give it one, e.g. \"my-drive\"";
    let length = name.chars().count();
    if name.trim().is_empty() {
        Some(("is empty".to_owned(), REMEDY))
    } else if name.chars().any(char::is_control) {
        Some(("has a control character".to_owned(), "use printable characters in one line"))
    } else if length > NAME_MAX {
        Some((format!("has {length} characters"), "use at most 200"))
    } else if name.starts_with('.') {
        Some((format!("`{name}` begins with a dot"), "begin it with a letter or a digit"))
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
