//! The state of every superblock: its phase of life, its valid mapping units, and its pins.

use base::prefetch::prefetch;
use base::units::{Psn, SuperblockId};
use flash::nand::Geometry;

/// The life of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
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
}

/// The table of superblocks and a bit for every valid slot.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    geometry: Geometry,
    info: Vec<Info>,
    valid: Vec<u64>,
}

impl Blocks {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            info: vec![Info::default(); geometry.superblock_count() as usize],
            valid: vec![0; geometry.slot_count().div_ceil(64) as usize],
            geometry: geometry.clone(),
        }
    }

    /// Bytes of memory of the table.
    pub(super) fn memory(geometry: &Geometry) -> u64 {
        u64::from(geometry.superblock_count()) * size_of::<Info>() as u64 + u64::from(geometry.slot_count()) / 8
    }

    #[inline]
    pub(super) fn state(&self, superblock: SuperblockId) -> State {
        self.info[superblock.index()].state
    }

    pub(super) fn set_state(&mut self, superblock: SuperblockId, state: State) {
        self.info[superblock.index()].state = state;
    }

    pub(super) fn is_failing(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].failing
    }

    pub(super) fn set_failing(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].failing = true;
    }

    #[inline]
    pub(super) fn is_map(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].map
    }

    pub(super) fn set_map(&mut self, superblock: SuperblockId, map: bool) {
        self.info[superblock.index()].map = map;
    }

    #[inline]
    pub(super) fn valid(&self, superblock: SuperblockId) -> u32 {
        self.info[superblock.index()].valid
    }

    #[inline]
    pub(super) fn is_valid(&self, psn: Psn) -> bool {
        self.valid[psn.index() / 64] >> (psn.index() % 64) & 1 != 0
    }

    /// Prefetches what [`Self::mark_invalid`] needs of a slot.
    #[inline]
    pub(super) fn fetch(&self, psn: Psn, superblock: SuperblockId) {
        prefetch(self.valid.get(psn.index() / 64));
        prefetch(self.info.get(superblock.index()));
    }

    #[inline]
    pub(super) fn mark_valid(&mut self, psn: Psn) {
        debug_assert!(!self.is_valid(psn));
        self.valid[psn.index() / 64] |= 1 << (psn.index() % 64);
        let (superblock, _) = self.geometry.locate(psn);
        self.info[superblock.index()].valid += 1;
    }

    /// Returns the slot's superblock.
    #[inline]
    pub(super) fn mark_invalid(&mut self, psn: Psn) -> SuperblockId {
        assert!(self.is_valid(psn), "{psn} becomes invalid twice");
        self.valid[psn.index() / 64] &= !(1 << (psn.index() % 64));
        let (superblock, _) = self.geometry.locate(psn);
        self.info[superblock.index()].valid -= 1;
        superblock
    }

    /// The first valid slot of a superblock from `offset` on.
    pub(super) fn next_valid(&self, superblock: SuperblockId, offset: u32) -> Option<u32> {
        let slots = self.geometry.superblock_slots();
        let base = self.geometry.slot(superblock, 0).index();
        let (mut at, end) = (base + offset as usize, base + slots as usize);
        while at < end {
            let word = self.valid[at / 64] >> (at % 64);
            if word != 0 {
                at += word.trailing_zeros() as usize;
                return (at < end).then(|| (at - base) as u32);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// A program to the superblock starts.
    pub(super) fn begin_program(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].programs += 1;
    }

    /// A program has ended. Returns true if no other is in progress.
    pub(super) fn end_program(&mut self, superblock: SuperblockId) -> bool {
        let info = &mut self.info[superblock.index()];
        info.programs -= 1;
        info.programs == 0
    }

    pub(super) fn has_programs(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].programs > 0
    }

    /// Pins the superblock, whose content a read or a copy needs: it is not erased meanwhile.
    #[inline]
    pub(super) fn pin(&mut self, superblock: SuperblockId) {
        self.info[superblock.index()].pins += 1;
    }

    /// Returns true if that was the last pin.
    #[inline]
    pub(super) fn unpin(&mut self, superblock: SuperblockId) -> bool {
        let info = &mut self.info[superblock.index()];
        info.pins = info.pins.checked_sub(1).expect("a pin for every unpin");
        info.pins == 0
    }

    #[inline]
    pub(super) fn is_pinned(&self, superblock: SuperblockId) -> bool {
        self.info[superblock.index()].pins > 0
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
            let mut blocks = Blocks::new(&geometry);
            marks.iter().for_each(|psn| blocks.mark_valid(Psn::new(*psn)));
            for superblock in 0..3 {
                let id = SuperblockId::new(superblock);
                let mut found = Vec::new();
                let mut at = 0;
                while let Some(offset) = blocks.next_valid(id, at) {
                    found.push(superblock * 100 + offset);
                    at = offset + 1;
                }
                let expected: Vec<_> = marks.range(superblock * 100..(superblock + 1) * 100).copied().collect();
                prop_assert_eq!(blocks.valid(id) as usize, expected.len());
                prop_assert_eq!(found, expected);
            }
        }
    }
}
