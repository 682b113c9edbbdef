//! The state of every superblock: its phase of life, its valid mapping units, and its pins.

use std::ops::Range;

use base::prefetch::prefetch;
use base::units::{Psn, SuperblockId};
use flash::nand::{Mode, Stream};

use crate::page::layout::Layout;

/// The phase in the life of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::page) enum SuperblockState {
    /// Erased, in the free list of its pool.
    #[default]
    Free,
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
    /// Reads in progress, and slots gathered for copies: while there are any, the superblock is not erased.
    pins: u32,
    /// Programs in progress, and mapping units in programs for which the map unit has not answered.
    programs: u32,
    state: SuperblockState,
    /// True if a program failed in the superblock: it will be emptied and retired.
    failing: bool,
    /// True if the superblock holds translation pages.
    map: bool,
    /// The stream that the superblock was opened for.
    stream: Stream,
    /// The mode that the superblock was opened in.
    mode: Mode,
    /// The number of the member that the superblock goes on without, plus one; 0 if it has all members.
    missing: u16,
}

/// The state of each superblock, and a bit for every valid slot.
#[derive(Clone, Debug)]
pub(in crate::page) struct BlockTable {
    layout: Layout,
    info: Vec<Info>,
    valid: Vec<u64>,
}

impl BlockTable {
    pub(in crate::page) fn new(layout: &Layout) -> Self {
        Self {
            info: vec![Info::default(); layout.shape.superblock_count() as usize],
            valid: vec![0; layout.array.slot_count().div_ceil(64) as usize],
            layout: layout.clone(),
        }
    }

    pub(in crate::page) fn memory(layout: &Layout) -> u64 {
        let superblocks = u64::from(layout.shape.superblock_count());
        superblocks * size_of::<Info>() as u64 + u64::from(layout.array.slot_count()) / 8
    }

    #[inline]
    pub(in crate::page) fn state(&self, superblock: SuperblockId) -> SuperblockState {
        self.info[superblock.index()].state
    }

    pub(in crate::page) fn set_state(&mut self, superblock: SuperblockId, state: SuperblockState) {
        self.info[superblock.index()].state = state;
    }

    pub(in crate::page) fn is_failing(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].failing
    }

    pub(in crate::page) fn set_failing(&mut self, superblock: SuperblockId, failing: bool) {
        self.info[superblock.index()].failing = failing;
    }

    /// The number of the member that a superblock has lost; `None` if it has all.
    #[inline]
    pub(in crate::page) fn missing(&self, superblock: SuperblockId) -> Option<u32> {
        u32::from(self.info[superblock.index()].missing).checked_sub(1)
    }

    pub(in crate::page) fn set_missing(&mut self, superblock: SuperblockId, member: u32) {
        self.info[superblock.index()].missing = u16::try_from(member + 1).expect("fewer members than 65,536");
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

    /// Prefetches the words of the tables that [`Self::mark_invalid`] of a slot will change.
    #[inline]
    pub(in crate::page) fn prefetch(&self, psn: Psn, superblock: SuperblockId) {
        prefetch(self.valid.get(psn.index() / 64));
        prefetch(self.info.get(superblock.index()));
    }

    #[inline]
    pub(in crate::page) fn mark_valid(&mut self, psn: Psn) {
        self.mark_valid_in(psn, self.layout.locate(psn).0);
    }

    /// Marks a slot as valid as [`Self::mark_valid`] does. The caller knows the slot's superblock, which saves a
    /// division.
    #[inline]
    pub(in crate::page) fn mark_valid_in(&mut self, psn: Psn, superblock: SuperblockId) {
        debug_assert!(!self.is_valid(psn) && self.layout.locate(psn).0 == superblock);
        self.valid[psn.index() / 64] |= 1 << (psn.index() % 64);
        self.info[superblock.index()].valid += 1;
    }

    #[inline]
    pub(in crate::page) fn mark_invalid(&mut self, psn: Psn) -> SuperblockId {
        assert!(self.is_valid(psn), "{psn} becomes invalid twice");
        self.valid[psn.index() / 64] &= !(1 << (psn.index() % 64));
        let (superblock, _) = self.layout.locate(psn);
        self.info[superblock.index()].valid -= 1;
        superblock
    }

    /// Marks the slot `to` as valid and `from` as invalid, for slots of two superblocks. The caller counts both, with
    /// [`Self::add_valid`] and [`Self::take_valid`].
    #[inline]
    pub(in crate::page) fn move_valid(&mut self, from: Psn, to: Psn) {
        assert!(self.is_valid(from), "{from} becomes invalid twice");
        debug_assert!(!self.is_valid(to));
        self.valid[from.index() / 64] &= !(1 << (from.index() % 64));
        self.valid[to.index() / 64] |= 1 << (to.index() % 64);
    }

    /// Counts `slots` slots of a superblock as valid, after [`Self::move_valid`] has marked them.
    pub(in crate::page) fn add_valid(&mut self, superblock: SuperblockId, slots: u32) {
        self.info[superblock.index()].valid += slots;
    }

    /// Counts `slots` slots of a superblock as invalid, after [`Self::move_valid`] has marked them.
    pub(in crate::page) fn take_valid(&mut self, superblock: SuperblockId, slots: u32) {
        self.info[superblock.index()].valid -= slots;
    }

    #[inline]
    pub(in crate::page) fn valid_slots(&self, superblock: SuperblockId, offset: u32) -> ValidSlots<'_> {
        let slots = self.layout.shape.superblock_slots();
        let behind = self.layout.unit_end(offset).min(slots);
        let further = RemainingUnits { layout: &self.layout, superblock, units: behind..slots };
        let mut found = ValidSlots { words: &self.valid, word: 0, base: 0, end: 0, further };
        if offset < slots {
            found.turn_to(self.layout.slot(superblock, offset).index(), (behind - offset) as usize);
        }
        found
    }

    /// Counts a program to the superblock that starts.
    pub(in crate::page) fn begin_program(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].programs += 1;
    }

    /// Counts the end of a program. Returns true if no other program is in progress.
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

    #[inline]
    pub(in crate::page) fn pin_times(&mut self, superblock: SuperblockId, pins: u32) {
        self.info[superblock.index()].pins += pins;
    }

    /// Removes a pin. Returns true if the superblock has no other pin.
    #[inline]
    pub(in crate::page) fn unpin(&mut self, superblock: SuperblockId) -> bool {
        self.unpin_times(superblock, 1)
    }

    /// Removes the pins of `pins` copies. Returns true if no pin is left.
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
    /// The slot behind the present unit, or behind the superblock if the superblock lies in one die.
    end: usize,
    further: RemainingUnits<'a>,
}

/// The units of a superblock behind the present one, by their offsets.
#[derive(Clone, Debug)]
struct RemainingUnits<'a> {
    layout: &'a Layout,
    superblock: SuperblockId,
    units: Range<u32>,
}

impl ValidSlots<'_> {
    #[inline]
    fn turn_to(&mut self, first: usize, slots: usize) {
        (self.base, self.end) = (first / 64 * 64, first + slots);
        self.word = self.words[first / 64] & (u64::MAX << (first % 64));
    }

    /// Continues with the next unit. Returns false if there is no next unit.
    #[inline]
    fn turn_to_next_unit(&mut self) -> bool {
        let RemainingUnits { layout, superblock, units } = &mut self.further;
        if units.start == units.end {
            return false;
        }
        let (first, end) = (layout.slot(*superblock, units.start), layout.unit_end(units.start));
        let slots = (end - units.start) as usize;
        units.start = end;
        self.turn_to(first.index(), slots);
        true
    }
}

impl Iterator for ValidSlots<'_> {
    type Item = Psn;

    #[inline]
    fn next(&mut self) -> Option<Psn> {
        loop {
            while self.word == 0 {
                self.base += 64;
                if self.base < self.end {
                    self.word = self.words[self.base / 64];
                } else if !self.turn_to_next_unit() {
                    return None;
                }
            }
            let slot = self.base + self.word.trailing_zeros() as usize;
            self.word &= self.word - 1;
            if slot < self.end {
                return Some(Psn::new(slot as u32));
            }
            // The remaining bits of the word belong to other units or superblocks.
            self.word = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::nand::Geometry;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn valid_slots_are_found_in_order(marks in prop::collection::btree_set(0u32..300, 0..80)) {
            let geometry = Geometry::new(1, 1, 1, 1, 1, 3, 100, 1, 1).expect("small");
            let mut blocks = BlockTable::new(&Layout::in_one_die(geometry));
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

        #[test]
        fn valid_slots_of_a_striped_superblock_come_in_the_order_of_its_units(
            marks in prop::collection::btree_set((0..2u32, 0..72u32), 0..80), parity in any::<bool>()
        ) {
            let array = Geometry::new(2, 2, 1, 1, 1, 2, 24, 1, 1).expect("small");
            let layout = Layout::striped(array, 4, 6, parity).expect("four dies");
            let mut blocks = BlockTable::new(&layout);
            marks.iter().for_each(|(id, offset)| blocks.mark_valid(layout.slot(SuperblockId::new(*id), *offset)));
            for id in 0..2 {
                for from in 0..=layout.shape.superblock_slots() {
                    let found = blocks.valid_slots(SuperblockId::new(id), from).map(|psn| layout.locate(psn).1);
                    let expected = marks.range((id, from)..(id + 1, 0)).map(|(_, offset)| *offset);
                    prop_assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
                }
            }
        }
    }
}
