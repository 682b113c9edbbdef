//! Rescue of a pool without a superblock to copy into, after the reserved one has failed.
//!
//! The pool may hold much garbage, but cannot collect it. If none of the following helps, the pool gives up:
//! * A closed superblock without valid mapping units is erased at once.
//! * Another pool, the helper, takes the valid mapping units of the cheapest victim.
//! * Copies go to flash that is erased: to the unwritten end of a superblock that a power cut has closed early, or to a
//!   free superblock of the pool of translation pages beside it.

use base::units::SuperblockId;
use flash::backend::Cause;
use flash::nand::Mode;

use super::Collector;
use crate::page::block_manager::pool::{Holds, Open};
use crate::page::block_manager::table::SuperblockState;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl Collector<'_> {
    /// Rescues a pool that no event would wake any more. With `last` the helper may exceed its limit. Returns true if
    /// the pool has work in progress now.
    pub(in crate::page) fn rescue(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> bool {
        self.erase_garbage(flash, pool);
        let cheapest = self.blocks.victims[self.blocks.kind_in(pool)].cheapest(pool);
        // The rest of a shared log may be too short for any victim.
        let short = self.blocks.gc.shared_log
            && !cheapest.is_some_and(|v| self.blocks.copies_fit(pool, 0, self.blocks.table.valid(v)));
        let chosen = &self.blocks.pools[pool as usize];
        let dry = chosen.free.is_empty() && (short || chosen.open[chosen.copies].is_none());
        self.blocks.is_collecting(pool)
            || (dry && self.move_to_helper(flash, pool, last))
            || self.find_place(flash, pool)
    }

    /// Finds a place to copy to for a pool without an erased superblock, and starts to empty a victim there: the
    /// unwritten end of a closed superblock, or a free superblock of the pool of translation pages beside it. Returns
    /// true if copies began.
    pub(in crate::page) fn find_place(&mut self, flash: &mut Flash<'_>, pool: u32) -> bool {
        let chosen = &self.blocks.pools[pool as usize];
        let (kind, copies) = (self.blocks.kind_in(pool), chosen.copies);
        let assembles = chosen.queue.each_list().any(|of| of.program.is_some());
        let starting = kind == Holds::Data && self.mapping.is_rewriting();
        if starting || !chosen.free.is_empty() || chosen.open[copies].is_some() || assembles {
            return false;
        }
        let (media, slots) = (flash.backend.media(), self.blocks.layout.shape.superblock_slots());
        let closed = self.blocks.victims[kind].closed(pool);
        let ends = closed.filter_map(|superblock| Some((self.blocks.unwritten_end(media, superblock)?, superblock)));
        if let Some((next, superblock)) = ends.min()
            && let Some(victim) = self.blocks.fitting_victim(pool, Some(superblock), slots - next)
        {
            self.blocks.victims[kind].remove(pool, superblock);
            self.blocks.table.set_state(superblock, SuperblockState::Open);
            self.blocks.table.set_stream(superblock, copies);
            *self.blocks.pools[pool as usize].open(copies) = Some(Open { superblock, next, mode: Mode::Full });
            return self.empty(flash, pool, victim);
        }
        if kind == Holds::Data
            && let Some(victim) = self.blocks.fitting_victim(pool, None, slots)
            && self.blocks.take_back(pool)
        {
            self.blocks.open_superblock(pool, copies, false);
            return self.empty(flash, pool, victim);
        }
        false
    }

    /// Starts to copy `victim`, or the victims that the pool already has. Returns true if copies began.
    pub(in crate::page) fn empty(&mut self, flash: &mut Flash<'_>, pool: u32, victim: Option<SuperblockId>) -> bool {
        if let Some(victim) = victim {
            self.take_victim(pool, victim, Cause::Recovery);
        }
        // No other event wakes the pool, so it pads its last program.
        self.blocks.pools[pool as usize].gc.victims.iter_mut().for_each(|victim| victim.cause = Cause::Recovery);
        let copies = self.blocks.pools[pool as usize].copies;
        self.blocks.pools[pool as usize].gc.join();
        let room = self.blocks.copy_room(pool, copies);
        self.gather(flash, pool, room);
        if !self.blocks.pools[pool as usize].gc.gathered.is_empty() {
            self.copy_to(flash, pool, (pool, copies));
        }
        self.blocks.is_collecting(pool)
    }

    /// Erases the closed superblocks of a pool without valid mapping units.
    pub(in crate::page) fn erase_garbage(&mut self, flash: &mut Flash<'_>, pool: u32) {
        let kind = self.blocks.kind_in(pool);
        while let Some(empty) =
            self.blocks.victims[kind].cheapest(pool).filter(|victim| self.blocks.table.valid(*victim) == 0)
        {
            self.take_victim(pool, empty, Cause::Gc);
            self.blocks.erase_if_empty(flash, empty);
        }
    }

    /// Copies the mapping units of one program to another pool.
    pub(in crate::page) fn move_to_helper(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> bool {
        let Some(helper_pool) = self.blocks.helper_pool(pool, last) else { return false };
        if self.blocks.pools[pool as usize].gc.victims.is_empty() {
            let Some(victim) = self.blocks.victims[self.blocks.kind_in(pool)].cheapest(pool) else { return false };
            self.take_victim(pool, victim, Cause::Gc);
        }
        self.writer.yield_log(self.blocks, flash, helper_pool);
        let copies = self.blocks.pools[helper_pool as usize].copies;
        self.blocks.pools[pool as usize].gc.join();
        if self.blocks.pools[helper_pool as usize].open(copies).is_none() {
            self.blocks.open_superblock(helper_pool, copies, false);
        }
        let room = self.blocks.copy_room(helper_pool, copies);
        self.gather(flash, pool, room);
        let units = room.min(self.blocks.pools[pool as usize].gc.gathered.len() as u32);
        if units == 0 {
            return false;
        }
        // The room is reserved, so that no write is promised the same space.
        self.blocks.pools[helper_pool as usize].live += units;
        self.blocks.pools[helper_pool as usize].in_flight +=
            if self.blocks.planted.is(Sabotage::HelperUnreserved) { 0 } else { units };
        self.copy_to(flash, pool, (helper_pool, copies));
        true
    }

    /// True if the data pool of a group will soon have a free superblock for the pool of translation pages beside it:
    /// an erase is in progress, or waits only for a reader. An erase that waits for copies of data does not count,
    /// because the map unit may need a translation page to answer for them.
    pub(in crate::page) fn will_lend(&mut self, flash: &mut Flash<'_>, group: u32) -> bool {
        if !self.writer.wants_block(self.blocks, group) {
            return false;
        }
        self.blocks.drop_stale(flash, group);
        self.erase_garbage(flash, group);
        let data = &self.blocks.pools[group as usize].gc;
        let mut victims = data.victims.iter().map(|victim| victim.superblock);
        let answered = data.copies == 0 && data.asked == 0;
        data.erases > 0 || (answered && victims.any(|victim| self.blocks.table.valid(victim) == 0))
    }

    /// True if a pool of translation pages will soon have a free superblock, because an erase is in progress in that
    /// pool or in the data pool beside it.
    pub(in crate::page) fn will_have_pages(&mut self, flash: &mut Flash<'_>) -> bool {
        (0..self.blocks.groups).any(|group| {
            self.erase_garbage(flash, self.blocks.groups + group);
            self.blocks.pools[(self.blocks.groups + group) as usize].gc.erases > 0 || self.will_lend(flash, group)
        })
    }
}

#[cfg(test)]
mod tests {
    use base::units::DieId;

    use super::*;
    use crate::PageConfig;
    use crate::page::PageFtl;
    use crate::rig::{Rig, describe};

    /// A drive of four pools, with queues that are confined to the given dies.
    fn small(queues: &[[u32; 2]]) -> Rig<PageFtl> {
        let (config, array, _) = describe(
            r"flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 24, pages = 16 }
ftl = { over-provisioning = '60%' }",
        );
        let mut config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        config.sets.extend(queues.iter().map(|dies| dies.map(DieId::new).to_vec()));
        Rig::with(config, &array)
    }

    /// The helper of each pool while the pools of `full` have no room. Two queues are confined to two pools each.
    fn helpers(full: &[usize], change: impl FnOnce(&mut PageFtl)) -> Vec<Option<u32>> {
        let mut rig = small(&[[0, 1], [2, 3]]);
        let ftl = &mut rig.ftl;
        change(ftl);
        let slots = ftl.blocks.layout.shape.superblock_slots();
        full.iter().for_each(|pool| ftl.blocks.pools[*pool].live = ftl.blocks.pools[*pool].limit(slots));
        (0..4).map(|pool| ftl.blocks.helper_pool(pool, false)).collect()
    }

    #[test]
    fn a_rescue_keeps_confined_units_in_their_dies() {
        assert_eq!(helpers(&[], |_| {}), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(helpers(&[0, 3], |_| {}), [Some(1), None, None, Some(2)]);
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::PlantedBug::bug(Sabotage::ConfinementForgotten);
            assert_eq!(helpers(&[0, 3], |ftl| ftl.blocks.planted = bug)[1], Some(2));
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
            rig.with_ftl(|ftl, flash, _| ftl.collector().move_to_helper(flash, 0, false)),
            "there is a victim, and a helper pool"
        );
        rig.run_until_idle();
    }

    #[test]
    fn a_rescue_reserves_room_until_its_units_arrive() {
        rescued(|_| {});
        #[cfg(feature = "sabotage")]
        {
            let bug = crate::PlantedBug::bug(Sabotage::HelperUnreserved);
            std::panic::catch_unwind(|| rescued(|ftl| ftl.blocks.planted = bug))
                .expect_err("a rescue without a reservation must fail");
        }
    }
}
