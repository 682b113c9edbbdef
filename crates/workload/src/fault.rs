//! What is wrong with a file that a person wrote.

use std::fmt;

/// One fault of a configuration: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place in the file: a key (`stream[0].sizes[2].share`), or a line and an option.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.remedy)
    }
}

impl std::error::Error for Fault {}

/// Collects faults, so that all of them are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Notes one fault, once.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) {
        let fault = Fault { path: path.into(), message: message.into(), remedy: remedy.into() };
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    /// Notes those of `other` too.
    pub(crate) fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|fault| self.add(fault.path, fault.message, fault.remedy));
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets all but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// `value` if there are none.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Vec<Fault>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}
