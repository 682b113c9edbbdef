//! Faults of files that users write.

use base::fault::Fault;

/// Collects faults to report all at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault, unless an equal one has been added.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) {
        let fault = Fault::new(path, message, remedy);
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|fault| self.add(fault.path, fault.message, fault.remedy));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops all but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns `value` if there are no faults.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Vec<Fault>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}
