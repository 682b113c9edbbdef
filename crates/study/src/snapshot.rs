//! The state of a disk in a file: its flash, compressed.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flash::backend::Observer;
use flash::nand::{Faults, Media, Sector, SnapshotError};
use ssd::{Resolved, Ssd};

use crate::report::{StageError, StagedFile};

/// How every zstd file begins.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The fastest: most of what is compressed well is compressed well by any.
const LEVEL: i32 = 1;

/// A snapshot that cannot be loaded.
#[derive(Debug)]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: SnapshotError,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = match &self.reason {
            SnapshotError::Io(error) => {
                let (message, remedy) = workload::unreadable(&self.path, error);
                return write!(f, "{}: {message}; {remedy}", self.path.display());
            }
            SnapshotError::Foreign => "give a file that --save-snapshot wrote",
            SnapshotError::Version(_) | SnapshotError::Damaged => "make it again with --save-snapshot",
            SnapshotError::Geometry { .. } => "use the device it was made with, or make one of this device",
            SnapshotError::Sector { .. } => "make it again the way it is used",
        };
        write!(f, "{}: {}; {remedy}", self.path.display(), self.reason)
    }
}

impl std::error::Error for LoadError {}

/// A file that will hold the state of a disk; it gets its name when it is complete.
pub struct SnapshotFile {
    path: PathBuf,
    staged: StagedFile,
    file: File,
}

impl SnapshotFile {
    /// Starts the file that will be `path`.
    ///
    /// # Errors
    /// If it cannot be created there.
    pub fn create(path: &Path) -> Result<Self, StageError> {
        let (staged, file) = StagedFile::create(path)?;
        Ok(Self { path: path.to_owned(), staged, file })
    }

    /// Writes the state and gives the file its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish<S: Sector>(self, media: &Media<S>) -> Result<(), StageError> {
        let write = || -> std::io::Result<()> {
            let mut compressed = zstd::Encoder::new(BufWriter::new(self.file), LEVEL)?;
            compressed.include_checksum(true)?;
            media.save(&mut compressed)?;
            compressed.finish()?.flush()
        };
        write().map_err(|error| StageError::io(&self.path, &error))?;
        self.staged.finish()
    }
}

/// A disk in the state that is kept in a file, whose flash is watched. It starts as after a power cycle: its FTL finds
/// everything in the flash.
///
/// # Errors
/// If the file cannot be read, is no snapshot or a damaged one, or is of another device.
pub fn load<S: Sector, O: Observer>(
    path: &Path,
    resolved: &Resolved,
    seed: u64,
    observer: O,
) -> Result<Ssd<S, O>, LoadError> {
    let media = read(path, resolved, seed).map_err(|reason| LoadError { path: path.to_owned(), reason })?;
    Ok(Ssd::with_media(resolved, seed, media, None, observer))
}

fn read<S: Sector>(path: &Path, resolved: &Resolved, seed: u64) -> Result<Media<S>, SnapshotError> {
    let mut file = BufReader::new(File::open(path).map_err(SnapshotError::Io)?);
    let mut magic = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut magic).map_err(SnapshotError::Io)?;
    if magic != ZSTD {
        return Err(SnapshotError::Foreign);
    }
    let mut plain = Plain(zstd::Decoder::new(magic.as_slice().chain(file)).map_err(SnapshotError::Io)?);
    let faults = Faults::new(&resolved.spec.flash.faults, seed);
    let one_shot = resolved.backend.timing.one_shot;
    Media::load(resolved.geometry.clone(), resolved.part.endurance, one_shot, faults, &mut plain)
}

/// What is decompressed. That it cannot be means that it was changed or cut short.
struct Plain<R>(R);

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into).map_err(|error| std::io::Error::new(std::io::ErrorKind::UnexpectedEof, error))
    }
}
