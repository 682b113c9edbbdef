//! A served drive whose flash is in files: how the drive is made, and how its thread uses the files.
//!
//! The thread of the drive calls the files once for all answers of a moment, so that the flushes of one moment share a
//! synchronisation. Files that cannot be written are a power cut at that moment: from the first failure on every answer is a
//! failure. The directory is locked before the drive is made, because preparing a drive may take minutes. A drive that is found in
//! its directory takes the time of a power-on; a drive that was just prepared does not.

use flash::nand::Bytes512;
use study::memory::{self, Need};
use study::session::{Progress, SessionError};

use super::served::ServedDrive;
use super::{EngineError, EngineOptions};
use crate::state::{Durability, State, StateDir, StateError};

/// Keeps the flash of a drive in a directory.
pub struct PersistenceSettings {
    /// The directory, which holds the drive already or takes a new one.
    pub dir: StateDir,
    /// The faults that acknowledged flushes survive.
    pub durability: Durability,
    /// Called on the thread of the drive for each notice.
    pub on_notice: Option<NoticeCallback>,
}

/// A message on the files of a drive, for its owner.
#[derive(Clone, Debug)]
pub enum FileNotice {
    /// Data has changed since it was written. Reads of this data fail.
    Damage(StateError),
    /// The files failed. The power of the drive was cut at that moment and does not come back; [`FinalState`](super::FinalState) has the
    /// reason.
    Failure(StateError),
    /// The drive is verified and was served before, but there is no valid record of its acknowledged writes: the record is missing,
    /// damaged, or older than a crash of the machine. The verifier accepts the first read of each sector.
    Unverified,
}

/// Takes a notice; called on the thread of the drive.
pub type NoticeCallback = Box<dyn FnMut(FileNotice) + Send>;

/// A drive, its files, and whether an earlier process has served it.
pub(super) struct OpenedDrive {
    pub(super) drive: Box<dyn ServedDrive>,
    pub(super) files: DriveFiles,
    pub(super) is_used: bool,
}

impl PersistenceSettings {
    /// Opens the drive, or makes and prepares a new one.
    pub(super) fn make(
        self,
        options: &EngineOptions,
        progress: impl FnMut(Progress),
    ) -> Result<OpenedDrive, EngineError> {
        let Self { dir, durability, on_notice } = self;
        let (device, is_used) = (&options.device, dir.holds_drive());
        let is_prepared = !options.precondition.is_empty();
        if is_used && (is_prepared || options.load_snapshot.is_some()) {
            return Err(StateError::Exists { dir: dir.path().to_owned() }.into());
        }
        if let Some(limit) = &options.memory_limit {
            let purpose = options.purpose();
            let mut memory = match &options.load_snapshot {
                // The content passes through memory before it is in the files.
                Some(_) => device.resolved.memory_of::<Bytes512>(purpose),
                None => device.resolved.memory_of_backed::<Bytes512>(purpose),
            };
            memory.add("checksums of the content", State::memory(&device.resolved));
            let needs = vec![Need { name: device.name.clone(), memory }];
            memory::check(needs, 1, limit).map_err(SessionError::TooLarge)?;
        }
        let (state, drive) = if is_used {
            State::open(dir, &device.resolved, durability)?
        } else {
            let mut drive = options.session(progress).prepare::<Bytes512>()?;
            (State::create(dir, &mut drive, durability)?, drive)
        };
        Ok(OpenedDrive { drive: Box::new(drive), files: DriveFiles::new(state, on_notice), is_used })
    }
}

pub(super) struct DriveFiles {
    state: State,
    on_notice: Option<NoticeCallback>,
    failure: Option<StateError>,
    damaged: u64,
}

impl DriveFiles {
    pub(super) const fn new(state: State, on_notice: Option<NoticeCallback>) -> Self {
        Self { state, on_notice, failure: None, damaged: 0 }
    }

    /// Checks the files for failures and damage, after making `promises` durable. True if all changes of the drive are stored.
    pub(super) fn settle(&mut self, promises: bool) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let settled = if promises { self.state.sync() } else { self.state.check() };
        // Nothing is stored after a failure, so reads find old data, which is no damage.
        let damage = if settled.is_ok() { self.state.take_damage() } else { Vec::new() };
        self.damaged += damage.len() as u64;
        damage.into_iter().for_each(|damage| self.say(FileNotice::Damage(damage)));
        if let Err(failure) = settled {
            self.failure = Some(failure);
            return false;
        }
        true
    }

    /// Reads that found damaged data.
    pub(super) const fn damaged(&self) -> u64 {
        self.damaged
    }

    pub(super) const fn failure(&self) -> Option<&StateError> {
        self.failure.as_ref()
    }

    /// True if a file has failed, reported or not.
    pub(super) fn has_failed(&self) -> bool {
        self.state.check().is_err()
    }

    pub(super) fn say(&mut self, notice: FileNotice) {
        if let Some(on_notice) = &mut self.on_notice {
            on_notice(notice);
        }
    }
}
