//! Faults of a store: it cannot be written, or a file in it cannot be used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::row::RowError;

/// The error for a store that cannot be read or written.
#[derive(Debug)]
pub struct StoreError {
    path: PathBuf,
    purpose: Purpose,
    error: io::Error,
}

/// The operation that failed.
#[derive(Debug)]
enum Purpose {
    Find,
    Write,
}

impl StoreError {
    /// The error for a file or folder at `path` that cannot be written.
    pub(super) fn new(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), purpose: Purpose::Write, error }
    }

    /// The error for a `path` at which there is no store.
    pub(super) fn missing(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), purpose: Purpose::Find, error }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, error) = (self.path.display(), &self.error);
        if matches!(self.purpose, Purpose::Find) {
            let why =
                if error.kind() == io::ErrorKind::NotFound { String::new() } else { format!(" to be read: {error}") };
            let remedy = "choose its folder with --store, or run a study first";
            return write!(f, "{path}: there is no store of results{why}; {remedy}");
        }
        match error.kind() {
            _ if self.path.is_dir() && error.kind() == io::ErrorKind::IsADirectory => {
                write!(f, "{path}: is a folder in the place of a file of the store of results; remove it")
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => write!(
                f,
                "{path}: the store of results cannot be written: {error}; free space there, e.g. with `flashloom store \
                 gc`, choose another folder with --store, or run without one: --no-store"
            ),
            _ => write!(
                f,
                "{path}: the store of results cannot be written: {error}; choose another folder with --store, or run \
                 without one: --no-store"
            ),
        }
    }
}

impl std::error::Error for StoreError {}

/// A file of a store that cannot be used, and the reason.
#[derive(Debug)]
pub struct UnusableFile {
    path: PathBuf,
    why: UnusableReason,
}

#[derive(Debug)]
enum UnusableReason {
    Unreadable(io::Error),
    Row(RowError),
    Misplaced,
}

impl UnusableFile {
    pub(super) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_owned(), why: UnusableReason::Unreadable(error) }
    }

    pub(super) fn of(path: &Path, error: RowError) -> Self {
        Self { path: path.to_owned(), why: UnusableReason::Row(error) }
    }

    pub(super) fn misplaced(path: &Path) -> Self {
        Self { path: path.to_owned(), why: UnusableReason::Misplaced }
    }
}

impl fmt::Display for UnusableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.why {
            UnusableReason::Unreadable(error) => write!(f, "cannot be read: {error}"),
            UnusableReason::Row(error) => error.fmt(f),
            UnusableReason::Misplaced => f.write_str("is the result of another run"),
        }
    }
}

impl std::error::Error for UnusableFile {}
