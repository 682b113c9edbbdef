//! The page-mapped FTL: a page-level map, a log in every die, and garbage collection.
//!
//! A write takes four steps. [`placement`] chooses a pool (a die, or a group of its planes); the mapping unit joins the
//! program under assembly there; the program goes to the pool's open superblock; the end of the program updates the
//! map. The map changes no earlier, because an FTL learns only from completions.
//!
//! The map is a table in RAM, which answers at once, or a [map unit](super::map_unit), which answers later
//! ([`mapping`]); the rest of the FTL is the same. A map unit may keep the map in translation pages on flash: mapping
//! units numbered after those of the host, in pools of their own ([`translation`]).

mod answer;
mod blocks;
mod check;
mod checkpoint;
mod checkpoint_pages;
mod checkpoint_spec;
mod collect;
mod config;
mod copy_back;
mod discard_spec;
mod duties;
mod family;
mod finish;
mod firmware;
mod firmware_spec;
mod gather;
mod gc_spec;
mod intake;
mod map_client;
mod map_pages;
mod mapping;
mod mount;
mod moves;
mod pace;
mod place;
mod placement;
mod pool;
mod pool_set;
mod prefetch;
mod read;
mod rescue;
mod reserve;
mod sort;
mod stale;
mod steady;
mod streams;
mod translation;
mod trim;
mod unmapped;
mod unmapped_spec;
mod victim;
mod wear;
mod word_line;
mod write;

use std::collections::VecDeque;

use base::engine::{Handle, Rng};
use base::units::{DieId, Divisor, Lpn, Span, SuperblockId, Time};
use flash::backend::{Command, List, Timing};
use flash::nand::{Geometry, Media};

use crate::counters::Counters;
use crate::port::{Background, Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle, Preconditioning};
use crate::sabotage::{Planted, Sabotage};
use crate::toolkit::{DieLists, Reads, Versions, WearSpec};

use blocks::Blocks;
use checkpoint::Checkpoints;
use gather::Gather;
use mapping::Mapping;
use moves::Left;
use pace::Pace;
use placement::Placer;
use pool::{ByContent, Holds, Pool, Reserve};
use pool_set::PoolSet;
use streams::{StreamCount, Streams};
use trim::Trims;
use victim::Victims;

pub(crate) use checkpoint_pages::CheckpointPages;
pub use checkpoint_spec::CheckpointSpec;
pub use config::PageConfig;
pub use discard_spec::DiscardSpec;
pub(crate) use family::PageFamily;
pub use firmware_spec::FirmwareSpec;
pub use gc_spec::GcSpec;
pub(crate) use map_pages::MapPages;
pub use pace::{CollectionPolicy, CollectionPool, PaceSpec, register_collection_policy};
pub use placement::{
    Digits, ParseDigitsError, PlacementPolicy, PlacementPool, PlacementPools, PlacementSpec, register_placement_policy,
};
pub use streams::{
    CopyStreamsSpec, HostStreamsSpec, HostWrite, StreamCounters, StreamPolicy, StreamsSpec, register_stream_policy,
};
pub(crate) use trim::TrimPages;
pub use unmapped_spec::UnmappedReads;
pub use victim::{AgeUnit, Candidate, Candidates, VictimPolicy, VictimSpec, register_victim_policy};

/// The purpose of a list, which is its tag in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    Write,
    Copy,
    Erase,
    Load,
}

impl Kind {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Copy, Self::Erase, Self::Load][list.tag() as usize]
    }
}

/// A page-mapped FTL.
#[derive(Clone, Debug)]
pub struct PageFtl {
    geometry: Geometry,
    /// Rows that one program covers.
    one_shot: u32,
    /// Rows that are written at once: those of a one-shot program, or of a word line of paired pages, which takes a
    /// program for each.
    word_line: u32,
    /// Divides by the slots of those rows.
    by_program_slots: Divisor,
    /// True if a program always covers whole rows, because the chips are ganged, programs are one-shot or pages are
    /// paired.
    whole_rows: bool,
    /// True if no buffer has gathered the writes.
    gathers: bool,
    /// Firmware time; none if missing.
    firmware: Option<FirmwareSpec>,
    /// Firmware time of requests that no list has spent.
    owed: Span,
    gc: GcSpec,
    /// The pace of collection, if it is not full.
    pace: Option<Box<Pace>>,
    wear: WearSpec,
    copy_back: bool,
    unmapped_reads: UnmappedReads,
    /// Mapping units the host can address.
    units: u32,
    mapping: Mapping,
    blocks: Blocks,
    /// One pool for each plane group, and a second one if there are translation pages. The second has only as many
    /// superblocks as they need.
    pools: Vec<Pool>,
    /// The number of plane groups.
    groups: u32,
    placer: Placer,
    /// The streams, if host data or copies have several.
    streams: Option<Box<Streams>>,
    /// The closed superblocks of the data pools and of the pools of translation pages.
    victims: ByContent<Victims>,
    /// The time of the latest completion or answer, for the ages of superblocks.
    now: Time,
    rng: Rng,
    versions: Versions,
    /// The trim pages, if discards are durable.
    trims: Option<Box<Trims>>,
    checkpoints: Option<Box<Checkpoints>>,
    /// True if the program to be begun is one of a checkpoint's pages.
    stores_checkpoint: bool,
    planted: Planted,
    /// The pools of each NVM set, in ascending order. The first set has all data pools, the last all pools of
    /// translation pages.
    sets: Vec<Vec<u32>>,
    /// Mapping units of each set that have no space in any pool of the set until other programs end.
    unplaced: Vec<VecDeque<PageWrite>>,
    /// A pool may have given up.
    gave_up: bool,
    /// Mapping units that recovery found.
    found: u32,
    /// Mapping units of the host that have been programmed since the power came on, modulo 2^32.
    programmed: u32,
    /// What the mapping units of the copy that has just ended have left, without those that the map unit still has to
    /// answer for.
    moved: Vec<Left>,
    /// The program that will probably end next: what its end needs has been prefetched.
    expected: Option<Handle<Command>>,
    /// Pools that answers of the map unit have changed.
    changed_pools: Vec<u32>,
    /// Data pools with waiting writes, and some that had them.
    with_waiting: PoolSet,
    /// Mapping units of the present request that wait, since the placement last moved on.
    waited: u32,
    /// The NVM set of the latest of them.
    waited_set: u32,
    /// True if a mapping unit of the present request waits for space.
    stalled: bool,
    /// Pools in which the present request has a program or a list.
    touched: Vec<u32>,
    gather: Option<Gather>,
    /// The open read lists of the present request, by die.
    reading: DieLists<(Handle<List>, Handle<Command>)>,
}

impl PageFtl {
    pub(crate) fn mount(config: &PageConfig, from: &Mount<'_>) -> Self {
        let geometry = config.geometry.clone();
        let sets = &config.sets;
        let groups = geometry.die_count() * geometry.groups();
        let quotas = config.map_pages.quotas(&geometry);
        let pool = |i, quota, holds| {
            // Translation pages are all of one kind.
            let streams = if holds == Holds::Data { config.streams.count() } else { StreamCount::ONE };
            let reserve = Reserve { streams, shared_log: config.gc.shared_log, holds };
            Pool::new(&geometry, i, config.wear.dynamic, quota, reserve)
        };
        let mut pools: Vec<Pool> = (0..groups).map(|i| pool(i, 0, Holds::Data)).collect();
        pools.extend((0..).zip(quotas).map(|(i, quota)| pool(i, quota, Holds::Pages)));
        let word_line = match from.planted.is(Sabotage::PairingIgnored) {
            true => config.timing.one_shot,
            false => config.timing.one_shot.max(config.timing.paired),
        };
        let mut ftl = Self {
            one_shot: config.timing.one_shot,
            word_line,
            by_program_slots: Divisor::new(geometry.row_slots() * word_line),
            whole_rows: config.whole_rows,
            gathers: config.gathers,
            firmware: config.firmware,
            owed: Span::ZERO,
            gc: config.gc.clone(),
            pace: config.gc.pace.pace(),
            wear: config.wear.clone(),
            copy_back: config.copy_back,
            unmapped_reads: config.unmapped_reads,
            units: config.units,
            // Recovery replaces it.
            mapping: Mapping::new(0),
            blocks: Blocks::new(&geometry),
            sets: sets
                .iter()
                .map(|set| {
                    let of_die = |die: &DieId| (die.get() * geometry.groups())..((die.get() + 1) * geometry.groups());
                    set.iter().flat_map(of_die).collect()
                })
                .chain([(groups..pools.len() as u32).collect()])
                .collect(),
            unplaced: vec![VecDeque::new(); sets.len() + 1],
            gave_up: false,
            pools,
            groups,
            placer: match Placer::new(&config.placement, &geometry, sets) {
                placer if config.gathers => placer,
                placer => placer.behind_buffer(groups),
            },
            streams: Streams::new(&config.streams, &geometry),
            victims: ByContent {
                data: Victims::new(&config.gc.victim, &geometry, 0),
                pages: Victims::new(&config.gc.victim, &geometry, groups),
            },
            now: Time::ZERO,
            rng: Rng::stream(from.seed ^ from.planted.whim(), "ftl.gc"),
            versions: Versions::default(),
            trims: None,
            checkpoints: None,
            stores_checkpoint: false,
            planted: from.planted,
            found: 0,
            programmed: 0,
            moved: Vec::new(),
            expected: None,
            changed_pools: Vec::new(),
            with_waiting: PoolSet::new(groups),
            waited: 0,
            waited_set: 0,
            stalled: false,
            touched: Vec::new(),
            gather: config.map_gather.map(Gather::new),
            reading: DieLists::new(geometry.die_count()),
            geometry,
        };
        ftl.recover(config, from.media);
        ftl
    }

    fn memory(config: &PageConfig) -> u64 {
        let geometry = &config.geometry;
        let groups = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let with_pages = if config.map_pages.count > 0 { groups * Pool::memory(geometry, StreamCount::ONE) } else { 0 };
        let pools = groups * Pool::memory(geometry, config.streams.count()) + with_pages;
        // Each set lists its pools twice: for placement and for waiting writes.
        let members: u64 = config.sets.iter().map(|set| set.len() as u64).sum();
        let sets = 2 * members * u64::from(geometry.groups()) * size_of::<u32>() as u64;
        let placer = match config.gathers {
            true => 0,
            false => Placer::memory_behind_buffer(groups, members * u64::from(geometry.groups())),
        };
        let reading = DieLists::<(Handle<List>, Handle<Command>)>::memory(u64::from(geometry.die_count()));
        let trims = config.trim_pages.memory();
        mapping::memory(config)
            + trims
            + config.checkpoint_pages.memory()
            + Blocks::memory(geometry)
            + pools
            + sets
            + placer
            + Streams::memory(&config.streams)
            + 2 * Victims::memory(&config.gc.victim, geometry)
            + reading
    }

    #[inline]
    fn pool_of(&self, superblock: SuperblockId) -> u32 {
        let group = self.geometry.group_of(superblock);
        if self.blocks.is_map(superblock) { self.groups + group } else { group }
    }

    /// The content of a pool.
    #[inline]
    const fn kind_in(&self, pool: u32) -> Holds {
        if pool < self.groups { Holds::Data } else { Holds::Pages }
    }

    /// The data pools, or the pools of translation pages.
    fn pools_for(&self, kind: Holds) -> std::ops::Range<u32> {
        match kind {
            Holds::Data => 0..self.groups,
            Holds::Pages => self.groups..self.pools.len() as u32,
        }
    }

    /// The time that a mount reads: checkpoints, or all spare areas.
    pub(crate) fn time_of_mount(config: &PageConfig, media: &Media) -> Span {
        match config.checkpoint_pages.count() {
            0 => Self::scan_time(&config.timing, config.spare_transfer, media),
            _ => checkpoint::mount::time(config, media),
        }
    }

    /// The time of a scan of all spare areas with all channels in parallel: it reads every programmed row and transfers
    /// the spare bytes of its pages.
    pub(crate) fn scan_time(timing: &Timing, spare_transfer: Span, media: &Media) -> Span {
        let geometry = media.geometry();
        let mut reads = Reads::new(geometry, &timing.read);
        let (row, spares) = (geometry.row_slots(), spare_transfer * u64::from(geometry.stripe));
        for superblock in (0..geometry.superblock_count()).map(base::units::SuperblockId::new) {
            if let Some(rows) = media.first_rows(superblock) {
                reads.add_first(superblock, rows, spares);
                continue;
            }
            for page in 0..geometry.pages {
                let mut slots = (0..row).map(|i| media.spare(geometry.slot(superblock, page * row + i)));
                if slots.any(|spare| spare != flash::nand::Spare::Empty) {
                    reads.add(superblock, page, spares);
                }
            }
        }
        reads.time()
    }
}

impl Ftl for PageFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn batch(&self, _: u32) -> u32 {
        self.program_slots()
    }

    fn free_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| pool.free.len() as u64).sum()
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.note_request(flash.now);
        self.end_read(flash);
    }

    #[inline]
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.note_request(flash.now);
        self.read_alone(flash, owners, wanted, lpn)
    }

    #[inline]
    fn begin_write(&mut self, set: u32) {
        self.begin_write(set);
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.write(flash, owners, unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.note_request(flash.now);
        self.end_write(flash, owners);
    }

    fn takes_writes(&self, set: u32, _: u32) -> bool {
        self.takes_writes(set)
    }

    /// A discard that waits for its record must not come after a newer write.
    fn discards_in_order(&self) -> bool {
        self.trims.is_some()
    }

    /// A discard with a record on flash needs space for it.
    fn may_refuse_discards(&self) -> bool {
        self.trims.is_some()
    }

    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        self.note_request(now);
        self.discard(now, owner, lpn)
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.now = flash.now;
        self.finished(flash, owners, list);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        self.may_hold(lpn, media)
    }

    #[inline]
    fn prefetch(&self, unit: usize, media: &Media) {
        self.fetch(unit, media);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Three fields that are mostly empty.
    fn is_due(&self, timed: bool) -> bool {
        self.map_is_due(timed) || self.trims_are_due() || self.checkpoint_is_due() || self.pace_is_due()
    }

    fn counters(&self, now: Time) -> Counters {
        let streams = self.streams.as_ref().map(|streams| Box::new(streams.counters.clone()));
        Counters { map: self.map_counters(now), streams, ..Counters::default() }
    }

    fn background(&mut self) -> Option<&mut dyn Background> {
        Some(self)
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }

    fn preconditioning(&mut self) -> Option<&mut dyn Preconditioning> {
        Some(self)
    }
}
