//! A folder with the results of runs, each under the digest of its key.
//!
//! A run is a function of its [`Key`], so its result is kept under the key's digest and the run is not done twice. Each
//! result is a file of its own that appears whole or not at all. So a study that ends early, whatever ends it, goes on
//! where it was, and any number of programs may fill one store at once: those that do the same run write the same bytes.
//!
//! ```text
//! points/ab/abcd....parquet    the result of a run: one row (`row`)
//! states/cdef....state         a preconditioned drive that several runs share (`states`)
//! studies/NAME.json            the points of a study: labels and digests (`studies`)
//! timings.jsonl                how long each run took (`timings`)
//! ```

mod contents;
mod digest;
mod error;
mod key;
mod merge;
mod model;
mod row;
mod states;
mod studies;
mod timings;

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base::units::Bytes;

use crate::output::write_whole;
use crate::summary::Summary;

pub use contents::{Contents, Discard, RemovedFiles, StoredResult};
pub use digest::{Digest, ParseDigestError};
pub use error::{StoreError, UnusableFile};
pub(crate) use key::state_of;
pub use key::{Digests, Key, KeyError, PathsByDigest, SCHEMA, SnapshotKey, TraceKey, WorkloadKey, file_digest};
pub use merge::MergeReport;
pub use model::MODEL;
pub use row::{Facts, Row, RowError, columns};
pub use states::DEFAULT_LIMIT;
pub use studies::{StudyPoint, StudyPoints};
pub use timings::{Basis, PredictedTime, Timing, Timings};

/// The file that marks a cache (bford.info/cachedir), whose content can be computed again: programs that make backups
/// skip the folder.
const TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results of runs, made by Flashloom; `flashloom store gc` removes some.\n",
);
const POINTS: &str = "points";
const STATES: &str = "states";
const STUDIES: &str = "studies";

/// A folder with results of runs.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// The most bytes of all states together.
    limit: Bytes,
}

impl Store {
    /// Opens the store in this folder, and creates the folder if it does not exist.
    ///
    /// # Errors
    ///
    /// If no file can be written in the folder.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let fail = |error| StoreError::new(folder, error);
        let store = Self { folder: std::path::absolute(folder).map_err(fail)?, limit: DEFAULT_LIMIT };
        for part in [POINTS, STATES, STUDIES] {
            fs::create_dir_all(store.folder.join(part)).map_err(fail)?;
        }
        // Only a written file shows that the folder can be written.
        write_whole(&store.folder.join(TAG.0), |mut file| file.write_all(TAG.1.as_bytes())).map_err(fail)?;
        Ok(store)
    }

    /// Opens the store in this folder for reading.
    ///
    /// # Errors
    ///
    /// If the folder does not exist.
    pub fn find(folder: &Path) -> Result<Self, StoreError> {
        let fail = |error| StoreError::missing(folder, error);
        let folder = std::path::absolute(folder).map_err(fail)?;
        fs::read_dir(folder.join(POINTS)).map_err(fail)?;
        Ok(Self { folder, limit: DEFAULT_LIMIT })
    }

    /// Limits the states to this many bytes together.
    #[must_use]
    pub const fn limit(mut self, limit: Bytes) -> Self {
        self.limit = limit;
        self
    }

    /// The folder of the store, as it was given.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a result, whether it exists or not.
    #[must_use]
    pub fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.folder.join(POINTS).join(&name[..2]).join(name + ".parquet")
    }

    /// The result with this digest, undecoded; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file of the result cannot be used.
    pub fn row(&self, digest: Digest) -> Result<Option<Row>, UnusableFile> {
        let path = self.path(digest);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| UnusableFile::unreadable(&path, error))?,
        };
        let found = row::read(file).map_err(|error| UnusableFile::of(&path, error))?;
        if found.key.digest() == digest { Ok(Some(found)) } else { Err(UnusableFile::misplaced(&path)) }
    }

    /// The result of a run; `None` if the store does not have it.
    ///
    /// # Errors
    ///
    /// If the file of the result cannot be used: the run must be done, and its new result replaces the file.
    pub fn get(&self, digest: Digest) -> Result<Option<Summary>, UnusableFile> {
        Ok(self.row(digest)?.map(|row| row.summary))
    }

    /// Writes the result of a run.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put(&self, key: &Key, summary: &Summary) -> Result<(), StoreError> {
        self.keep(&self.path(key.digest()), &row::write(key, summary))
    }

    /// Writes the bytes of a result's file, from another program that did the run.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn put_bytes(&self, digest: Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.keep(&self.path(digest), bytes)
    }

    /// Writes the file of a result.
    fn keep(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let folder = path.parent().unwrap_or(&self.folder);
        let write = || {
            fs::create_dir_all(folder)?;
            write_whole(path, |mut file| file.write_all(bytes))
        };
        write().map_err(|error| StoreError::new(path, error))
    }
}
