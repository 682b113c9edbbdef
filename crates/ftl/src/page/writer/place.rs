//! The pool that takes a write: the choice of the placement, or another pool with room.

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::mapping::Mapping;
use crate::page::writer::Writer;
use crate::port::{Flash, Owners, PageWrite};

impl Writer {
    /// The pool for a write: the placement's choice, or the emptiest pool of the set if the chosen one is full.
    pub(in crate::page) fn place(
        &mut self,
        blocks: &BlockManager,
        mapping: &Mapping,
        flash: &Flash<'_>,
        owners: &dyn Owners,
        (set, unit): (u32, &PageWrite),
    ) -> Option<u32> {
        if self.placer.has_policy() && mapping.kind_of(unit.lpn) == Holds::Data {
            return self.place_by_policy(blocks, flash, owners, set, unit);
        }
        let slots = blocks.layout.shape.superblock_slots();
        let stripe = blocks.shape.by_program_slots.quotient(unit.lpn.get());
        let home = if mapping.kind_of(unit.lpn) == Holds::Pages {
            self.pool_for_page(blocks, unit.lpn.get() - mapping.units)
        } else {
            0
        };
        let pools = &blocks.pools;
        let load = |pool: u32| blocks.load(flash, pool) + pools[pool as usize].in_flight;
        let lines = blocks.shape.word_line > 1;
        let fills = |pool: u32| lines && pools[pool as usize].queue.each_list().any(|of| of.program.is_some());
        let chosen = match mapping.kind_of(unit.lpn) {
            Holds::Data => self.placer.pool(set, stripe, load, fills),
            Holds::Pages => home,
        };
        if pools[chosen as usize].has_room(slots) {
            return Some(chosen);
        }
        blocks.emptiest(set)
    }
}
