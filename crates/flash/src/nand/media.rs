//! The state of a flash array, and the rules of NAND.

use std::collections::{BTreeMap, BTreeSet};

use base::units::{DieId, Lpn, Psn, SuperblockId};

use super::{Faults, Geometry, Image, SectorKind, Spare, endurance::EnduranceSpread};

mod backing;
mod cells;
mod copy;
mod dead_dies;
mod dense;
mod failing;
mod images;
mod layout;
mod memory;
mod mode;
mod payload;
mod preconditioned;
mod prefetch;
mod program;
mod snapshot;
mod snapshot_error;
mod spares;
mod stream;
mod torn;
mod writes;

use backing::Backing;
pub use backing::{BackingStore, BlockRecord, Contradiction, ImageRecord, ProgrammedSlot, SlotRecord, StoredContent};
use cells::CellState;
pub use cells::{ErrorCounters, PageErrors};
use images::Images;
pub use mode::Mode;
use mode::SlcMode;
use payload::Content;
pub(crate) use payload::Contents;
pub use snapshot_error::SnapshotError;
use spares::Spares;
pub use stream::Stream;
use writes::Writes;

/// The opening of a superblock: its position among all openings, and its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockBirth {
    /// The number of blocks opened before this block since the drive was new.
    pub order: u64,
    /// The stream for which the superblock was opened.
    pub stream: Stream,
}

/// The target of a program: slots of one superblock, in order, from a page boundary on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The superblock that the program or erase changes.
    pub superblock: SuperblockId,
    /// Offset of the first slot in the superblock.
    pub offset: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// The position of the opening among all openings. Not a [`BlockBirth`], which would take eight bytes more.
    opened: u64,
    stream: Stream,
    mode: Mode,
    /// The next page that may be programmed; the number of pages if the block must be erased first.
    next_page: u32,
    erases: u32,
    /// Erases that ended a use in SLC mode.
    slc_erases: u32,
    bad: bool,
    /// True if a program has failed in the block since its last erase: the block takes no more.
    failing: bool,
    /// True if a page before the last programmed one was skipped, or its first slot programmed as padding.
    sparse: bool,
}

impl Block {
    const fn birth(&self) -> BlockBirth {
        BlockBirth { order: self.opened, stream: self.stream }
    }
}

/// A flash array: the state of its blocks and spare areas and, if sectors have content, its payload.
#[derive(Clone, Debug)]
pub struct Media {
    geometry: Geometry,
    /// The kind of content that sectors hold.
    kind: SectorKind,
    endurance: u32,
    /// The differences in endurance between blocks; `None` if all blocks reach the rated cycles.
    endurance_spread: Option<EnduranceSpread>,
    one_shot: u32,
    /// The number of pages of a word line of which a torn one damages those before it; 1 if none does.
    paired: u32,
    /// The bits and the rating of SLC mode, if blocks can be in it.
    slc_mode: SlcMode,
    blocks: Vec<Block>,
    spares: Spares,
    /// The content of each block's sectors. Empty with a backing store, which has the content.
    payload: Vec<Content>,
    /// The noted host writes, whose content follows from spare areas. Empty with a backing store.
    writes: Writes,
    backing: Backing,
    /// The content of translation pages.
    images: Images,
    /// Slots with uncorrectable data; empty unless faults are injected.
    unreadable: BTreeSet<u32>,
    /// The slots, among the unreadable ones, that were programmed with unreadable data, until an FTL
    /// [keeps](Media::keep_lost) them so. The value is true if the FTL programs their data again elsewhere.
    tentative: BTreeMap<u32, bool>,
    /// Number of slots programmed with data that could not be read before.
    unreadable_copies: u64,
    /// Dies that have failed as a whole.
    dead_dies: Vec<DieId>,
    faults: Faults,
    /// The state on which the bit errors of pages depend; none if reads have no errors.
    cells: Option<Box<CellState>>,
    births: u64,
    /// The number of bad blocks: a counter, because every point of a time series reads this number.
    bad: u64,
    /// The number of blocks in which a program has failed since their last erase: mostly zero.
    failing: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRead {
    pub(crate) lpn: Lpn,
    pub(crate) version: u32,
    pub(crate) readable: bool,
}

impl Media {
    /// A new array without content: all blocks are erased, and some are bad from the factory if `faults` says so.
    #[must_use]
    pub fn new(geometry: Geometry, endurance: u32, one_shot: u32, mut faults: Faults) -> Self {
        let blocks = (0..geometry.block_count())
            .map(|_| Block { bad: faults.initially_bad(), ..Block::default() })
            .collect::<Vec<_>>();
        Self {
            kind: SectorKind::Nothing,
            endurance,
            endurance_spread: None,
            one_shot,
            paired: 1,
            slc_mode: SlcMode::NONE,
            bad: blocks.iter().filter(|block| block.bad).count() as u64,
            spares: Spares::new(&geometry),
            blocks,
            payload: Vec::new(),
            writes: Writes::new(&geometry, SectorKind::Nothing),
            backing: Backing::default(),
            images: Images::default(),
            unreadable: BTreeSet::new(),
            tentative: BTreeMap::new(),
            unreadable_copies: 0,
            dead_dies: Vec::new(),
            faults,
            cells: None,
            births: 0,
            failing: 0,
            geometry,
        }
    }

    /// Makes the new array one whose sectors hold content of this kind.
    #[must_use]
    pub fn with_content(mut self, kind: SectorKind) -> Self {
        self.kind = kind;
        self.payload = if kind.is_present() { vec![Content::Derived; self.blocks.len()] } else { Vec::new() };
        self.writes = Writes::new(&self.geometry, kind);
        self
    }

    /// The kind of content that sectors hold.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> SectorKind {
        self.kind
    }

    /// The geometry of the array.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The source of faults, to plan faults.
    pub const fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// Program/erase cycles of the most worn block of a superblock.
    #[must_use]
    #[inline]
    pub fn erases(&self, superblock: SuperblockId) -> u32 {
        self.planes(superblock).iter().map(|block| block.erases).max().unwrap_or(0)
    }

    /// Program/erase cycles of every block.
    pub fn all_erases(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().map(|block| block.erases)
    }

    /// True if no program and no read can fail now, and no block refuses programs.
    #[must_use]
    #[inline]
    pub const fn cannot_fail(&self) -> bool {
        !self.faults.are_active() && self.failing == 0 && self.cells.is_none() && self.dead_dies.is_empty()
    }

    /// True if no slot has uncorrectable data.
    #[inline]
    pub(crate) fn is_all_readable(&self) -> bool {
        self.unreadable.is_empty() && self.dead_dies.is_empty()
    }

    /// True if any block of the superblock is bad: the whole superblock is then out of use (Dirik & Jacob, Sec. 3.2).
    #[must_use]
    pub fn is_bad(&self, superblock: SuperblockId) -> bool {
        self.planes(superblock).iter().any(|block| block.bad)
    }

    /// The number of bad blocks at present, whatever made them bad.
    #[must_use]
    pub const fn bad_blocks(&self) -> u64 {
        self.bad
    }

    /// Marks all blocks of a superblock as bad, for good.
    pub fn retire(&mut self, superblock: SuperblockId) {
        for plane in 0..self.geometry.stripe {
            let block = self.block_mut(superblock, plane);
            let new = !std::mem::replace(&mut block.bad, true);
            self.bad += u64::from(new);
        }
        self.store_blocks(superblock);
    }

    /// True if no page has been programmed since the last complete erase.
    #[must_use]
    pub fn is_erased(&self, superblock: SuperblockId) -> bool {
        self.planes(superblock).iter().all(|block| block.next_page == 0)
    }

    /// The page from which on every block of a superblock is erased to its end. `None` if no such page is left, or one
    /// of the blocks takes no program before its next erase.
    #[must_use]
    pub fn unwritten_from(&self, superblock: SuperblockId) -> Option<u32> {
        let blocks = self.planes(superblock);
        let takes = blocks.iter().all(|block| !block.bad && !block.failing);
        let next = blocks.iter().map(|block| block.next_page).max()?;
        (takes && next < self.pages_in(self.mode(superblock))).then_some(next)
    }

    /// The opening of a superblock; meaningless if the superblock is erased.
    #[must_use]
    pub fn birth(&self, superblock: SuperblockId) -> BlockBirth {
        self.planes(superblock).iter().map(Block::birth).max().unwrap_or_default()
    }

    /// The number of openings of blocks since the drive was new, which is the number of the next opening.
    #[must_use]
    pub const fn openings(&self) -> u64 {
        self.births
    }

    /// The spare area of a slot. Recovery and wear-out tools read flash by this call, which takes no simulated time.
    #[must_use]
    #[inline]
    pub fn spare(&self, psn: Psn) -> Spare {
        self.spares.get(psn.index())
    }

    /// True if the data of a slot cannot be read.
    #[must_use]
    #[inline]
    pub fn is_unreadable(&self, psn: Psn) -> bool {
        (!self.unreadable.is_empty() && self.unreadable.contains(&psn.get())) || self.is_in_dead_die(psn)
    }

    /// Stores the content of a version of a translation page, before the page is programmed. The content counts only if
    /// recovery finds the version in a spare area. Of the other versions only the `durable` one is kept.
    ///
    /// Unlike the payload, this content exists for every type of sector: a map is no host data, and a device that only
    /// simulates time must still know where its data is.
    pub fn stage_image(&mut self, page: u32, durable: Option<u32>, version: u32, entries: &[u32]) {
        let place = self.images.stage(page, durable, version, entries);
        self.backing.stage(page, place);
    }

    /// Stores content as [`Self::stage_image`] does, sharing it with its owner. Returns the content that it replaces.
    pub fn stage_shared(&mut self, page: u32, durable: Option<u32>, version: u32, image: Image) -> Image {
        let (place, before) = self.images.stage_shared(page, durable, version, image);
        self.backing.stage(page, place);
        before
    }

    /// The staged content of a version, to be filled: `words` words of four bytes, zero at first.
    ///
    /// # Panics
    ///
    /// If the version was not staged.
    pub fn image_to_fill(&mut self, page: u32, version: u32, words: usize) -> &mut [u32] {
        self.images.fill(page, version, words)
    }

    /// Declares the staged content complete: the next program may make it count.
    ///
    /// # Panics
    ///
    /// If the version was not staged.
    pub fn image_is_filled(&mut self, page: u32, version: u32) {
        let place = self.images.place(page, version).expect("a staged version");
        self.backing.stage(page, place);
    }

    /// Notes that a version of a translation page is durable, and drops the other versions.
    pub fn keep_image(&mut self, page: u32, version: u32) {
        self.images.keep(page, version);
    }

    /// The content of a version of a translation page.
    #[must_use]
    pub fn image(&self, page: u32, version: u32) -> Option<&Image> {
        self.images.get(page, version)
    }

    fn planes(&self, superblock: SuperblockId) -> &[Block] {
        let first = self.geometry.block(superblock, 0).index();
        &self.blocks[first..first + self.geometry.stripe as usize]
    }

    fn block_mut(&mut self, superblock: SuperblockId, plane: u32) -> &mut Block {
        &mut self.blocks[self.geometry.block(superblock, plane).index()]
    }

    /// Checks that a slot lies in a programmed page. [`Media::read`] checks more, but this check avoids the slot's
    /// spare area, which is far away in memory.
    ///
    /// # Panics
    ///
    /// If the page is not programmed.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Nearly every read passes its one caller.
    pub(crate) fn is_readable_at(&self, psn: Psn) -> bool {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        let next_page = self.blocks[self.geometry.block(superblock, plane).index()].next_page;
        assert!(page < next_page, "read of {psn}, which holds no data: page {next_page} is the next erased one");
        !self.is_unreadable(psn)
    }

    /// Reads one slot, and its payload into `into` (empty without payload).
    ///
    /// # Panics
    ///
    /// If the slot holds no data: an FTL must read only slots that it has written.
    #[inline]
    pub(crate) fn read(&mut self, psn: Psn, into: &mut [u8]) -> SlotRead {
        let Spare::Data { lpn, version } = self.spare(psn) else {
            panic!("read of {psn}, which holds no data: {:?}", self.spare(psn));
        };
        let mut readable = !self.is_unreadable(psn);
        if self.kind.is_present() {
            readable &= self.read_payload(psn, Spare::Data { lpn, version }, into);
        }
        SlotRead { lpn, version, readable }
    }

    /// Draws whether the coming page read is uncorrectable, and marks the page.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly faults are off.
    pub(crate) fn read_page(&mut self, psn: Psn) {
        if self.faults.read_fails() {
            let first = psn.get() - psn.get() % self.geometry.slots;
            self.unreadable.extend(first..first + self.geometry.slots);
            self.store_change(Psn::new(first), self.geometry.slots);
        }
    }

    /// Erases the blocks of a superblock. Returns false if the erase of one of them failed.
    ///
    /// # Panics
    ///
    /// On a bad superblock.
    pub(crate) fn erase(&mut self, superblock: SuperblockId) -> bool {
        assert!(!self.is_bad(superblock), "erase of {superblock}, which is bad");
        let mut well = true;
        for plane in 0..self.geometry.stripe {
            let block = self.geometry.block(superblock, plane).index();
            let is_worn_out = self.faults.wear_out() && self.is_worn_out(block);
            well &= !self.faults.erase_fails(is_worn_out) && !self.is_dead(superblock);
            let block = &mut self.blocks[block];
            block.erases += 1;
            block.slc_erases += u32::from(block.mode == Mode::Slc);
            (block.next_page, block.sparse) = (0, false);
            (block.opened, block.stream, block.mode) = (0, Stream::default(), Mode::default());
            self.set_failing(superblock, plane, false);
            if self.kind.is_present() && !self.backing.is_some() {
                let block = self.geometry.block(superblock, plane);
                self.payload[block.index()] = Content::Derived;
            }
        }
        self.note_erase(superblock);
        self.fill_spares(superblock, Spare::Empty);
        self.store_erase(superblock);
        if !well {
            self.tear_erase(superblock);
        }
        well
    }

    fn fill_spares(&mut self, superblock: SuperblockId, spare: Spare) {
        let first = self.geometry.slot(superblock, 0).get();
        let slots = first..first + self.geometry.superblock_slots();
        self.spares.fill(slots.start as usize..slots.end as usize, spare);
        if !self.unreadable.is_empty() {
            let gone: Vec<u32> = self.unreadable.range(slots).copied().collect();
            for slot in gone {
                self.unreadable.remove(&slot);
                self.tentative.remove(&slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Stamp};

    fn media(one_shot: u32) -> Media {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
        Media::new(geometry, 10, one_shot, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp)
    }

    fn program(media: &mut Media, superblock: u32, offset: u32, count: u32) -> bool {
        let target = Target { superblock: SuperblockId::new(superblock), offset };
        let stamps: Vec<Stamp> = (0..count * 2).map(|i| Stamp(u64::from(offset * 2 + i) + 1)).collect();
        let spare = |i: usize| (Spare::Data { lpn: Lpn::new(100 + offset + i as u32), version: 7 }, false);
        media.program_sectors(target, count, (Stream::HOST, Mode::Full), spare, &stamps)
    }

    #[test]
    fn a_programmed_page_reads_back() {
        let mut m = media(1);
        assert!(program(&mut m, 2, 0, 4));
        assert!(program(&mut m, 2, 4, 3));
        let mut data = [Stamp(0); 2];
        let psn = m.geometry.slot(SuperblockId::new(2), 5);
        let read = m.read_sectors(psn, &mut data);
        assert_eq!((read.lpn, read.version, read.readable), (Lpn::new(105), 7, true));
        assert_eq!(data, [Stamp(11), Stamp(12)]);
        assert_eq!(m.spare(m.geometry.slot(SuperblockId::new(2), 7)), Spare::Empty);
    }

    #[test]
    fn the_media_take_the_memory_they_predict() {
        let mut m = media(1);
        // Slots whose sectors come from several writes take the most memory.
        let spare = |i: usize| (Spare::Data { lpn: Lpn::new(i as u32), version: 7 }, false);
        for row in 0..4 * 6 {
            let target = Target { superblock: SuperblockId::new(row / 6), offset: row % 6 * 4 };
            assert!(m.program_sectors(target, 4, (Stream::HOST, Mode::Full), spare, &[Stamp(5); 8]));
        }
        let Spares::Wide(spares) = &m.spares else { panic!("slots are small") };
        let content = |of: &Content| match of {
            Content::Derived => 0,
            Content::Firsts(firsts) => size_of_val(&**firsts),
            Content::Sectors(all) => size_of_val(&**all),
        };
        let payload = size_of_val(&*m.payload) + m.payload.iter().map(content).sum::<usize>();
        let payload = payload + Writes::memory(&m.geometry, SectorKind::Stamp) as usize;
        let taken = [size_of_val(&*m.blocks) + size_of_val(&**spares), payload];
        assert_eq!(Media::memory(&m.geometry, SectorKind::Stamp), taken.map(|bytes| bytes as u64));
    }

    #[test]
    #[should_panic(expected = "is the next erased one")]
    fn a_page_is_not_programmed_twice() {
        let mut m = media(1);
        program(&mut m, 0, 0, 4);
        program(&mut m, 0, 0, 4);
    }

    #[test]
    #[should_panic(expected = "is the next erased one")]
    fn pages_are_programmed_in_order() {
        let mut m = media(1);
        program(&mut m, 0, 8, 4);
        program(&mut m, 0, 4, 4);
    }

    #[test]
    #[should_panic(expected = "more than a word line")]
    fn one_command_programs_one_row() {
        program(&mut media(1), 0, 0, 6);
    }

    #[test]
    fn a_one_shot_command_programs_a_word_line() {
        assert!(program(&mut media(3), 0, 0, 12));
    }

    #[test]
    #[should_panic(expected = "program inside a page")]
    fn a_program_inside_a_page_is_refused() {
        program(&mut media(1), 0, 1, 1);
    }

    #[test]
    #[should_panic(expected = "program of a bad block")]
    fn bad_blocks_are_not_programmed() {
        let mut m = media(1);
        m.retire(SuperblockId::new(0));
        program(&mut m, 0, 0, 1);
    }

    #[test]
    #[should_panic(expected = "which is bad")]
    fn bad_blocks_are_not_erased() {
        let mut m = media(1);
        m.retire(SuperblockId::new(0));
        m.erase(SuperblockId::new(0));
    }

    #[test]
    #[should_panic(expected = "which holds no data")]
    fn erased_pages_are_not_read() {
        let mut m = media(1);
        program(&mut m, 0, 0, 1);
        m.erase(SuperblockId::new(0));
        m.read_sectors(Psn::new(0), &mut [Stamp(0); 2]);
    }

    #[test]
    fn an_erase_empties_the_superblock_and_is_counted() {
        let mut m = media(1);
        program(&mut m, 0, 0, 4);
        assert!(!m.is_erased(SuperblockId::new(0)));
        assert!(m.erase(SuperblockId::new(0)));
        assert!(m.is_erased(SuperblockId::new(0)));
        assert_eq!(m.erases(SuperblockId::new(0)), 1);
        assert!(program(&mut m, 0, 0, 4));
    }

    #[test]
    fn planned_faults_fail_their_operations() {
        let mut m = media(1);
        m.faults_mut().fail_program(1);
        m.faults_mut().fail_erase(0);
        m.faults_mut().fail_read(0);
        assert!(!program(&mut m, 0, 0, 4), "the second page fails");
        assert_eq!(m.spare(Psn::new(2)), Spare::Torn);
        assert!(matches!(m.spare(Psn::new(1)), Spare::Data { .. }));
        m.read_page(Psn::new(1));
        assert!(!m.read_sectors(Psn::new(0), &mut [Stamp(0); 2]).readable, "the page is lost, not the slot alone");
        assert!(!m.erase(SuperblockId::new(0)));
    }

    #[test]
    fn wear_out_fails_the_erase_after_the_last_cycle() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 1, 1, 1, 1).expect("one page");
        let spec = FaultSpec { wear_out: true, ..FaultSpec::default() };
        let mut m = Media::new(geometry, 3, 1, Faults::new(&spec, 1));
        assert_eq!((0..4).map(|_| m.erase(SuperblockId::new(0))).collect::<Vec<_>>(), [true, true, true, false]);
    }

    #[test]
    fn a_power_cut_tears_programs_page_by_page_and_erases_whole() {
        let mut survived = 0;
        for seed in 0..200 {
            let mut m = media(1);
            m.faults = Faults::new(&FaultSpec::default(), seed);
            program(&mut m, 0, 0, 4);
            m.tear_program(Target { superblock: SuperblockId::new(0), offset: 0 }, 4);
            let states: Vec<bool> = (0..4).map(|i| m.spare(Psn::new(i)) != Spare::Torn).collect();
            assert!(states[0] == states[1] && states[2] == states[3]);
            survived += u64::from(states[0]);
        }
        assert!((1..199).contains(&survived), "both happen: {survived}");
        let mut m = media(1);
        program(&mut m, 0, 0, 4);
        m.tear_erase(SuperblockId::new(0));
        assert!(!m.is_erased(SuperblockId::new(0)));
        assert_eq!(m.spare(Psn::new(0)), Spare::Torn);
        assert!(m.erase(SuperblockId::new(0)), "and can be erased again");
    }

    #[test]
    fn a_superblock_opened_later_has_a_later_birth() {
        let mut m = media(1);
        program(&mut m, 1, 0, 4);
        program(&mut m, 0, 0, 4);
        assert!(m.birth(SuperblockId::new(0)) > m.birth(SuperblockId::new(1)));
    }
}
