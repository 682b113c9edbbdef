//! The limit on writes that the FTL takes from a write buffer.
//!
//! A program that waits for its die can absorb no newer write, so the buffer keeps data that no die can begin soon. A
//! die takes two programs: one that it executes, and one behind it, so that the die never waits for data. A die that
//! collects garbage for long has both soon, and further programs go to other dies
//! ([`Placer`](super::placement::Placer)).

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::writer::Writer;
use crate::port::Owners;

/// The number of lists of writes under way with which a die counts as busy.
const AT_ONCE: u32 = 2;

impl Writer {
    /// True if some die of an NVM set would begin a program soon.
    pub(in crate::page) fn takes_writes(&self, set: u32) -> bool {
        self.unplaced[set as usize].is_empty() && self.placer.takes_writes(set)
    }

    /// Tells the buffer that [`Self::takes_writes`] may have become true.
    #[inline]
    pub(in crate::page) fn announce_room(&self, owners: &mut dyn Owners) {
        if !self.gathers {
            owners.room();
        }
    }

    /// Begins a write request in an NVM set, of an owner or of the FTL itself.
    pub(in crate::page) fn begin_request(&mut self, blocks: &BlockManager, set: u32) {
        let (pools, slots) = (&blocks.pools, blocks.layout.shape.superblock_slots());
        self.placer.begin_request(set, |pool| pools[pool as usize].has_room(slots));
    }

    /// Notes a change in the number of writes of a pool that are under way or wait.
    #[inline]
    pub(in crate::page) fn note_load(&mut self, blocks: &BlockManager, pool: u32) {
        if !self.gathers && blocks.kind_in(pool) == Holds::Data {
            self.note_load_behind_buffer(blocks, pool);
        }
    }

    fn note_load_behind_buffer(&mut self, blocks: &BlockManager, pool: u32) {
        let groups = blocks.layout.shape.groups();
        let die = pool / groups * groups;
        let pools = &blocks.pools[die as usize..][..groups as usize];
        let busy = pools.iter().map(|pool| pool.queue.under_way).sum::<u32>() >= AT_ONCE * blocks.layout.dies()
            || pools.iter().any(|pool| !pool.queue.waiting.is_empty());
        (die..die + groups).for_each(|pool| self.placer.set_busy(pool, busy));
    }
}
