//! The pool that takes a write: what the placement chooses, or one with room.

use super::PageFtl;
use super::pool::Holds;
use crate::port::{Flash, Owners, PageWrite};

impl PageFtl {
    /// The pool for a write: the placement's choice, or the emptiest pool of the set if that one is full.
    pub(super) fn place(&mut self, flash: &Flash<'_>, owners: &dyn Owners, set: u32, unit: &PageWrite) -> Option<u32> {
        if self.placer.has_policy() && self.kind_of(unit.lpn) == Holds::Data {
            return self.place_by_policy(flash, owners, set, unit);
        }
        let slots = self.geometry.superblock_slots();
        let stripe = self.by_program_slots.quotient(unit.lpn.get());
        let home =
            if self.kind_of(unit.lpn) == Holds::Pages { self.pool_for_page(unit.lpn.get() - self.units) } else { 0 };
        let pools = &self.pools;
        let load = |pool: u32| flash.backend.load(pools[pool as usize].die) + pools[pool as usize].in_flight;
        let lines = self.word_line > 1;
        let fills = |pool: u32| lines && pools[pool as usize].each_list().any(|of| of.program.is_some());
        let chosen = match self.kind_of(unit.lpn) {
            Holds::Data => self.placer.pool(set, stripe, load, fills),
            Holds::Pages => home,
        };
        if pools[chosen as usize].has_room(slots) {
            return Some(chosen);
        }
        self.emptiest(set)
    }

    /// The pool of a set with most room, if one has any.
    #[cold]
    fn emptiest(&self, set: u32) -> Option<u32> {
        let slots = self.geometry.superblock_slots();
        let room = |pool: u32| {
            let pool = &self.pools[pool as usize];
            pool.limit(slots).saturating_sub(pool.live)
        };
        let others = self.sets[set as usize].iter().copied();
        others.max_by_key(|pool| (room(*pool), std::cmp::Reverse(*pool))).filter(|pool| room(*pool) > 0)
    }
}
