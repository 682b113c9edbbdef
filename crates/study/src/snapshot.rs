//! The state of a drive in a file: the content of its flash and a description of the drive, compressed, with a checksum
//! over all bytes.
//!
//! The parts of a snapshot, in order:
//!
//! - the magic and the version;
//! - compressed: the length of the header, the header as TOML, and the output of [`Ssd::save`];
//! - the checksum of all previous bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flash::nand::{Sector, SnapshotError};
use serde::{Deserialize, Serialize};
use ssd::{ResolvedDevice, Ssd};

use crate::life::Life;

/// The first bytes of every snapshot.
pub(crate) const MAGIC: [u8; 16] = *b"flashloom state\n";
/// Version of the format; higher after a byte has changed its meaning. Files of version 1 and 2 had neither magic nor
/// header.
const VERSION: u32 = 5;
/// The first bytes of every zstd file, and thus of every snapshot of version 1 and 2.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// The fastest level: data that compresses well does so at any level.
const LEVEL: i32 = 1;
/// Bytes of the longest plausible header.
const HEADER_MAX: u32 = 1 << 20;
/// Bytes that the compressing stream reads or writes at once. Most numbers are shorter, and a call for each would take
/// longer than its work.
const BUFFER: usize = 1 << 16;
/// Bytes of the magic and the version, and of the checksum.
const FRONT: usize = MAGIC.len() + 4;
const SUM: u64 = 8;
/// The maximum number of differing keys in a message.
const LISTED: usize = 6;

/// The error for a snapshot that cannot be loaded.
#[derive(Debug)]
pub struct LoadError {
    /// Path of the file that cannot be loaded.
    pub path: PathBuf,
    /// The reason why the snapshot cannot be loaded.
    pub reason: LoadReason,
}

/// The reason that a snapshot cannot be loaded.
#[derive(Debug)]
pub enum LoadReason {
    /// The bytes of the file are faulty.
    File(SnapshotError),
    /// The snapshot is of a drive with another format of its data.
    Other {
        /// The name of that drive.
        device: String,
        /// Each differing key, with its value in the snapshot and in this device.
        keys: Vec<(String, String, String)>,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason } = self;
        let remedy = match reason {
            LoadReason::File(SnapshotError::Io(error)) => {
                let (message, remedy) = workload::unreadable(path, error);
                return write!(f, "{}: {message}; {remedy}", path.display());
            }
            LoadReason::File(SnapshotError::Foreign) => "give a file that --save-snapshot wrote",
            LoadReason::File(SnapshotError::Version(_) | SnapshotError::Damaged) => {
                "save it again with --save-snapshot"
            }
            LoadReason::File(SnapshotError::Geometry { .. }) => {
                "use the device of the snapshot, or save a snapshot of this device"
            }
            LoadReason::File(SnapshotError::Sector { .. }) => "save it again with the options of this run",
            LoadReason::Other { .. } => {
                "use the device of the snapshot, or save a snapshot of this device with --save-snapshot"
            }
        };
        write!(f, "{}: {reason}; {remedy}", path.display())
    }
}

/// Writes the reason without the name of the file.
impl fmt::Display for LoadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(SnapshotError::Version(found)) => {
                write!(f, "is a snapshot of format {found}, and this version of Flashloom reads format {VERSION}")
            }
            Self::File(reason) => write!(f, "{reason}"),
            Self::Other { device, keys } => {
                write!(f, "is a snapshot of another device, {device}: ")?;
                for (i, (key, there, here)) in keys.iter().take(LISTED).enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{key} is {there} in the snapshot and {here} in this device")?;
                }
                if keys.len() > LISTED {
                    write!(f, ", and {} more keys differ", keys.len() - LISTED)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl From<SnapshotError> for LoadReason {
    fn from(error: SnapshotError) -> Self {
        Self::File(error)
    }
}

impl From<io::Error> for LoadReason {
    fn from(error: io::Error) -> Self {
        Self::File(error.into())
    }
}

/// The drive of which a snapshot was taken.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    device: String,
    /// The keys that decide where on flash the drive keeps its data.
    format: BTreeMap<String, String>,
    /// The keys of the SLC array's format; `None` if that array is new.
    slc_format: Option<BTreeMap<String, String>>,
    /// The drive's life, if it has begun one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life: Option<Life>,
}

impl Header {
    fn of<S: Sector>(drive: &Ssd<S>, life: Option<&Life>) -> Self {
        let resolved = drive.resolved();
        let all = |keys: Vec<(&str, String)>| keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let slc_format = (!drive.is_slc_array_new()).then(|| all(resolved.slc_format()));
        Self { device: resolved.spec.name.clone(), format: all(resolved.format()), slc_format, life: life.cloned() }
    }

    /// Returns an error if the snapshot is of a drive with another format.
    fn check(self, resolved: &ResolvedDevice) -> Result<(), LoadReason> {
        match self.differences(resolved) {
            keys if keys.is_empty() => Ok(()),
            keys => Err(LoadReason::Other { device: self.device, keys }),
        }
    }

    fn differences(&self, resolved: &ResolvedDevice) -> Vec<(String, String, String)> {
        let slc = self.slc_format.as_ref().map(|there| differences(there, &resolved.slc_format()));
        [differences(&self.format, &resolved.format()), slc.unwrap_or_default()].concat()
    }
}

/// The keys that differ, each with its value in the snapshot and in this device.
fn differences(there: &BTreeMap<String, String>, here: &[(&'static str, String)]) -> Vec<(String, String, String)> {
    let nothing = || "not there".to_owned();
    let known = here.iter().filter_map(|(key, value)| {
        let there = there.get(*key).cloned().unwrap_or_else(nothing);
        (there != *value).then(|| ((*key).to_owned(), there, value.clone()))
    });
    let more = there.iter().filter(|(key, _)| here.iter().all(|(ours, _)| ours != key));
    known.chain(more.map(|(key, value)| (key.clone(), value.clone(), nothing()))).collect()
}

/// A checksum over the order, position and number of bytes. It detects every change within eight bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Checksum {
    sum: u64,
    word: u64,
    len: u64,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let open = (self.len.wrapping_neg() % 8) as usize;
        let (first, rest) = bytes.split_at(open.min(bytes.len()));
        let (words, last) = rest.as_chunks();
        first.iter().for_each(|byte| self.add_byte(*byte));
        for word in words {
            self.word = u64::from_le_bytes(*word);
            self.mix();
        }
        self.len += 8 * words.len() as u64;
        last.iter().for_each(|byte| self.add_byte(*byte));
    }

    fn add_byte(&mut self, byte: u8) {
        self.word |= u64::from(byte) << (self.len % 8 * 8);
        self.len += 1;
        if self.len.is_multiple_of(8) {
            self.mix();
        }
    }

    fn mix(&mut self) {
        self.sum = (self.sum ^ std::mem::take(&mut self.word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn value(mut self) -> u64 {
        self.mix();
        self.word = self.len;
        self.mix();
        self.sum
    }
}

/// A writer that adds all bytes to the checksum and passes them on.
struct ChecksumWriter<W> {
    to: W,
    checksum: Checksum,
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.checksum.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes the state of a drive.
///
/// # Errors
/// If the writer fails.
pub fn save<S: Sector>(drive: &Ssd<S>, to: impl Write) -> io::Result<()> {
    save_life(drive, None, to)
}

/// Writes the state of a drive, and its life if it has begun one.
///
/// # Errors
///
/// If the writer fails.
pub(crate) fn save_life<S: Sector>(drive: &Ssd<S>, life: Option<&Life>, to: impl Write) -> io::Result<()> {
    let mut file = ChecksumWriter { to, checksum: Checksum::default() };
    file.write_all(&MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    let mut compressed = BufWriter::with_capacity(BUFFER, zstd::Encoder::new(file, LEVEL)?);
    let header = toml::to_string(&Header::of(drive, life)).map_err(io::Error::other)?;
    compressed.write_all(&(header.len() as u32).to_le_bytes())?;
    compressed.write_all(header.as_bytes())?;
    drive.save(&mut compressed)?;
    let compressed = compressed.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut file = compressed.finish()?;
    let sum = file.checksum.value();
    file.write_all(&sum.to_le_bytes())?;
    file.flush()
}

/// A snapshot in memory.
#[derive(Clone)]
pub struct State(Arc<[u8]>);

impl State {
    /// Takes these bytes as a snapshot.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// Loads a drive, see [`load`].
    ///
    /// # Errors
    ///
    /// If the state is of a drive with another format of its data.
    pub(crate) fn load<S: Sector>(&self, resolved: &ResolvedDevice, seed: u64) -> Result<Ssd<S>, LoadError> {
        let drive = read(&mut io::Cursor::new(&self.0[..]), resolved, seed);
        drive.map_err(|reason| LoadError { path: PathBuf::from("the state"), reason })
    }

    /// True if a drive with this description can start from the state.
    #[must_use]
    pub fn is_of(&self, resolved: &ResolvedDevice) -> bool {
        header(&mut io::Cursor::new(&self.0[..])).is_ok_and(|(header, _)| header.differences(resolved).is_empty())
    }
}

/// Loads a drive from a snapshot. The drive starts as after a power cycle: its FTL recovers its tables from the flash.
/// The drive keeps the history of its preconditioning.
///
/// # Errors
///
/// If the file cannot be read, is not a complete snapshot, or is of a drive with another format of its data.
pub fn load<S: Sector>(path: &Path, resolved: &ResolvedDevice, seed: u64) -> Result<Ssd<S>, LoadError> {
    let read = || {
        let mut file = BufReader::new(File::open(path).map_err(SnapshotError::Io)?);
        read(&mut file, resolved, seed)
    };
    read().map_err(|reason| LoadError { path: path.to_owned(), reason })
}

/// Loads the drive that was saved after preconditioning: a run on it has the same events as on the saved drive.
///
/// # Errors
///
/// As [`load`].
pub(crate) fn load_preconditioned<S: Sector>(
    path: &Path,
    resolved: &ResolvedDevice,
    seed: u64,
) -> Result<Ssd<S>, LoadError> {
    load(path, resolved, seed).map(Ssd::as_preconditioned)
}

/// Checks that the snapshot in a file is of a drive with this drive's format of data. Only the header of the file is
/// read.
///
/// # Errors
///
/// If the file cannot be read, is not a snapshot of this version, or is of another drive.
pub(crate) fn check_device(path: &Path, resolved: &ResolvedDevice) -> Result<(), LoadError> {
    let read = || -> Result<(), LoadReason> {
        let mut file = BufReader::new(File::open(path).map_err(SnapshotError::Io)?);
        check_version(&mut file)?;
        described(&mut Plain(zstd::Decoder::new(file).map_err(SnapshotError::Io)?))?.check(resolved)
    };
    read().map_err(|reason| LoadError { path: path.to_owned(), reason })
}

/// The life in a snapshot, if it has one. Only the header of the file is read.
///
/// # Errors
///
/// If the file cannot be read, or is not a snapshot of this version.
pub(crate) fn life(path: &Path) -> Result<Option<Life>, LoadError> {
    let read = || -> Result<Option<Life>, LoadReason> {
        let mut file = BufReader::new(File::open(path).map_err(SnapshotError::Io)?);
        check_version(&mut file)?;
        Ok(described(&mut Plain(zstd::Decoder::new(file).map_err(SnapshotError::Io)?))?.life)
    };
    read().map_err(|reason| LoadError { path: path.to_owned(), reason })
}

/// Reads the description of the drive of which a snapshot was taken.
fn described(plain: &mut impl Read) -> Result<Header, LoadReason> {
    let mut bytes = [0; 4];
    plain.read_exact(&mut bytes)?;
    let len = u32::from_le_bytes(bytes);
    if len > HEADER_MAX {
        return Err(SnapshotError::Damaged.into());
    }
    let mut text = String::new();
    plain.by_ref().take(len.into()).read_to_string(&mut text)?;
    Ok(toml::from_str(&text).map_err(|_| SnapshotError::Damaged)?)
}

fn read<S: Sector>(from: &mut (impl Read + Seek), resolved: &ResolvedDevice, seed: u64) -> Result<Ssd<S>, LoadReason> {
    let (header, mut plain) = header(from)?;
    header.check(resolved)?;
    let drive = Ssd::load(resolved, seed, &mut plain)?;
    if plain.read(&mut [0])? > 0 {
        return Err(SnapshotError::Damaged.into());
    }
    Ok(drive)
}

/// Checks a snapshot and reads its header. The rest is the state of the drive.
fn header<R: Read + Seek>(from: &mut R) -> Result<(Header, impl Read + use<'_, R>), LoadReason> {
    let len = check(from)?;
    // The checksum has been verified, because the decoder trusts the bytes.
    from.seek(SeekFrom::Start(FRONT as u64)).map_err(SnapshotError::Io)?;
    let plain = Plain(zstd::Decoder::new(from.take(len - FRONT as u64)).map_err(SnapshotError::Io)?);
    let mut plain = BufReader::with_capacity(BUFFER, plain);
    Ok((described(&mut plain)?, plain))
}

/// Checks that a file is a complete snapshot of this version. Returns its length without the checksum.
fn check(from: &mut impl Read) -> Result<u64, SnapshotError> {
    let mut bytes = check_version(from)?;
    let mut checksum = Checksum::default();
    // The last bytes read so far may be the checksum, so they are not hashed yet.
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(SnapshotError::Io)?,
        };
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..read]);
        let sure = bytes.len().saturating_sub(SUM as usize);
        checksum.add(&bytes[..sure]);
        bytes.drain(..sure);
    }
    let sum = <[u8; SUM as usize]>::try_from(&bytes[..]).map_err(|_| SnapshotError::Damaged)?;
    if u64::from_le_bytes(sum) == checksum.value() { Ok(checksum.len) } else { Err(SnapshotError::Damaged) }
}

/// Reads the first bytes of a file and checks that it is a snapshot of this version.
fn check_version(from: &mut impl Read) -> Result<Vec<u8>, SnapshotError> {
    let mut bytes = Vec::new();
    from.by_ref().take(FRONT as u64).read_to_end(&mut bytes).map_err(SnapshotError::Io)?;
    if bytes.starts_with(&ZSTD) {
        return Err(SnapshotError::Version(2));
    }
    let Some(version) = bytes.strip_prefix(&MAGIC) else { return Err(SnapshotError::Foreign) };
    match <[u8; 4]>::try_from(version).map(u32::from_le_bytes) {
        Ok(VERSION) => Ok(bytes),
        Ok(version) => Err(SnapshotError::Version(version)),
        Err(_) => Err(SnapshotError::Damaged),
    }
}

/// The decompressed bytes. An error of decompression means that the file was changed or truncated.
struct Plain<R>(R);

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| io::Error::new(io::ErrorKind::UnexpectedEof, error))
    }
}

#[cfg(test)]
mod tests;
