//! The directory of a drive. It is locked before the drive is made, because preparing a drive may take minutes.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ssd::ResolvedDevice;

use super::error::{FileOperation, StateError};
use super::lock::{self, Lock, Refusal};
use super::{MAIN, SLC, State, array, check_device, folder, format};

/// A directory that this process has locked, for a drive of this device.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    lock: Option<Lock>,
    /// True if the directory did not exist before.
    is_made: bool,
}

impl StateDir {
    /// Makes a directory if there is none, refuses a directory that holds other files, and locks the directory.
    ///
    /// # Errors
    /// If the directory or the device cannot be used, see [`StateError`].
    pub fn lock(path: &Path, resolved: &ResolvedDevice) -> Result<Self, StateError> {
        check_device(resolved)?;
        let io = |doing| move |error| StateError::io(path.to_owned(), doing, error);
        let found = folder::names(path).map_err(io(FileOperation::Read))?;
        let is_made = found.is_none();
        if is_made {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(io(FileOperation::Create))?;
            }
            DirBuilder::new().mode(0o700).create(path).map_err(io(FileOperation::Create))?;
        }
        let is_ours = |name: &str| {
            let of_array = [MAIN, SLC].iter().flat_map(|array| array::names(array)).any(|ours| name.starts_with(&ours));
            of_array || [lock::NAME, format::NAME, format::NEW].contains(&name)
        };
        if let Some(file) = found.into_iter().flatten().find(|name| !is_ours(name))
            && !State::is_there(path)
        {
            return Err(StateError::Foreign { dir: path.to_owned(), file });
        }
        let lock = Lock::take(path).map_err(|refusal| match refusal {
            Refusal::Taken(process) => StateError::Locked { dir: path.to_owned(), process },
            Refusal::Io(error) => StateError::io(path.join(lock::NAME), FileOperation::Create, error),
        })?;
        Ok(Self { path: path.to_owned(), lock: Some(lock), is_made })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the directory holds a drive already. Such a drive is neither preconditioned nor loaded from a snapshot.
    #[must_use]
    pub fn holds_drive(&self) -> bool {
        State::is_there(&self.path)
    }

    /// Passes the lock on, to be held for as long as the drive is served.
    pub(super) fn take_lock(&mut self) -> Option<Lock> {
        self.lock.take()
    }
}

impl Drop for StateDir {
    /// Removes the new directory if no drive was created in it.
    fn drop(&mut self) {
        if self.is_made && self.lock.is_some() {
            // The directory stays if it has other files.
            let _ = fs::remove_file(self.path.join(lock::NAME));
            let _ = fs::remove_dir(&self.path);
        }
    }
}
