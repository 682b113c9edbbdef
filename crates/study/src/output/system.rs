//! File operations that depend on the operating system: the identity of files, and files without a name.

use std::fs::File;
use std::io;
use std::path::Path;

/// The kind of a file, after links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    File,
    Folder,
    /// A character device or a pipe: data written to it cannot be taken back.
    Stream,
    /// A block device or a socket; the text names it.
    Other(&'static str),
}

#[cfg(unix)]
mod unix {
    use super::{File, Path, Sort, io};
    use std::fs::{FileType, Metadata};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    use rustix::fs::{FlockOperation, flock};

    /// Device and inode: equal for all names of one file.
    pub(crate) type FileId = (u64, u64);

    pub(crate) fn sort(of: FileType) -> Sort {
        match of {
            of if of.is_dir() => Sort::Folder,
            of if of.is_char_device() || of.is_fifo() => Sort::Stream,
            of if of.is_block_device() => Sort::Other("is a block device"),
            of if of.is_socket() => Sort::Other("is a socket"),
            _ => Sort::File,
        }
    }

    fn id(meta: &Metadata) -> FileId {
        (meta.dev(), meta.ino())
    }

    pub(crate) fn identity(path: &Path) -> io::Result<FileId> {
        path.metadata().map(|meta| id(&meta))
    }

    /// The file or pipe of a standard stream; `None` for a device, which several outputs may share.
    pub(crate) fn stream(stream: impl AsFd) -> Option<FileId> {
        let meta = File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        (!meta.file_type().is_char_device()).then(|| id(&meta))
    }

    pub(crate) fn may_be_shared(path: &Path) -> bool {
        path.metadata().is_ok_and(|meta| meta.file_type().is_char_device())
    }

    /// Locks the file for this program. Returns false if another program has locked it. The lock ends with the program.
    pub(crate) fn lock(file: &File) -> bool {
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// True if an open file still has a name.
    pub(crate) fn has_name(file: &File) -> bool {
        file.metadata().is_ok_and(|meta| meta.nlink() > 0)
    }

    /// True if two folders lie on one file system.
    pub(crate) fn is_same_device(one: &Path, other: &Path) -> bool {
        matches!((one.metadata(), other.metadata()), (Ok(one), Ok(other)) if one.dev() == other.dev())
    }
}

#[cfg(not(unix))]
mod unix {
    use super::{File, Path, Sort, io};
    use std::fs::FileType;
    use std::path::PathBuf;

    /// The whole path, after links.
    pub(crate) type FileId = PathBuf;

    pub(crate) fn sort(of: FileType) -> Sort {
        if of.is_dir() { Sort::Folder } else { Sort::File }
    }

    pub(crate) fn identity(path: &Path) -> io::Result<FileId> {
        path.canonicalize()
    }

    pub(crate) fn stream<T>(_: T) -> Option<FileId> {
        None
    }

    pub(crate) fn may_be_shared(_: &Path) -> bool {
        false
    }

    /// Always false: without locks no file counts as abandoned.
    pub(crate) fn lock(_: &File) -> bool {
        false
    }

    pub(crate) fn has_name(_: &File) -> bool {
        true
    }

    pub(crate) fn is_same_device(one: &Path, other: &Path) -> bool {
        other.parent() == Some(one)
    }
}

pub(super) use unix::{FileId, has_name, identity, is_same_device, lock, may_be_shared, sort, stream};

/// Exchanges the names of two folders at once. Returns false where the system or the file system cannot.
#[cfg(target_os = "linux")]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV | Errno::BUSY) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Creates a nameless file in this folder, which vanishes with the program; `None` where files need names.
#[cfg(target_os = "linux")]
pub(super) fn anonymous(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match open(folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => {
            let file = File::from(file);
            // A link from the nameless file to a name needs /proc.
            Ok(way(&file).exists().then_some(file))
        }
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn way(file: &File) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives a nameless file this name, which must be free.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, to: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, way(file), CWD, to, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn anonymous(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
