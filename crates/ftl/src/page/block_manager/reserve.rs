//! The superblocks that a pool keeps back, so that garbage collection never runs out of space.
//!
//! * Collection needs room for the valid mapping units of one victim beside the superblock that is open. This room is
//!   one superblock that is free or takes nothing but copies; live data of the host may never fill it.
//! * A bound on live data ([`Reserve`](super::pool::Reserve)) leaves a superblock's worth of garbage beside it, so that
//!   a victim always gains something.
//! * The bound concerns capacity only. `ftl.gc.start` decides how many superblocks are free while victims are chosen:
//!   collection cannot choose a free superblock, so more free superblocks make it copy more.

use flash::nand::Stream;

use super::BlockManager;
use super::idle_timer::IdleTimer;
use crate::page::streams::StreamCount;
use crate::sabotage::Sabotage;

/// Superblocks that a pool never promises to the host: the open superblocks of all streams, and one that garbage
/// collection can always copy into. With a shared log there is one open superblock.
pub(crate) fn reserved(shared_log: bool, streams: StreamCount) -> u32 {
    if shared_log { 2 } else { streams.open() + 1 }
}

impl BlockManager {
    /// True if collection of a pool starts as late as possible: not before the open superblock is full. A data pool
    /// that owes a superblock to the pool of translation pages beside it, because one has failed, collects until two
    /// are free.
    pub(in crate::page) fn starts_late(&self, pool: u32) -> bool {
        let beside = self.pools.get((self.groups + pool) as usize);
        self.gc.start == 0 && beside.is_none_or(|pages| !pages.lacks(self.layout.shape.superblock_slots()))
    }

    /// True if collection of a pool must start, because few superblocks are free.
    pub(in crate::page) fn is_low(&self, pool: u32) -> bool {
        let least = if self.starts_late(pool) { 0 } else { self.gc.start.max(1) };
        let spare = self.spare_superblocks(pool);
        spare <= least || spare < self.wanted_while_idle(pool)
    }

    /// True if collection of a pool may stop, because enough superblocks are free together with `more` that will be.
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

    /// The free superblocks of a pool, as `start` and `stop` count them. If collection starts late, the superblock that
    /// is opened next does not count.
    pub(in crate::page) fn spare_superblocks(&self, pool: u32) -> u32 {
        let chosen = &self.pools[pool as usize];
        let opens = chosen.open[Stream::HOST].is_none() && self.starts_late(pool);
        chosen.free.len().saturating_sub(u32::from(opens) + chosen.kept_for_copies())
    }

    /// True if the valid mapping units of all victims, and `more`, fit into the superblock open for copies and `free`
    /// other superblocks. The victims' own space does not count, because readers may delay their erase. Of several
    /// streams of copies only the last counts, which takes copies of any class ([`crate::page::collector::sort`]).
    pub(in crate::page) fn copies_fit(&self, pool: u32, free: u32, more: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        // A program of the host under assembly takes its slots first.
        let taken =
            chosen.queue.open.program.filter(|_| self.gc.shared_log).map(|program| self.program_end(program.start));
        let open = chosen.open[chosen.copies];
        let open = open.map_or(0, |open| self.room_behind(open.superblock, taken.unwrap_or(open.next)));
        let moving: u32 = chosen.gc.victims.iter().map(|victim| self.table.valid(victim.superblock)).sum();
        let program = self.program_slots();
        (moving + more).div_ceil(program) * program <= open + self.room_of_free(pool, free)
    }

    /// True if collection that starts at zero pads the next program of copies. The alternative is to take units of a
    /// victim that is not needed yet, and that would have lost more valid units by the time it is.
    ///
    /// Collection must still gain space, or it could go on for ever. So the padding leaves room for a program in the
    /// superblock, and each victim fills at least a program less than a superblock has.
    pub(in crate::page) fn pads_cheaply(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        let (open, slots) = (chosen.open[chosen.copies], self.layout.shape.superblock_slots());
        let leaves_room = |from: u32| self.program_end(from) < slots;
        self.starts_late(pool)
            && open.is_some_and(|open| leaves_room(open.next))
            && chosen.gc.victims.iter().all(|victim| victim.valid + self.program_slots() <= slots)
    }

    /// True if a write of the host may go to the open superblock that it shares with copies, or to a new superblock.
    ///
    /// While no superblock is free, the open superblock takes nothing but copies. After a power cut all originals of
    /// these copies are still there, so the mount can erase the superblock; otherwise each power cut would cost a
    /// superblock.
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
