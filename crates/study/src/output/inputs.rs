//! The files that a command reads, none of which it overwrites.

use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::system::{self, FileId};

/// The files that a command reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs(pub(super) Vec<(PathBuf, FileId)>);

impl Inputs {
    /// Refuses an output that is one of them.
    pub(super) fn spare(&self, path: &Path, shown: &Path) -> Result<(), OutputError> {
        let Some(id) = system::identity(path).ok().filter(|_| !system::may_be_shared(path)) else { return Ok(()) };
        let Some((input, _)) = self.0.iter().find(|(_, other)| *other == id) else { return Ok(()) };
        let same = if input == shown { String::new() } else { format!(" ({})", input.display()) };
        let reason = format!("is an input of this command{same}, and would be overwritten");
        Err(OutputError::new(shown, reason, "choose another name"))
    }
}
