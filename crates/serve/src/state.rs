//! The flash of a served drive in a directory. The files hold at the death of the process what the flash held: killing the process
//! is a power cut of the drive, and the FTL recovers as after a power cut.
//!
//! Every change of the flash is written before the drive goes on, in the order in which the flash changes: the content of
//! a program, then the translation pages that it makes count, then the spare areas. So a process that is killed between
//! any two writes leaves the flash before or after one page of a program, or one erase. The system's cache outlives the
//! process; [`Durability::Machine`] is for crashes of the machine.
//!
//! ```text
//! lock                            held while a process serves the drive
//! format.toml                     version, device and seed
//! main.content                    slots, at their physical places; erased blocks are holes
//! main.slots, main.blocks         a record of 32 bytes each: spare areas and states, with checksums
//! main.images                     a log of translation pages
//! slc.*                           the same of an SLC array
//! ```

mod array;
mod copied;
mod dir;
mod error;
mod folder;
mod format;
mod images;
mod lock;
mod record;
mod shared;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flash::nand::Sector;
use ftl::EraseTiming;
use ssd::{ResolvedDevice, Ssd};

use array::ArrayFiles;
pub use dir::StateDir;
pub use error::{DamagedPlace, Difference, FileOperation, StateError};
use folder::{Directory, Folder};
use format::Format;
use lock::Lock;
use shared::StateHealth;

/// The version of the format: raised whenever a byte changes its meaning.
const VERSION: u32 = 1;

/// The prefix of the files of the main array.
const MAIN: &str = "main";
const SLC: &str = "slc";

/// The faults that acknowledged flushes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, for any reason.
    #[default]
    Process,
    /// A crash of the machine as well: the files are synchronised with their disk for each flush and before each erase.
    Machine,
}

/// The directory of a drive's flash, locked for this process until it is dropped.
#[derive(Debug)]
pub struct State {
    folder: Arc<dyn Folder>,
    shared: Arc<StateHealth>,
    durability: Durability,
    names: Vec<String>,
    _lock: Option<Lock>,
}

impl StateError {
    fn io(path: PathBuf, doing: FileOperation, error: io::Error) -> Self {
        Self::Io { path, doing, error: Arc::new(error) }
    }
}

impl State {
    /// True if a directory holds the state of a drive. Such a drive is neither preconditioned nor loaded from a snapshot.
    #[must_use]
    pub fn is_there(dir: &Path) -> bool {
        dir.join(format::NAME).exists()
    }

    /// Opens the drive whose flash a directory holds, or makes a new one with `seed` if the directory is empty or does not exist.
    ///
    /// # Errors
    /// If the directory cannot be used, see [`StateError`].
    pub fn open_or_create<S: Sector>(
        dir: &Path,
        resolved: &ResolvedDevice,
        seed: u64,
        durability: Durability,
    ) -> Result<(Self, Ssd<S>), StateError> {
        let dir = StateDir::lock(dir, resolved)?;
        if dir.holds_drive() {
            return Self::open(dir, resolved, durability);
        }
        let mut ssd = Ssd::new(resolved, seed);
        let state = Self::create(dir, &mut ssd, durability)?;
        Ok((state, ssd))
    }

    /// Opens the drive whose flash a directory holds, with the seed of that drive.
    ///
    /// # Errors
    /// If the directory holds no drive or another drive, or cannot be used, see [`StateError`].
    pub fn open<S: Sector>(
        mut dir: StateDir,
        resolved: &ResolvedDevice,
        durability: Durability,
    ) -> Result<(Self, Ssd<S>), StateError> {
        let (state, ssd) = Self::open_in(Arc::new(Directory(dir.path().to_owned())), resolved, durability)?;
        Ok((Self { _lock: dir.take_lock(), ..state }, ssd))
    }

    /// Moves the flash of a prepared drive from memory into a new or empty directory.
    ///
    /// # Errors
    /// If the directory holds a state already, or cannot be used, see [`StateError`].
    pub fn create<S: Sector>(mut dir: StateDir, ssd: &mut Ssd<S>, durability: Durability) -> Result<Self, StateError> {
        if dir.holds_drive() {
            return Err(StateError::Exists { dir: dir.path().to_owned() });
        }
        let state = Self::create_in(Arc::new(Directory(dir.path().to_owned())), ssd, durability)?;
        Ok(Self { _lock: dir.take_lock(), ..state })
    }

    /// Bytes of memory in addition to the memory of a drive whose content is in a backing store.
    #[must_use]
    pub fn memory(resolved: &ResolvedDevice) -> u64 {
        let slc_array = resolved.slc_array.as_ref().map(|part| &part.geometry);
        std::iter::once(&resolved.geometry).chain(slc_array).map(array::memory).sum()
    }

    /// Reports the first failure of the files. Nothing is written after the failure, so no request may be acknowledged any more:
    /// the owner of the drive calls this after each [`advance`](ssd::Drive::advance), before it answers.
    ///
    /// # Errors
    /// The first failure of the files.
    pub fn check(&self) -> Result<(), StateError> {
        self.shared.check()
    }

    /// Makes all written data durable, with [`Durability::Machine`]: called before a flush or a forced write is answered.
    ///
    /// # Errors
    /// If a file cannot be synchronised, or has failed before.
    pub fn sync(&self) -> Result<(), StateError> {
        self.check()?;
        if self.durability == Durability::Machine
            && let Err(error) = self.folder.sync(&self.names)
        {
            self.shared.fail(StateError::io(self.folder.path(""), FileOperation::Sync, error));
        }
        self.check()
    }

    /// Damaged content that was found since the last call. The drive reported the damage as uncorrectable reads.
    #[must_use]
    pub fn take_damage(&self) -> Vec<StateError> {
        self.shared.take_damage()
    }

    fn over(folder: Arc<dyn Folder>, resolved: &ResolvedDevice, durability: Durability) -> Self {
        let arrays = [Some(MAIN), resolved.slc_array.as_ref().map(|_| SLC)];
        let names = arrays.into_iter().flatten().flat_map(array::names).chain([format::NAME.to_owned()]).collect();
        Self { folder, shared: Arc::default(), durability, names, _lock: None }
    }

    /// The files to be synchronised before an erase.
    fn synced(&self) -> &[String] {
        match self.durability {
            Durability::Process => &[],
            Durability::Machine => &self.names,
        }
    }

    fn create_in<S: Sector>(
        folder: Arc<dyn Folder>,
        ssd: &mut Ssd<S>,
        durability: Durability,
    ) -> Result<Self, StateError> {
        let state = Self::over(folder, ssd.resolved(), durability);
        let format = Format::of(ssd.resolved(), ssd.seed(), S::KIND.bytes() as u32);
        let synced = state.synced();
        ArrayFiles::create(&state.folder, &state.shared, (MAIN, synced), ssd.media_mut())?;
        if let Some(media) = ssd.slc_media_mut() {
            ArrayFiles::create(&state.folder, &state.shared, (SLC, synced), media)?;
        }
        state.check()?;
        format.write(&state.folder)?;
        state.sync()?;
        Ok(state)
    }

    fn open_in<S: Sector>(
        folder: Arc<dyn Folder>,
        resolved: &ResolvedDevice,
        durability: Durability,
    ) -> Result<(Self, Ssd<S>), StateError> {
        let state = Self::over(folder, resolved, durability);
        let format = Format::read(&state.folder)?;
        let seed = format.seed();
        format.check(resolved, S::KIND.bytes() as u32, &state.folder)?;
        let synced = state.synced();
        let (mut media, mut slc_array) = Ssd::<S>::new_media(resolved, seed);
        ArrayFiles::open(&state.folder, &state.shared, (MAIN, synced), &mut media)?;
        if let Some(media) = &mut slc_array {
            ArrayFiles::open(&state.folder, &state.shared, (SLC, synced), media)?;
        }
        // After a restart the faults are drawn anew, so that they differ from those before.
        for media in [Some(&mut media), slc_array.as_mut()].into_iter().flatten() {
            let lived = media.openings().rotate_left(32);
            media.faults_mut().restart(seed ^ lived);
        }
        let ssd = Ssd::with_media(resolved, seed, media, slc_array);
        state.check()?;
        Ok((state, ssd))
    }
}

/// Refuses a device whose flash alone does not survive a power cut, or whose flash is not all in the files.
fn check_device(resolved: &ResolvedDevice) -> Result<(), StateError> {
    if resolved.ftl.log.erase == EraseTiming::Read {
        return Err(StateError::Capacitors { device: resolved.spec.name.clone() });
    }
    if resolved.backend.errors.is_some() {
        return Err(StateError::Errors { device: resolved.spec.name.clone() });
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
