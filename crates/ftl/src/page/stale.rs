//! What becomes garbage while garbage collection moves it.
//!
//! A newer write or a discard may invalidate a mapping unit that has been gathered for a copy, or the last one of a victim.
//! Nothing waits for that, so it leaves a mark, and collection looks before it goes on.

use super::PageFtl;
use crate::port::Flash;

impl PageFtl {
    /// Drops gathered mapping units that have become garbage: they need no copy, and must not keep their superblock
    /// from being erased. Erases victims that hold nothing else.
    #[inline]
    pub(super) fn drop_stale(&mut self, flash: &mut Flash<'_>, pool: u32) {
        if std::mem::take(&mut self.pools[pool as usize].gc.is_stale) {
            return self.drop_garbage(flash, pool);
        }
        debug_assert!(self.is_fresh(pool), "garbage of pool {pool} has left no mark");
    }

    #[inline(never)]
    fn drop_garbage(&mut self, flash: &mut Flash<'_>, pool: u32) {
        let (blocks, geometry) = (&mut self.blocks, &self.geometry);
        let gc = &mut self.pools[pool as usize].gc;
        for gathered in [&mut gc.gathered].into_iter().chain(&mut gc.sorted) {
            gathered.retain(|psn| {
                let valid = blocks.is_valid(*psn);
                if !valid {
                    blocks.unpin(geometry.locate(*psn).0);
                }
                valid
            });
        }
        let end = geometry.superblock_slots();
        let mut i = 0;
        while let Some(victim) = self.pools[pool as usize].gc.victims.get(i).copied() {
            if victim.cursor < end && self.blocks.valid(victim.superblock) > 0 {
                i += 1;
                continue;
            }
            self.erase_if_empty(flash, victim.superblock);
            // `erase_if_empty` removes a finished victim from the list.
            let here = self.pools[pool as usize].gc.victims.get(i).map(|victim| victim.superblock);
            i += usize::from(here == Some(victim.superblock));
        }
    }

    /// True if [`Self::drop_garbage`] would do nothing.
    fn is_fresh(&self, pool: u32) -> bool {
        let gc = &self.pools[pool as usize].gc;
        let waits = |superblock| self.blocks.is_pinned(superblock) || self.blocks.has_programs(superblock);
        let end = self.geometry.superblock_slots();
        [&gc.gathered].into_iter().chain(&gc.sorted).flatten().all(|psn| self.blocks.is_valid(*psn))
            && gc.victims.iter().all(|victim| {
                (victim.cursor < end && self.blocks.valid(victim.superblock) > 0) || waits(victim.superblock)
            })
    }
}
