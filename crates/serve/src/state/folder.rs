//! The files of a state, as the operating system keeps them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of files. Tests use one whose process dies at a given write.
pub(super) trait Folder: fmt::Debug + Send + Sync {
    /// Opens a file, and creates it if it does not exist.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Raw>>;

    /// Atomically replaces the file `to` by the file `from`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes the content and the names of these files durable.
    fn sync(&self, names: &[String]) -> io::Result<()>;

    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file: of the operating system, or in memory for tests.
pub(super) trait Raw: fmt::Debug + Send + Sync {
    fn size(&self) -> io::Result<u64>;

    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Fills `into` with the bytes from offset `at` on.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Gives a range back to the file system. The range then reads as zeros.
    fn punch(&self, at: u64, len: u64) -> io::Result<()>;
}

/// A directory of the operating system.
#[derive(Debug)]
pub(super) struct Directory(pub(super) PathBuf);

impl Folder for Directory {
    fn open(&self, name: &str) -> io::Result<Arc<dyn Raw>> {
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.path(name))?;
        Ok(Arc::new(options))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn sync(&self, names: &[String]) -> io::Result<()> {
        names.iter().try_for_each(|name| File::open(self.path(name))?.sync_data())?;
        File::open(&self.0)?.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        // Joining an empty name would append a slash.
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }
}

impl Raw for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(into, at)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    #[cfg(target_os = "linux")]
    fn punch(&self, at: u64, len: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        Ok(fallocate(self, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, len)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn punch(&self, _at: u64, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The names in a directory, sorted; `None` if it does not exist.
pub(super) fn names(dir: &Path) -> io::Result<Option<Vec<String>>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(Some(names))
}
