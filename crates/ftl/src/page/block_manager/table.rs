//! The state of every superblock: its phase of life, its valid mapping units, and its pins.

use base::prefetch::prefetch;
use base::units::{Psn, SuperblockId};
use flash::nand::{Geometry, Mode, Stream};

/// The life of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::page) enum State {
    /// Erased, in the free list of its pool.
    #[default]
    Free,
    /// Open for programs.
    Open,
    /// No longer open; programs are in progress.
    Full,
    /// A candidate for garbage collection.
    Closed,
    /// Garbage collection moves its valid mapping units.
    Victim,
    /// An erase is in progress.
    Erasing,
    /// Out of use.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
struct Info {
    valid: u32,
    /// Reads in progress, and slots gathered for copies.
    pins: u32,
    /// Programs in progress, and mapping units in them that the map unit has not answered for.
    programs: u32,
    state: State,
    /// True if a program failed in it: it will be emptied and retired.
    failing: bool,
    /// True if it holds translation pages.
    map: bool,
    /// The stream that it was opened for.
    stream: Stream,
    /// The mode that it was opened in.
    mode: Mode,
}

/// The table of superblocks and a bit for every valid slot.
#[derive(Clone, Debug)]
pub(in crate::page) struct BlockTable {
    geometry: Geometry,
    info: Vec<Info>,
    valid: Vec<u64>,
}

impl BlockTable {
    pub(in crate::page) fn new(geometry: &Geometry) -> Self {
        Self {
            info: vec![Info::default(); geometry.superblock_count() as usize],
            valid: vec![0; geometry.slot_count().div_ceil(64) as usize],
            geometry: geometry.clone(),
        }
    }

    /// Bytes of memory of the table.
    pub(in crate::page) fn memory(geometry: &Geometry) -> u64 {
        u64::from(geometry.superblock_count()) * size_of::<Info>() as u64 + u64::from(geometry.slot_count()) / 8
    }

    #[inline]
    pub(in crate::page) fn state(&self, superblock: SuperblockId) -> State {
        self.info[superblock.index()].state
    }

    pub(in crate::page) fn set_state(&mut self, superblock: SuperblockId, state: State) {
        self.info[superblock.index()].state = state;
    }

    pub(in crate::page) fn is_failing(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].failing
    }

    pub(in crate::page) fn set_failing(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].failing = true;
    }

    #[inline]
    pub(in crate::page) fn is_map(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].map
    }

    pub(in crate::page) fn set_map(&mut self, superblock: SuperblockId, map: bool) {
        self.info[superblock.index()].map = map;
    }

    pub(in crate::page) fn stream(&self, superblock: SuperblockId) -> Stream {
        self.info[superblock.index()].stream
    }

    pub(in crate::page) fn set_stream(&mut self, superblock: SuperblockId, stream: Stream) {
        self.info[superblock.index()].stream = stream;
    }

    #[inline]
    pub(in crate::page) fn mode(&self, superblock: SuperblockId) -> Mode {
        self.info[superblock.index()].mode
    }

    pub(in crate::page) fn set_mode(&mut self, superblock: SuperblockId, mode: Mode) {
        self.info[superblock.index()].mode = mode;
    }

    #[inline]
    pub(in crate::page) fn valid(&self, superblock: SuperblockId) -> u32 {
        self.info[superblock.index()].valid
    }

    #[inline]
    pub(in crate::page) fn is_valid(&self, psn: Psn) -> bool {
        self.valid[psn.index() / 64] >> (psn.index() % 64) & 1 != 0
    }

    /// Prefetches what [`Self::mark_invalid`] needs of a slot.
    #[inline]
    pub(in crate::page) fn fetch(&self, psn: Psn, superblock: SuperblockId) {
        prefetch(self.valid.get(psn.index() / 64));
        prefetch(self.info.get(superblock.index()));
    }

    #[inline]
    pub(in crate::page) fn mark_valid(&mut self, psn: Psn) {
        self.mark_valid_in(psn, self.geometry.locate(psn).0);
    }

    /// The same for a slot whose superblock the caller knows, without a division.
    #[inline]
    pub(in crate::page) fn mark_valid_in(&mut self, psn: Psn, superblock: SuperblockId) {
        debug_assert!(!self.is_valid(psn) && self.geometry.locate(psn).0 == superblock);
        self.valid[psn.index() / 64] |= 1 << (psn.index() % 64);
        self.info[superblock.index()].valid += 1;
    }

    /// Returns the slot's superblock.
    #[inline]
    pub(in crate::page) fn mark_invalid(&mut self, psn: Psn) -> SuperblockId {
        assert!(self.is_valid(psn), "{psn} becomes invalid twice");
        self.valid[psn.index() / 64] &= !(1 << (psn.index() % 64));
        let (superblock, _) = self.geometry.locate(psn);
        self.info[superblock.index()].valid -= 1;
        superblock
    }

    /// A slot of one superblock takes the place of a slot of another. The caller counts both, with
    /// [`Self::add_valid`] and [`Self::take_valid`].
    #[inline]
    pub(in crate::page) fn move_valid(&mut self, from: Psn, to: Psn) {
        assert!(self.is_valid(from), "{from} becomes invalid twice");
        debug_assert!(!self.is_valid(to));
        self.valid[from.index() / 64] &= !(1 << (from.index() % 64));
        self.valid[to.index() / 64] |= 1 << (to.index() % 64);
    }

    /// Counts slots of a superblock as valid, of which [`Self::move_valid`] has made them.
    pub(in crate::page) fn add_valid(&mut self, superblock: SuperblockId, slots: u32) {
        self.info[superblock.index()].valid += slots;
    }

    /// Counts slots of a superblock as invalid, of which [`Self::move_valid`] has made them.
    pub(in crate::page) fn take_valid(&mut self, superblock: SuperblockId, slots: u32) {
        self.info[superblock.index()].valid -= slots;
    }

    /// The valid slots of a superblock from `offset` on.
    #[inline]
    pub(in crate::page) fn valid_slots(&self, superblock: SuperblockId, offset: u32) -> ValidSlots<'_> {
        let (first, slots) = (self.geometry.slot(superblock, 0).index(), self.geometry.superblock_slots());
        let (at, end) = (first + offset as usize, first + slots as usize);
        let word = if at < end { self.valid[at / 64] & (u64::MAX << (at % 64)) } else { 0 };
        ValidSlots { words: &self.valid, word, base: at / 64 * 64, end }
    }

    /// A program to the superblock starts.
    pub(in crate::page) fn begin_program(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].programs += 1;
    }

    /// A program has ended. Returns true if no other is in progress.
    pub(in crate::page) fn end_program(&mut self, superblock: SuperblockId) -> bool {
        let info = &mut self.info[superblock.index()];
        info.programs -= 1;
        info.programs == 0
    }

    pub(in crate::page) fn has_programs(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].programs > 0
    }

    /// Pins the superblock, whose content a read or a copy needs: it is not erased meanwhile.
    #[inline]
    pub(in crate::page) fn pin(&mut self, superblock: SuperblockId) {
        self.pin_times(superblock, 1);
    }

    /// Pins it for so many copies.
    #[inline]
    pub(in crate::page) fn pin_times(&mut self, superblock: SuperblockId, pins: u32) {
        self.info[superblock.index()].pins += pins;
    }

    /// Returns true if that was the last pin.
    #[inline]
    pub(in crate::page) fn unpin(&mut self, superblock: SuperblockId) -> bool {
        self.unpin_times(superblock, 1)
    }

    /// Unpins it for so many copies. Returns true if those were the last pins.
    #[inline]
    pub(in crate::page) fn unpin_times(&mut self, superblock: SuperblockId, pins: u32) -> bool {
        let info = &mut self.info[superblock.index()];
        info.pins = info.pins.checked_sub(pins).expect("a pin for every unpin");
        info.pins == 0
    }

    #[inline]
    pub(in crate::page) fn is_pinned(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].pins > 0
    }
}

/// The valid slots of a superblock, in order.
#[derive(Clone, Debug)]
pub(in crate::page) struct ValidSlots<'a> {
    words: &'a [u64],
    /// The bits of the present word that are left, and the slot of its first bit.
    word: u64,
    base: usize,
    /// The slot behind the superblock.
    end: usize,
}

impl Iterator for ValidSlots<'_> {
    type Item = Psn;

    #[inline]
    fn next(&mut self) -> Option<Psn> {
        while self.word == 0 {
            self.base += 64;
            if self.base >= self.end {
                return None;
            }
            self.word = self.words[self.base / 64];
        }
        let slot = self.base + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        (slot < self.end).then(|| Psn::new(slot as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn valid_slots_are_found_in_order(marks in prop::collection::btree_set(0u32..300, 0..80)) {
            let geometry = Geometry::new(1, 1, 1, 1, 1, 3, 100, 1, 1).expect("small");
            let mut blocks = BlockTable::new(&geometry);
            marks.iter().for_each(|psn| blocks.mark_valid(Psn::new(*psn)));
            for superblock in 0..3 {
                let id = SuperblockId::new(superblock);
                let (first, end) = (superblock * 100, (superblock + 1) * 100);
                prop_assert_eq!(blocks.valid(id) as usize, marks.range(first..end).count());
                for offset in 0..=100 {
                    let found: Vec<_> = blocks.valid_slots(id, offset).map(Psn::get).collect();
                    prop_assert_eq!(found, marks.range(first + offset..end).copied().collect::<Vec<_>>());
                }
            }
        }
    }
}
