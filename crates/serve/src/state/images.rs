//! A log of translation pages. If a process is killed while it appends a page, the incomplete entry is the last one and
//! is ignored: no spare area names its page yet.
//!
//! ```text
//! entry   0 page   4 version   8 place   12 words   16 checksum of the words   20 checksum of the header   24 words
//! ```
//!
//! Each page has two places, and the last entry of a place counts. When most of the log consists of older entries, a
//! new log replaces it.

use std::io;
use std::sync::Arc;

use flash::nand::ImageRecord;

use super::error::{DamagedPlace, FileOperation, StateError};
use super::folder::{Folder, Raw};

/// Bytes of the header of an entry.
const HEADER: usize = 24;
/// Bytes of the header before its checksum.
const BODY: usize = 20;
/// A log shorter than this is not replaced. The limit is small in tests, so that processes die during a replacement.
const SMALL: u64 = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// The position of the last entry of a place.
#[derive(Clone, Copy, Debug)]
struct ImageEntry {
    at: u64,
    len: u64,
}

#[derive(Debug)]
pub(super) struct ImageLog {
    folder: Arc<dyn Folder>,
    name: String,
    file: Arc<dyn Raw>,
    /// True if a new log is synchronised with its disk before it replaces this log.
    is_synced: bool,
    end: u64,
    /// Bytes of the entries that count.
    live: u64,
    entries: Vec<[Option<ImageEntry>; 2]>,
    bytes: Vec<u8>,
}

/// The checksum of a header at an offset of the log.
fn check(at: u64, body: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&at.to_le_bytes());
    hasher.update(body);
    hasher.finalize().to_le_bytes()
}

fn seal(at: u64, header: &mut [u8]) {
    let check = check(at, &header[..BODY]);
    header[BODY..HEADER].copy_from_slice(&check);
}

fn small(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

impl ImageLog {
    /// Creates an empty log; earlier content of the file is removed.
    pub(super) fn create(folder: &Arc<dyn Folder>, name: String, is_synced: bool) -> Result<Self, StateError> {
        let log = Self::over(folder, name, is_synced)?;
        log.file.set_size(0).map_err(|error| StateError::io(folder.path(&log.name), FileOperation::Write, error))?;
        Ok(log)
    }

    fn over(folder: &Arc<dyn Folder>, name: String, is_synced: bool) -> Result<Self, StateError> {
        let file =
            folder.open(&name).map_err(|error| StateError::io(folder.path(&name), FileOperation::Create, error))?;
        let folder = Arc::clone(folder);
        Ok(Self { folder, name, file, is_synced, end: 0, live: 0, entries: Vec::new(), bytes: Vec::new() })
    }

    /// Reads a log, and passes each page to `recall`, in the order of the entries.
    pub(super) fn open(
        folder: &Arc<dyn Folder>,
        name: String,
        is_synced: bool,
        mut recall: impl FnMut(ImageRecord<'_>),
    ) -> Result<Self, StateError> {
        let mut log = Self::over(folder, name, is_synced)?;
        let path = folder.path(&log.name);
        let io = |doing| {
            let path = path.clone();
            move |error| StateError::io(path, doing, error)
        };
        let size = log.file.size().map_err(io(FileOperation::Read))?;
        let mut words = Vec::new();
        while log.end + HEADER as u64 <= size {
            let mut header = [0; HEADER];
            log.file.read(log.end, &mut header).map_err(io(FileOperation::Read))?;
            let damaged = || StateError::Damaged { path: path.clone(), place: DamagedPlace::Record { byte: log.end } };
            let (page, version, count) = (small(&header, 0), small(&header, 4), small(&header, 12));
            if header[BODY..] != check(log.end, &header[..BODY]) || header[8] > 1 {
                return Err(damaged());
            }
            let len = u64::from(count) * 4;
            if log.end + HEADER as u64 + len > size {
                break;
            }
            log.bytes.resize(len as usize, 0);
            log.file.read(log.end + HEADER as u64, &mut log.bytes).map_err(io(FileOperation::Read))?;
            if crc32fast::hash(&log.bytes) != small(&header, 16) {
                return Err(damaged());
            }
            words.clear();
            words.extend(log.bytes.chunks_exact(4).map(|word| small(word, 0)));
            recall(ImageRecord { page, place: header[8], version, entries: &words });
            log.note(page, header[8], HEADER as u64 + len);
        }
        log.file.set_size(log.end).map_err(io(FileOperation::Write))?;
        Ok(log)
    }

    /// The name of the log's file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Notes an entry of `len` bytes at the end of the log.
    fn note(&mut self, page: u32, place: u8, len: u64) {
        if self.entries.len() <= page as usize {
            self.entries.resize(page as usize + 1, [None; 2]);
        }
        let entry = ImageEntry { at: self.end, len };
        let before = self.entries[page as usize][usize::from(place)].replace(entry);
        self.live = self.live + len - before.map_or(0, |before| before.len);
        self.end += len;
    }

    /// Appends a page.
    pub(super) fn append(&mut self, image: ImageRecord<'_>) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.resize(HEADER, 0);
        image.entries.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_le_bytes()));
        let sum = crc32fast::hash(&self.bytes[HEADER..]);
        let header = &mut self.bytes[..HEADER];
        header[..4].copy_from_slice(&image.page.to_le_bytes());
        header[4..8].copy_from_slice(&image.version.to_le_bytes());
        header[8] = image.place;
        header[12..16].copy_from_slice(&(image.entries.len() as u32).to_le_bytes());
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        seal(self.end, header);
        self.file.write(self.end, &self.bytes)?;
        self.note(image.page, image.place, self.bytes.len() as u64);
        if self.end > SMALL.max(3 * self.live) {
            self.replace()?;
        }
        Ok(())
    }

    /// Writes a new log with the entries that count, and replaces this log by it.
    fn replace(&mut self) -> io::Result<()> {
        let new = format!("{}.new", self.name);
        let file = self.folder.open(&new)?;
        file.set_size(0)?;
        let mut end = 0;
        let mut entries = self.entries.clone();
        for entry in entries.iter_mut().flatten().flatten() {
            self.bytes.resize(entry.len as usize, 0);
            self.file.read(entry.at, &mut self.bytes)?;
            seal(end, &mut self.bytes);
            file.write(end, &self.bytes)?;
            entry.at = end;
            end += entry.len;
        }
        if self.is_synced {
            // The content must be on the disk before the name.
            self.folder.sync(std::slice::from_ref(&new))?;
        }
        self.folder.rename(&new, &self.name)?;
        (self.file, self.end, self.live, self.entries) = (file, end, end, entries);
        Ok(())
    }
}
