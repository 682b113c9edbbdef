//! Merges, which turn log blocks into free blocks, one logical block after another.
//!
//! A log block in order becomes the data block itself, after its missing pages have been copied into it (switch and
//! partial merge). Otherwise a full merge copies the newest pages of a logical block into a new block, and repeats that
//! for each logical block with pages in the log block (FAST).

use std::collections::VecDeque;

use base::engine::Handle;
use base::steps;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, List, Op};

use super::address::Lbn;
use super::block_manager::BlockManager;
use super::ideal::Ideal;
use super::lists::Lists;
use super::logs::{LogId, LogPosition, Logs};
use super::mapping::Mapping;
use super::waiting::WaitingWrites;
use super::{EraseTiming, LogBlockConfig, LogMerges};
use crate::port::Flash;
use crate::toolkit::Commands;

/// The most broken destinations that a fold erases and tries again. Without a limit a drive on which every program
/// fails would never be idle.
const MOST_REUSED: u32 = 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MergePhase {
    /// No fold.
    #[default]
    Idle,
    /// Pages are being copied.
    Copying,
    /// A program has failed: the fold needs another destination.
    Failed,
    /// The new data block is in use, the old data block is being erased.
    Ending,
}

/// A fold: the new data block of a logical block.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    pub(super) phase: MergePhase,
    pub(super) lbn: Lbn,
    /// The new data block; none if the logical block has no data left.
    pub(super) destination: Option<SuperblockId>,
    /// True if the log block itself becomes the data block.
    pub(super) converts: bool,
    /// True if the old data block is erased right after its reads.
    pub(super) erased_early: bool,
    /// Pages from the log: offset and place.
    pub(super) logged: Vec<(u32, LogPosition)>,
    /// Offsets of pages that have been written to the log since the fold began. A comparison of places would not find
    /// these pages: a log block whose pages are all outdated is erased, the next log block may have its number, and the
    /// page may have its old place there.
    pub(super) newer: Vec<u32>,
    /// Number of copied pages.
    pub(super) copies: u32,
    /// Lists that have not finished.
    pub(super) lists: Vec<Handle<List>>,
    /// The source blocks of the lists' reads: the list, the block and the number of reads.
    pub(super) pinned: Vec<(Handle<List>, SuperblockId, u32)>,
    /// The list with the programs, kept with its buffered pages until all of them are on flash.
    pub(super) programs: Option<Handle<List>>,
    /// True if a program has failed.
    pub(super) failed: bool,
    /// Destinations in which a program failed.
    pub(super) broken: Vec<SuperblockId>,
    /// Blocks that were erased early, each with true if its erase failed.
    pub(super) emptied: Vec<(SuperblockId, bool)>,
    /// Number of broken destinations that were erased and tried again, because there was no other block.
    pub(super) reused: u32,
}

impl Fold {
    /// Begins a fold, and reuses the allocations of the previous one.
    pub(super) fn begin(&mut self, lbn: Lbn) {
        let mut old = std::mem::take(self);
        old.logged.clear();
        old.newer.clear();
        old.lists.clear();
        old.pinned.clear();
        old.broken.clear();
        old.emptied.clear();
        let Self { logged, newer, lists, pinned, broken, emptied, .. } = old;
        *self =
            Self { phase: MergePhase::Copying, lbn, logged, newer, lists, pinned, broken, emptied, ..Self::default() };
    }

    /// A destination with a failed program whose pages a later destination holds, unless the limit of reuses is
    /// reached.
    pub(super) fn next_to_reuse(&mut self) -> Option<SuperblockId> {
        let there = !self.broken.is_empty() && self.reused < MOST_REUSED;
        there.then(|| self.broken.remove(0))
    }
}

/// The merge of a log block.
#[derive(Clone, Debug, Default)]
pub(super) struct MergeJob {
    pub(super) log: LogId,
    /// True once the log block has been removed from the log's table.
    pub(super) removed: bool,
    /// True if the log block was erased early, together with the last data block.
    pub(super) emptied: bool,
    /// True if the log block is being erased.
    pub(super) dying: bool,
    /// Data blocks that the merge has made.
    pub(super) folds: u32,
    /// The fold under way; its phase is idle between two folds.
    pub(super) fold: Fold,
    /// Blocks marked for erase that the merge waits for.
    pub(super) erasing: Vec<SuperblockId>,
}

#[derive(Clone, Debug)]
pub(super) struct Merges {
    /// The merges, oldest first; the first `parallel` of them are under way.
    pub(super) jobs: VecDeque<MergeJob>,
    /// Ended jobs, kept so that the next merge allocates nothing.
    over: Vec<MergeJob>,
    pub(super) parallel: u32,
    pub(super) erase: EraseTiming,
    /// The sources of the pages of the fold that is being built, by offset; empty between folds.
    pub(super) sources: Vec<Option<Psn>>,
    /// The lists of the fold that is being built.
    pub(super) lists: Lists,
    pub(super) counters: LogMerges,
    pub(super) ideal: Ideal,
}

impl Merges {
    pub(super) fn new(config: &LogBlockConfig) -> Self {
        Self {
            jobs: VecDeque::new(),
            over: Vec::new(),
            parallel: config.spec.parallel,
            erase: config.spec.erase,
            sources: vec![None; config.geometry.superblock_slots() as usize],
            lists: Lists::default(),
            counters: LogMerges::default(),
            ideal: Ideal::new(&config.timing),
        }
    }

    /// The merges under way. The merges queued behind them have begun no fold and marked no block.
    fn under_way(&self) -> impl Iterator<Item = &MergeJob> {
        self.jobs.iter().take(self.parallel as usize).inspect(|_| steps::count())
    }

    /// True if a fold of this logical block is under way.
    #[inline]
    pub(super) fn is_folding(&self, lbn: Lbn) -> bool {
        self.under_way().any(|job| job.fold.phase != MergePhase::Idle && job.fold.lbn == lbn)
    }

    /// True if the controllers' buffer may hold the only copies of some pages of a logical block.
    pub(super) fn is_in_buffer(&self, lbn: Lbn) -> bool {
        self.erase == EraseTiming::Read && self.is_folding(lbn)
    }

    /// A page has been written to the log: a fold of its logical block must not replace it.
    pub(super) fn outdate_folded(&mut self, lbn: Lbn, offset: u32) {
        let parallel = self.parallel as usize;
        let folds = self.jobs.iter_mut().take(parallel).inspect(|_| steps::count()).map(|job| &mut job.fold);
        for fold in folds.filter(|fold| fold.phase != MergePhase::Idle && fold.lbn == lbn) {
            if !fold.newer.contains(&offset) {
                fold.newer.push(offset);
            }
        }
    }

    /// The number of folds under way that hold a destination block. Log blocks that become data blocks do not count.
    pub(super) fn destinations(&self) -> u32 {
        let folds = self.under_way().map(|job| &job.fold).filter(|fold| fold.phase != MergePhase::Idle);
        folds.filter(|fold| fold.destination.is_some() && !fold.converts).count() as u32
    }

    /// Queues the merge of a log block, and closes the log block.
    pub(super) fn want(&mut self, logs: &mut Logs, id: LogId) {
        if logs.log(id).closed {
            return;
        }
        logs.close(id);
        let mut job = self.over.pop().unwrap_or_default();
        (job.log, job.removed, job.emptied, job.dying, job.folds) = (id, false, false, false, 0);
        self.jobs.push_back(job);
    }

    /// True if [`want_any`](Self::want_any) would queue a merge.
    pub(super) fn could_want_any(&self, logs: &Logs) -> bool {
        self.jobs.is_empty() && logs.by_age().next().is_some()
    }

    /// If no merge is queued, queues one: of the policy's victim, or of the oldest log block if the policy has none.
    pub(super) fn want_any(&mut self, mapping: &mut Mapping) {
        let oldest = || mapping.logs.by_age().next();
        if self.jobs.is_empty()
            && let Some(id) = mapping.policy.victim(&mapping.logs).or_else(|| oldest().map(|(id, _)| id))
        {
            self.want(&mut mapping.logs, id);
        }
    }
}

/// A view of the FTL: the merges, and the parts that they change.
#[derive(Debug)]
pub(super) struct Merger<'a> {
    pub(super) merges: &'a mut Merges,
    pub(super) blocks: &'a mut BlockManager,
    pub(super) mapping: &'a mut Mapping,
    pub(super) waiting: &'a mut WaitingWrites,
}

impl Merger<'_> {
    /// Advances each merge under way by a step. Returns true if some merge advanced.
    pub(super) fn advance(&mut self, flash: &mut Flash<'_>) -> bool {
        let mut any = false;
        let mut i = 0;
        while i < self.merges.jobs.len().min(self.merges.parallel as usize) {
            any |= self.step(flash, i);
            let job = &self.merges.jobs[i];
            if job.removed && job.fold.phase == MergePhase::Idle {
                self.merges.over.extend(self.merges.jobs.remove(i));
            } else {
                i += 1;
            }
        }
        any
    }

    fn step(&mut self, flash: &mut Flash<'_>, i: usize) -> bool {
        let job = &mut self.merges.jobs[i];
        match job.fold.phase {
            MergePhase::Idle => {}
            MergePhase::Copying => return false,
            MergePhase::Failed => return self.retry(flash, i),
            MergePhase::Ending if job.erasing.is_empty() => {
                job.fold.phase = MergePhase::Idle;
                self.waiting.merge_ended(job.fold.lbn);
                return true;
            }
            MergePhase::Ending => return false,
        }
        let id = job.log;
        let log = *self.mapping.logs.log(id);
        if log.programs > 0 || !job.erasing.is_empty() {
            return false;
        }
        if log.valid > 0 {
            return self.begin_fold(flash, i);
        }
        if !job.dying && !job.emptied {
            job.dying = true;
            if self.blocks.mark_for_erase(flash, log.superblock, Cause::Merge) {
                self.merges.jobs[i].erasing.push(log.superblock);
                return true;
            }
        }
        let job = &mut self.merges.jobs[i];
        job.removed = true;
        self.merges.counters.full += 1;
        self.merges.counters.folds += u64::from(job.folds);
        self.remove_log(id);
        true
    }

    /// Removes a log block. If a logical block owned it (BAST), that logical block may now have another log block.
    pub(super) fn remove_log(&mut self, id: LogId) {
        if let Some(lbn) = self.mapping.logs.remove(id).role.block() {
            self.waiting.merge_ended(lbn);
        }
    }

    /// Ends `reads` reads of a block.
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, reads: u32) {
        if self.blocks.unpin(flash, superblock, reads) {
            self.block_gone(superblock);
        }
    }

    /// An erase has finished: frees or retires the block.
    pub(super) fn erased(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, failed: bool) {
        self.blocks.erased(flash, superblock, failed);
        self.block_gone(superblock);
    }

    /// A block marked for erase is free or retired: merges and writes that waited for it go on.
    fn block_gone(&mut self, superblock: SuperblockId) {
        self.waiting.room_changed = true;
        let under_way = self.merges.jobs.iter_mut().take(self.merges.parallel as usize);
        under_way.for_each(|job| job.erasing.retain(|block| *block != superblock));
    }

    /// The power fails now. With early erases the controllers' buffer has the only copies of pages whose sources are
    /// erased: capacitors supply the power to program them. Pages of failed programs are programmed into another block.
    pub(super) fn power_fails(&mut self, flash: &mut Flash<'_>) {
        if self.merges.erase != EraseTiming::Read {
            return;
        }
        for i in 0..self.merges.jobs.len() {
            if self.merges.jobs[i].fold.phase == MergePhase::Copying {
                self.save(flash, i);
            }
            while self.merges.jobs[i].fold.phase == MergePhase::Failed {
                if self.copy_again(flash, i).is_none() && !self.reuse(flash, i) {
                    break;
                }
                self.save(flash, i);
            }
        }
    }

    /// Carries out the lists of a fold at once, with the energy of the capacitors.
    fn save(&mut self, flash: &mut Flash<'_>, i: usize) {
        let fold = &mut self.merges.jobs[i].fold;
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
        fold.phase = if fold.failed { MergePhase::Failed } else { MergePhase::Ending };
    }

    pub(super) fn finished(&mut self, flash: &mut Flash<'_>, id: LogId, list: Handle<List>) {
        let copying = |job: &MergeJob| job.log == id && job.fold.phase == MergePhase::Copying;
        let i = self.merges.under_way().position(copying).expect("a merge has a job");
        let mut commands = Commands::of(flash.backend, list);
        while let Some((_, command)) = commands.next(flash.backend) {
            match command.op {
                Op::Erase => self.merges.jobs[i].fold.emptied.push((command.target.superblock, command.failed)),
                Op::Program => self.merges.jobs[i].fold.failed |= command.failed,
                Op::Read | Op::CopyBack => {}
            }
        }
        let mut pinned = std::mem::take(&mut self.merges.jobs[i].fold.pinned);
        for (_, source, reads) in pinned.extract_if(.., |(of, ..)| *of == list) {
            self.unpin(flash, source, reads);
        }
        self.merges.jobs[i].fold.pinned = pinned;
        let fold = &mut self.merges.jobs[i].fold;
        fold.lists.retain(|other| *other != list);
        if fold.programs != Some(list) {
            flash.backend.release(list);
        }
        if !fold.lists.is_empty() {
            return;
        }
        self.waiting.room_changed = true;
        if fold.failed {
            fold.phase = MergePhase::Failed;
        } else {
            self.end_fold(flash, i);
        }
    }
}
