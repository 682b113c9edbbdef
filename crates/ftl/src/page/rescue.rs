//! Rescue of a pool without a superblock to copy into, after the reserved one has failed.
//!
//! The pool may hold much garbage, but cannot collect it. Three things help: a closed superblock without valid mapping
//! units, which can be erased at once; another pool, the helper, that takes the valid mapping units of the cheapest
//! victim; or a place that is erased: the unwritten end of a superblock that a power cut has closed early, or a free
//! superblock of the pool of translation pages beside it. If there is none, the pool gives up.

use base::units::SuperblockId;
use flash::backend::Cause;
use flash::nand::{Media, Spare};

use super::PageFtl;
use super::blocks::State;
use super::pool::{Holds, Open};
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Rescues a pool that no event would wake any more, as a `last` resort by all means. Returns true if this started
    /// work.
    pub(super) fn rescue(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> bool {
        self.erase_garbage(flash, pool);
        let cheapest = self.victims[self.kind_in(pool)].cheapest(pool);
        // The rest of a shared log may be too short for any victim.
        let short = self.gc.shared_log && !cheapest.is_some_and(|v| self.copies_fit(pool, 0, self.blocks.valid(v)));
        let chosen = &self.pools[pool as usize];
        let dry = chosen.free.is_empty() && (short || chosen.open[chosen.copies].is_none());
        self.is_collecting(pool) || (dry && self.move_to_helper(flash, pool, last)) || self.find_place(flash, pool)
    }

    /// Gives up a pool in which nothing can be freed, and sends its waiting writes to other pools.
    pub(super) fn give_up(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        self.pools[pool as usize].stuck = true;
        self.gave_up = true;
        let waiting = std::mem::take(&mut self.pools[pool as usize].waiting);
        let given_up = &mut self.pools[pool as usize];
        given_up.live -= waiting.len() as u32;
        given_up.in_flight -= if self.planted.is(Sabotage::PromiseKept) { 0 } else { waiting.len() as u32 };
        self.note_load(pool);
        for unit in waiting {
            self.write(flash, owners, unit);
        }
        self.end_write(flash, owners);
        self.place_unplaced(flash, owners);
        self.announce_room(owners);
    }

    /// Finds a place to copy to for a pool without an erased superblock, and starts to empty a victim there: the
    /// unwritten end of a closed superblock, or a free superblock of the pool of translation pages beside it. Returns
    /// true if copies began.
    fn find_place(&mut self, flash: &mut Flash<'_>, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        let (kind, copies) = (self.kind_in(pool), chosen.copies);
        let assembles = chosen.each_list().any(|of| of.program.is_some());
        let starting = kind == Holds::Data && self.is_rewriting();
        if starting || !chosen.free.is_empty() || chosen.open[copies].is_some() || assembles {
            return false;
        }
        let (media, slots) = (flash.backend.media(), self.geometry.superblock_slots());
        let closed = self.victims[kind].closed(pool);
        let ends = closed.filter_map(|superblock| Some((self.unwritten_end(media, superblock)?, superblock)));
        if let Some((next, superblock)) = ends.min()
            && let Some(victim) = self.fitting_victim(pool, Some(superblock), slots - next)
        {
            self.victims[kind].remove(pool, superblock);
            self.blocks.set_state(superblock, State::Open);
            self.blocks.set_stream(superblock, copies);
            *self.pools[pool as usize].open(copies) = Some(Open { superblock, next, gate: None });
            return self.empty(flash, pool, victim);
        }
        if kind == Holds::Data
            && let Some(victim) = self.fitting_victim(pool, None, slots)
            && self.take_back(pool)
        {
            self.open_superblock(pool, copies, false);
            return self.empty(flash, pool, victim);
        }
        false
    }

    /// The victim to be emptied if there are `room` slots for its copies: `Some(None)` if those that the pool has
    /// already fit, otherwise the cheapest.
    #[allow(clippy::option_option)] // Without a new victim there may still be work.
    fn fitting_victim(&self, pool: u32, except: Option<SuperblockId>, room: u32) -> Option<Option<SuperblockId>> {
        let victims = &self.pools[pool as usize].gc.victims;
        let moving: u32 = victims.iter().map(|victim| self.blocks.valid(victim.superblock)).sum();
        let others = self.victims[self.kind_in(pool)].closed(pool).filter(|superblock| Some(*superblock) != except);
        let cheapest = others.map(|superblock| (self.blocks.valid(superblock), superblock)).min();
        let victim = cheapest.filter(|_| victims.is_empty());
        let units = moving + victim.map_or(0, |(valid, _)| valid);
        let fits = units > 0 && units.next_multiple_of(self.program_slots()) <= room;
        fits.then_some(victim.map(|(_, superblock)| superblock))
    }

    /// Starts to copy a victim, or those that the pool has already. Returns true if copies began.
    fn empty(&mut self, flash: &mut Flash<'_>, pool: u32, victim: Option<SuperblockId>) -> bool {
        if let Some(victim) = victim {
            self.take_victim(pool, victim, Cause::Recovery);
        }
        // Nothing else wakes the pool: it pads its last program.
        self.pools[pool as usize].gc.victims.iter_mut().for_each(|victim| victim.cause = Cause::Recovery);
        let copies = self.pools[pool as usize].copies;
        self.pools[pool as usize].gc.join();
        let room = self.copy_room(pool, copies);
        self.gather(flash, pool, room);
        if !self.pools[pool as usize].gc.gathered.is_empty() {
            self.copy_to(flash, pool, (pool, copies));
        }
        self.is_collecting(pool)
    }

    /// The offset of the first word line from which on a closed superblock is erased, if it can be continued there: not
    /// behind a torn page.
    fn unwritten_end(&self, media: &Media, superblock: SuperblockId) -> Option<u32> {
        let written = media.unwritten_from(superblock)? * self.geometry.row_slots();
        let next = written.next_multiple_of(self.program_slots());
        let mut held = (0..written).map(|offset| media.spare(self.geometry.slot(superblock, offset)));
        (next < self.geometry.superblock_slots() && !held.any(|spare| spare == Spare::Torn)).then_some(next)
    }

    /// Erases the closed superblocks of a pool without valid mapping units.
    pub(super) fn erase_garbage(&mut self, flash: &mut Flash<'_>, pool: u32) {
        let kind = self.kind_in(pool);
        while let Some(empty) = self.victims[kind].cheapest(pool).filter(|victim| self.blocks.valid(*victim) == 0) {
            self.take_victim(pool, empty, Cause::Gc);
            self.erase_if_empty(flash, empty);
        }
    }

    /// True if a copy or an erase of the pool is in progress, or an erase waits for a reader.
    fn is_collecting(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        chosen.is_moving() || chosen.gc.victims.iter().any(|victim| self.blocks.valid(victim.superblock) == 0)
    }

    /// Retries the pools that gave up, after any erase, or all pools of an NVM set before a write of the set is refused
    /// (`last`). Their content may have become garbage since, or another pool may be able to help. Returns true if any
    /// pool of the set, or of all sets, is collecting.
    pub(super) fn retry_stuck(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, last: Option<u32>) -> bool {
        let count = last.map_or(self.pools.len(), |set| self.sets[set as usize].len());
        for i in 0..count {
            let pool = self.nth_of(last, i);
            if last.is_some() || self.pools[pool as usize].stuck {
                self.start_gc(flash, owners, pool);
                if !self.is_collecting(pool) {
                    self.rescue(flash, pool, last.is_some());
                }
            }
        }
        (0..count).any(|i| self.is_collecting(self.nth_of(last, i)))
    }

    /// The `n`-th pool of a set, or of all pools.
    fn nth_of(&self, set: Option<u32>, n: usize) -> u32 {
        set.map_or(n as u32, |set| self.sets[set as usize][n])
    }

    /// Copies the mapping units of one program to another pool.
    fn move_to_helper(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> bool {
        let Some(helper_pool) = self.helper_pool(pool, last) else { return false };
        if self.pools[pool as usize].gc.victims.is_empty() {
            let Some(victim) = self.victims[self.kind_in(pool)].cheapest(pool) else { return false };
            self.take_victim(pool, victim, Cause::Gc);
        }
        self.yield_log(flash, helper_pool);
        let copies = self.pools[helper_pool as usize].copies;
        self.pools[pool as usize].gc.join();
        if self.pools[helper_pool as usize].open(copies).is_none() {
            self.open_superblock(helper_pool, copies, false);
        }
        let room = self.copy_room(helper_pool, copies);
        self.gather(flash, pool, room);
        let units = room.min(self.pools[pool as usize].gc.gathered.len() as u32);
        if units == 0 {
            return false;
        }
        // Reserved, so that nothing else is promised the same space.
        self.pools[helper_pool as usize].live += units;
        self.pools[helper_pool as usize].in_flight +=
            if self.planted.is(Sabotage::HelperUnreserved) { 0 } else { units };
        self.copy_to(flash, pool, (helper_pool, copies));
        true
    }

    /// The pool with the most space, if one can take a program of copies. It keeps a superblock for its own collection,
    /// or one of its victims will free one. It does without both, and exceeds its limit, where little is asked of it: a
    /// program, or half a superblock that fits beside its own copies. The rescued pool gives back more, and helps in its
    /// turn. As a `last` resort any helper may exceed its limit: otherwise writes would be refused.
    fn helper_pool(&self, pool: u32, last: bool) -> Option<u32> {
        let (units, slots) = (self.program_slots(), self.geometry.superblock_slots());
        let room = |pool: &u32| {
            let pool = &self.pools[*pool as usize];
            pool.limit(slots).saturating_sub(pool.live)
        };
        let victims = &self.pools[pool as usize].gc.victims;
        let cheapest = || self.victims[self.kind_in(pool)].cheapest(pool);
        let first = victims.first().map(|victim| victim.superblock).or_else(cheapest);
        let valid = first.map_or(slots, |superblock| self.blocks.valid(superblock));
        let fits = |other: &u32| {
            let free = self.pools[*other as usize].free.len();
            let open = self.pools[*other as usize].open[self.pools[*other as usize].copies].is_some();
            // One superblock is for its own collection, and one may have to be opened.
            let keeps = free > u32::from(!open) && self.copies_fit(*other, free - 1, units);
            let collects = !self.pools[*other as usize].gc.victims.is_empty();
            let regains = collects && (open || free > 0) && self.copies_fit(*other, free, units);
            let little = valid <= units || (2 * valid <= slots && self.copies_fit(*other, free, valid));
            let lends = little && (open || free > 0);
            let takes = lends || ((last || room(other) >= units) && (keeps || regains));
            *other != pool && takes && self.shares_sets(pool, *other)
        };
        self.pools_for(self.kind_in(pool)).filter(fits).max_by_key(|pool| (room(pool), std::cmp::Reverse(*pool)))
    }

    /// True if every owner that may write to a pool may also write to the other: confined data stay confined.
    fn shares_sets(&self, pool: u32, other: u32) -> bool {
        let open = self.planted.is(Sabotage::ConfinementForgotten);
        self.sets.iter().all(|set| !set.contains(&pool) || set.contains(&other) || open)
    }

    /// A copy from another pool has ended here. Its reservation ends; entering the copies counts those that are valid.
    pub(super) fn end_move_to_helper(&mut self, helper_pool: u32, units: u32) {
        self.pools[helper_pool as usize].live -= units;
        self.pools[helper_pool as usize].in_flight -= units;
    }
}

#[cfg(test)]
mod tests {
    use base::units::DieId;

    use super::*;
    use crate::PageConfig;
    use crate::rig::{Rig, describe};

    /// Four pools, and queues that are confined to these dies.
    fn small(queues: &[[u32; 2]]) -> Rig<PageFtl> {
        let (config, array, _) = describe(
            "flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 24, pages = 16 }\n\
             ftl = { over-provisioning = '60%' }",
        );
        let mut config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        config.sets.extend(queues.iter().map(|dies| dies.map(DieId::new).to_vec()));
        Rig::with(config, &array)
    }

    /// The helper of each pool while `full` pools have no space: two pools for each of two confined queues.
    fn helpers(full: &[usize], change: impl FnOnce(&mut PageFtl)) -> Vec<Option<u32>> {
        let mut rig = small(&[[0, 1], [2, 3]]);
        let ftl = &mut rig.ftl;
        change(ftl);
        let slots = ftl.geometry.superblock_slots();
        full.iter().for_each(|pool| ftl.pools[*pool].live = ftl.pools[*pool].limit(slots));
        (0..4).map(|pool| ftl.helper_pool(pool, false)).collect()
    }

    #[test]
    fn a_rescue_keeps_confined_units_in_their_dies() {
        assert_eq!(helpers(&[], |_| {}), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(helpers(&[0, 3], |_| {}), [Some(1), None, None, Some(2)]);
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::Planted::bug(Sabotage::ConfinementForgotten);
            assert_eq!(helpers(&[0, 3], |ftl| ftl.planted = bug)[1], Some(2));
        }
    }

    /// Moves a victim's mapping units from the first pool to another, until the drive is idle.
    fn rescued(change: impl FnOnce(&mut PageFtl)) {
        let mut rig = small(&[]);
        let units = rig.units();
        (0..units).chain((0..units).step_by(3)).for_each(|lpn| {
            rig.write(&[lpn], None);
            rig.run_until_idle();
        });
        change(&mut rig.ftl);
        assert!(
            rig.with_ftl(|ftl, flash, _| ftl.move_to_helper(flash, 0, false)),
            "there is a victim, and a helper pool"
        );
        rig.run_until_idle();
    }

    #[test]
    fn a_rescue_reserves_room_until_its_units_arrive() {
        rescued(|_| {});
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::Planted::bug(Sabotage::HelperUnreserved);
            std::panic::catch_unwind(|| rescued(|ftl| ftl.planted = bug))
                .expect_err("a rescue without a reservation must fail");
        }
    }
}
