//! The writes that the dies can take from a write buffer.
//!
//! A program that waits for its die can absorb no newer write, so the buffer keeps what no die can begin soon. A die
//! takes two programs: one that it works on, and one behind it, so that it never waits for data. A die that collects
//! garbage for long fills up in this way, and the programs go to the others ([`Placer`](super::placement::Placer)).

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::writer::Writer;
use crate::port::Owners;

/// Lists of writes that a die has under way before it is busy.
const AT_ONCE: u32 = 2;

impl Writer {
    /// True if a program of an NVM set would begin soon.
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

    /// Begins a write request of an owner in an NVM set, or of the FTL's own.
    pub(in crate::page) fn begin_request(&mut self, blocks: &BlockManager, set: u32) {
        let (pools, slots) = (&blocks.pools, blocks.layout.shape.superblock_slots());
        self.placer.begin_request(set, |pool| pools[pool as usize].has_room(slots));
    }

    /// Notes a change of the writes that a pool has under way or lets wait.
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
