//! The superblocks that a pool keeps back, so that garbage collection never runs dry.
//!
//! Progress needs room for the valid mapping units of one victim beside the superblock that is open. One superblock that
//! is free or takes nothing but copies is that room, and no live data may ever fill it. A bound on live data
//! ([`Reserve`](super::pool::Reserve)) leaves a superblock's worth of garbage beside it, so that a victim always gains
//! something. The bound is of capacity alone. What lies idle, and makes collection copy more, is decided by
//! `ftl.gc.start`: a superblock that is free while victims are chosen is none that they can be chosen from.

use flash::nand::Stream;

use super::BlockManager;
use super::idle_timer::IdleTimer;
use crate::page::streams::StreamCount;
use crate::sabotage::Sabotage;

/// Superblocks that a pool never promises to the host: the open ones of all streams, and one that garbage collection
/// can always copy into. With a shared log there is one open superblock.
pub(crate) fn reserved(shared_log: bool, streams: StreamCount) -> u32 {
    if shared_log { 2 } else { streams.open() + 1 }
}

impl BlockManager {
    /// True if collection of a pool starts as late as it can: not before the open superblock is full. A data pool that
    /// owes the pool of translation pages beside it a superblock, because one has failed, collects until it has two free.
    pub(in crate::page) fn starts_late(&self, pool: u32) -> bool {
        let beside = self.pools.get((self.groups + pool) as usize);
        self.gc.start == 0 && beside.is_none_or(|pages| !pages.lacks(self.layout.shape.superblock_slots()))
    }

    /// True if so few superblocks of a pool are free that collection starts.
    pub(in crate::page) fn is_low(&self, pool: u32) -> bool {
        let least = if self.starts_late(pool) { 0 } else { self.gc.start.max(1) };
        let spare = self.spare_superblocks(pool);
        spare <= least || spare < self.wanted_while_idle(pool)
    }

    /// True if, with `more` that will come, so many superblocks of a pool are free that collection stops.
    pub(in crate::page) fn has_enough(&self, pool: u32, more: u32) -> bool {
        let most = if self.starts_late(pool) { self.gc.stop } else { self.gc.stop.max(2) };
        let most = most.max(self.wanted_while_idle(pool));
        self.spare_superblocks(pool) + more >= most
    }

    /// True if the drive is idle and collects ahead.
    pub(in crate::page) fn is_collecting_idle(&self) -> bool {
        self.idle_collection.as_ref().is_some_and(IdleTimer::is_idle)
    }

    /// The free superblocks that collection of an idle drive leaves a pool; 0 if the drive is not idle.
    fn wanted_while_idle(&self, pool: u32) -> u32 {
        match (&self.idle_collection, self.gc.idle) {
            (Some(timer), Some(idle)) if timer.is_idle() && pool < self.groups => idle.free,
            _ => 0,
        }
    }

    /// The free superblocks of a pool, as `start` and `stop` count them. If collection starts late, the one that is the
    /// next to be opened does not count.
    pub(in crate::page) fn spare_superblocks(&self, pool: u32) -> u32 {
        let chosen = &self.pools[pool as usize];
        let opens = chosen.open[Stream::HOST].is_none() && self.starts_late(pool);
        chosen.free.len().saturating_sub(u32::from(opens) + chosen.kept_for_copies())
    }

    /// True if the valid mapping units of all victims, and `more`, fit into the superblock open for copies and `free`
    /// others. Victims free their space late, because readers may still need them. Of several streams of copies only the
    /// last counts, which takes copies of any class ([`crate::page::collector::sort`]).
    pub(in crate::page) fn copies_fit(&self, pool: u32, free: u32, more: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        // A program of the host under assembly has its place.
        let taken =
            chosen.queue.open.program.filter(|_| self.gc.shared_log).map(|program| self.program_end(program.start));
        let open = chosen.open[chosen.copies];
        let open = open.map_or(0, |open| self.room_behind(open.superblock, taken.unwrap_or(open.next)));
        let moving: u32 = chosen.gc.victims.iter().map(|victim| self.table.valid(victim.superblock)).sum();
        let program = self.program_slots();
        (moving + more).div_ceil(program) * program <= open + self.room_of_free(pool, free)
    }

    /// True if collection that starts at zero pads the next program of copies rather than take units of a victim that it
    /// does not need yet, and that would have lost more by then. Collection must gain something all the same, or it
    /// could go on for ever: the padding leaves room for a program in the superblock, and each victim fills fewer
    /// programs than a superblock has.
    pub(in crate::page) fn pads_cheaply(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        let (open, slots) = (chosen.open[chosen.copies], self.layout.shape.superblock_slots());
        let leaves_room = |from: u32| self.program_end(from) < slots;
        self.starts_late(pool)
            && open.is_some_and(|open| leaves_room(open.next))
            && chosen.gc.victims.iter().all(|victim| victim.valid + self.program_slots() <= slots)
    }

    /// True if a write of the host may go to the open superblock that it shares with copies, or to a new one.
    ///
    /// While no superblock is free, the open one takes nothing but copies, so that a power cut leaves it empty: the
    /// originals are all there, and the mount can erase it. Otherwise each power cut would cost a superblock.
    pub(in crate::page) fn shares_room(&self, pool: u32, free: u32, opens: bool) -> bool {
        let planted = free >= u32::from(opens) && self.planted.is(Sabotage::ReserveTaken);
        planted || (free > u32::from(opens) && self.copies_fit(pool, free, self.program_slots()))
    }

    /// True if the copies of a pool with a shared log still fit behind one more program.
    pub(in crate::page) fn keeps_room(&self, pool: u32, free: u32) -> bool {
        let (program, moving) = (self.program_slots(), self.pools[pool as usize].is_moving());
        let cheapest = self.victims[self.kind_in(pool)].cheapest(pool).filter(|_| !moving);
        self.copies_fit(pool, free, program + cheapest.map_or(0, |victim| self.table.valid(victim)))
    }
}

#[cfg(test)]
mod tests;
