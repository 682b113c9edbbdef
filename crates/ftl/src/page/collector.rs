//! The collector: chooses victims, gathers their valid mapping units, and copies them.
//!
//! The collector gathers valid mapping units, from several victims if necessary, until they fill a program; then one list reads
//! and programs them. The collector erases a victim when all its valid mapping units have new places and no reader needs it. One
//! free superblock is always reserved for copies, so collection itself never runs out.

mod copy;
mod fold;
pub(super) mod pace;
pub(super) mod rescue;
pub(super) mod sort;
mod throttle;
mod wear;

use base::engine::Rng;
use base::units::{Psn, SuperblockId};
use flash::backend::Cause;
use flash::nand::{Mode, Stream};

use super::PageConfig;
use super::block_manager::BlockManager;
use super::block_manager::collection::Victim;
use super::block_manager::pool::Holds;
use super::block_manager::table::SuperblockState;
use super::mapping::moves::VacatedSuperblock;
use super::mapping::{L2p, Mapping};
use super::prefetch::prefetch_gathered;
use super::victim::Moment;
use super::writer::Writer;
use crate::map_unit::MapUnit;
use crate::port::{Flash, Mount};
use crate::sabotage::Sabotage;
use crate::toolkit::WearSpec;

use pace::Pace;

/// The state of the collector that is common to all pools.
#[derive(Clone, Debug)]
pub(super) struct CollectorState {
    /// The pace of collection; none if the description sets the full pace.
    pub(super) pace: Option<Box<Pace>>,
    wear: WearSpec,
    copy_back: bool,
    rng: Rng,
    /// Mapping units of the host that have been programmed since the power came on, modulo 2^32.
    pub(super) programmed: u32,
    /// The superblocks that the mapping units of the latest ended copy have left. Mapping units without an answer of
    /// the map unit do not count. A buffer: empty between the ends of two copies.
    pub(super) moved: Vec<VacatedSuperblock>,
}

impl CollectorState {
    pub(super) fn new(config: &PageConfig, from: &Mount<'_>) -> Self {
        Self {
            pace: config.gc.pace.pace(),
            wear: config.wear.clone(),
            copy_back: config.copy_back,
            rng: Rng::stream(from.seed, "ftl.gc"),
            programmed: 0,
            moved: Vec::new(),
        }
    }
}

/// A view of the FTL: the collector's state, and the parts that it changes.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    pub(super) state: &'a mut CollectorState,
    pub(super) blocks: &'a mut BlockManager,
    pub(super) mapping: &'a mut Mapping,
    pub(super) writer: &'a mut Writer,
}

impl Collector<'_> {
    /// Begins copies of a pool until its limit of copies is reached, or nothing is left to copy. Returns false if the
    /// pool has no superblock to copy to.
    pub(super) fn copy_on(&mut self, flash: &mut Flash<'_>, pool: u32) -> bool {
        if self.blocks.pauses_folding(pool) || self.is_ahead(pool) {
            return true;
        }
        let most = self.copies_allowed(flash, pool);
        while self.blocks.pools[pool as usize].gc.copies < most {
            let Some(stream) = self.gather_program(flash, pool) else { break };
            if !self.copy(flash, pool, stream) {
                return false;
            }
        }
        true
    }

    /// Gathers the copies of a program. Returns their stream; none if the copies do not fill a program and can wait for
    /// others.
    pub(super) fn gather_program(&mut self, flash: &mut Flash<'_>, pool: u32) -> Option<Stream> {
        if !self.blocks.pools[pool as usize].gc.sorted.is_empty() {
            return self.gather_sorted(flash, pool);
        }
        let copies = self.blocks.pools[pool as usize].copies;
        let room = self.blocks.copy_room(pool, copies);
        let filled = self.gather(flash, pool, room);
        (filled || self.writer.must_pad(self.blocks, pool)).then_some(copies)
    }

    /// Gathers valid slots until there are `room` of them. Returns false if the victims have fewer.
    pub(super) fn gather(&mut self, flash: &mut Flash<'_>, pool: u32, room: u32) -> bool {
        loop {
            let gathered = self.blocks.pools[pool as usize].gc.gathered.len();
            let like = if self.blocks.folds_in_planes() { self.sort_pages(pool, room as usize) } else { gathered };
            let Some(missing) = (room as usize).checked_sub(like).filter(|missing| *missing > 0) else { return true };
            let (wanted, gc) = (gathered + missing, &self.blocks.pools[pool as usize].gc);
            let end = self.blocks.layout.shape.superblock_slots();
            let Some(i) = gc.victims.iter().position(|victim| victim.cursor < end) else {
                if gathered < room as usize && self.begin_victim(flash, pool, true) {
                    continue;
                }
                return gathered >= room as usize;
            };
            let gc = &mut self.blocks.pools[pool as usize].gc;
            let (superblock, before) = (gc.victims[i].superblock, gathered);
            let mut valid = self.blocks.table.valid_slots(superblock, gc.victims[i].cursor);
            while gc.gathered.len() < wanted
                && let Some(psn) = valid.next()
            {
                prefetch_gathered(flash, (gc.gathered.last().copied(), psn), &valid, room == 1);
                gc.gathered.push(psn);
            }
            let gathered = gc.gathered.len() - before;
            self.blocks.table.pin_times(superblock, gathered as u32);
            if let Some(last) = gc.gathered[before..].last() {
                gc.victims[i].cursor = self.blocks.layout.locate(*last).1 + 1;
            }
            if gc.gathered.len() < wanted {
                gc.victims[i].cursor = end;
                self.blocks.erase_if_empty(flash, superblock);
            }
            if self.blocks.planted.is(Sabotage::CollectionDrops) {
                self.drop_gathered(flash, pool, gathered);
            }
        }
    }

    /// Drops some of the valid mapping units that were gathered last, for [`Sabotage::CollectionDrops`].
    pub(super) fn drop_gathered(&mut self, flash: &mut Flash<'_>, pool: u32, gathered: usize) {
        let all = &mut self.blocks.pools[pool as usize].gc.gathered;
        let dropped: Vec<Psn> = all.split_off(all.len() - gathered);
        for psn in dropped {
            if psn.get() % 16 == 5 {
                self.blocks.table.unpin(self.blocks.layout.locate(psn).0);
                self.mapping.drop_unit(self.blocks, flash, psn);
            } else {
                self.blocks.pools[pool as usize].gc.gathered.push(psn);
            }
        }
    }

    /// Takes another victim if one is needed and available. With `fills_up` its mapping units may fill up the program
    /// of the copies that are gathered already. Returns false if it took no victim.
    pub(super) fn begin_victim(&mut self, flash: &Flash<'_>, pool: u32, fills_up: bool) -> bool {
        // Copies of data need answers of the map unit, and the map unit has not started.
        if self.blocks.kind_in(pool) == Holds::Data && self.mapping.is_rewriting() {
            return false;
        }
        let chosen = &mut self.blocks.pools[pool as usize];
        if let Some(failing) = chosen.gc.failing.last().copied() {
            let gone = self.blocks.table.state(failing) != SuperblockState::Closed;
            if gone || self.blocks.finds_place(pool, failing) {
                self.blocks.pools[pool as usize].gc.failing.pop();
                if !gone {
                    self.take_victim(pool, failing, Cause::Recovery);
                }
                return true;
            }
        }
        if let Some(superblock) = self.blocks.next_unprotected(pool) {
            self.take_victim(pool, superblock, Cause::Recovery);
            return true;
        }
        if let Some(superblock) = self.blocks.next_to_rebuild(flash, pool) {
            self.take_victim(pool, superblock, Cause::Recovery);
            return true;
        }
        if let Some(due) = self.blocks.next_to_refresh(pool) {
            self.take_victim(pool, due, Cause::Refresh);
            return true;
        }
        if let Some(oldest) = self.blocks.next_to_fold(pool) {
            self.take_victim(pool, oldest, Cause::Fold);
            return true;
        }
        let chosen = &self.blocks.pools[pool as usize];
        let gc = &chosen.gc;
        let free = chosen.free.len();
        let coming = gc.erases + gc.victims.len() as u32;
        let stalled = !chosen.is_moving() && gc.has_gathered();
        let fills = stalled && !self.blocks.pads_cheaply(pool);
        let enough = self.blocks.has_enough(pool, 0) || (!fills && self.blocks.has_enough(pool, coming));
        // While a write waits, mapping units of another victim fill the program better than padding.
        let worthwhile = self.blocks.victims[self.blocks.kind_in(pool)]
            .is_worthwhile(pool, self.blocks.room_of_free(pool, 1))
            || ((stalled || self.blocks.gc.shared_log) && self.writer.is_awaited(self.blocks, pool));
        if !gc.active || enough || !worthwhile {
            return false;
        }
        self.blocks.note_unit_ages(flash, pool);
        let chosen = &self.blocks.pools[pool as usize];
        // Without a free superblock only the cheapest victim is safe.
        let dry = free == 0 && chosen.open[chosen.copies].is_none();
        let victims = &self.blocks.victims[self.blocks.kind_in(pool)];
        let media = flash.backend.media();
        let moment = Moment {
            now: flash.now,
            free,
            latest: self.mapping.versions.latest(),
            erases: &|superblock| self.blocks.layout.erases(media, superblock),
            stream: &|superblock| self.blocks.table.stream(superblock),
        };
        let victim = if dry { victims.cheapest(pool) } else { victims.pick(pool, moment, &mut self.state.rng) };
        // Filling up a program takes no further space; otherwise all gathered mapping units must find a place.
        let free_of_charge = stalled && fills_up;
        let fits = |victim: &SuperblockId| {
            free_of_charge || self.blocks.copies_fit(pool, free, self.blocks.table.valid(*victim))
        };
        // With no superblock free and no copy under way, the policy's choice may never fit, and the cheapest victim
        // may.
        let last = || victims.cheapest(pool).filter(|_| free == 0 && !chosen.is_moving()).filter(fits);
        let Some(victim) = victim.filter(fits).or_else(last) else { return false };
        self.take_victim(pool, victim, Cause::Gc);
        true
    }

    pub(super) fn take_victim(&mut self, pool: u32, superblock: SuperblockId, cause: Cause) {
        let kind = self.blocks.kind_in(pool);
        if !self.blocks.is_set_aside(superblock) {
            self.blocks.victims[kind].remove(pool, superblock);
        }
        self.blocks.table.set_state(superblock, SuperblockState::Victim);
        self.blocks.note_victim(pool, superblock);
        self.blocks.forget_rebuild(superblock);
        self.blocks.note_moved(superblock, cause == Cause::Refresh);
        let folds = cause == Cause::Gc && self.blocks.table.mode(superblock) == Mode::Slc;
        let cause = if folds { Cause::Fold } else { cause };
        let valid = self.blocks.table.valid(superblock);
        self.blocks.note_reallocated(pool, superblock, valid);
        let gc = &mut self.blocks.pools[pool as usize].gc;
        gc.victims.push(Victim { superblock, valid, cursor: 0, cause });
        gc.is_stale |= valid == 0;
        // The more valid mapping units a victim has, the more turns the collector needs (Woo and Min, Sec. 4.6); of
        // several victims the latest sets the weight. Copies of translation pages ask the map unit no questions.
        if let L2p::MapUnit(map_client) = &mut self.mapping.l2p
            && pool < self.blocks.groups
        {
            map_client.unit.set_collector_weight(valid, self.blocks.layout.shape.superblock_slots());
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::Lpn;

    use super::*;
    use crate::PageConfig;
    use crate::page::PageFtl;
    use crate::port::PageWrite;
    use crate::rig::{Rig, describe};

    #[test]
    fn copies_to_a_shared_log_come_behind_the_full_programs_of_the_present_request() {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }
ftl = { capacity = '128KiB', gc = { shared-log = true } }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let slots = rig.ftl.blocks.layout.shape.superblock_slots();
        (0..slots).chain([0]).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        let sectors = rig.ftl.blocks.layout.shape.sectors;
        rig.with_ftl(|ftl, flash, host| {
            ftl.begin_write(0);
            for lpn in (slots..).take(ftl.blocks.program_slots() as usize).map(Lpn::new) {
                ftl.write(flash, host, PageWrite::of_ftl(lpn, 99, sectors));
            }
            assert!(
                ftl.blocks.pools[0].queue.open.program.is_none() && ftl.blocks.pools[0].queue.open.list.is_some(),
                "the request has filled a program"
            );
            let closed =
                ftl.blocks.victims[Holds::Data].cheapest(0).expect("the first superblock is full and has garbage");
            ftl.collector().take_victim(0, closed, Cause::Gc);
            let room = ftl.blocks.copy_room(0, Stream::HOST);
            assert!(ftl.collector().gather(flash, 0, room) && ftl.collector().copy(flash, 0, Stream::HOST));
            ftl.end_write(flash, host);
        });
        // The media refuse a program of a page behind an erased one.
        rig.run_until_idle();
    }

    #[test]
    fn the_weight_of_the_collector_follows_the_valid_units_of_each_victim() {
        for map in ["dftl", "cdftl", "fmmu"] {
            let mut rig = Rig::new(&format!(
                r"flash = {{ part = 'dirik-2009', channels = 1, chips = 1, blocks = 40, pages = 16 }}
ftl = {{ map-unit = '1KiB', over-provisioning = '60%', map = {{ kind = '{map}' }} }}"
            ));
            let units = rig.units();
            rig.backend.set_timed(false);
            (0..units).for_each(|lpn| rig.write(&[lpn], None));
            (0..units / 2).for_each(|i| rig.write(&[i * 7919 % units], None));
            rig.run_until_idle();
            let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page-mapped drive");
            let slots = ftl.blocks.layout.shape.superblock_slots();
            let mut closed: Vec<SuperblockId> =
                (0..ftl.blocks.layout.shape.superblock_count()).map(SuperblockId::new).collect();
            closed.retain(|superblock| {
                ftl.blocks.table.state(*superblock) == SuperblockState::Closed
                    && ftl.blocks.pool_of(*superblock) < ftl.blocks.groups
            });
            closed.sort_by_key(|superblock| ftl.blocks.table.valid(*superblock));
            let (emptiest, fullest) = (closed[0], closed[closed.len() - 1]);
            assert!(ftl.blocks.table.valid(fullest) - ftl.blocks.table.valid(emptiest) >= slots / 4, "two that differ");
            for victim in [fullest, emptiest] {
                let L2p::MapUnit(map_client) = &ftl.mapping.l2p else { panic!("it has a map unit") };
                let before = format!("{:?}", map_client.unit);
                let mut told = map_client.unit.clone();
                told.set_collector_weight(ftl.blocks.table.valid(victim), slots);
                let pool = ftl.blocks.pool_of(victim);
                ftl.collector().take_victim(pool, victim, Cause::Gc);
                let L2p::MapUnit(map_client) = &ftl.mapping.l2p else { panic!("it has a map unit") };
                let after = format!("{:?}", map_client.unit);
                assert!(after == format!("{told:?}") && after != before, "{map} was not notified of {victim}");
            }
        }
    }
}
