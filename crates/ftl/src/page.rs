//! The page-mapped FTL: a page-level map, a log in every die, and garbage collection.
//!
//! Four parts own its state: the [superblocks](block_manager), the [map](mapping), the [writer] and the [collector].
//! `PageFtl` leads requests and completions through them. The map changes only when a program has ended, because an FTL
//! learns only from completions.
//!
//! The map is a table in RAM, which answers at once, or a [map unit](super::map_unit), which answers later
//! ([`mapping`]); the rest of the FTL is the same. A map unit may keep the map in translation pages on flash: mapping
//! units numbered after those of the host, in pools of their own ([`mapping::translation`]).

mod answer;
mod block_manager;
mod check;
mod checkpoint_spec;
mod collect;
mod collector;
mod config;
mod discard_spec;
mod duties;
mod family;
mod fdp_counters;
mod fdp_spec;
mod finish;
mod firmware_spec;
mod gc_spec;
mod layout;
mod mapping;
mod parity_counters;
mod prefetch;
mod read;
mod rebuild;
mod refresh_counters;
mod refresh_spec;
mod slc_cache_counters;
mod slc_cache_spec;
mod steady;
mod streams;
mod unmapped_spec;
mod victim;
mod write;
mod writer;

use base::engine::Handle;
use base::units::{Lpn, Span, Time};
use flash::backend::{Command, List};
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{
    Background, Flash, Ftl, HostMemoryBuffer, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle, Preconditioning,
    ReclaimUnitHandles,
};

use crate::toolkit::DieLists;

use block_manager::BlockManager;
use collector::{Collector, CollectorState};
use mapping::Mapping;
use rebuild::Rebuild;
use writer::Writer;

pub use checkpoint_spec::CheckpointSpec;
pub use collector::pace::{CollectionPolicy, CollectionPool, CollectionWindow, PaceSpec, register_collection_policy};
pub use config::PageConfig;
pub use discard_spec::DiscardSpec;
pub(crate) use family::PageFamily;
pub use fdp_counters::{FdpCounters, FdpEvent, FdpEventKind, HandleCounters};
pub use fdp_spec::{FdpSpec, Isolation, PlacementTarget};
pub use firmware_spec::FirmwareSpec;
pub use gc_spec::{GcSpec, IdleGcSpec};
pub(crate) use mapping::checkpoint_pages::CheckpointPages;
pub(crate) use mapping::map_pages::MapPages;
pub(crate) use mapping::trim_pages::TrimPages;
pub use parity_counters::ParityCounters;
pub use refresh_counters::RefreshCounters;
pub use refresh_spec::RefreshSpec;
pub use slc_cache_counters::SlcCacheCounters;
pub use slc_cache_spec::{CachePoint, FoldPath, IdleFoldSpec, OverflowPolicy, SlcCacheSpec};
pub use streams::{
    CopyStreamsSpec, HostStreamsSpec, HostWrite, StreamCounters, StreamPolicy, StreamsSpec, register_stream_policy,
};
pub use unmapped_spec::UnmappedReads;
pub use victim::{AgeUnit, Candidate, Candidates, VictimPolicy, VictimSpec, register_victim_policy};
pub use writer::placement::{
    Digits, ParseDigitsError, PlacementPolicy, PlacementPool, PlacementPools, PlacementSpec, register_placement_policy,
};

/// The purpose of a list, which is its tag in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum ListPurpose {
    Read,
    Write,
    Copy,
    Erase,
    Load,
    Patrol,
    Parity,
    Rebuild,
}

impl ListPurpose {
    fn of(list: &List) -> Self {
        let all =
            [Self::Read, Self::Write, Self::Copy, Self::Erase, Self::Load, Self::Patrol, Self::Parity, Self::Rebuild];
        all[list.tag() as usize]
    }
}

/// A page-mapped FTL.
#[derive(Clone, Debug)]
pub struct PageFtl {
    blocks: BlockManager,
    mapping: Mapping,
    writer: Writer,
    collector: CollectorState,
    unmapped_reads: UnmappedReads,
    /// The program that will probably end next: the data that its end needs has been prefetched.
    expected: Option<Handle<Command>>,
    /// Pools that have changed because of the map unit's answers.
    changed_pools: Vec<u32>,
    /// Finished reads that wait for slots to be rebuilt.
    rebuilding: Vec<Rebuild>,
    /// The open read lists of the present request, by die.
    reading: DieLists<(Handle<List>, Handle<Command>)>,
}

impl PageFtl {
    pub(crate) fn mount(config: &PageConfig, from: &Mount<'_>) -> Self {
        let mut blocks = BlockManager::new(config, from);
        let mapping = Mapping::recover(&mut blocks, config, from.media);
        Self {
            writer: Writer::new(config, &blocks),
            mapping,
            blocks,
            collector: CollectorState::new(config, from),
            unmapped_reads: config.unmapped_reads,
            expected: None,
            changed_pools: Vec::new(),
            rebuilding: Vec::new(),
            reading: DieLists::new(config.layout.array.die_count()),
        }
    }

    /// Notes that a request has reached the FTL, for the pace of collection and the idle timer.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Each request calls it, and nearly no drive has a pace or a timer.
    fn note_request(&mut self, flash: &mut Flash<'_>) {
        if self.collector.pace.is_some() || self.blocks.has_timers() {
            self.note_request_in_timers(flash);
        }
    }

    #[inline(never)]
    fn note_request_in_timers(&mut self, flash: &mut Flash<'_>) {
        self.collector.note_request(flash.now);
        self.blocks.note_request(flash);
    }

    /// Lends the parts of the FTL that collection works on.
    fn collector(&mut self) -> Collector<'_> {
        let Self { collector: state, blocks, mapping, writer, .. } = self;
        Collector { state, blocks, mapping, writer }
    }

    fn memory(config: &PageConfig) -> u64 {
        let dies = u64::from(config.layout.array.die_count());
        let reading = DieLists::<(Handle<List>, Handle<Command>)>::memory(dies);
        let pages = mapping::trim::Trims::memory(&config.trim_pages) + config.checkpoint_pages.memory();
        mapping::memory(config) + pages + BlockManager::memory(config) + Writer::memory(config) + reading
    }

    /// Simulated time for which a mount reads checkpoints, or all spare areas.
    pub(crate) fn time_of_mount(config: &PageConfig, media: &Media) -> Span {
        match config.checkpoint_pages.count() {
            0 => crate::toolkit::scan_time(&config.timing, config.spare_transfer, media),
            _ => mapping::checkpoint::mount::time(config, media),
        }
    }
}

impl Ftl for PageFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.mapping.units
    }

    fn batch(&self, _: u32) -> u32 {
        self.blocks.program_slots()
    }

    fn free_blocks(&self) -> u64 {
        self.blocks.pools.iter().map(|pool| pool.free.len() as u64).sum()
    }

    fn latest_version(&self) -> u32 {
        self.mapping.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.mapping.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.note_request(flash);
        self.end_read(flash);
    }

    #[inline]
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.note_request(flash);
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
        self.note_request(flash);
        self.end_write(flash, owners);
    }

    fn takes_writes(&self, set: u32, _: u32) -> bool {
        self.writer.takes_writes(set)
    }

    /// True if discards have records: a discard that waits for its record must not take effect after a newer write.
    fn discards_in_order(&self) -> bool {
        self.mapping.trims.is_some()
    }

    /// True if discards have records, because a record needs space on flash.
    fn may_refuse_discards(&self) -> bool {
        self.mapping.trims.is_some()
    }

    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        self.collector.note_request(now);
        self.mapping.discard(&mut self.blocks, now, owner, lpn)
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.blocks.now = flash.now;
        self.finished(flash, owners, list);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        self.mapping.may_hold(lpn, media)
    }

    #[inline]
    fn prefetch(&self, unit: usize, media: &Media) {
        self.mapping.prefetch(unit, media);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Four fields that are mostly empty.
    fn is_due(&self, timed: bool) -> bool {
        self.mapping.map_is_due(timed)
            || self.mapping.side_pages_are_due(&self.blocks)
            || self.collector.is_due()
            || self.blocks.timer_is_due()
    }

    fn counters(&self, now: Time) -> Counters {
        let streams = self.writer.streams.as_ref().map(|streams| Box::new(streams.counters.clone()));
        let (slc_cache, fdp) = (self.blocks.cache_counters(), self.blocks.fdp_counters());
        let (map, refresh) = (self.mapping.map_counters(now), self.blocks.refresh_counters());
        let parity = self.blocks.parity_counters();
        Counters { map, streams, fdp, slc_cache, refresh, parity, ..Counters::default() }
    }

    fn background(&mut self) -> Option<&mut dyn Background> {
        Some(self)
    }

    fn host_memory_buffer(&mut self) -> Option<&mut dyn HostMemoryBuffer> {
        self.mapping.host_memory()?;
        Some(self)
    }

    fn reclaim_unit_handles(&mut self) -> Option<&mut dyn ReclaimUnitHandles> {
        self.blocks.has_reclaim_units().then_some(self)
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }

    fn preconditioning(&mut self) -> Option<&mut dyn Preconditioning> {
        Some(self)
    }
}
