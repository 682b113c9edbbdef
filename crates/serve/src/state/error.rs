//! The reasons that a state cannot be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use flash::nand::Contradiction;

/// The reason for which a state cannot be used, or not any longer.
#[derive(Clone, Debug)]
pub enum StateError {
    /// The operating system refused an operation on a file.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation that failed.
        doing: FileOperation,
        /// The error of the operating system.
        error: Arc<io::Error>,
    },
    /// Another process serves this drive.
    Locked {
        /// The directory that is locked.
        dir: PathBuf,
        /// The number of the process, if the lock file has it.
        process: Option<u32>,
    },
    /// The directory holds other files and no state of a drive.
    Foreign {
        /// The directory with the other files.
        dir: PathBuf,
        /// The name of a file that is foreign to a state.
        file: String,
    },
    /// The directory holds a state already, so it cannot take another drive.
    Exists {
        /// The directory with the other state.
        dir: PathBuf,
    },
    /// Another version of this program wrote it.
    Version {
        /// The directory with the other version.
        dir: PathBuf,
        /// The version of the directory's format.
        found: u32,
    },
    /// The directory holds a drive that keeps its data in another way.
    Other {
        /// The directory with the other drive.
        dir: PathBuf,
        /// The name of that drive.
        device: String,
        /// All keys that differ.
        differences: Vec<Difference>,
    },
    /// Bytes of a file have changed since they were written.
    Damaged {
        /// The path of the damaged file.
        path: PathBuf,
        /// The damaged place in the file.
        place: DamagedPlace,
    },
    /// The device needs capacitors to survive a power cut, but a killed process cannot use any.
    Capacitors {
        /// The name of the device.
        device: String,
    },
    /// The device has bit errors, but the state does not keep the values on which errors depend.
    Errors {
        /// The name of the device.
        device: String,
    },
}

/// An operation on a file of the drive, as an error names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Creation of the file.
    Create,
    /// A read from the file.
    Read,
    /// A write to the file.
    Write,
    /// The synchronisation of the file with its disk.
    Sync,
}

/// A key with different values in a state and in the device that is to load it. The key decides how a drive keeps its
/// data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key by its path in the device file.
    pub key: String,
    /// The value in the state.
    pub there: String,
    /// The value in the device.
    pub here: String,
}

/// A damaged place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamagedPlace {
    /// The whole file: its content has changed since it was written.
    Whole,
    /// The length of the file.
    Size {
        /// The present bytes of the file.
        found: u64,
        /// The expected bytes of the file.
        expected: u64,
    },
    /// A record of a slot or a block.
    Record {
        /// The offset of the record in the file, in bytes.
        byte: u64,
    },
    /// A record with a valid checksum and impossible content.
    Contradiction {
        /// The slot that the record describes.
        slot: u32,
        /// The reason for which the content is impossible.
        why: Contradiction,
    },
    /// The content of a slot.
    Content {
        /// The slot whose content is damaged.
        slot: u32,
        /// The offset of the content in the file, in bytes.
        byte: u64,
    },
}

impl fmt::Display for DamagedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("has changed since it was written"),
            Self::Size { found, expected } => write!(f, "is {found} bytes long and should be {expected}"),
            Self::Record { byte } => write!(f, "the record at byte {byte} has changed since it was written"),
            Self::Contradiction { slot, why } => write!(f, "slot {slot} {why}"),
            Self::Content { slot, byte } => {
                write!(f, "the content of slot {slot}, at byte {byte}, has changed since it was written")
            }
        }
    }
}

/// The maximum number of differing keys in a message.
const LISTED: usize = 6;

fn write_io(f: &mut fmt::Formatter<'_>, path: &Path, doing: FileOperation, error: &io::Error) -> fmt::Result {
    let doing = match doing {
        FileOperation::Create => "created",
        FileOperation::Read => "read",
        FileOperation::Write => "written",
        FileOperation::Sync => "synchronised with its disk",
    };
    write!(f, "{}: cannot be {doing}: {error}", path.display())?;
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            f.write_str("; free some space, and serve the drive again")
        }
        io::ErrorKind::FileTooLarge => {
            f.write_str("; raise the limit of a file's size (`ulimit -f`), and serve the drive again")
        }
        io::ErrorKind::PermissionDenied => f.write_str("; choose a directory that you may write to"),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            f.write_str("; choose a directory, or a name that nothing has")
        }
        _ => f.write_str("; check its disk, or choose another directory"),
    }
}

fn write_other(f: &mut fmt::Formatter<'_>, dir: &Path, device: &str, differences: &[Difference]) -> fmt::Result {
    write!(f, "{}: holds the state of another device, {device}: ", dir.display())?;
    for (i, Difference { key, there, here }) in differences.iter().take(LISTED).enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{key} is {there} in the state and {here} in this device")?;
    }
    if differences.len() > LISTED {
        write!(f, ", and {} more keys differ", differences.len() - LISTED)?;
    }
    f.write_str("; use the device of the state, or choose an empty directory")
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, doing, error } => write_io(f, path, *doing, error),
            Self::Locked { dir, process } => {
                write!(f, "{}: is in use", dir.display())?;
                if let Some(process) = process {
                    write!(f, " by process {process}")?;
                }
                f.write_str("; end that one first, or choose another directory")
            }
            Self::Foreign { dir, file } => write!(
                f,
                "{}: holds {file} and no state of a drive; choose an empty directory or one that does not exist",
                dir.display()
            ),
            Self::Exists { dir } => write!(
                f,
                "{}: holds a drive already, so it is neither preconditioned nor loaded; leave those options out, or \
                 choose an empty directory",
                dir.display()
            ),
            Self::Version { dir, found } => write!(
                f,
                "{}: holds a state of format {found}, and this version of Flashloom reads format {}; serve it with the \
                 version that wrote it, or choose an empty directory",
                dir.display(),
                super::VERSION
            ),
            Self::Other { dir, device, differences } => write_other(f, dir, device, differences),
            Self::Damaged { path, place } => {
                write!(
                    f,
                    "{}: is damaged: {place}; restore the directory from a copy, or choose an empty one",
                    path.display()
                )
            }
            Self::Capacitors { device } => write!(
                f,
                "the device {device} erases a block while the only copy of its data is in a buffer (log.erase = \
                 \"read\"), and relies on capacitors if the power fails; a process that is killed has none: write \
                 log.erase = \"copied\", or serve it without --state"
            ),
            Self::Errors { device } => write!(
                f,
                "the device {device} has bit errors, which depend on the time of each program, and the state does not \
                 keep these times: leave flash.errors out, or serve it without --state"
            ),
        }
    }
}

impl std::error::Error for StateError {}
