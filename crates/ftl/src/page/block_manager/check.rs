//! The invariants of the superblocks.

use base::units::SuperblockId;
use flash::nand::{Media, Stream};

use super::BlockManager;
use super::table::SuperblockState;

impl BlockManager {
    /// Checks that every superblock has one use, and that a failing one waits only to be emptied.
    pub(in crate::page) fn check_superblocks(&self, media: &Media) {
        let (mut usable, mut missing_slots) = (vec![0; self.pools.len()], vec![0; self.pools.len()]);
        let mut free = 0;
        for superblock in (0..self.layout.shape.superblock_count()).map(SuperblockId::new) {
            let (state, pool) = (self.table.state(superblock), self.pool_of(superblock));
            let known = self.victims[self.kind_in(pool)].valid(superblock);
            let is_set_aside = self.is_set_aside(superblock);
            let expected = (state == SuperblockState::Closed && !is_set_aside).then(|| self.occupied(superblock));
            assert_eq!(known, expected, "valid units of {superblock}, as the choice of victims knows them");
            usable[pool as usize] += u32::from(state != SuperblockState::Bad && !is_set_aside);
            if state != SuperblockState::Bad {
                missing_slots[pool as usize] += self.missing_slots(superblock);
                let missing = self.layout.missing(media, superblock);
                assert_eq!(self.table.missing(superblock), missing, "the member that {superblock} goes on without");
            }
            free += u64::from(state == SuperblockState::Free);
            let in_dead_die = || self.layout.present(media, superblock).any(|member| self.knows_as_dead(member));
            if state == SuperblockState::Closed && !self.table.is_failing(superblock) && in_dead_die() {
                let waits = self.dead_dies.waits(superblock);
                assert!(waits, "{superblock} keeps its data in a failed die");
            }
            if self.table.is_failing(superblock) {
                // The superblock will go on without the bad member.
                let shrinks = state == SuperblockState::Erasing && self.shrinks(superblock);
                let takes_data =
                    matches!(state, SuperblockState::Free | SuperblockState::Open | SuperblockState::Erasing)
                        && !shrinks;
                assert!(!takes_data, "a program failed in {superblock}, and it is {state:?}");
                let waits = self.pools[pool as usize].gc.failing.contains(&superblock);
                assert!(
                    state != SuperblockState::Closed || waits,
                    "a program failed in {superblock}, which nobody empties"
                );
            }
        }
        for (i, pool) in self.pools.iter().enumerate() {
            assert_eq!(pool.usable, usable[i], "superblocks of pool {i} that are not bad");
            assert_eq!(pool.missing_slots, missing_slots[i], "slots that superblocks of pool {i} lack");
            for (erases, superblock) in pool.free.entries() {
                assert_eq!(self.table.state(superblock), SuperblockState::Free, "state of {superblock}, which is free");
                assert!(self.layout.is_erased(media, superblock), "{superblock} is free, and not erased");
                assert_eq!(
                    erases,
                    self.layout.erases(media, superblock),
                    "how often {superblock}, which is free, was erased"
                );
            }
            for open in pool.open.each().flatten() {
                let state = self.table.state(open.superblock);
                assert_eq!(state, SuperblockState::Open, "state of {}, which pool {i} writes to", open.superblock);
            }
            let copies = (0..pool.copies.number() + 1).map(Stream::copies).filter(|_| !pool.copies.is_host());
            for stream in (0..pool.queue.others.len() as u8).map(Stream::host).chain(copies) {
                let open = pool.open[stream].map_or(stream, |open| self.table.stream(open.superblock));
                assert_eq!(open, stream, "the stream of a superblock that is open for {stream:?} in pool {i}");
            }
        }
        assert_eq!(self.free_blocks(), free, "free superblocks");
        self.check_cache(media);
    }
}
