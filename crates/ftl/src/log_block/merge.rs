//! Merges: they turn log blocks into free blocks, one logical block after another.
//!
//! A log block in order becomes the data block itself, after its missing pages have been copied into it (switch and
//! partial merge). Otherwise a full merge copies the newest pages of a logical block into a new block, and repeats that
//! for each logical block with pages in the log block (FAST).

use base::engine::Handle;
use base::steps;
use base::units::SuperblockId;
use flash::backend::{Cause, List, Op};

use super::address::Lbn;
use super::heap::Entry;
use super::logs::{LogId, Place};
use super::{EraseWhen, LogBlockFtl};
use crate::port::{Flash, Owners};
use crate::toolkit::Commands;

/// The most broken destinations that a fold erases. Without an end a drive on which every program fails would never be
/// idle.
const MOST_REUSED: u32 = 1000;

/// The phase of a fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No fold.
    #[default]
    Idle,
    /// Pages are being copied.
    Copying,
    /// A program has failed: the fold needs another destination.
    Failed,
    /// The new data block is in use, the old one is being erased.
    Ending,
}

/// A fold: the new data block of a logical block.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    pub(super) phase: Phase,
    pub(super) lbn: Lbn,
    /// The new data block; none if the logical block has no data left.
    pub(super) destination: Option<SuperblockId>,
    /// True if the log block itself becomes the data block.
    pub(super) converts: bool,
    /// True if the old data block is erased right after its reads.
    pub(super) erased_early: bool,
    /// Pages from the log: offset and place.
    pub(super) logged: Vec<(u32, Place)>,
    /// Offsets of pages that have been written to the log since the fold began. Their places cannot tell: a log block
    /// whose pages are all outdated is erased, and the next one may have its number, and the page its old place.
    pub(super) newer: Vec<u32>,
    /// Number of copied pages.
    pub(super) copies: u32,
    /// Lists that have not finished.
    pub(super) lists: Vec<Handle<List>>,
    /// The blocks that they read: the list, the block and the number of reads.
    pub(super) pinned: Vec<(Handle<List>, SuperblockId, u32)>,
    /// The list with the programs, kept with its pages until all of them are on flash.
    pub(super) programs: Option<Handle<List>>,
    /// True if a program has failed.
    pub(super) failed: bool,
    /// Destinations with a failed program.
    pub(super) broken: Vec<SuperblockId>,
    /// Blocks that were erased early, each with true if its erase failed.
    pub(super) emptied: Vec<(SuperblockId, bool)>,
    /// Broken destinations that were erased, because there was no other block.
    pub(super) reused: u32,
}

impl Fold {
    /// Begins a fold, and reuses the allocations of the last one.
    pub(super) fn begin(&mut self, lbn: Lbn) {
        let mut old = std::mem::take(self);
        old.logged.clear();
        old.newer.clear();
        old.lists.clear();
        old.pinned.clear();
        old.broken.clear();
        old.emptied.clear();
        let Self { logged, newer, lists, pinned, broken, emptied, .. } = old;
        *self = Self { phase: Phase::Copying, lbn, logged, newer, lists, pinned, broken, emptied, ..Self::default() };
    }

    /// A destination with a failed program whose pages a later destination holds, if there is one and it may be tried
    /// once more.
    pub(super) fn next_to_reuse(&mut self) -> Option<SuperblockId> {
        let there = !self.broken.is_empty() && self.reused < MOST_REUSED;
        there.then(|| self.broken.remove(0))
    }
}

/// The merge of a log block.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    pub(super) log: LogId,
    /// True once it is no log block any more.
    pub(super) removed: bool,
    /// True if the log block was erased early, together with the last data block.
    pub(super) emptied: bool,
    /// True if the log block is being erased.
    pub(super) dying: bool,
    /// Data blocks that the merge has made.
    pub(super) folds: u32,
    /// The current fold.
    pub(super) fold: Fold,
    /// Marked blocks whose erase it waits for.
    pub(super) erasing: Vec<SuperblockId>,
}

impl LogBlockFtl {
    /// The merges under way. Those queued behind them have begun no fold and marked no block.
    fn under_way(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().take(self.spec.parallel as usize).inspect(|_| steps::count())
    }

    /// True if a fold of this logical block is under way.
    #[inline]
    pub(super) fn is_folding(&self, lbn: Lbn) -> bool {
        self.under_way().any(|job| job.fold.phase != Phase::Idle && job.fold.lbn == lbn)
    }

    /// A page has been written to the log: a fold of its logical block must not replace it.
    pub(super) fn outdate_folded(&mut self, lbn: Lbn, offset: u32) {
        let parallel = self.spec.parallel as usize;
        let folds = self.jobs.iter_mut().take(parallel).inspect(|_| steps::count()).map(|job| &mut job.fold);
        for fold in folds.filter(|fold| fold.phase != Phase::Idle && fold.lbn == lbn) {
            if !fold.newer.contains(&offset) {
                fold.newer.push(offset);
            }
        }
    }

    /// Folds with a destination that is not yet in use, or still stands beside the block it replaces. Log blocks that
    /// become data blocks do not count.
    pub(super) fn destinations(&self) -> u32 {
        let folds = self.under_way().map(|job| &job.fold).filter(|fold| fold.phase != Phase::Idle);
        folds.filter(|fold| fold.destination.is_some() && !fold.converts).count() as u32
    }

    /// Queues the merge of a log block, and closes the log block.
    pub(super) fn want_merge(&mut self, id: LogId) {
        if self.logs.log(id).closed {
            return;
        }
        self.logs.close(id);
        let mut job = self.over.pop().unwrap_or_default();
        (job.log, job.removed, job.emptied, job.dying, job.folds) = (id, false, false, false, 0);
        self.jobs.push_back(job);
    }

    /// True if [`want_any_merge`](Self::want_any_merge) would queue a merge.
    pub(super) fn could_want_any_merge(&self) -> bool {
        self.jobs.is_empty() && self.logs.by_age().next().is_some()
    }

    /// If no merge is queued, queues one: of the policy's victim, or else of the oldest log block.
    pub(super) fn want_any_merge(&mut self) {
        let oldest = || self.logs.by_age().next();
        if self.jobs.is_empty()
            && let Some(id) = self.policy.victim(&self.logs).or_else(|| oldest().map(|(id, _)| id))
        {
            self.want_merge(id);
        }
    }

    /// Advances the merges, and then the writes that waited for them. Refuses writes only if nothing under way could
    /// make room.
    pub(super) fn advance_merges(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for superblock in std::mem::take(&mut self.useless) {
            self.mark_for_erase(flash, superblock, Cause::Recovery);
        }
        if self.jobs.is_empty() && self.waiting.is_empty() {
            return;
        }
        loop {
            while self.merge(flash) {
                self.changed_pools = true;
            }
            self.release_reads(flash, owners);
            if !std::mem::take(&mut self.changed_pools) {
                break;
            }
            self.resume(flash, owners);
        }
        if self.under_way == 0 {
            self.abandon_folds(flash);
        }
        if self.under_way == 0 {
            while let Some(Entry { lbn, .. }) = self.waiting.oldest() {
                owners.write_refused(self.waiting.take(lbn).owner);
                self.waiting.placed(lbn);
            }
        }
    }

    /// Advances each merge under way by a step. Returns true if one could.
    fn merge(&mut self, flash: &mut Flash<'_>) -> bool {
        let mut any = false;
        let mut i = 0;
        while i < self.jobs.len().min(self.spec.parallel as usize) {
            any |= self.step(flash, i);
            let job = &self.jobs[i];
            if job.removed && job.fold.phase == Phase::Idle {
                self.over.extend(self.jobs.remove(i));
            } else {
                i += 1;
            }
        }
        any
    }

    fn step(&mut self, flash: &mut Flash<'_>, i: usize) -> bool {
        let job = &mut self.jobs[i];
        match job.fold.phase {
            Phase::Idle => {}
            Phase::Copying => return false,
            Phase::Failed => return self.retry(flash, i),
            Phase::Ending if job.erasing.is_empty() => {
                job.fold.phase = Phase::Idle;
                self.waiting.merge_ended(job.fold.lbn);
                return true;
            }
            Phase::Ending => return false,
        }
        let id = job.log;
        let log = *self.logs.log(id);
        if log.programs > 0 || !job.erasing.is_empty() {
            return false;
        }
        if log.valid > 0 {
            return self.begin_fold(flash, i);
        }
        if !job.dying && !job.emptied {
            job.dying = true;
            if self.mark_for_erase(flash, log.superblock, Cause::Merge) {
                self.jobs[i].erasing.push(log.superblock);
                return true;
            }
        }
        let job = &mut self.jobs[i];
        job.removed = true;
        self.merges.full += 1;
        self.merges.folds += u64::from(job.folds);
        self.remove_log(id);
        true
    }

    /// Removes a log block. If it was a logical block's own, that may have another now.
    pub(super) fn remove_log(&mut self, id: LogId) {
        if let Some(lbn) = self.logs.remove(id).role.block() {
            self.waiting.merge_ended(lbn);
        }
    }

    /// The power fails now. Pages whose old place is erased are only in the controllers' buffer: capacitors program
    /// them. The same holds for the pages of failed programs, which need another block.
    pub(crate) fn power_fails(&mut self, flash: &mut Flash<'_>) {
        if self.spec.erase != EraseWhen::Read {
            return;
        }
        for i in 0..self.jobs.len() {
            if self.jobs[i].fold.phase == Phase::Copying {
                self.save(flash, i);
            }
            while self.jobs[i].fold.phase == Phase::Failed {
                if self.copy_again(flash, i).is_none() && !self.reuse(flash, i) {
                    break;
                }
                self.save(flash, i);
            }
        }
    }

    /// Capacitors carry out the lists of a fold.
    fn save(&mut self, flash: &mut Flash<'_>, i: usize) {
        let fold = &mut self.jobs[i].fold;
        flash.backend.save(flash.now, &fold.lists);
        for list in fold.lists.drain(..).chain(fold.programs) {
            let mut commands = Commands::of(flash.backend, list);
            while let Some((_, command)) = commands.next(flash.backend) {
                let erased = (command.target.superblock, command.failed);
                match command.op {
                    Op::Erase if !fold.emptied.contains(&erased) => fold.emptied.push(erased),
                    Op::Program => fold.failed |= command.failed,
                    _ => {}
                }
            }
        }
        fold.phase = if fold.failed { Phase::Failed } else { Phase::Ending };
    }

    /// A list of a merge has finished.
    pub(super) fn merge_finished(&mut self, flash: &mut Flash<'_>, id: LogId, list: Handle<List>) {
        let copying = |job: &Job| job.log == id && job.fold.phase == Phase::Copying;
        let i = self.under_way().position(copying).expect("a merge has a job");
        let mut commands = Commands::of(flash.backend, list);
        while let Some((_, command)) = commands.next(flash.backend) {
            match command.op {
                Op::Erase => self.jobs[i].fold.emptied.push((command.target.superblock, command.failed)),
                Op::Program => self.jobs[i].fold.failed |= command.failed,
                Op::Read | Op::CopyBack => {}
            }
        }
        let mut pinned = std::mem::take(&mut self.jobs[i].fold.pinned);
        for (_, source, reads) in pinned.extract_if(.., |(of, ..)| *of == list) {
            self.unpin(flash, source, reads);
        }
        self.jobs[i].fold.pinned = pinned;
        let fold = &mut self.jobs[i].fold;
        fold.lists.retain(|other| *other != list);
        if fold.programs != Some(list) {
            flash.backend.release(list);
        }
        if !fold.lists.is_empty() {
            return;
        }
        self.changed_pools = true;
        if fold.failed {
            fold.phase = Phase::Failed;
        } else {
            self.end_fold(flash, i);
        }
    }
}
