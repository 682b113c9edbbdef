//! The course of garbage collection: its start, its steps after copies and erases, and the end when a pool gives up.
//! The [collector](super::collector) does the work.

use base::engine::Handle;
use flash::backend::{List, Op};

use super::PageFtl;
use super::block_manager::pool::Holds;
use super::block_manager::table::SuperblockState;
use super::mapping::moves::VacatedSuperblock;
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, ProgramSlot};

impl PageFtl {
    /// Starts garbage collection in a pool with few free superblocks, or continues it.
    pub(super) fn start_gc(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if !self.blocks.pools[pool as usize].gc.active {
            self.blocks.pools[pool as usize].gc.active = self.blocks.is_low(pool);
        }
        let chosen = &mut self.blocks.pools[pool as usize];
        // Most calls find that the limit of parallel copies is reached.
        if chosen.gc.copies >= self.blocks.gc.parallel && !chosen.gc.is_stale {
            if chosen.gc.active && self.blocks.has_enough(pool, 0) {
                self.blocks.pools[pool as usize].gc.active = false;
            }
            return;
        }
        let waits = !chosen.gc.failing.is_empty() || !chosen.gc.unprotected.is_empty();
        let waits = waits || self.blocks.may_rebuild(flash, pool);
        let chosen = &self.blocks.pools[pool as usize];
        let collects = chosen.gc.active || !chosen.gc.victims.is_empty() || waits;
        let folds = || self.blocks.has_cache() && self.blocks.next_to_fold(pool).is_some();
        if collects || self.blocks.may_refresh(pool) || folds() {
            self.collect(flash, owners, pool);
        }
    }

    /// Continues collection until it has to wait for an event.
    pub(super) fn collect(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        self.blocks.drop_stale(flash, pool);
        let has_room = self.collector().copy_on(flash, pool);
        self.blocks.schedule_rebuild(flash);
        let enough = self.blocks.has_enough(pool, 0);
        let has_cache = self.blocks.has_cache();
        let chosen = &mut self.blocks.pools[pool as usize];
        if chosen.gc.active && enough {
            chosen.gc.active = false;
        }
        // Nearly every call ends here.
        let idle = !chosen.is_moving() && chosen.in_flight == chosen.queue.waiting.len() as u32;
        let least = 1 + chosen.kept_for_moves();
        let has_free = idle && !chosen.queue.waiting.is_empty() && chosen.free.len() > least;
        // A condition of the waiting write has changed without an event: the reserve of other streams of copies is not
        // needed, or a superblock of the SLC cache has been retired.
        if has_free && (chosen.kept_for_streams() > 0 || has_cache) {
            chosen.gc.waives = true;
            return self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        }
        if !idle || chosen.queue.waiting.is_empty() || chosen.free.len() > least {
            return;
        }
        let empty_soon = chosen.gc.victims.iter().any(|victim| self.blocks.table.valid(victim.superblock) == 0);
        let last = (!has_room || chosen.gc.victims.is_empty()) && !empty_soon;
        // Answers that are still to come may leave garbage in the pool. Translation pages must not wait for them.
        let of_pages = self.blocks.kind_in(pool) == Holds::Pages;
        let last = last && (of_pages || !self.mapping.awaits_answers());
        // The plane group of a pool of translation pages.
        let group = pool.checked_sub(self.blocks.groups);
        if last && group.is_some_and(|group| self.blocks.lend_block(group, 0)) {
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
            return self.collect(flash, owners, pool);
        }
        let last = last && !group.is_some_and(|group| self.collector().will_lend(flash, group));
        if last && !self.collector().rescue(flash, pool, false) {
            self.give_up(flash, owners, pool);
        }
    }

    #[inline(never)]
    pub(super) fn copy_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let mut pools = None;
        let lost = self.blocks.lost_reads(flash, list);
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                continue;
            }
            let (target, count, failed) = (command.target, command.count(), command.failed);
            let to = self.blocks.layout.superblock_of(target.superblock);
            let here = self.blocks.pool_of(to);
            // Copies stay in their pool, unless another pool took them to rescue it.
            let (_, first) = flash.backend.slot(handle, 0);
            let source = self.blocks.pool_at(first.psn);
            // The copies of a word line have several programs; the first of them counts.
            if pools.replace((here, source)).is_none() {
                self.blocks.pools[source as usize].gc.copies -= 1;
            }
            if source != here {
                self.blocks.end_move_to_helper(here, count);
            }
            if failed {
                self.blocks.withdraw(flash, to, handle);
                self.blocks.fail(here, to);
            }
            self.blocks.note_shared_copies(flash, handle, to);
            self.prefetch_for_end(flash, owners, handle);
            // Mapping units for which the map unit is asked stay pinned until its answer.
            let mut moved = std::mem::take(&mut self.collector.moved);
            if failed || lost.are_any() || !self.mapping.enter_copies(&mut self.blocks, flash, handle, here, &mut moved)
            {
                for i in 0..count {
                    let ProgramSlot { slot, psn, torn } = ProgramSlot::of(flash.backend, handle, (target, failed), i);
                    let (at, _) = flash.backend.slot(handle, i);
                    if lost.is_lost(at) {
                        flash.backend.media_mut().lose(psn);
                    }
                    // A mapping unit that is copied again stays where it is.
                    if torn
                        || lost.is_again(at)
                        || self.mapping.enter_copy(&mut self.blocks, flash.now, slot.lpn, [slot.psn, psn], (to, here))
                    {
                        moved.push(VacatedSuperblock::alone(self.blocks.layout.locate(slot.psn).0));
                    }
                }
            }
            self.blocks.program_done(here, handle, to);
            self.writer.count_in_stream(&self.blocks, to, count);
            self.blocks.earn(source, count);
            for VacatedSuperblock { superblock, slots, .. } in moved.drain(..) {
                if self.blocks.table.unpin_times(superblock, slots) {
                    self.blocks.erase_if_empty(flash, superblock);
                }
            }
            self.collector.moved = moved;
        }
        for superblock in lost.pinned {
            if self.blocks.table.unpin(superblock) {
                self.blocks.erase_if_empty(flash, superblock);
            }
        }
        flash.backend.release(list);
        if let Some((pool, source)) = pools {
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
            self.start_gc(flash, owners, pool);
            if source != pool {
                self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, source);
                self.start_gc(flash, owners, source);
            }
            self.place_unplaced(flash, owners);
        }
    }

    #[inline(never)]
    pub(super) fn erase_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let handle = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(handle);
        let (member, cause, failed) = (command.target.superblock, command.cause, command.failed);
        flash.backend.release(list);
        let superblock = self.blocks.layout.superblock_of(member);
        let Some(failed) = self.blocks.end_erase(flash, (member, cause), failed) else { return };
        let pool = self.blocks.pool_of(superblock);
        let group = self.blocks.layout.shape.group_of(superblock);
        let gc = &mut self.blocks.pools[pool as usize].gc;
        (gc.erases, gc.waives) = (gc.erases - 1, false);
        if failed {
            self.blocks.retire(flash, pool, superblock);
        } else {
            let erases = self.blocks.layout.erases(flash.backend.media(), superblock);
            self.blocks.table.set_state(superblock, SuperblockState::Free);
            self.blocks.note_erased();
            self.blocks.note_gone(pool, superblock);
            if pool != group {
                // The pool of translation pages gets the least worn free superblock in exchange.
                self.blocks.table.set_map(superblock, false);
                self.blocks.move_usable(superblock, pool, group);
            }
            self.blocks.give_free(group, superblock, erases);
            if pool != group {
                self.blocks.hand_over(group);
            }
            self.blocks.pools[pool as usize].stuck = false;
            if !self.mapping.is_rewriting() {
                self.collector().level_wear(flash, group);
            }
        }
        // Data may wait for translation pages, but not the other way round.
        let keep = u32::from(!self.writer.wants_block(&self.blocks, group));
        self.blocks.lend_block(group, keep);
        self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        self.start_gc(flash, owners, pool);
        if pool == group && self.blocks.pools.len() > self.blocks.groups as usize {
            let pages = self.blocks.groups + group;
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pages);
            self.start_gc(flash, owners, pages);
        }
        // Nearly always no pool has given up.
        if self.blocks.gave_up {
            self.retry_stuck(flash, owners, None);
            self.blocks.gave_up = self.blocks.pools.iter().any(|pool| pool.stuck);
        }
        // Without this no event would wake writes that wait for space.
        if self.writer.forgotten(&self.blocks, &self.mapping) {
            self.place_unplaced(flash, owners);
        }
    }

    /// Gives up a pool in which nothing can be freed, and sends its waiting writes to other pools.
    pub(super) fn give_up(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        self.blocks.pools[pool as usize].stuck = true;
        self.blocks.gave_up = true;
        let waiting = std::mem::take(&mut self.blocks.pools[pool as usize].queue.waiting);
        let given_up = &mut self.blocks.pools[pool as usize];
        given_up.live -= waiting.len() as u32;
        given_up.in_flight -= if self.blocks.planted.is(Sabotage::PromiseKept) { 0 } else { waiting.len() as u32 };
        self.writer.note_load(&self.blocks, pool);
        for unit in waiting {
            self.write(flash, owners, unit);
        }
        self.end_write(flash, owners);
        self.place_unplaced(flash, owners);
        self.writer.announce_room(owners);
    }

    /// Retries the pools that gave up: all of them after any erase, or the pools of an NVM set before a write of the
    /// set is refused (`last`). Their content may have become garbage since, or another pool may be able to help.
    /// Returns true if any pool of the set, or of all sets, is collecting.
    pub(super) fn retry_stuck(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, last: Option<u32>) -> bool {
        let count = last.map_or(self.blocks.pools.len(), |set| self.blocks.sets[set as usize].len());
        for i in 0..count {
            let pool = self.nth_of(last, i);
            if last.is_some() || self.blocks.pools[pool as usize].stuck {
                self.start_gc(flash, owners, pool);
                if !self.blocks.is_collecting(pool) {
                    self.collector().rescue(flash, pool, last.is_some());
                }
            }
        }
        (0..count).any(|i| self.blocks.is_collecting(self.nth_of(last, i)))
    }

    /// The `n`-th pool of a set, or of all pools.
    fn nth_of(&self, set: Option<u32>, n: usize) -> u32 {
        set.map_or(n as u32, |set| self.blocks.sets[set as usize][n])
    }
}
