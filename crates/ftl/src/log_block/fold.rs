//! Folds: a fold makes a data block, with a command list for each controller that takes part.
//!
//! Each bus (or chip, see [`allocate`](super::allocate)) that is read or programmed has one list, whose operations run
//! one after another. A page that was read goes through the buffer to its program, so the lists of different
//! controllers overlap (Sung, Sec. 4.4, Fig. 11 and 12).

use flash::nand::SectorMask;
use std::ops::Range;

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Geometry, Stream, Target};

use super::allocate::Use;
use super::block_manager::BlockState;
use super::merge::{Fold, MergeJob, MergePhase, Merger};
use super::{EraseTiming, ListTag};
use crate::port::Flash;
use crate::toolkit::{Commands, add_copy};

/// A run of a fold's pages: the pages from offset `at` on that come from one block. Returns the block and the range of
/// their offsets.
fn next_run(geometry: &Geometry, sources: &[Option<Psn>], at: usize) -> Option<(SuperblockId, Range<usize>)> {
    let start = at + sources[at..].iter().position(Option::is_some)?;
    let (source, _) = geometry.locate(sources[start]?);
    let first = geometry.slot(source, 0).get();
    let here = first..first + geometry.superblock_slots();
    let of_source = |psn: &Option<Psn>| psn.is_some_and(|psn| here.contains(&psn.get()));
    let end = sources[start..].iter().position(|psn| !of_source(psn)).map_or(sources.len(), |pages| start + pages);
    Some((source, start..end))
}

impl Merger<'_> {
    /// The list of the controller that serves a block.
    fn list_for(&mut self, flash: &mut Flash<'_>, tag: u32, superblock: SuperblockId) -> usize {
        let area = self.blocks.allocator.area(self.blocks.geometry.die_of(superblock));
        self.merges.lists.of_area(flash, tag, area)
    }

    /// Begins a fold for the log block of a job. Returns false if no free block is left for the fold now.
    pub(super) fn begin_fold(&mut self, flash: &mut Flash<'_>, i: usize) -> bool {
        let id = self.merges.jobs[i].log;
        let log = *self.mapping.logs.log(id);
        let alone = log.role.block().filter(|_| log.in_order && log.valid == log.next);
        let Some(lbn) = alone.or_else(|| self.mapping.logs.first_block(id)) else { return false };
        let old = self.mapping.data[lbn as usize];
        if self.merges.is_folding(lbn) || old.is_some_and(|old| self.blocks[old].programs > 0) {
            return false;
        }
        let converts = alone.is_some();
        let mut sources = std::mem::take(&mut self.merges.sources);
        let media = flash.backend.media();
        if let Some(old) = old {
            let (first, has_holes) = (self.blocks.geometry.slot(old, 0).get(), self.mapping.holes.any(lbn));
            for offset in if converts { log.next } else { 0 }..self.blocks.pages {
                let psn = Psn::new(first + offset);
                let holds = media.holds_data(psn) && !(has_holes && self.mapping.holes.contains(lbn, offset));
                sources[offset as usize] = holds.then_some(psn);
            }
        }
        self.merges.jobs[i].fold.begin(lbn);
        let fold = &mut self.merges.jobs[i].fold;
        for (offset, place) in self.mapping.logs.chain(lbn) {
            let (from, page) = self.mapping.logs.locate(place);
            // A newer page in another log block stays there; it takes precedence over the data block.
            sources[offset as usize] =
                (!converts).then(|| self.blocks.geometry.slot(self.mapping.logs.log(from).superblock, page));
            if !converts || from == id {
                fold.logged.push((offset, place));
            }
        }
        fold.converts = converts;
        fold.copies = sources.iter().flatten().count() as u32;
        let destination = match (converts, fold.copies) {
            (true, _) => Some(log.superblock),
            (false, 0) => None,
            (false, _) => match self.destination(flash, old, &sources) {
                Some(superblock) => Some(superblock),
                None => {
                    self.merges.jobs[i].fold.phase = MergePhase::Idle;
                    sources.fill(None);
                    self.merges.sources = sources;
                    return false;
                }
            },
        };
        let fold = &mut self.merges.jobs[i].fold;
        fold.destination = destination;
        for (offset, _) in &fold.logged {
            self.mapping.holes.remove(lbn, *offset);
        }
        // The fold's own reads pin the blocks, so this question is asked before they are added.
        let erases_early = self.merges.erase == EraseTiming::Read;
        let early = if erases_early { self.early_erases(i, old) } else { [None; 2] };
        if let Some(destination) = destination {
            self.add_copies(flash, i, destination, &sources, !erases_early);
        }
        self.add_early_erases(flash, ListTag::Merge.tag(id), early);
        sources.fill(None);
        self.merges.sources = sources;
        self.send_fold(flash, i);
        true
    }

    /// Takes a block for the pages of a full merge, on another bus or chip than all its sources (Fig. 12b).
    fn destination(
        &mut self,
        flash: &Flash<'_>,
        old: Option<SuperblockId>,
        sources: &[Option<Psn>],
    ) -> Option<SuperblockId> {
        self.blocks.allocator.begin();
        let mut at = 0;
        while let Some((source, run)) = next_run(&self.blocks.geometry, sources, at) {
            self.blocks.allocator.avoid(self.blocks.geometry.die_of(source), Some(source) == old);
            at = run.end;
        }
        self.blocks.take(flash, Use::Merge, None)
    }

    /// Adds a read and a program for each page, by offset: as one set of copies if their lists hold nothing else,
    /// otherwise as separate commands.
    fn add_copies(
        &mut self,
        flash: &mut Flash<'_>,
        i: usize,
        destination: SuperblockId,
        sources: &[Option<Psn>],
        alone: bool,
    ) {
        let tag = ListTag::Merge.tag(self.merges.jobs[i].log);
        let set = alone.then(|| flash.backend.open_copies(Cause::Merge, destination));
        let mut at = 0;
        while let Some((source, run)) = next_run(&self.blocks.geometry, sources, at) {
            let areas = [source, destination].map(|superblock| self.list_for(flash, tag, superblock));
            let lists = areas.map(|area| self.merges.lists.0[area].1);
            let pages = (run.start as u32..).zip(sources[run.clone()].iter().flatten().copied());
            match set {
                Some(set) => flash.backend.push_copies(set, lists, source, pages),
                None => {
                    for (offset, psn) in pages {
                        let copy = add_copy(flash.backend, lists, psn, Target { superblock: destination, offset });
                        for (area, command) in areas.into_iter().zip(copy) {
                            self.merges.lists.follow(flash, area, command);
                        }
                    }
                }
            }
            self.pin(i, lists[0], source, run.len() as u32);
            at = run.end;
        }
    }

    /// Pins a source block for `reads` reads of a list. Without a pin another merge could find the block without valid
    /// pages, and erase it.
    fn pin(&mut self, i: usize, list: Handle<List>, source: SuperblockId, reads: u32) {
        self.blocks[source].pins += reads;
        let pinned = &mut self.merges.jobs[i].fold.pinned;
        // Blocks are released in the order of their last reads.
        let before = pinned.iter().position(|(of, block, _)| (*of, *block) == (list, source));
        let before = before.map_or(0, |before| pinned.remove(before).2);
        pinned.push((list, source, before + reads));
    }

    /// The old data block and the log block of a fold, if the fold may erase them right after its reads.
    fn early_erases(&mut self, i: usize, old: Option<SuperblockId>) -> [Option<SuperblockId>; 2] {
        let (id, log) = (self.merges.jobs[i].log, *self.mapping.logs.log(self.merges.jobs[i].log));
        let fold = &self.merges.jobs[i].fold;
        let here = fold.logged.iter().filter(|(_, place)| self.mapping.logs.locate(*place).0 == id).count();
        let last = !fold.converts && here == log.valid as usize;
        // Other reads of a block may be anywhere in their queues: the block is then erased after them, not early.
        let free = |block: &SuperblockId| !self.blocks[*block].failing && self.blocks[*block].pins == 0;
        // If the destination fails, the buffered pages need another block: one free block is kept for them.
        let another = self.blocks.allocator.count() > 0;
        let free = |block: &SuperblockId| another && free(block);
        let old = old.filter(free);
        let log = Some(log.superblock).filter(|block| last && free(block));
        self.merges.jobs[i].fold.erased_early = old.is_some();
        self.merges.jobs[i].emptied = log.is_some();
        [old, log]
    }

    /// Erases the sources after their reads, without waiting for the programs (Fig. 11b and 12b).
    fn add_early_erases(&mut self, flash: &mut Flash<'_>, tag: u32, early: [Option<SuperblockId>; 2]) {
        for superblock in early.into_iter().flatten() {
            let list = self.list_for(flash, tag, superblock);
            let erase = flash.backend.add_erase(self.merges.lists.0[list].1, Cause::Merge, superblock);
            self.merges.lists.follow(flash, list, erase);
            self.blocks[superblock].state = BlockState::Erasing;
        }
    }

    /// Submits the lists of a fold: first the lists with reads, then the list with the programs that wait for the
    /// reads.
    fn send_fold(&mut self, flash: &mut Flash<'_>, i: usize) {
        let mut lists = std::mem::take(&mut self.merges.lists);
        let fold = &mut self.merges.jobs[i].fold;
        fold.lists.clear();
        fold.lists.extend(lists.0.iter().map(|(_, list, _)| *list));
        let target = fold.destination.filter(|_| fold.copies > 0).map(|block| self.blocks.geometry.die_of(block));
        let area = target.map(|die| self.blocks.allocator.area(die));
        fold.programs = lists.0.iter().find(|(of, ..)| Some(*of) == area).map(|(_, list, _)| *list);
        let programs = fold.programs;
        for (_, list, _) in lists.0.iter().filter(|(_, list, _)| Some(*list) != programs) {
            self.blocks.submit(flash, *list);
        }
        if let Some(programs) = programs {
            self.blocks.submit(flash, programs);
        }
        if lists.0.is_empty() {
            self.end_fold(flash, i);
        }
        lists.0.clear();
        self.merges.lists = lists;
    }

    /// Repeats the copies into another destination: reads the programmed pages again, and takes the others from the
    /// buffer. Returns false if no block is free.
    pub(super) fn retry(&mut self, flash: &mut Flash<'_>, i: usize) -> bool {
        let Some(buffer) = self.copy_again(flash, i) else { return false };
        flash.backend.release(buffer);
        true
    }

    /// Repeats the copies as [`Self::retry`] does, and returns the old list of programs, which may still be at work
    /// when the power fails.
    pub(super) fn copy_again(&mut self, flash: &mut Flash<'_>, i: usize) -> Option<Handle<List>> {
        let broken = self.merges.jobs[i].fold.destination.expect("it has been programmed");
        self.blocks.allocator.begin();
        self.blocks.allocator.avoid(self.blocks.geometry.die_of(broken), false);
        let superblock = match self.blocks.take(flash, Use::Merge, None) {
            Some(superblock) => superblock,
            None => {
                // The blocks that this merge has erased early become free now.
                for (superblock, failed) in std::mem::take(&mut self.merges.jobs[i].fold.emptied) {
                    self.erased(flash, superblock, failed);
                }
                self.blocks.take(flash, Use::Merge, None)?
            }
        };
        self.blocks[broken].failing = true;
        let tag = ListTag::Merge.tag(self.merges.jobs[i].log);
        let buffer = self.merges.jobs[i].fold.programs.take().expect("its programs have been kept");
        let mut kept = Vec::new();
        let mut commands = Commands::of(flash.backend, buffer);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.failed && command.op == flash::backend::Op::Program {
                let (offset, (place, slot)) = (command.target.offset, flash.backend.slot(handle, 0));
                kept.push((offset, slot, place));
            }
        }
        let media = flash.backend.media();
        let slots = (0..self.blocks.pages).map(|offset| self.blocks.geometry.slot(broken, offset));
        let sources: Vec<Option<Psn>> = slots.map(|psn| media.holds_data(psn).then_some(psn)).collect();
        for offset in 0..self.blocks.pages {
            if let Some((_, slot, place)) = kept.iter().find(|(of, ..)| *of == offset) {
                let list = self.list_for(flash, tag, superblock);
                let target = Target { superblock, offset };
                let program =
                    flash.backend.add_program(self.merges.lists.0[list].1, Cause::Merge, target, Stream::COPIES);
                self.merges.lists.follow(flash, list, program);
                let whole = crate::port::full_mask(self.blocks.geometry.sectors);
                let to = flash.backend.push_slot(
                    program,
                    Slot { lpn: slot.lpn, version: slot.version, lost: slot.lost, mask: whole, ..Slot::default() },
                );
                flash.backend.copy_payload(*place, to, SectorMask::MAX);
            } else if let Some(psn) = sources[offset as usize] {
                let mut one = vec![None; self.blocks.pages as usize];
                one[offset as usize] = Some(psn);
                self.add_copies(flash, i, superblock, &one, false);
            }
        }
        let job = &mut self.merges.jobs[i];
        job.fold.failed = false;
        job.fold.phase = MergePhase::Copying;
        job.fold.destination = Some(superblock);
        job.fold.broken.push(broken);
        self.send_fold(flash, i);
        Some(buffer)
    }

    /// Erases a broken destination whose pages a later destination holds. The fold takes the erased block as its
    /// destination. Returns false if there is no such block.
    pub(super) fn reuse(&mut self, flash: &mut Flash<'_>, i: usize) -> bool {
        let Some(superblock) = self.merges.jobs[i].fold.next_to_reuse() else { return false };
        self.blocks[superblock].state = BlockState::Erasing;
        let list = flash.backend.open_list(Class::Other, ListTag::Merge.tag(self.merges.jobs[i].log));
        flash.backend.add_erase(list, Cause::Merge, superblock);
        let fold = &mut self.merges.jobs[i].fold;
        fold.reused += 1;
        fold.phase = MergePhase::Copying;
        fold.lists.push(list);
        self.blocks.submit(flash, list);
        true
    }

    /// Gives up the copies of failed folds, because nothing under way can free a block for the pages that failed
    /// programs left in the buffer: the drive has too many bad blocks. If a block becomes free later, the merge begins
    /// again.
    ///
    /// If the sources were erased early, the buffer has the only copies. The fold then erases its broken destinations
    /// and tries them again, instead of retiring them.
    pub(super) fn abandon_folds(&mut self, flash: &mut Flash<'_>) {
        for i in 0..self.merges.jobs.len() {
            let MergeJob { log, emptied, fold, .. } = &mut self.merges.jobs[i];
            if fold.phase != MergePhase::Failed {
                continue;
            }
            if fold.erased_early || *emptied {
                self.reuse(flash, i);
                continue;
            }
            let id = *log;
            fold.phase = MergePhase::Idle;
            self.waiting.merge_ended(fold.lbn);
            let destination = fold.destination.take().expect("it has been programmed");
            let mut broken = std::mem::take(&mut fold.broken);
            broken.push(destination);
            if let Some(programs) = fold.programs.take() {
                flash.backend.release(programs);
            }
            for superblock in broken {
                if self.blocks[superblock].log.is_some() {
                    // The log block was to become the data block; it stays a log block without a free page.
                    debug_assert_eq!(self.blocks[superblock].log, Some(id));
                    self.blocks.fail(&mut self.mapping.logs, superblock);
                } else {
                    self.blocks[superblock].failing = true;
                    self.blocks.mark_for_erase(flash, superblock, Cause::Merge);
                }
            }
        }
    }

    /// All pages are in place: changes the map, and marks the old blocks for erase.
    pub(super) fn end_fold(&mut self, flash: &mut Flash<'_>, i: usize) {
        let mut fold = std::mem::take(&mut self.merges.jobs[i].fold);
        let (id, lbn) = (self.merges.jobs[i].log, fold.lbn);
        if let Some(programs) = fold.programs.take() {
            flash.backend.release(programs);
        }
        let old = self.mapping.data[lbn as usize];
        self.mapping.with_orphans(lbn, |mapping| {
            for (offset, place) in &fold.logged {
                if mapping.logs.find_page(lbn, *offset) == Some(*place) && !fold.newer.contains(offset) {
                    mapping.logs.unlink(lbn, *offset);
                }
            }
            mapping.data[lbn as usize] = fold.destination;
        });
        let media = flash.backend.media();
        let geometry = &self.blocks.geometry;
        let holds = |offset| fold.destination.is_some_and(|block| media.holds_data(geometry.slot(block, offset)));
        let next = (0..self.blocks.pages).rev().find(|offset| holds(*offset)).map_or(0, |last| last + 1);
        if self.mapping.holes.any(lbn) {
            for offset in (0..self.blocks.pages).filter(|offset| !holds(*offset)) {
                self.mapping.holes.remove(lbn, offset);
            }
        }
        if let Some(destination) = fold.destination {
            let block = &mut self.blocks[destination];
            (block.next, block.log) = (next, None);
        }
        if fold.converts {
            self.count_conversion(&fold, next);
            self.remove_log(id);
            self.merges.jobs[i].removed = true;
        } else {
            self.merges.jobs[i].folds += 1;
            self.merges.counters.full_pages += u64::from(fold.copies);
            let (copied, logged) = (u64::from(fold.copies), fold.logged.len() as u64);
            let erased = (old.is_some(), self.mapping.logs.log(id).valid == 0);
            self.merges.counters.saving +=
                self.merges.ideal.saved_by_full((copied - logged.min(copied), logged.min(copied)), erased);
        }
        fold.phase = MergePhase::Ending;
        for (superblock, failed) in fold.emptied.drain(..) {
            self.erased(flash, superblock, failed);
        }
        let old = old.filter(|_| !fold.erased_early);
        for superblock in old.into_iter().chain(fold.broken.drain(..)) {
            if self.blocks.mark_for_erase(flash, superblock, Cause::Merge) {
                self.merges.jobs[i].erasing.push(superblock);
            }
        }
        // The log block is erased in parallel with the last data block.
        if !fold.converts && !self.merges.jobs[i].emptied && self.mapping.logs.log(id).valid == 0 {
            self.merges.jobs[i].dying = true;
            let superblock = self.mapping.logs.log(id).superblock;
            if self.blocks.mark_for_erase(flash, superblock, Cause::Merge) {
                self.merges.jobs[i].erasing.push(superblock);
            }
        }
        self.merges.jobs[i].fold = fold;
    }

    fn count_conversion(&mut self, fold: &Fold, next: u32) {
        if fold.copies == 0 && next == self.blocks.pages {
            self.merges.counters.switch += 1;
        } else {
            self.merges.counters.partial += 1;
            self.merges.counters.partial_pages += u64::from(fold.copies);
            self.merges.counters.saving += self.merges.ideal.saved_by_partial(fold.copies.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::nand::Stamp;

    use super::*;
    use crate::LogBlockFtl;
    use crate::rig::Rig;

    /// A drive with two free blocks and one logical block, which has a data block with all its pages and a full log
    /// block with all its pages again. The write that wants the merge has been submitted, and `failures` destinations
    /// of the merge fail.
    fn merging(failures: u64) -> Rig {
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 12, pages = 8, planes = 1 }
[ftl]
kind = 'bast'
over-provisioning = '60%'
log = { blocks = 1, erase = 'read' }",
        );
        let order = (0..8).chain([3, 2, 1, 0, 7, 6, 5, 4]);
        for (i, lpn) in order.enumerate() {
            rig.write(&[lpn], Some(Stamp(100 * i as u64 + u64::from(lpn))));
            rig.run_until_idle();
        }
        let ftl = rig.ftl.downcast_mut::<LogBlockFtl>().expect("log blocks");
        while ftl.blocks.allocator.count() > 2 {
            let superblock = ftl.blocks.allocator.take(Use::Data, None, |_| 0).expect("a free block");
            ftl.blocks[superblock].state = BlockState::Bad;
            rig.backend.media_mut().retire(superblock);
        }
        (0..failures).for_each(|nth| rig.backend.media_mut().faults_mut().fail_program(nth));
        rig.write(&[0], Some(Stamp(9999)));
        rig
    }

    /// Expects each page as the log block or the last write has it.
    fn expect_pages(rig: &mut Rig) {
        for (i, lpn) in [3, 2, 1, 0, 7, 6, 5, 4].into_iter().enumerate() {
            let old = Stamp(100 * (8 + i as u64) + u64::from(lpn));
            let got = rig.read(lpn);
            assert!(got == Some(old) || (lpn == 0 && got == Some(Stamp(9999))), "page {lpn} holds {got:?}");
        }
    }

    #[test]
    fn a_fold_without_another_block_erases_its_broken_destinations_and_tries_them_again() {
        for failures in 0..12 {
            let mut rig = merging(failures);
            rig.run_until_idle();
            // The drive refuses the last write if too few blocks are left.
            assert_eq!(rig.host.written + rig.host.refused, 17, "{failures} destinations fail");
            expect_pages(&mut rig);
        }
    }

    #[test]
    fn a_power_cut_during_a_fold_with_broken_destinations_loses_no_page() {
        for failures in 0..7 {
            for events in 0.. {
                let mut rig = merging(failures);
                let more = (0..events).all(|_| rig.step());
                rig.with_ftl(|ftl, flash, _| ftl.power_cycle().expect("its capacitors").power_fails(flash));
                rig.cut_power();
                expect_pages(&mut rig);
                if !more {
                    break;
                }
            }
        }
    }
}
