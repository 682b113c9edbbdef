//! The state of a drive between its preconditioning and its first request.

use std::io::{self, Write};

/// The state of a preconditioned drive, ready to be written to a file.
pub struct Snapshot<'a> {
    pub(super) save: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

impl Snapshot<'_> {
    /// Writes the state for [`Session::load_snapshot`].
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        (self.save)(&mut to)
    }
}
