//! The SLC cache: superblocks that the host fills in SLC mode, until they are folded to full ones.
//!
//! A superblock gets its mode when the host opens it, and keeps the mode until its erase. So the dynamic part of the
//! cache has no place of its own: it is the superblocks of each pool that are in SLC mode, limited by the cache size at
//! the present fill of the drive. The reserve stays as it is, because a superblock in SLC mode holds fewer mapping
//! units, and folding it always gains space. The [static part](set_aside) has superblocks of its own.

pub(in crate::page) mod set_aside;
mod size;

use base::units::{Bytes, SECTOR, SuperblockId};
use flash::nand::{Geometry, Mode, Stream};

use super::BlockManager;
use super::idle_timer::IdleTimer;
use super::shape::ProgramShape;
use super::table::SuperblockState;
use crate::page::slc_cache_spec::{FoldPath, OverflowPolicy};
use crate::page::victim::AgeOrder;
use crate::page::{PageConfig, SlcCacheCounters};
use crate::port::Flash;
use crate::sabotage::Sabotage;

use set_aside::SlcReserve;
use size::CacheSize;

#[derive(Clone, Debug)]
pub(in crate::page) struct SlcCache {
    /// The rows of a program in SLC mode.
    shape: ProgramShape,
    /// Mapping units of a superblock in SLC mode.
    slots: u32,
    size: CacheSize,
    /// The static part of the cache, if the description has one.
    set_aside: Option<SlcReserve>,
    overflow: OverflowPolicy,
    /// Superblocks of a pool that must be free before the cache takes host data again after direct writes; one if
    /// `None`.
    reuse: Option<u32>,
    /// True if data are folded inside their plane, where that is possible.
    folds_in_planes: bool,
    /// The streams of host data with numbers below `streams` go to the cache.
    streams: u8,
    levels: Vec<FillLevel>,
    /// The closed superblocks of the cache, in the order of closing.
    closed: AgeOrder,
    /// The timer that starts folding in an idle drive, and the number of superblocks that then stay in SLC mode.
    idle: Option<(IdleTimer, u32)>,
    counters: SlcCacheCounters,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FillLevel {
    /// All superblocks in SLC mode, from the opening to the end of the erase.
    superblocks: u32,
    /// The part of `superblocks` that are victims, or whose erase is in progress.
    leaving: u32,
    /// True if the cache was full when the host last opened a superblock for data that go to the cache.
    is_direct: bool,
}

impl SlcCache {
    pub(super) fn new(config: &PageConfig) -> Option<Box<Self>> {
        let spec = config.slc_cache.as_ref()?;
        let geometry = &config.geometry;
        let groups = geometry.die_count() * geometry.groups();
        Some(Box::new(Self {
            shape: ProgramShape::in_slc_mode(config),
            slots: slots_in_slc_mode(config),
            size: CacheSize::new(spec, config),
            set_aside: SlcReserve::new(config),
            overflow: spec.overflow,
            reuse: spec.reuse.map(|reuse| CacheSize::whole_superblocks(reuse, config)),
            folds_in_planes: spec.fold == FoldPath::CopyBack,
            streams: spec.streams.unwrap_or(u8::MAX),
            levels: vec![FillLevel::default(); groups as usize],
            closed: AgeOrder::new(groups, geometry.superblock_count()),
            idle: spec
                .idle
                .map(|idle| (IdleTimer::new(idle.after), CacheSize::superblocks(idle.down_to, config) as u32)),
            counters: SlcCacheCounters::default(),
        }))
    }

    pub(super) fn idle_timer(&mut self) -> Option<&mut IdleTimer> {
        self.idle.as_mut().map(|(timer, _)| timer)
    }

    /// Ends direct writes when the drive has become idle. The host may then use all space that is folded until it
    /// returns, even if that is less than `reuse`.
    pub(super) fn note_idle(&mut self) {
        if self.idle.as_ref().is_some_and(|(timer, _)| timer.is_idle()) {
            self.levels.iter_mut().for_each(|level| level.is_direct = false);
        }
    }

    pub(super) fn idle_is_due(&self) -> bool {
        self.idle.as_ref().is_some_and(|(timer, _)| timer.is_due())
    }

    pub(super) fn memory(config: &PageConfig) -> u64 {
        let Some(spec) = &config.slc_cache else { return 0 };
        let geometry = &config.geometry;
        let groups = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let levels = groups * size_of::<FillLevel>() as u64;
        let closed = AgeOrder::memory(groups, u64::from(geometry.superblock_count()));
        size_of::<Self>() as u64 + levels + closed + CacheSize::memory(spec) + SlcReserve::memory(config)
    }

    /// The number of superblocks that may be in SLC mode in a pool with `live` live mapping units.
    fn limit(&self, pool: u32, live: u32) -> u32 {
        let lost = self.set_aside.as_ref().map_or(0, |set_aside| set_aside.lost(pool));
        self.size.limit(live).saturating_sub(lost)
    }
}

/// Mapping units of a superblock in SLC mode.
fn slots_in_slc_mode(config: &PageConfig) -> u32 {
    let bits = config.timing.slc_mode.map_or(1, |mode| mode.bits);
    Mode::Slc.pages(config.geometry.pages, bits) * config.geometry.row_slots()
}

/// Data that a superblock of each pool holds together, if they are in SLC mode and a cell holds `bits` bits in full
/// mode.
pub(in crate::page) fn bytes_in_slc_mode(geometry: &Geometry, bits: u32) -> Bytes {
    let units = Mode::Slc.pages(geometry.pages, bits) * geometry.row_slots();
    SECTOR * u64::from(geometry.sectors) * u64::from(units)
}

impl BlockManager {
    /// True if the drive has an SLC cache.
    pub(in crate::page) const fn has_cache(&self) -> bool {
        self.slc_cache.is_some()
    }

    /// True if data of the cache are folded inside their plane, where that is possible.
    #[inline]
    pub(in crate::page) fn folds_in_planes(&self) -> bool {
        self.slc_cache.as_ref().is_some_and(|cache| cache.folds_in_planes)
    }

    /// The rows that programs of a mode cover.
    #[inline]
    pub(in crate::page) fn shape_in(&self, mode: Mode) -> &ProgramShape {
        match (&self.slc_cache, mode) {
            (Some(cache), Mode::Slc) => &cache.shape,
            _ => &self.shape,
        }
    }

    /// Mapping units of a superblock in a mode.
    #[inline]
    pub(in crate::page) fn slots_in(&self, mode: Mode) -> u32 {
        match (&self.slc_cache, mode) {
            (Some(cache), Mode::Slc) => cache.slots,
            _ => self.layout.shape.superblock_slots(),
        }
    }

    /// The mode in which the host opens its next superblock of a pool for a stream; `None` if the host has to wait
    /// until the cache has been folded.
    pub(in crate::page) fn mode_to_open(&mut self, flash: &Flash<'_>, pool: u32, stream: Stream) -> Option<Mode> {
        let Some(cache) = self.slc_cache.as_ref().filter(|_| pool < self.groups && flash.backend.is_timed()) else {
            return Some(Mode::Full);
        };
        if stream.number() >= cache.streams {
            return Some(Mode::Full);
        }
        if self.cache_has_room(cache, pool) {
            return Some(Mode::Slc);
        }
        let folds = cache.overflow == OverflowPolicy::Fold && self.has_to_fold(cache, pool);
        if !folds && let Some(cache) = &mut self.slc_cache {
            cache.levels[pool as usize].is_direct = true;
        }
        (!folds).then_some(Mode::Full)
    }

    fn cache_has_room(&self, cache: &SlcCache, pool: u32) -> bool {
        let FillLevel { superblocks, is_direct, .. } = cache.levels[pool as usize];
        let limit = cache.limit(pool, self.pools[pool as usize].live);
        let waits = is_direct && self.has_to_fold(cache, pool) && !self.planted.is(Sabotage::CacheReusedEarly);
        let wanted = cache.reuse.filter(|_| waits).map_or(1, |reuse| reuse.min(limit).max(1));
        limit.saturating_sub(superblocks) >= wanted || self.planted.is(Sabotage::CacheOverfilled)
    }

    /// True if superblocks of the cache are being folded in a pool, or could be.
    fn has_to_fold(&self, cache: &SlcCache, pool: u32) -> bool {
        cache.levels[pool as usize].leaving > 0 || cache.closed.oldest_first(pool).next().is_some()
    }

    /// The superblock of the cache that is folded next, if the pool has more of them than should stay: the superblock
    /// that was closed first, if its data find a place.
    pub(in crate::page) fn next_to_fold(&self, pool: u32) -> Option<SuperblockId> {
        let cache = self.slc_cache.as_ref().filter(|_| pool < self.groups)?;
        let FillLevel { superblocks, leaving, is_direct } = cache.levels[pool as usize];
        let chosen = &self.pools[pool as usize];
        let for_room = match cache.overflow {
            OverflowPolicy::Direct => false,
            OverflowPolicy::Fold => !chosen.queue.waiting.is_empty(),
            OverflowPolicy::FoldBeside => !cache.idle.as_ref().is_some_and(|(timer, _)| timer.is_idle()),
        };
        let room = cache.reuse.map_or(1, |reuse| if is_direct { reuse } else { 0 });
        let for_a_write = for_room.then(|| cache.limit(pool, chosen.live).saturating_sub(room));
        let while_idle = cache.idle.as_ref().filter(|(timer, _)| timer.is_idle()).map(|(_, kept)| *kept);
        let stays = for_a_write.into_iter().chain(while_idle).min()?;
        if superblocks - leaving <= stays {
            return None;
        }
        let oldest = cache.closed.oldest_first(pool).next().map(SuperblockId::new);
        oldest.filter(|oldest| self.finds_place(pool, *oldest))
    }

    /// True if a pool folds only because the host was idle, and the host is no longer idle.
    #[inline]
    pub(in crate::page) fn pauses_folding(&self, pool: u32) -> bool {
        let Some(cache) = self.slc_cache.as_ref() else { return false };
        let Some((timer, _)) = &cache.idle else { return false };
        let chosen = &self.pools[pool as usize];
        let makes_room = || cache.overflow == OverflowPolicy::FoldBeside && !self.cache_has_room(cache, pool);
        pool < self.groups
            && !timer.is_idle()
            && !makes_room()
            && !chosen.gc.active
            && chosen.gc.failing.is_empty()
            && !self.may_refresh(pool)
            && chosen.queue.waiting.is_empty()
            && chosen.gc.victims.iter().all(|victim| victim.cause == flash::backend::Cause::Fold)
    }

    /// True if folding pads its last program, because the host is idle or the drive folds beside direct writes.
    pub(in crate::page) fn pads_folds(&self) -> bool {
        let Some(cache) = &self.slc_cache else { return false };
        let is_idle = cache.idle.as_ref().is_some_and(|(timer, _)| timer.is_idle());
        is_idle || cache.overflow == OverflowPolicy::FoldBeside
    }

    /// The cache, if a superblock of a pool belongs to the cache. A mount may give a superblock in SLC mode without
    /// readable data to translation pages; the superblock then no longer belongs to the cache.
    fn cache_of(&mut self, pool: u32, superblock: SuperblockId) -> Option<&mut Box<SlcCache>> {
        let is_cached = pool < self.groups && self.table.mode(superblock) == Mode::Slc;
        self.slc_cache.as_mut().filter(|_| is_cached)
    }

    /// Notes the mode in which a superblock has been opened.
    pub(super) fn note_opened(&mut self, pool: u32, superblock: SuperblockId, mode: Mode) {
        self.table.set_mode(superblock, mode);
        if let Some(cache) = self.cache_of(pool, superblock) {
            cache.levels[pool as usize].superblocks += 1;
        }
    }

    /// Checks that the cache had room for a superblock that the host has opened in SLC mode. Only after a mount may the
    /// cache have more superblocks than its limit: superblocks of translation pages count again if they hold no such
    /// page.
    pub(super) fn enter_cache(&mut self, pool: u32) {
        let Some(cache) = &self.slc_cache else { return };
        let FillLevel { superblocks, is_direct, .. } = cache.levels[pool as usize];
        let most = cache.size.most();
        assert!(superblocks <= most, "{superblocks} superblocks in SLC mode, and the cache has at most {most}");
        if let Some(reuse) = cache.reuse.filter(|_| is_direct && self.has_to_fold(cache, pool)) {
            let limit = cache.limit(pool, self.pools[pool as usize].live);
            assert!(
                superblocks + reuse <= limit + 1 || superblocks == 1,
                "host data go to the cache again at {superblocks} superblocks of {limit}, before {reuse} are free"
            );
        }
        if let Some(cache) = &mut self.slc_cache {
            cache.levels[pool as usize].is_direct = false;
        }
    }

    /// At a mount: notes the mode in which a superblock was programmed. A superblock with a torn erase has no mode.
    pub(in crate::page) fn recall_mode(&mut self, superblock: SuperblockId, mode: Mode) {
        let mode = if self.is_set_aside(superblock) { Mode::Slc } else { mode };
        if !self.planted.is(Sabotage::SlcModeForgotten) {
            self.note_opened(self.pool_of(superblock), superblock, mode);
        }
    }

    /// Notes that a superblock has become a candidate for collection.
    pub(super) fn note_closed(&mut self, pool: u32, superblock: SuperblockId) {
        let now = self.now;
        if let Some(cache) = self.cache_of(pool, superblock) {
            cache.closed.append(now, pool, superblock.get());
        }
    }

    pub(in crate::page) fn note_victim(&mut self, pool: u32, superblock: SuperblockId) {
        if let Some(cache) = self.cache_of(pool, superblock) {
            cache.closed.remove(pool, superblock.get());
            cache.levels[pool as usize].leaving += 1;
        }
    }

    /// Notes that a victim has been erased or retired.
    pub(in crate::page) fn note_gone(&mut self, pool: u32, superblock: SuperblockId) {
        self.note_refreshed(superblock);
        if self.rebuilds.are_any() {
            self.forget_unreadable(superblock);
        }
        let gone = u32::from(!self.planted.is(Sabotage::CacheNeverEmpties));
        if let Some(cache) = self.cache_of(pool, superblock) {
            let level = &mut cache.levels[pool as usize];
            level.leaving -= 1;
            level.superblocks -= gone;
        }
        self.table.set_mode(superblock, Mode::Full);
    }

    /// Counts the mapping units of a program of the host, or of a copy, that has ended.
    #[inline]
    pub(in crate::page) fn count_in_cache(&mut self, superblock: SuperblockId, units: u32) {
        let Some(cache) = &mut self.slc_cache else { return };
        let units = u64::from(units);
        match (self.table.mode(superblock), self.table.stream(superblock).is_host()) {
            (Mode::Slc, _) => {
                cache.counters.cached += units;
                cache.counters.programs += 1;
            }
            (Mode::Full, true) => cache.counters.direct += units,
            (Mode::Full, false) => {}
        }
    }

    /// Counters of the cache since the power came on, and its present level.
    pub(in crate::page) fn cache_counters(&self) -> Option<SlcCacheCounters> {
        let cache = self.slc_cache.as_ref()?;
        let limits = (0..self.groups).map(|pool| u64::from(cache.limit(pool, self.pools[pool as usize].live)));
        Some(SlcCacheCounters {
            superblocks: cache.levels.iter().map(|level| u64::from(level.superblocks)).sum(),
            limit: limits.sum(),
            ..cache.counters
        })
    }

    /// Checks the cache's lists and counts against the superblocks in SLC mode.
    pub(super) fn check_cache(&self, media: &flash::nand::Media) {
        let known = self.slc_cache.iter().flat_map(|cache| &cache.levels);
        let mut levels: Vec<FillLevel> =
            known.map(|level| FillLevel { superblocks: 0, leaving: 0, ..*level }).collect();
        let mut closed = 0;
        for superblock in (0..self.layout.shape.superblock_count()).map(SuperblockId::new) {
            let (mode, state) = (self.table.mode(superblock), self.table.state(superblock));
            // A superblock with a torn erase has no mode.
            let erased = matches!(state, SuperblockState::Free | SuperblockState::Erasing | SuperblockState::Bad)
                || self.layout.is_erased(media, superblock);
            assert!(
                erased || self.is_set_aside(superblock) || mode == self.layout.mode(media, superblock),
                "{superblock} is {state:?}, and not in {mode:?} mode"
            );
            if let (Mode::Slc, Some(level)) = (mode, levels.get_mut(self.pool_of(superblock) as usize)) {
                level.superblocks += 1;
                level.leaving += u32::from(matches!(state, SuperblockState::Victim | SuperblockState::Erasing));
                closed += usize::from(state == SuperblockState::Closed);
            }
        }
        let Some(cache) = &self.slc_cache else { return };
        assert_eq!(cache.levels, levels, "superblocks in SLC mode, and those of them that are leaving");
        let known: usize = (0..self.groups).map(|pool| cache.closed.oldest_first(pool).count()).sum();
        assert_eq!(known, closed, "closed superblocks in SLC mode");
        self.check_set_aside(media);
    }
}

#[cfg(test)]
mod tests;
