//! Preconditioned drives that several runs share: one run makes each, and the others load it.
//!
//! A state is a [snapshot](crate::snapshot) under the digest of the device, the preconditioning and its seed. A run
//! that loads it has the same result, including the event hash, as one that preconditions the drive itself. States take
//! far more room than results, so the store keeps those that were used last, up to a limit.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::units::Bytes;

use super::digest::Digest;
use super::error::StoreError;
use super::{STATES, Store};
use crate::output::write_whole;

/// The most bytes of all states, unless the user gives another limit.
pub const DEFAULT_LIMIT: Bytes = Bytes::new(4 << 30);

pub(super) const EXTENSION: &str = "state";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StateFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) used: SystemTime,
}

/// All states of a store, last used first.
pub(super) fn states(folder: &Path) -> Vec<StateFile> {
    let Ok(entries) = fs::read_dir(folder.join(STATES)) else { return Vec::new() };
    let state = |entry: fs::DirEntry| {
        let (path, meta) = (entry.path(), entry.metadata().ok()?);
        let is_state = path.extension().is_some_and(|extension| extension == EXTENSION) && meta.is_file();
        is_state.then(|| StateFile { path, bytes: meta.len(), used: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH) })
    };
    let mut found: Vec<StateFile> = entries.flatten().filter_map(state).collect();
    // States with equal times, because of a coarse clock, are sorted by path.
    found.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
    found
}

/// Removes the least recently used states until the others fit into `limit`. Returns the removed states.
pub(super) fn trim(folder: &Path, limit: Bytes) -> Vec<StateFile> {
    let mut sum = 0;
    let is_over = |state: &StateFile| {
        sum += state.bytes;
        sum > limit.get()
    };
    let over = states(folder).into_iter().filter_map({
        let mut is_over = is_over;
        move |state| is_over(&state).then_some(state)
    });
    // A program that is loading such a state has opened the file already; others make the state themselves.
    over.filter(|state| fs::remove_file(&state.path).is_ok()).collect()
}

impl Store {
    fn state_path(&self, digest: Digest) -> PathBuf {
        self.folder.join(STATES).join(digest.to_string()).with_extension(EXTENSION)
    }

    /// The file of a state, if it exists. The call marks the state as used now.
    #[must_use]
    pub fn state(&self, digest: Digest) -> Option<PathBuf> {
        let path = self.state_path(digest);
        let file = File::options().append(true).open(&path).ok()?;
        #[allow(clippy::disallowed_methods)] // The time at which a file was used determines no result.
        let now = SystemTime::now();
        // If the time cannot be set, the state may be removed earlier than others.
        let _ = file.set_modified(now);
        Some(path)
    }

    /// Writes a state, and removes older states that no longer fit.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put_state(
        &self,
        digest: Digest,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.state_path(digest);
        let written = write_whole(&path, |file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        });
        written.map_err(|error| StoreError::new(&path, error))?;
        trim(&self.folder, self.limit);
        Ok(())
    }

    /// Removes a state that cannot be loaded.
    pub fn drop_state(&self, digest: Digest) {
        // A state that cannot be removed is replaced by the next one.
        let _ = fs::remove_file(self.state_path(digest));
    }
}
