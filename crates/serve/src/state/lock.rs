//! One process at a time: a lock of the operating system, which ends with its process.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The file that is locked; it names the process that has the lock.
pub(super) const NAME: &str = "lock";

/// The lock on a directory.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// The reason that a directory is not locked.
pub(super) enum Refusal {
    /// Another process has the lock; its number, if the file has it.
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
        let path = dir.join(NAME);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                return Err(Refusal::Taken(text.trim().parse().ok()));
            }
            Err(error) => return Err(Refusal::Io(error.into())),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}
