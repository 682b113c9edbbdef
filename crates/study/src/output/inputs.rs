//! The inputs, which no output may overwrite.

use std::io;
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::system::{self, FileId};

/// The files that a command reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs(Vec<(PathBuf, FileId)>);

impl Inputs {
    /// Notes these files and the standard input; names that are not files are skipped.
    pub(super) fn new<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Self {
        let known = |path: P| Some((path.as_ref().to_owned(), system::identity(path.as_ref()).ok()?));
        let standard = system::stream(io::stdin()).map(|id| (PathBuf::from("the standard input"), id));
        Self(inputs.into_iter().filter_map(known).chain(standard).collect())
    }

    /// Returns an error if an output is one of the inputs.
    pub(super) fn spare(&self, path: &Path, shown: &Path) -> Result<(), OutputError> {
        let Some(id) = system::identity(path).ok().filter(|_| !system::may_be_shared(path)) else { return Ok(()) };
        let Some((input, _)) = self.0.iter().find(|(_, other)| *other == id) else { return Ok(()) };
        let same = if input == shown { String::new() } else { format!(" ({})", input.display()) };
        let reason = format!("is an input of this command{same}, and would be overwritten");
        Err(OutputError::new(shown, reason, "choose another name"))
    }
}
