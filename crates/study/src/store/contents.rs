//! Lists the content of a store, and removes unwanted files from it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base::units::Bytes;

use super::digest::Digest;
use super::row::{self, Facts};
use super::states::{StateFile, states, trim};
use super::{POINTS, STATES, STUDIES, Store};
use crate::output::clear;

/// A result in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResult {
    /// The digest of the run's key.
    pub digest: Digest,
    /// The path of the result's file.
    pub path: PathBuf,
    /// The length of the file.
    pub bytes: u64,
    /// The time at which the file was written.
    pub written: SystemTime,
}

impl StoredResult {
    /// The device, workload and seed of the result; `None` if the file is damaged or of another kind.
    #[must_use]
    pub fn facts(&self) -> Option<Facts> {
        row::facts(File::open(&self.path).ok()?).ok()
    }

    /// True if this version of Flashloom uses the result.
    fn is_usable(&self) -> bool {
        let row = File::open(&self.path).ok().and_then(|file| row::read(file).ok());
        row.is_some_and(|row| row.key.digest() == self.digest)
    }
}

/// The files of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The results, the last written first.
    pub points: Vec<StoredResult>,
    /// The number of stored states of preconditioned drives.
    pub states: usize,
    /// The bytes that all stored states take.
    pub state_bytes: u64,
}

impl Contents {
    /// The bytes that all results take.
    #[must_use]
    pub fn point_bytes(&self) -> u64 {
        self.points.iter().map(|point| point.bytes).sum()
    }

    /// The results whose digests begin with this text, in hexadecimal digits.
    pub fn named<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a StoredResult> {
        self.points.iter().filter(move |point| point.digest.to_string().starts_with(text))
    }
}

/// The files to remove from a store. Half-written files of programs that no longer run are always removed, and so are
/// states beyond the limit of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discard {
    /// True for results that this version of Flashloom does not use: results of other versions of the model, and
    /// damaged results.
    pub unusable: bool,
    /// Removes results that were written, and states that were used, longer ago than this.
    pub older: Option<Duration>,
    /// Removes the oldest results and states, until the others fit into this many bytes.
    pub beyond: Option<Bytes>,
}

/// The files that were removed from a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedFiles {
    /// The number of removed results.
    pub points: u64,
    /// The number of removed states of preconditioned drives.
    pub states: u64,
    /// The number of half-written files.
    pub leftovers: u64,
    /// The length of all removed files together.
    pub bytes: u64,
}

/// The folders with results below a store's folder.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(POINTS)).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

impl Store {
    /// Lists the files of the store.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let point = |entry: fs::DirEntry| {
            let (path, meta) = (entry.path(), entry.metadata().ok()?);
            let digest = path.file_name()?.to_str()?.strip_suffix(".parquet")?.parse().ok()?;
            let written = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(StoredResult { digest, path, bytes: meta.len(), written })
        };
        let entries = folders(&self.folder).into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
        let mut points: Vec<StoredResult> = entries.flatten().filter_map(point).collect();
        points.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.digest.cmp(&b.digest)));
        let states = states(&self.folder);
        Contents { points, states: states.len(), state_bytes: states.iter().map(|state| state.bytes).sum() }
    }

    /// Removes unwanted files. Programs that use the store at the same time repeat the runs that they miss.
    #[must_use]
    pub fn discard(&self, what: Discard) -> RemovedFiles {
        let mut removed = RemovedFiles::default();
        for folder in folders(&self.folder).iter().chain(&[STATES, STUDIES].map(|part| self.folder.join(part))) {
            for bytes in clear(folder) {
                removed.leftovers += 1;
                removed.bytes += bytes;
            }
        }
        trim(&self.folder, self.limit).iter().for_each(|state| removed.state(state));
        let contents = self.contents();
        #[allow(clippy::disallowed_methods)] // The age of a file determines no result.
        let now = SystemTime::now();
        let is_old = |time: SystemTime| {
            let age = now.duration_since(time).unwrap_or_default();
            what.older.is_some_and(|limit| age > limit)
        };
        let unwanted = |point: &&StoredResult| is_old(point.written) || what.unusable && !point.is_usable();
        let mut gone = BTreeSet::new();
        for point in contents.points.iter().filter(unwanted) {
            removed.point(point);
            gone.insert(point.digest);
        }
        states(&self.folder).iter().filter(|state| is_old(state.used)).for_each(|state| removed.remove(state));
        if let Some(limit) = what.beyond {
            let left =
                contents.points.into_iter().filter(|point| !gone.contains(&point.digest)).map(RemovableFile::Point);
            let mut all: Vec<RemovableFile> =
                left.chain(states(&self.folder).into_iter().map(RemovableFile::State)).collect();
            all.sort_by_key(|kept| std::cmp::Reverse(kept.time()));
            let mut sum = 0;
            for kept in all {
                sum += kept.bytes();
                match kept {
                    _ if sum <= limit.get() => {}
                    RemovableFile::Point(point) => removed.point(&point),
                    RemovableFile::State(state) => removed.remove(&state),
                }
            }
        }
        removed
    }
}

/// A file that may be removed: a result or a state.
enum RemovableFile {
    Point(StoredResult),
    State(StateFile),
}

impl RemovableFile {
    const fn time(&self) -> SystemTime {
        match self {
            Self::Point(point) => point.written,
            Self::State(state) => state.used,
        }
    }

    const fn bytes(&self) -> u64 {
        match self {
            Self::Point(point) => point.bytes,
            Self::State(state) => state.bytes,
        }
    }
}

impl RemovedFiles {
    fn point(&mut self, point: &StoredResult) {
        if fs::remove_file(&point.path).is_ok() {
            self.points += 1;
            self.bytes += point.bytes;
        }
    }

    fn remove(&mut self, state: &StateFile) {
        if fs::remove_file(&state.path).is_ok() {
            self.state(state);
        }
    }

    fn state(&mut self, state: &StateFile) {
        self.states += 1;
        self.bytes += state.bytes;
    }
}
