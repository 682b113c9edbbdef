//! Dies that have failed as a whole, and the move of the data that their superblocks hold.
//!
//! A command to a failed die tells the drive. Then:
//! * Free superblocks go on without their member in that die, and open superblocks are closed.
//! * The valid mapping units of every other superblock of the group are moved, at the rate that the description gives.
//!   Those in the failed die are rebuilt from parity; the others are without protection until they are moved.
//! * A moved superblock goes on without the member after its erase.

use std::collections::VecDeque;

use base::units::{Bytes, DieId, Psn, Rate, SECTOR, SuperblockId, Time};
use flash::nand::Stream;

use super::BlockManager;
use super::table::SuperblockState;
use crate::event::Event;
use crate::page::PageConfig;
use crate::port::Flash;
use crate::sabotage::Sabotage;

#[derive(Clone, Debug)]
pub(in crate::page) struct DeadDies {
    known: Vec<DieId>,
    /// The superblocks whose data is to be moved. A superblock that was emptied for another reason may still be listed.
    waiting: VecDeque<SuperblockId>,
    rate: Option<Rate>,
    /// The earliest time at which the next move may begin.
    next: Time,
    event: Option<Time>,
    is_due: bool,
    /// Number of superblocks whose move has begun.
    pub(in crate::page) begun: u64,
}

impl DeadDies {
    pub(super) const fn new(config: &PageConfig) -> Self {
        Self {
            known: Vec::new(),
            waiting: VecDeque::new(),
            rate: config.rebuild_rate,
            next: Time::ZERO,
            event: None,
            is_due: false,
            begun: 0,
        }
    }

    /// True if some superblock waits for its move.
    #[inline]
    pub(in crate::page) fn any_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if this superblock waits for its move: it takes no more programs.
    #[inline]
    pub(super) fn waits(&self, superblock: SuperblockId) -> bool {
        self.any_waits() && self.waiting.contains(&superblock)
    }

    /// The number of superblocks that wait for their move.
    pub(in crate::page) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub(super) fn wake(&mut self, now: Time) {
        if self.event.is_some_and(|at| at <= now) {
            (self.event, self.is_due) = (None, true);
        }
    }

    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    /// True if the time of the next move has come. A second call returns false.
    pub(in crate::page) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

impl BlockManager {
    /// True if dies have failed that the drive does not know yet.
    #[inline]
    pub(in crate::page) fn may_meet_dead_die(&self, flash: &Flash<'_>) -> bool {
        flash.backend.media().dead_dies().len() > self.dead_dies.known.len()
    }

    /// True if a slot lies in a die that is known to have failed.
    #[inline]
    pub(in crate::page) fn is_in_dead_die(&self, psn: Psn) -> bool {
        !self.dead_dies.known.is_empty() && self.knows_as_dead(self.layout.member_at(psn))
    }

    /// True if the die of a member is known to have failed.
    pub(super) fn knows_as_dead(&self, member: SuperblockId) -> bool {
        self.dead_dies.known.contains(&self.layout.array.die_of(member))
    }

    /// The dies that have failed, and that the drive does not know yet.
    pub(in crate::page) fn unknown_dead_dies(&self, flash: &Flash<'_>) -> Vec<DieId> {
        let dead = flash.backend.media().dead_dies();
        dead.filter(|die| !self.dead_dies.known.contains(die)).collect()
    }

    /// The drive learns that a die has failed.
    pub(in crate::page) fn note_dead_die(&mut self, flash: &mut Flash<'_>, die: DieId) {
        self.dead_dies.known.push(die);
        let Some(group) = self.layout.group_with(die) else { return };
        let each = self.layout.shape.superblock_count() / self.layout.shape.die_count();
        for superblock in (group.get() * each..(group.get() + 1) * each).map(SuperblockId::new) {
            let present = self.layout.present(flash.backend.media(), superblock);
            let lost: Vec<SuperblockId> = present.filter(|member| self.layout.array.die_of(*member) == die).collect();
            match self.table.state(superblock) {
                // The end of a pending erase finds that the die has failed.
                _ if lost.is_empty() => {}
                SuperblockState::Bad | SuperblockState::Victim | SuperblockState::Erasing => {}
                SuperblockState::Free => self.shrink_free(flash, superblock, &lost),
                SuperblockState::Open | SuperblockState::Full | SuperblockState::Closed => {
                    if !self.planted.is(Sabotage::DeadDieLeft) || superblock.get() % 4 != 1 {
                        self.dead_dies.waiting.push_back(superblock);
                    }
                }
            }
        }
        let pools = (0..self.pools.len() as u32).filter(|pool| self.dies_of_pool(*pool).any(|other| other == die));
        for pool in pools.collect::<Vec<_>>() {
            let count = self.pools[pool as usize].reserve.streams;
            let streams = (0..count.host).map(Stream::host).chain((0..count.copies).map(Stream::copies));
            for stream in streams {
                let open = self.pools[pool as usize].open[stream];
                if open.is_some_and(|open| self.dead_dies.waiting.contains(&open.superblock)) {
                    self.close_early(pool, stream);
                }
            }
        }
    }

    /// Lets a free superblock go on without these members, or retires it.
    fn shrink_free(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, lost: &[SuperblockId]) {
        let pool = self.pool_of(superblock);
        if !self.pools[pool as usize].free.take(superblock) {
            return;
        }
        if self.go_on_without(flash.backend.media_mut(), superblock, lost) {
            let erases = self.layout.erases(flash.backend.media(), superblock);
            self.pools[pool as usize].free.push(superblock, erases);
        } else {
            self.retire(flash, pool, superblock);
        }
    }

    /// True if some superblock of a pool may be moved now.
    #[inline]
    pub(in crate::page) fn may_rebuild(&self, flash: &Flash<'_>, pool: u32) -> bool {
        self.dead_dies.any_waits() && self.rebuild_is_in_time(flash) && self.first_to_rebuild(pool).is_some()
    }

    fn rebuild_is_in_time(&self, flash: &Flash<'_>) -> bool {
        !flash.backend.is_timed() || self.dead_dies.next <= flash.now
    }

    /// The index in `waiting` of the first superblock of a pool that takes no more programs.
    fn first_to_rebuild(&self, pool: u32) -> Option<usize> {
        let is_ready = |superblock: &SuperblockId| {
            self.pool_of(*superblock) == pool && self.table.state(*superblock) == SuperblockState::Closed
        };
        self.dead_dies.waiting.iter().position(is_ready)
    }

    /// The superblock of a pool that is moved next because a die has failed, if its data finds a place.
    pub(in crate::page) fn next_to_rebuild(&mut self, flash: &Flash<'_>, pool: u32) -> Option<SuperblockId> {
        if !self.dead_dies.any_waits() || !self.rebuild_is_in_time(flash) {
            return None;
        }
        let place = self.first_to_rebuild(pool)?;
        let superblock = self.dead_dies.waiting[place];
        let free = self.pools[pool as usize].free.len();
        if !self.copies_fit(pool, free, self.table.valid(superblock)) {
            return None;
        }
        self.dead_dies.waiting.remove(place);
        self.dead_dies.begun += 1;
        let shape = &self.layout.shape;
        let size = SECTOR.get() * u64::from(shape.superblock_slots()) * u64::from(shape.sectors);
        if let Some(rate) = self.dead_dies.rate {
            self.dead_dies.next = flash.now + rate.time(Bytes::new(size));
        }
        Some(superblock)
    }

    /// Removes a superblock from those that wait, because it was emptied as a victim or has been retired.
    #[inline]
    pub(in crate::page) fn forget_rebuild(&mut self, superblock: SuperblockId) {
        if self.dead_dies.any_waits() {
            self.dead_dies.waiting.retain(|other| *other != superblock);
        }
    }

    /// Schedules an event for the next move, if a superblock waits for its time.
    #[inline]
    pub(in crate::page) fn schedule_rebuild(&mut self, flash: &mut Flash<'_>) {
        let of = &mut self.dead_dies;
        if of.any_waits() && of.event.is_none() && !of.is_due && flash.backend.is_timed() && of.next > flash.now {
            of.event = Some(of.next);
            flash.events.push(of.next, Event::Ftl);
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Lpn, Span};

    use super::*;
    use crate::page::PageFtl;
    use crate::page::mapping::L2p;
    use crate::rig::{Rig, describe};

    /// A drive of four dies that is written once. One die then fails, and a read finds the failure.
    fn moved(rate: &str) -> (Rig<PageFtl>, Span) {
        let (config, array, _) = describe(&format!(
            r"flash = {{ part = 'K9K8G08U0M', channels = 4, chips = 1, blocks = 32, pages = 8, planes = 1, controllers = 'none' }}
ftl = {{ capacity = '256KiB', superblock-dies = 4, parity = true{rate} }}"
        ));
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let units = rig.units();
        for lpn in 0..units {
            rig.write(&[lpn], None);
            rig.run_until_idle();
        }
        let die = DieId::new(2);
        rig.backend.media_mut().fail_die(die);
        let begin = rig.with_ftl(|_, flash, _| flash.now);
        let L2p::Ram(map) = &rig.ftl.mapping.l2p else { panic!("the map is in RAM") };
        let (layout, place) = (&rig.ftl.blocks.layout, |lpn| map.get(Lpn::new(lpn)).expect("it is written"));
        let in_die = |lpn: &u32| layout.array.die_of(layout.member_at(place(*lpn))) == die;
        let lost = (0..units).find(in_die).expect("a unit in the die");
        rig.read(lost);
        rig.run_until_idle();
        let took = rig.with_ftl(|_, flash, _| flash.now) - begin;
        (rig, took)
    }

    #[test]
    fn the_data_of_a_failed_die_moves_to_the_others() {
        let (rig, _) = moved("");
        let (blocks, media) = (&rig.ftl.blocks, rig.backend.media());
        rig.ftl.check(media);
        for superblock in (0..blocks.layout.shape.superblock_count()).map(SuperblockId::new) {
            let is_left = blocks.table.valid(superblock) > 0
                && blocks.layout.present(media, superblock).any(|member| media.is_dead(member));
            assert!(!is_left, "{superblock} holds data, and one of its members is in the failed die");
        }
        let counters = blocks.parity_counters().expect("parity");
        assert_eq!((counters.lost, counters.waiting_superblocks), (0, 0));
        assert!(counters.rebuilt > 1 && counters.rebuilt_superblocks > 3, "{counters:?}");
        assert!(blocks.pools[0].missing_slots > 0);
    }

    #[test]
    fn a_rate_spreads_the_move_over_time() {
        let (rig, took) = moved(", rebuild-rate = '1MB/s'");
        let begun = rig.ftl.blocks.parity_counters().expect("parity").rebuilt_superblocks;
        let shape = &rig.ftl.blocks.layout.shape;
        let size = SECTOR.get() * u64::from(shape.superblock_slots()) * u64::from(shape.sectors);
        // The rate spaces the beginnings of the moves.
        let spread = Rate::new(1_000_000).time(Bytes::new(size * (begun - 1)));
        assert!(took >= spread && took < spread + Span::from_ms(20), "{begun} superblocks in {took}, not {spread}");
        assert!(moved("").1 < spread, "without a rate it takes less");
    }
}
