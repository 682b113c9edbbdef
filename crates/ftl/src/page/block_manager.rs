//! The superblocks of a drive: their pools, their uses, and the free superblocks.
//!
//! A pool has the superblocks of a die, or of a group of its planes, and writes them as logs, one for each stream
//! ([`pool`]). Each plane group has a pool of data and, if the map has translation pages, a second one for them, which
//! takes its superblocks from the first ([`lend`]). A superblock goes from *free* to *open*, *full*, *closed*, *victim*
//! and *erasing* ([`table::SuperblockState`]).

pub(super) mod check;
pub(super) mod collection;
pub(super) mod dead_dies;
mod erase;
mod helper;
mod idle_timer;
mod lend;
mod missing;
pub(super) mod parity;
pub(super) mod pool;
pub(super) mod rebuild;
mod reclaim_units;
mod refresh;
pub(super) mod reserve;
pub(super) mod shape;
pub(super) mod slc_cache;
mod stripes;
pub(super) mod table;
pub(super) mod write_queue;

use std::collections::BTreeMap;

use base::engine::Handle;
use base::units::{DieId, Lpn, Psn, SuperblockId, Time};
use flash::backend::Command;
use flash::nand::{Mode, Spare, Stream};

use super::layout::Layout;
use super::streams::StreamCount;
use super::victim::{UnitVersions, Victims};
use super::{GcSpec, PageConfig};
use crate::port::{Flash, Mount};
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::{Gates, Slots};

use dead_dies::DeadDies;
use idle_timer::IdleTimer;
use parity::Parity;
use pool::{ByContent, Holds, Open, Pool, Reserve};
use rebuild::Rebuilds;
use reclaim_units::ReclaimUnits;
use refresh::Refresh;
use shape::ProgramShape;
use slc_cache::SlcCache;
use stripes::StripedErase;
use table::{BlockTable, SuperblockState};

/// All superblocks of a drive, with their pools.
#[derive(Clone, Debug)]
pub(super) struct BlockManager {
    pub(super) layout: Layout,
    /// The rows of programs in full blocks.
    pub(super) shape: ProgramShape,
    pub(super) gc: GcSpec,
    pub(super) table: BlockTable,
    /// One pool of data for each plane group, and a second pool for each if there are translation pages. The second
    /// pool has only as many superblocks as translation pages need.
    pub(super) pools: Vec<Pool>,
    pub(super) groups: u32,
    /// The pools of each NVM set, in ascending order. The first set has all data pools, the last set all pools of
    /// translation pages.
    pub(super) sets: Vec<Vec<u32>>,
    /// The closed superblocks, for the data pools and for the pools of translation pages.
    pub(super) victims: ByContent<Victims>,
    /// The superblocks in SLC mode, if the drive has a cache of them.
    slc_cache: Option<Box<SlcCache>>,
    /// The superblocks whose data is to be refreshed; none if the drive does not refresh.
    refresh: Option<Box<Refresh>>,
    /// The timer by which an idle drive starts to collect ahead; none if the drive does not collect ahead.
    idle_collection: Option<IdleTimer>,
    /// The time of the latest completion or answer, for the ages of superblocks.
    pub(super) now: Time,
    /// The parity of stripes under way; none if superblocks have no parity.
    pub(super) parity: Option<Box<Parity>>,
    /// The slots that are being rebuilt from parity, and those that were found unreadable.
    pub(super) rebuilds: Rebuilds,
    /// The reclaim units, if the host places its data in them.
    reclaim_units: Option<Box<ReclaimUnits>>,
    /// The dies that have failed as a whole.
    pub(super) dead_dies: DeadDies,
    /// The latest program of the first stripe of each superblock in several dies.
    opening: Gates<SuperblockId>,
    /// The superblocks in several dies that are being erased.
    erasing: BTreeMap<SuperblockId, StripedErase>,
    /// True if some pool may have given up collection.
    pub(super) gave_up: bool,
    /// Superblocks that were opened since the mount, modulo 2^32.
    pub(super) opened: u32,
    pub(super) planted: PlantedBug,
}

impl BlockManager {
    /// The superblocks before recovery: none belongs to a pool until `mapping::mount` has found its state.
    pub(super) fn new(config: &PageConfig, from: &Mount<'_>) -> Self {
        let (layout, geometry) = (config.layout.clone(), &config.geometry);
        let groups = geometry.die_count() * geometry.groups();
        let quotas = config.map_pages.quotas(geometry);
        let pool = |i, quota, holds| {
            // Translation pages need only one stream.
            let streams = if holds == Holds::Data { config.streams.count() } else { StreamCount::ONE };
            let member_slots = layout.array.superblock_slots();
            let sets_aside = holds == Holds::Data && config.map_pages.set_aside > 0;
            let reserve = Reserve { member_slots, streams, shared_log: config.gc.shared_log, holds, sets_aside };
            let group = DieId::new(i % groups / geometry.groups());
            let die = layout.dies_of(group).next().unwrap_or(group);
            Pool::new(geometry, die, config.wear.dynamic, quota, reserve)
        };
        let mut pools: Vec<Pool> = (0..groups).map(|i| pool(i, 0, Holds::Data)).collect();
        pools.extend(
            (0..)
                .zip(quotas)
                .map(|(i, quota)| Pool { needed: config.map_pages.room_of(i, groups), ..pool(i, quota, Holds::Pages) }),
        );
        let of_die = |die: &DieId| (die.get() * geometry.groups())..((die.get() + 1) * geometry.groups());
        let sets = config.sets.iter().map(|set| set.iter().flat_map(of_die).collect());
        Self {
            shape: ProgramShape::new(config, from.planted),
            gc: GcSpec { parallel: config.gc.parallel * layout.dies(), ..config.gc.clone() },
            table: BlockTable::new(&layout),
            sets: sets.chain([(groups..pools.len() as u32).collect()]).collect(),
            refresh: Refresh::new(config, pools.len()),
            pools,
            groups,
            victims: ByContent {
                data: Victims::new(&config.gc.victim, geometry, 0),
                pages: Victims::new(&config.gc.victim, geometry, groups),
            },
            slc_cache: SlcCache::new(config),
            idle_collection: config.gc.idle.map(|idle| IdleTimer::new(idle.after)),
            now: Time::ZERO,
            parity: config.has_parity().then(Box::default),
            rebuilds: Rebuilds::default(),
            reclaim_units: config.fdp.map(ReclaimUnits::new),
            dead_dies: DeadDies::new(config),
            opening: Gates::default(),
            erasing: BTreeMap::new(),
            gave_up: false,
            opened: 0,
            planted: from.planted,
            layout,
        }
    }

    /// Bytes of memory of a description's superblocks.
    pub(super) fn memory(config: &PageConfig) -> u64 {
        let geometry = &config.geometry;
        let groups = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let with_pages = if config.map_pages.count > 0 { groups * Pool::memory(geometry, StreamCount::ONE) } else { 0 };
        let pools = groups * Pool::memory(geometry, config.streams.count()) + with_pages;
        let members: u64 = config.sets.iter().map(|set| set.len() as u64).sum();
        let sets = members * u64::from(geometry.groups()) * size_of::<u32>() as u64;
        let victims = 2 * Victims::memory(&config.gc.victim, geometry);
        BlockTable::memory(&config.layout)
            + pools
            + sets
            + victims
            + SlcCache::memory(config)
            + Refresh::memory(config, 2 * groups)
            + ReclaimUnits::memory(config.fdp.as_ref())
    }

    /// The pool to which a superblock belongs at present.
    #[inline]
    pub(super) fn pool_of(&self, superblock: SuperblockId) -> u32 {
        let group = self.layout.shape.group_of(superblock);
        if self.table.is_map(superblock) { self.groups + group } else { group }
    }

    #[inline]
    pub(super) const fn kind_in(&self, pool: u32) -> Holds {
        if pool < self.groups { Holds::Data } else { Holds::Pages }
    }

    /// The data pools, or the pools of translation pages.
    pub(super) fn pools_for(&self, kind: Holds) -> std::ops::Range<u32> {
        match kind {
            Holds::Data => 0..self.groups,
            Holds::Pages => self.groups..self.pools.len() as u32,
        }
    }

    /// Slots that are written together: the slots of a row, or of all rows of a word line.
    pub(super) fn program_slots(&self) -> u32 {
        self.layout.shape.row_slots() * self.shape.word_line
    }

    /// The end of the rows that are written together from `offset` on: the end of its row, or of its word line.
    pub(super) fn program_end(&self, offset: u32) -> u32 {
        self.program_end_in(Mode::Full, offset)
    }

    /// The end of the rows that are written together from `offset` on, in a superblock of this mode.
    #[inline]
    pub(super) fn program_end_in(&self, mode: Mode, offset: u32) -> u32 {
        let shape = self.shape_in(mode);
        (shape.by_program_slots.quotient(offset) + 1) * self.layout.shape.row_slots() * shape.word_line
    }

    /// Flash commands of the dies of a pool that wait or are in progress.
    pub(super) fn load(&self, flash: &Flash<'_>, pool: u32) -> u32 {
        match self.layout.striping {
            None => flash.backend.load(self.pools[pool as usize].die),
            Some(_) => self.dies_of_pool(pool).map(|die| flash.backend.load(die)).sum(),
        }
    }

    pub(super) fn dies_of_pool(&self, pool: u32) -> impl Iterator<Item = DieId> + '_ {
        self.layout.dies_of(DieId::new(pool % self.groups / self.layout.shape.groups()))
    }

    /// The pool that a slot lies in.
    pub(super) fn pool_at(&self, psn: Psn) -> u32 {
        self.pool_of(self.layout.locate(psn).0)
    }

    /// Takes a free superblock for a stream, in full mode.
    ///
    /// # Panics
    ///
    /// If no superblock is free: the caller has checked.
    pub(super) fn open_superblock(&mut self, pool: u32, stream: Stream, worn: bool) -> SuperblockId {
        self.open_in(Mode::Full, pool, stream, worn)
    }

    /// Takes a free superblock for a stream, in a mode.
    ///
    /// # Panics
    ///
    /// If no superblock is free: the caller has checked.
    pub(super) fn open_in(&mut self, mode: Mode, pool: u32, stream: Stream, worn: bool) -> SuperblockId {
        let superblock = self.take_free(mode, pool, worn).expect("a free superblock");
        let next = self.first_offset(superblock);
        *self.pools[pool as usize].open(stream) = Some(Open { superblock, next, mode });
        self.table.set_state(superblock, SuperblockState::Open);
        self.table.set_stream(superblock, stream);
        self.note_opened(pool, superblock, mode);
        if mode == Mode::Slc {
            self.enter_cache(pool);
        }
        self.opened = self.opened.wrapping_add(1);
        superblock
    }

    /// Moves the next offset of a stream. Returns true if the superblock is now full.
    pub(super) fn advance(&mut self, pool: u32, stream: Stream, next: u32) -> bool {
        let Some(Open { superblock, mode, .. }) = *self.pools[pool as usize].open(stream) else { return false };
        let (next, is_left) = match self.layout.striping {
            None => (next, false),
            Some(_) => self.advance_in_stripes(superblock, next),
        };
        let is_full = is_left || next == self.slots_in(mode);
        let open = self.pools[pool as usize].open(stream);
        if is_full {
            *open = None;
            self.table.set_state(superblock, SuperblockState::Full);
            self.note_end(pool, stream, Open { superblock, next, mode });
        } else {
            *open = Some(Open { superblock, next, mode });
        }
        is_full
    }

    /// The next offset that holds data in a superblock in several dies. Also returns true if the stream leaves the
    /// superblock before its end, because the data of the superblock waits to be moved.
    fn advance_in_stripes(&mut self, superblock: SuperblockId, next: u32) -> (u32, bool) {
        let next = self.skip_missing(superblock, next);
        let is_left = next < self.layout.shape.superblock_slots() && self.dead_dies.waits(superblock);
        if is_left && let Some(parity) = &mut self.parity {
            parity.complete_early(superblock);
        }
        (next, is_left)
    }

    /// Makes a program wait for the program before it in its block, if that program waits for a read: programs of a
    /// block run in order.
    pub(super) fn pass_gate(&mut self, flash: &mut Flash<'_>, pool: u32, command: Handle<Command>) {
        if self.layout.striping.is_some() {
            return self.pass_gates_of_stripe(flash, pool, command);
        }
        let member = flash.backend.command(command).target.superblock;
        let gates = &mut self.pools[pool as usize].gates;
        if let Some(gate) = gates.of(member) {
            flash.backend.depend(gate, command);
            gates.set(member, command);
        }
    }

    /// Makes later programs of a block wait for a program that waits for a read.
    pub(super) fn set_gate(&mut self, flash: &Flash<'_>, pool: u32, command: Handle<Command>) {
        let member = flash.backend.command(command).target.superblock;
        self.pools[pool as usize].gates.set(member, command);
    }

    pub(super) fn program_done(&mut self, pool: u32, command: Handle<Command>, superblock: SuperblockId) {
        self.pools[pool as usize].gates.done(command);
        if self.layout.striping.is_some() {
            self.opening.done(command);
            if let Some(parity) = &mut self.parity {
                parity.program_done(superblock, command);
            }
        }
        self.release(superblock);
    }

    /// Counts the end of a program of a superblock, or the map unit's answer for a mapping unit in it. After the last
    /// of these the superblock is closed if it is full.
    pub(super) fn release(&mut self, superblock: SuperblockId) {
        if self.table.end_program(superblock) && self.table.state(superblock) == SuperblockState::Full {
            self.close(superblock);
        }
    }

    /// Makes a full superblock a candidate for garbage collection.
    pub(super) fn close(&mut self, superblock: SuperblockId) {
        let pool = self.pool_of(superblock);
        self.table.set_state(superblock, SuperblockState::Closed);
        if !self.is_set_aside(superblock) {
            let (kind, occupied) = (self.kind_in(pool), self.occupied(superblock));
            self.victims[kind].close(self.now, pool, superblock, occupied);
        }
        self.note_closed(pool, superblock);
        if self.table.is_failing(superblock) && !self.planted.is(Sabotage::FailingForgotten) {
            self.pools[pool as usize].gc.failing.push(superblock);
        }
    }

    /// Notes a failed program: the pool writes nothing more to the superblock, empties it and retires it.
    #[cold]
    pub(super) fn fail(&mut self, pool: u32, superblock: SuperblockId) {
        self.table.set_failing(superblock, true);
        let streams = if self.planted.is(Sabotage::CopiesGoOn) { 1 } else { usize::MAX };
        let mut left = None;
        for open in self.pools[pool as usize].open.each_mut().take(streams) {
            left = left.or(open.take_if(|open| open.superblock == superblock));
        }
        if let Some(open) = left {
            self.table.set_state(superblock, SuperblockState::Full);
            self.note_end(pool, self.table.stream(superblock), open);
        }
        if self.table.state(superblock) == SuperblockState::Closed {
            self.pools[pool as usize].gc.failing.push(superblock);
        }
    }

    /// Marks a slot to which the map no longer points as garbage.
    pub(super) fn invalidate(&mut self, psn: Psn) {
        let superblock = self.table.mark_invalid(psn);
        let pool = self.pool_of(superblock);
        self.pools[pool as usize].live -= 1;
        match self.table.state(superblock) {
            SuperblockState::Closed if self.planted.is(Sabotage::VictimStale) && psn.get() % 16 == 5 => {}
            SuperblockState::Closed => self.note_invalid(pool, superblock, 1),
            SuperblockState::Victim => self.pools[pool as usize].gc.is_stale = true,
            _ => {}
        }
    }

    /// Slots that are left in the next program of copies to a stream.
    pub(super) fn copy_room(&self, pool: u32, stream: Stream) -> u32 {
        match self.pools[pool as usize].open[stream] {
            Some(open) => self.program_end(open.next) - open.next,
            None => self.program_slots(),
        }
    }

    /// Closes an open superblock before it is full. Returns false if no superblock is open, or a program of it is under
    /// assembly.
    pub(super) fn close_early(&mut self, pool: u32, stream: Stream) -> bool {
        if self.pools[pool as usize].queue.assembles(stream) {
            return false;
        }
        let Some(open) = self.pools[pool as usize].open(stream).take() else { return false };
        self.table.set_state(open.superblock, SuperblockState::Full);
        self.note_end(pool, stream, open);
        // The superblock is closed behind the parity that completes its last stripe.
        let completes = self.parity.as_mut().is_some_and(|parity| parity.complete_early(open.superblock));
        if !completes && !self.table.has_programs(open.superblock) {
            self.close(open.superblock);
        }
        true
    }

    /// Notes the versions in the closed superblocks of a pool, if its policy asks how long ago mapping units were written.
    #[inline]
    pub(super) fn note_unit_ages(&mut self, flash: &Flash<'_>, pool: u32) {
        let kind = self.kind_in(pool);
        if !self.victims[kind].asks_for_unit_ages() {
            return;
        }
        let (table, media) = (&self.table, flash.backend.media());
        self.victims[kind].note_versions(pool, |superblock| {
            UnitVersions::of(table.valid_slots(superblock, 0).filter_map(|psn| match media.spare(psn) {
                Spare::Data { version, .. } => Some(version),
                Spare::Empty | Spare::Torn => None,
            }))
        });
    }

    /// The number of free superblocks of all pools.
    pub(super) fn free_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.free.len())).sum::<u64>() + self.all_free_set_aside()
    }

    /// Appends to `into` the mapping units of lists that wait for more data.
    pub(super) fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        let lists = self.pools.iter().flat_map(|pool| pool.queue.each_list());
        for list in lists.filter(|of| of.held).filter_map(|of| of.list) {
            let mut slots = Slots::of(flash.backend, list);
            while let Some((_, slot)) = slots.next(flash.backend) {
                into.push(slot.lpn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::nand::{Faults, Media};

    use super::*;
    use crate::PageConfig;
    use crate::rig::describe;

    /// The superblocks of a new drive, all free in the data pools of their plane groups.
    pub(super) fn superblocks(text: &str) -> BlockManager {
        let (config, array, _) = describe(text);
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive");
        let faults = Faults::new(&flash::nand::FaultSpec::default(), 1);
        let media = Media::new(array.geometry.clone(), array.endurance, array.backend.timing.one_shot, faults);
        let from = Mount { media: &media, slc_array: None, seed: 1, planted: PlantedBug::default() };
        let mut blocks = BlockManager::new(config, &from);
        for superblock in (0..blocks.layout.shape.superblock_count()).map(SuperblockId::new) {
            let pool = &mut blocks.pools[blocks.layout.shape.group_of(superblock) as usize];
            pool.free.push(superblock, 0);
            pool.usable += 1;
        }
        blocks
    }

    const ONE_DIE: &str = r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }
ftl = { capacity = '64KiB' }";

    #[test]
    fn a_superblock_is_open_then_full_then_a_candidate() {
        let mut blocks = superblocks(ONE_DIE);
        let slots = blocks.layout.shape.superblock_slots();
        let superblock = blocks.open_superblock(0, Stream::HOST, false);
        assert_eq!((blocks.table.state(superblock), blocks.free_blocks()), (SuperblockState::Open, 15));
        blocks.table.begin_program(superblock);
        assert!(!blocks.advance(0, Stream::HOST, slots / 2));
        assert!(blocks.advance(0, Stream::HOST, slots), "now it is full");
        assert_eq!(blocks.table.state(superblock), SuperblockState::Full);
        assert_eq!(blocks.victims[Holds::Data].valid(superblock), None, "a program is in progress");
        (0..slots).for_each(|offset| blocks.table.mark_valid(blocks.layout.slot(superblock, offset)));
        blocks.pools[0].live = slots;
        blocks.release(superblock);
        assert_eq!(blocks.table.state(superblock), SuperblockState::Closed);
        blocks.invalidate(blocks.layout.slot(superblock, 3));
        assert_eq!(blocks.victims[Holds::Data].valid(superblock), Some(slots - 1));
        assert_eq!(blocks.victims[Holds::Data].cheapest(0), Some(superblock));
        assert_eq!(blocks.pools[0].live, slots - 1);
    }

    #[test]
    fn a_superblock_in_which_a_program_failed_takes_no_more_and_is_emptied() {
        let mut blocks = superblocks(ONE_DIE);
        let superblock = blocks.open_superblock(0, Stream::COPIES, false);
        blocks.table.begin_program(superblock);
        blocks.fail(0, superblock);
        assert!(blocks.pools[0].open[Stream::COPIES].is_none());
        blocks.release(superblock);
        assert_eq!(blocks.table.state(superblock), SuperblockState::Closed);
        assert_eq!(blocks.pools[0].gc.failing, [superblock]);
    }

    #[test]
    fn an_open_superblock_is_closed_early_only_while_no_program_of_it_is_under_assembly() {
        let mut blocks = superblocks(ONE_DIE);
        let superblock = blocks.open_superblock(0, Stream::HOST, true);
        let command = Handle::from_number(std::num::NonZeroU32::MIN);
        let program = super::write_queue::Assembly { command, start: 0, end: 1, mode: Mode::Full };
        blocks.pools[0].queue.open.program = Some(program);
        assert!(!blocks.close_early(0, Stream::HOST));
        blocks.pools[0].queue.open.program = None;
        assert!(blocks.close_early(0, Stream::HOST) && !blocks.close_early(0, Stream::HOST));
        assert_eq!(blocks.table.state(superblock), SuperblockState::Closed);
    }
}
