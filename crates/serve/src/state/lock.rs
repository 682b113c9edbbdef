//! The lock of a directory for one process, a lock of the operating system that ends with the process.
//!
//! The directory itself is locked, so that deleting the file `lock` lets no second process in. The file names the
//! process, and is locked as well, because an older version of this program locks the file only.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// The file that names the process that has the lock.
pub(super) const NAME: &str = "lock";

#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    _folder: File,
}

/// The reason that a directory is not locked.
pub(super) enum Refusal {
    /// Another process holds the lock; its number, if the file has it.
    Taken(Option<u32>),
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self, Refusal> {
        let folder = File::open(dir)?;
        let is_free = match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => false,
            // Some file systems, e.g. over a network, lock files only.
            Err(Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOLCK) => true,
            Err(error) => return Err(Refusal::Io(error.into())),
        };
        let mut file = OpenOptions::new().read(true).write(true).create(is_free).truncate(false).open(dir.join(NAME));
        if !is_free {
            return Err(Refusal::Taken(file.as_mut().ok().and_then(owner)));
        }
        let mut file = file?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(Refusal::Taken(owner(&mut file))),
            Err(error) => return Err(Refusal::Io(error.into())),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file, _folder: folder })
    }
}

fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
