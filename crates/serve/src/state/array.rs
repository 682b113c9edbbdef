//! The files of one flash array: the content of its slots, the records of slots and blocks, and translation pages.
//!
//! Content lies at its physical place, so the file is as sparse as the flash is empty: an erase gives the range of its
//! block back to the file system. A slot counts only if its record names the erases of its block, so one write of the
//! block's record erases all of its slots.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use base::units::{BlockId, Psn};
use flash::nand::{
    BackingStore, BlockRecord, Geometry, ImageRecord, Media, ProgrammedSlot, SectorKind, SlotRecord, Spare,
    StoredContent,
};

use super::copied::SlotContents;
use super::error::{DamagedPlace, FileOperation, StateError};
use super::folder::{Folder, Raw};
use super::images::ImageLog;
use super::record::{self, BYTES};
use super::shared::StateHealth;

/// Bytes that are read at once when a state is opened.
const CHUNK: usize = 1 << 20;

const CONTENT: &str = "content";
const SLOTS: &str = "slots";
const BLOCKS: &str = "blocks";
const IMAGES: &str = "images";

/// An open file, and its name.
#[derive(Debug)]
struct NamedFile {
    name: String,
    file: Arc<dyn Raw>,
}

#[derive(Debug)]
pub(super) struct ArrayFiles {
    folder: Arc<dyn Folder>,
    shared: Arc<StateHealth>,
    /// The files of all arrays, which are synchronised before an erase: the disk must have the copies of the data before it has the
    /// erase. Empty with [`super::Durability::Process`].
    synced: Vec<String>,
    content: NamedFile,
    slots: NamedFile,
    blocks: NamedFile,
    images: ImageLog,
    slot_bytes: usize,
    /// The checksum of each slot's content; zero if no content is stored.
    sums: Vec<u32>,
    /// Content that is about to be written.
    bytes: Vec<u8>,
    records: Vec<u8>,
}

fn name_of(array: &str, what: &str) -> String {
    format!("{array}.{what}")
}

pub(super) fn names(array: &str) -> [String; 4] {
    [CONTENT, SLOTS, BLOCKS, IMAGES].map(|what| name_of(array, what))
}

/// The sizes of the files of an array: content, slots and blocks.
fn sizes(geometry: &Geometry, kind: SectorKind) -> [u64; 3] {
    let slots = u64::from(geometry.slot_count());
    let content = slots * u64::from(geometry.sectors) * kind.bytes() as u64;
    [content, slots * BYTES as u64, u64::from(geometry.block_count()) * BYTES as u64]
}

pub(super) fn memory(geometry: &Geometry) -> u64 {
    u64::from(geometry.slot_count()) * size_of::<u32>() as u64
}

impl ArrayFiles {
    /// Makes new files for a flash array, and moves the array's content from memory into them.
    pub(super) fn create(
        folder: &Arc<dyn Folder>,
        shared: &Arc<StateHealth>,
        (name, synced): (&str, &[String]),
        media: &mut Media,
    ) -> Result<(), StateError> {
        let images = ImageLog::create(folder, name_of(name, IMAGES), !synced.is_empty())?;
        let array = Self::over(folder, shared, (name, synced), images, media)?;
        let sizes = sizes(media.geometry(), media.kind());
        for (named, size) in [&array.content, &array.slots, &array.blocks].into_iter().zip(sizes) {
            // Truncating first removes the content that an interrupted creation left.
            let sized = named.file.set_size(0).and_then(|()| named.file.set_size(size));
            sized.map_err(|error| StateError::io(folder.path(&named.name), FileOperation::Write, error))?;
        }
        media.keep_in(Box::new(array));
        Ok(())
    }

    /// Opens the files of an array, and restores a new array from them.
    pub(super) fn open(
        folder: &Arc<dyn Folder>,
        shared: &Arc<StateHealth>,
        (name, synced): (&str, &[String]),
        media: &mut Media,
    ) -> Result<(), StateError> {
        let images =
            ImageLog::open(folder, name_of(name, IMAGES), !synced.is_empty(), |image| media.recall_image(image))?;
        let mut array = Self::over(folder, shared, (name, synced), images, media)?;
        let sizes = sizes(media.geometry(), media.kind());
        for (named, expected) in [&array.content, &array.slots, &array.blocks].into_iter().zip(sizes) {
            let found = named
                .file
                .size()
                .map_err(|error| StateError::io(folder.path(&named.name), FileOperation::Read, error))?;
            if found != expected {
                let place = DamagedPlace::Size { found, expected };
                return Err(StateError::Damaged { path: folder.path(&named.name), place });
            }
        }
        array.each_record(&array.blocks, |number, bytes| {
            let block = record::block(number, bytes).ok_or(DamagedPlace::Record { byte: byte_of(number) })?;
            media.recall_block(BlockId::new(number), block);
            Ok(())
        })?;
        let mut sums = std::mem::take(&mut array.sums);
        array.each_record(&array.slots, |number, bytes| {
            let (slot, sum) = record::slot(number, bytes).ok_or(DamagedPlace::Record { byte: byte_of(number) })?;
            let recalled = media.recall_slot(Psn::new(number), slot);
            if recalled.map_err(|why| DamagedPlace::Contradiction { slot: number, why })? {
                sums[number as usize] = sum;
            }
            Ok(())
        })?;
        array.sums = sums;
        media.attach(Box::new(array));
        Ok(())
    }

    fn over(
        folder: &Arc<dyn Folder>,
        shared: &Arc<StateHealth>,
        (name, synced): (&str, &[String]),
        images: ImageLog,
        media: &Media,
    ) -> Result<Self, StateError> {
        let geometry = media.geometry();
        let open = |what| {
            let name = name_of(name, what);
            match folder.open(&name) {
                Ok(file) => Ok(NamedFile { name, file }),
                Err(error) => Err(StateError::io(folder.path(&name), FileOperation::Create, error)),
            }
        };
        Ok(Self {
            content: open(CONTENT)?,
            slots: open(SLOTS)?,
            blocks: open(BLOCKS)?,
            images,
            folder: Arc::clone(folder),
            shared: Arc::clone(shared),
            synced: synced.to_vec(),
            slot_bytes: geometry.sectors as usize * media.kind().bytes(),
            sums: vec![0; geometry.slot_count() as usize],
            bytes: Vec::new(),
            records: Vec::new(),
        })
    }

    /// Passes each record of a file that was ever written to `recall`.
    fn each_record(
        &self,
        named: &NamedFile,
        mut recall: impl FnMut(u32, &[u8]) -> Result<(), DamagedPlace>,
    ) -> Result<(), StateError> {
        let path = || self.folder.path(&named.name);
        let io = |error| StateError::io(path(), FileOperation::Read, error);
        let size = named.file.size().map_err(io)?;
        let mut chunk = Vec::new();
        for at in (0..size).step_by(CHUNK) {
            chunk.resize((size - at).min(CHUNK as u64) as usize, 0);
            named.file.read(at, &mut chunk).map_err(io)?;
            for (number, record) in ((at / BYTES as u64) as u32..).zip(chunk.chunks_exact(BYTES)) {
                if !record::is_blank(record) {
                    recall(number, record).map_err(|place| StateError::Damaged { path: path(), place })?;
                }
            }
        }
        Ok(())
    }

    /// Runs `write` on the files, unless one of them has failed before.
    fn write(&mut self, write: impl FnOnce(&mut Self) -> Result<(), StateError>) {
        if self.shared.has_failed() {
            return;
        }
        if let Err(error) = write(self) {
            self.shared.fail(error);
        }
    }

    fn put(&self, named: &NamedFile, at: u64, bytes: &[u8]) -> Result<(), StateError> {
        let written = named.file.write(at, bytes);
        written.map_err(|error| StateError::io(self.folder.path(&named.name), FileOperation::Write, error))
    }

    /// Writes `bytes`, the content of the slots before `end`.
    fn put_content(&mut self, end: u32) -> Result<(), StateError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let at = u64::from(end) * self.slot_bytes as u64 - self.bytes.len() as u64;
        self.put(&self.content, at, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn put_slots(&self, first: Psn) -> Result<(), StateError> {
        self.put(&self.slots, byte_of(first.get()), &self.records)
    }

    fn put_blocks(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>) -> Result<(), StateError> {
        self.records.clear();
        for (number, block) in (first.get()..).zip(blocks) {
            self.records.extend_from_slice(&record::of_block(number, block));
        }
        self.put(&self.blocks, byte_of(first.get()), &self.records)
    }

    /// Gives the content of slots back to the file system. A file system that cannot take it keeps the bytes, which does no harm.
    fn punch(&self, slots: Range<u32>) -> Result<(), StateError> {
        let (at, bytes) = (u64::from(slots.start), self.slot_bytes as u64);
        match self.content.file.punch(at * bytes, slots.len() as u64 * bytes) {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                Err(StateError::io(self.folder.path(&self.content.name), FileOperation::Write, error))
            }
            _ => Ok(()),
        }
    }

    fn damaged(&self, psn: Psn) -> StateError {
        let byte = u64::from(psn.get()) * self.slot_bytes as u64;
        let place = DamagedPlace::Content { slot: psn.get(), byte };
        StateError::Damaged { path: self.folder.path(&self.content.name), place }
    }
}

/// The offset of a record in its file.
const fn byte_of(number: u32) -> u64 {
    number as u64 * BYTES as u64
}

impl BackingStore for ArrayFiles {
    fn program(&mut self, first: Psn, slots: &mut dyn Iterator<Item = ProgrammedSlot<'_>>) {
        self.write(|array| {
            array.records.clear();
            array.bytes.clear();
            let mut number = first.get();
            for (slot, content) in slots {
                let sum = match content {
                    None => {
                        array.put_content(number)?;
                        0
                    }
                    Some(content) => {
                        array.bytes.extend_from_slice(content);
                        record::sum(content)
                    }
                };
                array.sums[number as usize] = sum;
                array.records.extend_from_slice(&record::of_slot(number, slot, sum));
                number += 1;
            }
            array.put_content(number)?;
            array.put_slots(first)
        });
    }

    fn change(&mut self, first: Psn, slots: &mut dyn Iterator<Item = SlotRecord>) {
        self.write(|array| {
            array.records.clear();
            for (number, slot) in (first.get()..).zip(slots) {
                let sum = &mut array.sums[number as usize];
                *sum = if matches!(slot.spare, Spare::Data { .. }) { *sum } else { 0 };
                array.records.extend_from_slice(&record::of_slot(number, slot, *sum));
            }
            array.put_slots(first)
        });
    }

    fn retire(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>) {
        self.write(|array| array.put_blocks(first, blocks));
    }

    fn erase(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>, slots: Range<u32>) {
        self.write(|array| {
            if !array.synced.is_empty() {
                let synced = array.folder.sync(&array.synced);
                synced.map_err(|error| StateError::io(array.folder.path(""), FileOperation::Sync, error))?;
            }
            array.put_blocks(first, blocks)?;
            array.sums[slots.start as usize..slots.end as usize].fill(0);
            array.punch(slots)
        });
    }

    fn image(&mut self, image: ImageRecord<'_>) {
        self.write(|array| {
            let appended = array.images.append(image);
            appended
                .map_err(|error| StateError::io(array.folder.path(array.images.name()), FileOperation::Write, error))
        });
    }

    fn read(&self, psn: Psn, into: &mut [u8]) -> StoredContent {
        let sum = self.sums[psn.index()];
        if sum == 0 {
            return StoredContent::Derived;
        }
        match self.content.file.read(u64::from(psn.get()) * self.slot_bytes as u64, into) {
            Ok(()) if record::sum(into) == sum => return StoredContent::Stored,
            Ok(()) => self.shared.note(self.damaged(psn)),
            Err(error) => {
                self.shared.note(StateError::io(self.folder.path(&self.content.name), FileOperation::Read, error));
            }
        }
        StoredContent::Damaged
    }

    fn refuse(&self, psn: Psn) {
        self.shared.fail(self.damaged(psn));
    }

    fn duplicate(&self) -> Box<dyn BackingStore> {
        let mut copy = SlotContents::default();
        let mut content = vec![0; self.slot_bytes];
        for psn in (0..self.sums.len() as u32).map(Psn::new) {
            match self.read(psn, &mut content) {
                StoredContent::Stored => copy.keep(psn, &content),
                StoredContent::Derived => {}
                StoredContent::Damaged => copy.lose(psn),
            }
        }
        Box::new(copy)
    }
}
