//! The state of a drive between its preconditioning and its first request.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;

use flash::nand::{Sector, Stamp};
use ssd::{Purpose, Ssd};

use super::{Session, SessionError};
use crate::snapshot::State;

/// The state of a preconditioned drive, to be written to a file.
pub struct Snapshot<'a> {
    pub(super) save: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
    pub(super) is_exact: bool,
}

impl Snapshot<'_> {
    /// True if a run on the loaded state has the same events as one on this drive, see [`ssd::Ssd::is_as_mounted`] and
    /// [`ssd::Ssd::precondition_to_rest`].
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Writes the state for [`Session::load_snapshot`].
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        (self.save)(&mut to)
    }
}

impl<'a> Session<'a> {
    /// Starts from the drive state in a file, and not from a new drive. Preconditioning steps run after the load.
    #[must_use]
    pub fn load_snapshot(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.load = Some(path.into());
        self
    }

    /// Starts from the state in a file that another session kept after this session's preconditioning steps, and does
    /// not do the steps. The outcome is equal, including the event hash.
    #[must_use]
    pub(crate) fn preconditioned_by(mut self, path: impl Into<PathBuf>) -> Self {
        (self.settings.load, self.settings.as_preconditioned) = (Some(path.into()), true);
        self.settings.steps.clear();
        self
    }

    /// Starts from a state in memory.
    #[must_use]
    pub fn start_from(mut self, state: State) -> Self {
        self.settings.state = Some(state);
        self
    }

    pub(super) fn purpose(&self) -> Purpose {
        Purpose { verify: self.settings.verify, precondition: !self.settings.steps.is_empty(), units: None }
    }

    /// Creates and prepares the drive without a run, for callers that drive it themselves.
    ///
    /// # Errors
    ///
    /// If the drive needs too much memory, its snapshot cannot be read or written, or preconditioning wears it out.
    pub fn prepare<S: Sector>(mut self) -> Result<Ssd<S>, SessionError> {
        self.refuse_foresight()?;
        if let Some(layer) = self.device.resolved.layer() {
            return Err(SessionError::Layer { layer, cannot: "be driven by hand" });
        }
        self.check_content::<S>()?;
        self.prepared(None)
    }

    /// Checks a session without a run: its memory includes the content of the sectors, but no time series.
    pub(super) fn check_content<S: Sector>(&self) -> Result<(), SessionError> {
        self.check_with(self.device.resolved.memory_of::<S>(self.purpose()))
    }

    /// Creates and prepares the drive, and returns its state.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    pub fn into_state(mut self) -> Result<State, SessionError> {
        self.check()?;
        if let Some(layer) = self.device.resolved.layer() {
            return Err(SessionError::Layer { layer, cannot: "be kept in a snapshot" });
        }
        let kept = Rc::new(RefCell::new(Vec::new()));
        let bytes = Rc::clone(&kept);
        self.save = Some(Box::new(move |state| state.write(&mut *bytes.borrow_mut())));
        if self.settings.verify {
            self.prepared::<Stamp>(None).map(drop)?;
        } else {
            self.prepared::<()>(None).map(drop)?;
        }
        Ok(State::new(kept.take()))
    }

    /// Calls `keep` with the drive's state for [`Session::preconditioned_by`]. This is the state at the end of
    /// preconditioning, before the drive is switched on again; if the flash may fail, it is the state before the first
    /// request.
    #[must_use]
    pub(crate) fn keep_preconditioned(mut self, keep: impl FnOnce(&Snapshot<'_>) -> io::Result<()> + 'a) -> Self {
        self.keep = Some(Box::new(keep));
        self
    }

    /// Calls `keep` with the drive's state after preconditioning and before the first request. The snapshot is complete
    /// even if the run fails later.
    #[must_use]
    pub fn save_snapshot(mut self, keep: impl FnOnce(&Snapshot<'_>) -> io::Result<()> + 'a) -> Self {
        self.save = Some(Box::new(keep));
        self
    }
}
