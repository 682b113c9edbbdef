//! Help for a pool that has no superblock to copy into: the superblocks of other pools that its copies may use.

use base::units::SuperblockId;
use flash::nand::{Media, Mode, Spare};

use super::BlockManager;
use crate::page::layout::Striping;
use crate::sabotage::Sabotage;

impl BlockManager {
    /// The pool with the most room that can take a program of copies from `pool`. A helper normally stays below its
    /// limit of live data, and keeps a free superblock for its own collection or has a victim that will free one.
    ///
    /// A helper may do without both conditions if little is to be moved: at most a program, or at most half a
    /// superblock that fits beside the helper's own copies. The rescued pool frees more than that, and can help in its
    /// turn. As a `last` resort any helper may exceed its limit, because writes would be refused otherwise.
    pub(in crate::page) fn helper_pool(&self, pool: u32, last: bool) -> Option<u32> {
        let (units, slots) = (self.program_slots(), self.layout.shape.superblock_slots());
        let room = |pool: &u32| {
            let pool = &self.pools[*pool as usize];
            pool.limit(slots).saturating_sub(pool.live)
        };
        let victims = &self.pools[pool as usize].gc.victims;
        let cheapest = || self.victims[self.kind_in(pool)].cheapest(pool);
        let first = victims.first().map(|victim| victim.superblock).or_else(cheapest);
        let valid = first.map_or(slots, |superblock| self.table.valid(superblock));
        let fits = |other: &u32| {
            let free = self.pools[*other as usize].free.len();
            let open = self.pools[*other as usize].open[self.pools[*other as usize].copies].is_some();
            // One free superblock is for the helper's own collection, and one may have to be opened.
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

    /// True if every owner that may write to `pool` may also write to `other`, so that confined data stay confined.
    pub(in crate::page) fn shares_sets(&self, pool: u32, other: u32) -> bool {
        let open = self.planted.is(Sabotage::ConfinementForgotten);
        self.sets.iter().all(|set| !set.contains(&pool) || set.contains(&other) || open)
    }

    /// The victim to be emptied into `room` slots. `None`: no copies fit. `Some(None)`: the copies of the present
    /// victims fit, without a new victim. `Some(Some(_))`: the cheapest closed superblock fits, and the pool has no
    /// victim.
    #[allow(clippy::option_option)] // Without a new victim there may still be copies.
    pub(in crate::page) fn fitting_victim(
        &self,
        pool: u32,
        except: Option<SuperblockId>,
        room: u32,
    ) -> Option<Option<SuperblockId>> {
        let victims = &self.pools[pool as usize].gc.victims;
        let moving: u32 = victims.iter().map(|victim| self.table.valid(victim.superblock)).sum();
        let others = self.victims[self.kind_in(pool)].closed(pool).filter(|superblock| Some(*superblock) != except);
        let cheapest = others.map(|superblock| (self.table.valid(superblock), superblock)).min();
        let victim = cheapest.filter(|_| victims.is_empty());
        let units = moving + victim.map_or(0, |(valid, _)| valid);
        let fits = units > 0 && units.next_multiple_of(self.program_slots()) <= room;
        fits.then_some(victim.map(|(_, superblock)| superblock))
    }

    /// The offset of the first erased word line behind the data of a closed superblock, if copies can go there. None
    /// for a superblock with a torn page or in SLC mode. In a superblock in several dies it is the offset of the first
    /// stripe that is erased in all of them.
    pub(in crate::page) fn unwritten_end(&self, media: &Media, superblock: SuperblockId) -> Option<u32> {
        if self.table.mode(superblock) == Mode::Slc {
            return None;
        }
        let row_slots = self.layout.array.row_slots();
        let mut written = 0;
        for member in self.layout.present(media, superblock) {
            if media.is_dead(member) {
                return None;
            }
            let end = if media.is_erased(member) { 0 } else { media.unwritten_from(member)? * row_slots };
            let mut held = (0..end).map(|offset| media.spare(self.layout.array.slot(member, offset)));
            if held.any(|spare| spare == Spare::Torn) {
                return None;
            }
            written = written.max(end);
        }
        let next = written.next_multiple_of(self.program_slots()) * self.layout.data_units();
        let skipped = |striping: &Striping| striping.skips(self.table.missing(superblock), next);
        let skipped = self.layout.striping.as_deref().filter(|striping| skipped(striping));
        let next = next + skipped.map_or(0, |striping| striping.unit.get());
        (next < self.layout.shape.superblock_slots()).then_some(next)
    }

    /// Ends the reservation of a copy from another pool that has ended here; entering the copies counts the valid
    /// copies.
    pub(in crate::page) fn end_move_to_helper(&mut self, helper_pool: u32, units: u32) {
        self.pools[helper_pool as usize].live -= units;
        self.pools[helper_pool as usize].in_flight -= units;
    }

    /// The pool of a set with most room, if one has any.
    #[cold]
    pub(in crate::page) fn emptiest(&self, set: u32) -> Option<u32> {
        let slots = self.layout.shape.superblock_slots();
        let room = |pool: u32| {
            let pool = &self.pools[pool as usize];
            pool.limit(slots).saturating_sub(pool.live)
        };
        let others = self.sets[set as usize].iter().copied();
        others.max_by_key(|pool| (room(*pool), std::cmp::Reverse(*pool))).filter(|pool| room(*pool) > 0)
    }
}
