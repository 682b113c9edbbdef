//! Superblocks whose data is refreshed because their bit errors have grown.
//!
//! A page that has been read is judged by its age, the reads of its block and its errors. A closed superblock with a
//! page beyond a limit is *due*: collection takes it as a victim before it looks for garbage. Patrol reads find such
//! pages where the host does not read.

use std::collections::VecDeque;

use base::units::{Psn, Span, SuperblockId, Time};
use flash::nand::Media;

use super::BlockManager;
use super::table::SuperblockState;
use crate::event::Event;
use crate::page::{PageConfig, RefreshCounters, RefreshSpec};
use crate::port::Flash;
use crate::sabotage::Sabotage;

/// The most superblocks that one patrol read skips because they hold no data or are not full.
const PASSED_MAX: u32 = 256;

/// The superblocks that are due for refresh, and those being refreshed.
#[derive(Clone, Debug)]
pub(in crate::page) struct Refresh {
    spec: RefreshSpec,
    /// The due superblocks of each pool, in the order in which they became due. A superblock that was emptied for
    /// another reason may still be listed.
    queues: Vec<VecDeque<SuperblockId>>,
    /// The state of each superblock.
    states: Vec<Need>,
    /// Superblocks that are listed as due.
    listed: u32,
    /// Superblocks whose data is being moved, from the choice as a victim to the end of the erase.
    moving: u32,
    /// The pool whose due superblocks are taken next.
    next_pool: u32,
    patrol: Option<Patrol>,
    counters: RefreshCounters,
}

/// The refresh state of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Need {
    #[default]
    None,
    /// The superblock is listed as due.
    Due,
    /// The superblock's data is being moved.
    Moves,
}

/// The schedule of patrol reads.
#[derive(Clone, Copy, Debug)]
struct Patrol {
    every: Span,
    /// The number of the superblock that is visited next.
    next: u32,
    /// The number of superblocks to visit until each has been visited once since the latest request.
    left: u32,
    /// The time of the next patrol read, if it is scheduled.
    event: Option<Time>,
    is_due: bool,
}

impl Refresh {
    pub(super) fn new(config: &PageConfig, pools: usize) -> Option<Box<Self>> {
        let spec = config.refresh?;
        Some(Box::new(Self {
            spec,
            queues: vec![VecDeque::new(); pools],
            states: vec![Need::None; config.geometry.superblock_count() as usize],
            listed: 0,
            moving: 0,
            next_pool: 0,
            patrol: spec.patrol.map(|every| Patrol { every, next: 0, left: 0, event: None, is_due: false }),
            counters: RefreshCounters::default(),
        }))
    }

    /// Bytes of the tables of a drive with this configuration and `pools` pools.
    pub(super) fn memory(config: &PageConfig, pools: u64) -> u64 {
        let superblocks = u64::from(config.geometry.superblock_count());
        let each = size_of::<Need>() as u64 + size_of::<SuperblockId>() as u64;
        let queues = pools * size_of::<VecDeque<SuperblockId>>() as u64;
        if config.refresh.is_some() { size_of::<Self>() as u64 + superblocks * each + queues } else { 0 }
    }

    /// True if the page of a slot that has been read exceeds a limit.
    fn exceeds(&mut self, media: &Media, psn: Psn) -> bool {
        let Some(page) = media.page_errors(psn) else { return false };
        let RefreshSpec { age, reads, errors, .. } = self.spec;
        let by_age = age.is_some_and(|age| page.age_s > age.as_secs() as f64);
        let by_reads = reads.is_some_and(|reads| page.reads > reads);
        let by_errors = errors.is_some_and(|errors| page.share_of_limit > errors.get());
        self.counters.by_age += u64::from(by_age);
        self.counters.by_reads += u64::from(by_reads);
        self.counters.by_errors += u64::from(by_errors);
        by_age || by_reads || by_errors
    }
}

impl BlockManager {
    /// Judges the page of a slot that has been read, and lists its superblock as due if the page exceeds a limit.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Nearly no drive refreshes, and each read asks.
    pub(in crate::page) fn judge(&mut self, flash: &Flash<'_>, psn: Psn) {
        if self.refresh.is_some() && flash.backend.is_timed() {
            self.judge_page(flash.backend.media(), psn);
        }
    }

    #[inline(never)]
    fn judge_page(&mut self, media: &Media, psn: Psn) {
        let (superblock, _) = self.layout.locate(psn);
        let pool = self.pool_of(superblock);
        let is_closed = self.table.state(superblock) == SuperblockState::Closed;
        let Some(refresh) = &mut self.refresh else { return };
        if !is_closed || refresh.states[superblock.index()] != Need::None || !refresh.exceeds(media, psn) {
            return;
        }
        refresh.states[superblock.index()] = Need::Due;
        refresh.queues[pool as usize].push_back(superblock);
        refresh.listed += 1;
    }

    /// True if another superblock of any pool may be refreshed now.
    #[inline]
    pub(in crate::page) fn takes_refresh(&self) -> bool {
        let takes = |refresh: &Refresh| refresh.listed > 0 && refresh.moving < refresh.spec.parallel;
        self.refresh.as_deref().is_some_and(takes) && !self.planted.is(Sabotage::RefreshForgotten)
    }

    /// True if a pool lists superblocks as due, and another superblock may be refreshed now.
    #[inline]
    pub(in crate::page) fn may_refresh(&self, pool: u32) -> bool {
        let is_listed = |refresh: &Refresh| !refresh.queues[pool as usize].is_empty();
        self.takes_refresh() && self.refresh.as_deref().is_some_and(is_listed)
    }

    /// The pool whose due superblocks are taken next: the pools take turns.
    pub(in crate::page) fn next_pool_to_refresh(&mut self) -> u32 {
        let pools = self.pools.len() as u32;
        let Some(refresh) = &mut self.refresh else { return 0 };
        refresh.next_pool = (refresh.next_pool + 1) % pools;
        refresh.next_pool
    }

    /// The due superblock of a pool that is refreshed next, if its data finds a place.
    pub(in crate::page) fn next_to_refresh(&mut self, pool: u32) -> Option<SuperblockId> {
        if !self.may_refresh(pool) {
            return None;
        }
        while let Some(superblock) = self.refresh.as_ref()?.queues[pool as usize].front().copied() {
            let need = self.refresh.as_ref()?.states[superblock.index()];
            // The superblock may have become garbage since, and may belong to another pool now, which lists it itself.
            let is_here = self.pool_of(superblock) == pool;
            let is_due = is_here && need == Need::Due && self.table.state(superblock) == SuperblockState::Closed;
            if is_due && !self.finds_place(pool, superblock) {
                return None;
            }
            let refresh = self.refresh.as_mut()?;
            refresh.queues[pool as usize].pop_front();
            refresh.listed -= 1;
            if is_due {
                refresh.counters.superblocks += 1;
                return Some(superblock);
            }
            if is_here && need == Need::Due {
                refresh.states[superblock.index()] = Need::None;
            }
        }
        None
    }

    /// Notes that a superblock has become a victim, for refresh or for another reason: its data is moved either way.
    #[inline]
    pub(in crate::page) fn note_moved(&mut self, superblock: SuperblockId, is_refresh: bool) {
        if let Some(refresh) = &mut self.refresh {
            refresh.states[superblock.index()] = if is_refresh { Need::Moves } else { Need::None };
            refresh.moving += u32::from(is_refresh);
        }
    }

    /// Notes that a victim has been erased or retired.
    #[inline]
    pub(super) fn note_refreshed(&mut self, superblock: SuperblockId) {
        if let Some(refresh) = &mut self.refresh {
            let need = std::mem::take(&mut refresh.states[superblock.index()]);
            refresh.moving -= u32::from(need == Need::Moves);
        }
    }

    /// Starts another round of patrol reads, because a request has reached the FTL.
    #[inline]
    pub(super) fn note_request_for_patrol(&mut self, flash: &mut Flash<'_>) {
        let superblocks = self.layout.shape.superblock_count();
        let Some(patrol) = self.refresh.as_mut().and_then(|refresh| refresh.patrol.as_mut()) else { return };
        patrol.left = superblocks;
        patrol.schedule(flash);
    }

    /// Marks the patrol read as due if its time has come.
    pub(super) fn wake_patrol(&mut self, now: Time) {
        let Some(patrol) = self.refresh.as_mut().and_then(|refresh| refresh.patrol.as_mut()) else { return };
        if patrol.event.is_some_and(|at| at <= now) {
            (patrol.event, patrol.is_due) = (None, true);
        }
    }

    /// True if a patrol read is due.
    #[inline]
    pub(super) fn patrol_is_due(&self) -> bool {
        let is_due = |refresh: &Refresh| refresh.patrol.is_some_and(|patrol| patrol.is_due);
        self.refresh.as_deref().is_some_and(is_due)
    }

    /// The slot whose page the due patrol read reads: in the next superblock that is closed and holds data.
    pub(in crate::page) fn patrol_read(&mut self, flash: &mut Flash<'_>) -> Option<Psn> {
        let refresh = self.refresh.as_mut()?;
        let patrol = refresh.patrol.as_mut().filter(|patrol| patrol.is_due)?;
        patrol.is_due = false;
        let mut slot = None;
        for _ in 0..PASSED_MAX.min(patrol.left) {
            let superblock = SuperblockId::new(patrol.next);
            patrol.next = (patrol.next + 1) % self.layout.shape.superblock_count();
            patrol.left -= 1;
            if self.table.state(superblock) == SuperblockState::Closed && self.table.valid(superblock) > 0 {
                // Each visit reads another page of the superblock.
                let rows = u64::from(self.layout.shape.superblock_slots() / self.layout.shape.row_slots());
                let row = (refresh.counters.patrol_reads % rows) as u32;
                let mut behind = self.table.valid_slots(superblock, row * self.layout.shape.row_slots());
                slot = behind.next().or_else(|| self.table.valid_slots(superblock, 0).next());
                break;
            }
        }
        patrol.schedule(flash);
        refresh.counters.patrol_reads += u64::from(slot.is_some());
        slot
    }

    /// Counters of refresh since the power came on; none if the drive does not refresh.
    pub(in crate::page) fn refresh_counters(&self) -> Option<RefreshCounters> {
        self.refresh.as_ref().map(|refresh| refresh.counters)
    }

    /// Checks that no pool with room for copies and nothing under way has a due superblock.
    pub(in crate::page) fn check_refresh(&self) {
        let Some(refresh) = &self.refresh else { return };
        for (pool, chosen) in (0..).zip(&self.pools) {
            let waits = chosen.is_moving() || chosen.stuck || !chosen.gc.victims.is_empty();
            let waits = waits || chosen.free.len() < 2 + chosen.kept_for_moves();
            if waits || refresh.moving == refresh.spec.parallel {
                continue;
            }
            for superblock in &refresh.queues[pool as usize] {
                let is_due = refresh.states[superblock.index()] == Need::Due && self.pool_of(*superblock) == pool;
                let is_due = is_due && self.table.state(*superblock) == SuperblockState::Closed;
                assert!(!is_due, "{superblock} of pool {pool} is due for refresh, and nothing refreshes it");
            }
        }
    }
}

impl Patrol {
    /// Schedules the next patrol read, if superblocks are left in the round.
    fn schedule(&mut self, flash: &mut Flash<'_>) {
        if self.left > 0 && self.event.is_none() && !self.is_due && flash.backend.is_timed() {
            let at = flash.now + self.every;
            self.event = Some(at);
            flash.events.push(at, Event::Ftl);
        }
    }
}

#[cfg(test)]
mod tests;
