//! A pool in need: it has no superblock to copy into, because the one that was kept for that has failed.
//!
//! There may be plenty of garbage in it, but none of it can be collected. What helps is a superblock that has
//! become all garbage and can be erased as it is, or a refuge: another pool that takes the units of the cheapest
//! victim, whose superblock is then free. Only if there is neither the pool is given up.

use flash::backend::{Cause, Observer};
use flash::nand::{Sector, Stream};

use super::PageFtl;
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Tries to help a pool of which nothing more would ever be heard, at the `last` with all means. True if
    /// something is under way now.
    pub(super) fn rescue<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        pool: u32,
        last: bool,
    ) -> bool {
        let kind = self.kind_in(pool);
        while let Some(empty) = self.victims[kind].cheapest(pool).filter(|victim| self.blocks.valid(*victim) == 0) {
            self.take_victim(pool, empty, Cause::Gc);
            self.erase_if_empty(flash, empty);
        }
        let dry = self.pools[pool as usize].free.is_empty() && self.pools[pool as usize].open[Stream::Copies].is_none();
        self.is_collecting(pool) || (dry && self.move_to_helper(flash, pool, last))
    }

    /// True if a copy or an erase of the pool is under way, or an erase only waits for somebody who reads.
    fn is_collecting(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        chosen.is_moving() || chosen.gc.victims.iter().any(|victim| self.blocks.valid(victim.superblock) == 0)
    }

    /// Looks again at the pools that were given up, whenever there is a new free superblock somewhere, and at all of
    /// an NVM set before a write that is confined to it is refused. What they hold may have become garbage since, or
    /// another pool may have become a refuge. True if any pool of the set, or of them all, is collecting.
    pub(super) fn retry_stuck<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        last: Option<u32>,
    ) -> bool {
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

    /// A pool by its number among those of a set, or among all.
    fn nth_of(&self, set: Option<u32>, n: usize) -> u32 {
        set.map_or(n as u32, |set| self.sets[set as usize][n])
    }

    /// Copies a program's worth of units to another pool.
    fn move_to_helper<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, pool: u32, last: bool) -> bool {
        let Some(helper_pool) = self.helper_pool(pool, last) else { return false };
        if self.pools[pool as usize].gc.victims.is_empty() {
            let Some(victim) = self.victims[self.kind_in(pool)].cheapest(pool) else { return false };
            self.take_victim(pool, victim, Cause::Gc);
        }
        if self.pools[helper_pool as usize].open(Stream::Copies).is_none() {
            self.open_superblock(helper_pool, Stream::Copies, false);
        }
        let room = self.copy_room(helper_pool);
        self.gather(flash, pool, room);
        let units = room.min(self.pools[pool as usize].gc.gathered.len() as u32);
        if units == 0 {
            return false;
        }
        // Promised, so that nobody else is promised the same room.
        self.pools[helper_pool as usize].live += units;
        self.pools[helper_pool as usize].in_flight +=
            if self.planted.is(Sabotage::HelperUnreserved) { 0 } else { units };
        self.copy_to(flash, pool, helper_pool);
        true
    }

    /// The pool with the most room, if one can take a program's worth of units and still help itself. At the `last`
    /// it may go above its limit, and use its last free superblock if a victim of its own gives it another: otherwise
    /// writes would be refused, and the pool in need gives back more than that.
    fn helper_pool(&self, pool: u32, last: bool) -> Option<u32> {
        let (units, slots) = (self.program_slots(), self.geometry.superblock_slots());
        let room = |pool: &u32| {
            let pool = &self.pools[*pool as usize];
            pool.limit(slots).saturating_sub(pool.live)
        };
        let fits = |other: &u32| {
            let free = self.pools[*other as usize].free.len();
            let open = self.pools[*other as usize].open[Stream::Copies].is_some();
            // One is for its own collection, and one to be opened.
            let helps = free > u32::from(!open) && self.copies_fit(*other, free - 1, units);
            let collects = !self.pools[*other as usize].gc.victims.is_empty();
            let just = last && collects && (open || free > 0) && self.copies_fit(*other, free, units);
            let takes = (last || room(other) >= units) && (helps || just);
            *other != pool && takes && self.shares_sets(pool, *other)
        };
        self.pools_for(self.kind_in(pool)).filter(fits).max_by_key(|pool| (room(pool), std::cmp::Reverse(*pool)))
    }

    /// True if whoever may write to a pool may write to the other as well: confined data stays where it belongs.
    fn shares_sets(&self, pool: u32, other: u32) -> bool {
        let open = self.planted.is(Sabotage::ConfinementForgotten);
        self.sets.iter().all(|set| !set.contains(&pool) || set.contains(&other) || open)
    }

    /// A program of another pool's units has ended here: what has found its place is counted when it is entered.
    pub(super) fn end_move_to_helper(&mut self, helper_pool: u32, units: u32) {
        self.pools[helper_pool as usize].live -= units;
        self.pools[helper_pool as usize].in_flight -= units;
    }
}

#[cfg(test)]
mod tests {
    use base::units::DieId;

    use super::*;
    use crate::AnyConfig;
    use crate::rig::{Rig, describe};

    /// Four pools, and queues that are confined to these dies.
    fn small(queues: &[[u32; 2]]) -> Rig<PageFtl> {
        let (config, array, _) = describe(
            "flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 24, pages = 16 }\n\
             ftl = { over-provisioning = '60%' }",
        );
        let AnyConfig::Page(mut config) = config else { panic!("a page-mapped drive") };
        config.sets.extend(queues.iter().map(|dies| dies.map(DieId::new).to_vec()));
        Rig::with(config, &array, None)
    }

    /// Where the units of each pool would find refuge while `full` pools have no room: two pools for each of two queues
    /// that are confined.
    fn refuges(full: &[usize], change: impl FnOnce(&mut PageFtl)) -> Vec<Option<u32>> {
        let mut rig = small(&[[0, 1], [2, 3]]);
        let ftl = &mut rig.ftl;
        change(ftl);
        let slots = ftl.geometry.superblock_slots();
        full.iter().for_each(|pool| ftl.pools[*pool].live = ftl.pools[*pool].limit(slots));
        (0..4).map(|pool| ftl.helper_pool(pool, false)).collect()
    }

    #[test]
    fn confined_units_find_refuge_where_they_belong_or_nowhere() {
        assert_eq!(refuges(&[], |_| {}), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(refuges(&[0, 3], |_| {}), [Some(1), None, None, Some(2)]);
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::Planted::bug(Sabotage::ConfinementForgotten);
            assert_eq!(refuges(&[0, 3], |ftl| ftl.planted = bug)[1], Some(2));
        }
    }

    /// Copies units of the first pool to another, to the end.
    fn rescued(change: impl FnOnce(&mut PageFtl)) {
        let mut rig = small(&[]);
        let units = rig.units();
        (0..units).chain((0..units).step_by(3)).for_each(|lpn| {
            rig.write(&[lpn], None);
            rig.run_until_idle();
        });
        change(&mut rig.ftl);
        assert!(rig.with_ftl(|ftl, flash, _| ftl.move_to_helper(flash, 0, false)), "there is a victim, and a refuge");
        rig.run_until_idle();
    }

    #[test]
    fn what_finds_refuge_is_promised_room_until_it_is_there() {
        rescued(|_| {});
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::Planted::bug(Sabotage::HelperUnreserved);
            std::panic::catch_unwind(|| rescued(|ftl| ftl.planted = bug)).expect_err("the promise is counted off");
        }
    }
}
