//! The end of a superblock's use: erases and retirement of victims without valid mapping units.
//!
//! A newer write or a discard may invalidate a mapping unit that has been gathered for a copy, or the last valid one of
//! a victim. No event follows from that, so the pool is marked as stale, and collection tests the mark before it goes
//! on.

use base::units::SuperblockId;
use flash::backend::{Cause, Class};

use super::BlockManager;
use super::table::SuperblockState;
use crate::page::ListPurpose;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl BlockManager {
    /// Erases a victim if all its slots have been scanned and nothing pins it. Scans the victim again if a copy failed.
    pub(in crate::page) fn erase_if_empty(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        let pool = self.pool_of(superblock);
        let end = self.layout.shape.superblock_slots();
        let gc = &mut self.pools[pool as usize].gc;
        let Some(i) = gc.victims.iter().position(|victim| victim.superblock == superblock) else { return };
        let looked_at = gc.victims[i].cursor == end || self.table.valid(superblock) == 0;
        if !looked_at || self.table.is_pinned(superblock) || self.table.has_programs(superblock) {
            return;
        }
        if self.table.valid(superblock) > 0 {
            gc.victims[i].cursor = 0;
            return;
        }
        let cause = gc.victims.remove(i).cause;
        let failing = self.table.is_failing(superblock) && !self.planted.is(Sabotage::RetiredFreed);
        if failing && !self.begin_erase_of_failing(flash.backend.media(), superblock) {
            return self.retire(flash, pool, superblock);
        }
        self.pools[pool as usize].gc.erases += 1;
        self.table.set_state(superblock, SuperblockState::Erasing);
        self.erase_member(flash, self.layout.first_member(flash.backend.media(), superblock), cause);
    }

    pub(super) fn erase_member(&self, flash: &mut Flash<'_>, member: SuperblockId, cause: Cause) {
        let list = flash.backend.open_list(Class::Other, ListPurpose::Erase as u32);
        flash.backend.add_erase(list, cause, member);
        flash.submit(list);
    }

    pub(in crate::page) fn retire(&mut self, flash: &mut Flash<'_>, pool: u32, superblock: SuperblockId) {
        for member in self.layout.members(superblock) {
            flash.backend.media_mut().retire(member);
        }
        self.table.set_state(superblock, SuperblockState::Bad);
        self.note_gone(pool, superblock);
        let missing = self.missing_slots(superblock);
        *self.usable_with(pool, superblock) -= 1;
        self.pools[pool as usize].missing_slots -= missing;
    }

    /// True if a copy or an erase of the pool is in progress, or an erase waits for a reader.
    pub(in crate::page) fn is_collecting(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        chosen.is_moving() || chosen.gc.victims.iter().any(|victim| self.table.valid(victim.superblock) == 0)
    }

    /// Drops gathered mapping units that have become garbage: they need no copy, and must not keep their superblock
    /// from being erased. Erases victims that hold nothing else.
    #[inline]
    pub(in crate::page) fn drop_stale(&mut self, flash: &mut Flash<'_>, pool: u32) {
        if std::mem::take(&mut self.pools[pool as usize].gc.is_stale) {
            return self.drop_garbage(flash, pool);
        }
        debug_assert!(self.is_fresh(pool), "garbage of pool {pool} has left no mark");
    }

    #[inline(never)]
    pub(in crate::page) fn drop_garbage(&mut self, flash: &mut Flash<'_>, pool: u32) {
        let (blocks, layout) = (&mut self.table, &self.layout);
        let gc = &mut self.pools[pool as usize].gc;
        for gathered in [&mut gc.gathered].into_iter().chain(&mut gc.sorted) {
            gathered.retain(|psn| {
                let valid = blocks.is_valid(*psn);
                if !valid {
                    blocks.unpin(layout.locate(*psn).0);
                }
                valid
            });
        }
        let end = layout.shape.superblock_slots();
        let mut i = 0;
        while let Some(victim) = self.pools[pool as usize].gc.victims.get(i).copied() {
            if victim.cursor < end && self.table.valid(victim.superblock) > 0 {
                i += 1;
                continue;
            }
            self.erase_if_empty(flash, victim.superblock);
            // A finished victim has left the list: the next one is now at its index.
            let here = self.pools[pool as usize].gc.victims.get(i).map(|victim| victim.superblock);
            i += usize::from(here == Some(victim.superblock));
        }
    }

    /// True if [`Self::drop_garbage`] would do nothing.
    pub(in crate::page) fn is_fresh(&self, pool: u32) -> bool {
        let gc = &self.pools[pool as usize].gc;
        let waits = |superblock| self.table.is_pinned(superblock) || self.table.has_programs(superblock);
        let end = self.layout.shape.superblock_slots();
        [&gc.gathered].into_iter().chain(&gc.sorted).flatten().all(|psn| self.table.is_valid(*psn))
            && gc.victims.iter().all(|victim| {
                (victim.cursor < end && self.table.valid(victim.superblock) > 0) || waits(victim.superblock)
            })
    }
}
