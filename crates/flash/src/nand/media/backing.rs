//! The backing store: a place outside memory where a drive keeps its flash, so that the flash survives the process.
//!
//! The media do no input or output. They report every change to a [`BackingStore`], and ask it for content. The order
//! of the calls is the order of the changes on flash: after each call, the store holds a state that a power cut could
//! leave.

use std::fmt;

use base::units::{BlockId, Psn, SuperblockId};

use super::{Media, Mode, Stream, Target};
use crate::nand::media::preconditioned::PreconditionedSlot;
use crate::nand::media::writes::Writes;
use crate::nand::{Geometry, Spare};

/// A slot of a programmed page, as a backing store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRecord {
    /// The spare area that was programmed with the slot.
    pub spare: Spare,
    /// True if the data is uncorrectable.
    pub lost: bool,
    /// True if the program of the slot's page failed, so that its block takes no more.
    pub failed: bool,
    /// Erases of the slot's block at the program. A slot with fewer than the block has now was programmed before the
    /// last erase, and is empty.
    pub erases: u32,
    /// The position of the block's opening among all openings.
    pub opened: u64,
    /// The stream for which the block was opened.
    pub stream: Stream,
    /// The mode in which the block was opened.
    pub mode: Mode,
}

/// A block, as a backing store keeps it; the rest of the block's state follows from its slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Program/erase cycles.
    pub erases: u32,
    /// Erases that ended a use in SLC mode.
    pub slc_erases: u32,
    /// True if the block is bad and must not be used.
    pub bad: bool,
    /// True if the block's die has failed as a whole.
    pub dead: bool,
    /// The number of openings of all blocks before this record was made.
    pub openings: u64,
}

/// The content of a translation page, as a backing store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageRecord<'a> {
    /// Number of the page in its block, from 0.
    pub page: u32,
    /// The index of one of the two places of a page. The record replaces the earlier content of the place.
    pub place: u8,
    /// The version of the content, as in the spare area.
    pub version: u32,
    /// The words of the page.
    pub entries: &'a [u32],
}

/// The answer of a backing store to a question for the content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredContent {
    /// The content has been copied into the buffer.
    Stored,
    /// The store has no content for the slot, because it follows from the spare area.
    Derived,
    /// The content has changed since it was programmed, or cannot be read.
    Damaged,
}

/// A slot that is programmed, and the bytes of its content if the store must keep it.
pub type ProgrammedSlot<'a> = (SlotRecord, Option<&'a [u8]>);

/// Stores a flash array: the records of its slots and blocks, the content of slots, and translation pages.
pub trait BackingStore: fmt::Debug + Send + Sync {
    /// Stores the slots of one program, from `first` on. Their content must be stored before their records.
    fn program(&mut self, first: Psn, slots: &mut dyn Iterator<Item = ProgrammedSlot<'_>>);

    /// Replaces the records of programmed slots, from `first` on. Their content stays.
    fn change(&mut self, first: Psn, slots: &mut dyn Iterator<Item = SlotRecord>);

    /// Replaces the records of blocks, from `first` on.
    fn retire(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>);

    /// Replaces the records of blocks, from `first` on. Their slots, from slot `slots.start` to before `slots.end`,
    /// have been erased.
    fn erase(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>, slots: std::ops::Range<u32>);

    /// Stores a translation page, before the program that makes it count.
    fn image(&mut self, image: ImageRecord<'_>);

    /// Copies the content of a slot into `into`.
    fn read(&self, psn: Psn, into: &mut [u8]) -> StoredContent;

    /// Stops the drive, because the content of this slot is damaged and the caller has no way to report it.
    fn refuse(&self, psn: Psn);

    /// A store in memory with the same content, for a copy of the drive.
    fn duplicate(&self) -> Box<dyn BackingStore>;
}

/// The backing store of an array, if it has one.
#[derive(Debug, Default)]
pub(super) struct Backing {
    store: Option<Box<dyn BackingStore>>,
    /// Translation pages that are not stored yet, as page and place.
    staged: Vec<(u32, u8)>,
}

impl Clone for Backing {
    fn clone(&self) -> Self {
        Self { store: self.store.as_ref().map(|store| store.duplicate()), staged: self.staged.clone() }
    }
}

impl Backing {
    #[inline]
    pub(super) const fn is_some(&self) -> bool {
        self.store.is_some()
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&dyn BackingStore> {
        self.store.as_deref()
    }

    /// Notes a translation page that must be stored before the next program.
    pub(super) fn stage(&mut self, page: u32, place: u8) {
        if self.store.is_some() {
            self.staged.push((page, place));
        }
    }
}

/// The reason why a record contradicts the records before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A slot has been programmed after more erases of its block than there were.
    Erases {
        /// The erase count in the slot's record.
        slot: u32,
        /// The erase count in the block's record.
        block: u32,
    },
    /// A spare area names a mapping unit that the array cannot hold.
    Spare,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Erases { slot, block } => {
                write!(f, "was programmed after erase {slot} of its block, which had {block}")
            }
            Self::Spare => f.write_str("names a mapping unit that the array cannot hold"),
        }
    }
}

impl std::error::Error for Contradiction {}

/// Restores an array from its backing store: first all blocks, then all slots and translation pages, and then the store
/// is attached.
impl Media {
    /// Restores a block of a new array from its record.
    pub fn recall_block(&mut self, block: BlockId, record: BlockRecord) {
        let state = &mut self.blocks[block.index()];
        let before = std::mem::replace(&mut state.bad, record.bad);
        (state.erases, state.slc_erases) = (record.erases, record.slc_erases);
        self.bad = self.bad + u64::from(record.bad) - u64::from(before);
        self.births = self.births.max(record.openings);
        let die = self.geometry.die_of(self.geometry.superblock_of(block));
        if record.dead && !self.dead_dies.contains(&die) {
            self.dead_dies.push(die);
        }
    }

    /// Restores a slot from its record. Returns false if its block has been erased since, so that the slot is empty.
    ///
    /// # Errors
    ///
    /// If the record contradicts the record of its block or the shape of the array.
    pub fn recall_slot(&mut self, psn: Psn, record: SlotRecord) -> Result<bool, Contradiction> {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        // Planes of a superblock that were not erased together hold no data, see `attach`.
        let erases = self.erases(superblock);
        let block = self.geometry.block(superblock, plane).index();
        let state = &mut self.blocks[block];
        if record.erases > erases {
            return Err(Contradiction::Erases { slot: record.erases, block: erases });
        }
        if record.erases < erases {
            return Ok(false);
        }
        state.next_page = state.next_page.max(page + 1);
        (state.opened, state.stream, state.mode) = (record.opened, record.stream, record.mode);
        self.births = self.births.max(record.opened + 1);
        if !self.spares.set_word(psn.index(), record.spare.pack()) {
            return Err(Contradiction::Spare);
        }
        if record.lost {
            self.unreadable.insert(psn.get());
        }
        if record.failed {
            self.set_failing(superblock, plane, true);
        }
        Ok(true)
    }

    /// Restores a translation page from its record.
    pub fn recall_image(&mut self, image: ImageRecord<'_>) {
        self.images.put(image.page, usize::from(image.place), image.version, image.entries);
    }

    /// Keeps the array from now on in `store`, from which it was restored. Blocks of a superblock that were not erased
    /// together count as torn by a power cut in their erase.
    pub fn attach(&mut self, store: Box<dyn BackingStore>) {
        (self.payload, self.writes) = (Vec::new(), Writes::new(&self.geometry, self.kind));
        self.backing = Backing { store: Some(store), staged: Vec::new() };
        self.find_sparse();
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            let erases = self.erases(superblock);
            if self.planes(superblock).iter().all(|block| block.erases == erases) {
                continue;
            }
            for plane in 0..self.geometry.stripe {
                let block = self.block_mut(superblock, plane);
                (block.erases, block.opened) = (erases, 0);
                (block.stream, block.mode) = (Stream::default(), Mode::default());
                self.set_failing(superblock, plane, false);
            }
            self.store_erase(superblock);
            self.tear_erase(superblock);
        }
    }

    /// Moves the array from memory into `store`, which must be empty, and keeps it there from now on.
    pub fn keep_in(&mut self, mut store: Box<dyn BackingStore>) {
        let geometry = self.geometry.clone();
        let mut content = vec![0; self.slot_bytes() * geometry.slots as usize];
        for superblock in (0..geometry.superblock_count()).map(SuperblockId::new) {
            let is_new = self.planes(superblock).iter().all(|block| block.erases == 0 && !block.bad);
            if !is_new || superblock.get() == 0 {
                store.retire(geometry.block(superblock, 0), &mut self.block_records(superblock));
            }
            for offset in (0..geometry.superblock_slots()).step_by(geometry.slots as usize) {
                let (page, plane) = geometry.page_and_plane(offset);
                if page >= self.blocks[geometry.block(superblock, plane).index()].next_page {
                    continue;
                }
                let first = geometry.slot(superblock, offset);
                for (slot, into) in (first.get()..).map(Psn::new).zip(content.chunks_exact_mut(self.slot_bytes())) {
                    self.read_payload(slot, self.spare(slot), into);
                }
                self.put_program(&mut *store, first, geometry.slots, &content);
            }
        }
        for (page, place, version, entries) in self.images.places() {
            store.image(ImageRecord { page, place, version, entries });
        }
        (self.payload, self.writes) = (Vec::new(), Writes::new(&self.geometry, self.kind));
        self.backing = Backing { store: Some(store), staged: Vec::new() };
    }

    fn block_records(&self, superblock: SuperblockId) -> impl Iterator<Item = BlockRecord> + '_ {
        let (openings, dead) = (self.births, self.is_dead(superblock));
        let record = move |block: &super::Block| {
            let super::Block { erases, slc_erases, bad, .. } = *block;
            BlockRecord { erases, slc_erases, bad, dead, openings }
        };
        self.planes(superblock).iter().map(record)
    }

    fn slot_record(&self, psn: Psn) -> SlotRecord {
        let (superblock, offset) = self.geometry.locate(psn);
        let (_, plane) = self.geometry.page_and_plane(offset);
        let block = &self.blocks[self.geometry.block(superblock, plane).index()];
        let spare = self.spare(psn);
        SlotRecord {
            spare,
            lost: self.is_unreadable(psn),
            failed: block.failing && spare == Spare::Torn,
            erases: block.erases,
            opened: block.opened,
            stream: block.stream,
            mode: block.mode,
        }
    }

    /// Passes `count` programmed slots to a store, with the content that the store must keep.
    fn put_program(&self, store: &mut dyn BackingStore, first: Psn, count: u32, content: &[u8]) {
        let Geometry { sectors, .. } = self.geometry;
        let slots = (first.get()..first.get() + count).map(Psn::new).zip(content.chunks_exact(self.slot_bytes()));
        let mut slots = slots.map(|(psn, content)| {
            let record = self.slot_record(psn);
            let told = PreconditionedSlot::of(record.spare, sectors);
            let kept = matches!(record.spare, Spare::Data { .. }) && !told.is(self.kind, content);
            (record, kept.then_some(content))
        });
        store.program(first, &mut slots);
    }

    /// Calls `with` with the store, if there is one.
    #[cold]
    fn with_store(&mut self, with: impl FnOnce(&Self, &mut dyn BackingStore)) {
        let Some(mut store) = self.backing.store.take() else { return };
        with(self, &mut *store);
        self.backing.store = Some(store);
    }

    /// True if a store keeps the content of slots, so that memory has none.
    #[inline]
    pub(crate) const fn has_store(&self) -> bool {
        self.backing.is_some()
    }

    /// Passes a program that has taken place to the store, after the translation pages that wait.
    #[inline(never)]
    pub(super) fn store_program(&mut self, target: Target, count: u32, payload: &[u8]) {
        let staged = std::mem::take(&mut self.backing.staged);
        let first = self.geometry.slot(target.superblock, target.offset);
        self.with_store(|media, store| {
            for (page, place) in &staged {
                if let Some((version, entries)) = media.images.at(*page, usize::from(*place)) {
                    store.image(ImageRecord { page: *page, place: *place, version, entries });
                }
            }
            media.put_program(store, first, count, payload);
        });
        self.backing.staged = staged;
        self.backing.staged.clear();
    }

    /// Passes the present state of programmed slots to the store, from `first` on.
    pub(super) fn store_change(&mut self, first: Psn, count: u32) {
        let slots = first.get()..first.get() + count;
        self.with_store(|media, store| {
            store.change(first, &mut slots.map(|psn| media.slot_record(Psn::new(psn))));
        });
    }

    /// Passes the end of an erase to the store.
    pub(super) fn store_erase(&mut self, superblock: SuperblockId) {
        let first = self.geometry.slot(superblock, 0).get();
        let slots = first..first + self.geometry.superblock_slots();
        self.with_store(|media, store| {
            store.erase(media.geometry.block(superblock, 0), &mut media.block_records(superblock), slots);
        });
    }

    /// Passes the present state of a superblock's blocks to the store.
    pub(super) fn store_blocks(&mut self, superblock: SuperblockId) {
        self.with_store(|media, store| {
            store.retire(media.geometry.block(superblock, 0), &mut media.block_records(superblock));
        });
    }
}

#[cfg(test)]
mod tests;
