//! The pool that takes a write: what the placement chooses, or one with room.

use super::PageFtl;
use super::block_manager::pool::Holds;
use crate::port::{Flash, PageWrite};

impl PageFtl {
    /// The pool for a write: the placement's choice, or the emptiest pool of the set if that one is full.
    pub(super) fn place(&mut self, flash: &Flash<'_>, set: u32, unit: &PageWrite) -> Option<u32> {
        let slots = self.blocks.geometry.superblock_slots();
        let stripe = self.blocks.shape.by_program_slots.quotient(unit.lpn.get());
        let home = if self.mapping.kind_of(unit.lpn) == Holds::Pages {
            self.pool_for_page(unit.lpn.get() - self.mapping.units)
        } else {
            0
        };
        let pools = &self.blocks.pools;
        let load = |pool: u32| flash.backend.load(pools[pool as usize].die) + pools[pool as usize].in_flight;
        let lines = self.blocks.shape.word_line > 1;
        let fills = |pool: u32| lines && pools[pool as usize].queue.each_list().any(|of| of.program.is_some());
        let chosen = match self.mapping.kind_of(unit.lpn) {
            Holds::Data => self.placer.pool(set, stripe, load, fills),
            Holds::Pages => home,
        };
        if pools[chosen as usize].has_room(slots) {
            return Some(chosen);
        }
        self.blocks.emptiest(set)
    }
}
