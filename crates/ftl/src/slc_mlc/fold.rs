//! Folds, which turn the blocks of a chain into spare blocks (Chang, Sec. 3.5).
//!
//! A fold copies the valid pages of a chain in order to a spare block, which becomes the data block, and erases the
//! blocks of the chain. A full log block in order becomes the data block without a copy. A copy keeps the version of
//! its original, and the original wins while both exist: so an interrupted fold has left no page that counts.
//!
//! A fold takes along the sectors of its pages in the SLC flash (Sec. 3.6). The copy keeps the version of the MLC page:
//! if the power fails before the SLC block is erased, recovery finds the sector there again, with the same content.

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::SectorMask;
use flash::nand::{Mode, Spare, Stream};

use super::density::Change;
use super::disk::Disk;
use super::due::{PageCopy, Vectors, put_back};
use super::gather::{Gatherer, Program, add_program, hand_over, release_gathered};
use super::mlc::Mlc;
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use crate::port::Flash;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoldPhase {
    /// The valid pages have not been found yet.
    Begun,
    /// The sectors in the SLC flash are being read.
    Gathering,
    /// The pages are being copied.
    Copying,
    /// Blocks are being erased: the blocks of the chain, or its failed copies if the fold has to start again.
    Erasing { again: bool },
}

/// A fold of a chain: a task.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    lba: u32,
    cause: Cause,
    phase: FoldPhase,
    /// The mode of the logical block after the fold.
    mode: Mode,
    /// The targets of the copies; SLC mode has one for each half with pages.
    targets: [Option<u32>; 2],
    /// The pages to copy, by offset.
    copies: Vec<PageCopy>,
    /// The blocks to erase.
    old: Vec<u32>,
}

impl Fold {
    /// Begins the fold of a logical block's chain. `target` is the worn block that wear levelling copies to, a spare
    /// one.
    pub(super) fn new(vectors: &mut Vectors, Change { lba, mode }: Change, cause: Cause, target: Option<u32>) -> Self {
        let (copies, old) = (std::mem::take(&mut vectors.copies), std::mem::take(&mut vectors.blocks));
        Self { lba, cause, phase: FoldPhase::Begun, mode, targets: [target, None], copies, old }
    }

    pub(super) fn step(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, wakeup: Wakeup) -> Next {
        match self.phase {
            FoldPhase::Begun => self.begin(disk, flash),
            FoldPhase::Gathering => self.copy(disk, flash, Some(wakeup.list())),
            FoldPhase::Copying => self.copied(disk, flash, wakeup.list()),
            FoldPhase::Erasing { again } => {
                disk.mlc.blocks_erased(flash.backend, wakeup.list());
                self.erased(disk, again)
            }
        }
    }

    fn begin(&mut self, disk: &mut Disk, flash: &mut Flash<'_>) -> Next {
        let log = disk.mlc.mapping.chains().switch_of(self.lba).filter(|_| self.cause == Cause::Gc);
        self.copies.clear();
        if log.is_none() {
            let first = self.lba * disk.mlc.pages;
            let lpns = first..disk.mlc.units().min(first + disk.mlc.pages);
            let copy = |lpn| Some(PageCopy::new(lpn, disk.mlc.psn_of(lpn)?, None));
            self.copies.extend(lpns.filter_map(copy));
        }
        if self.copies.is_empty() {
            // A log block replaces the data block, or the chain has no valid page.
            disk.mlc.mapping.chains_mut().replace(self.lba, log, &mut self.old);
            set_mode(disk, self.lba, Mode::Full);
            disk.counts.switches += u64::from(log.is_some());
            for target in std::mem::take(&mut self.targets).into_iter().flatten() {
                disk.mlc.mapping.put(target, flash.backend.media().erases(SuperblockId::new(target)));
            }
            return self.erase(disk, flash, false);
        }
        if !self.take_targets(&mut disk.mlc) {
            // The disk counts as worn out until the next erase.
            disk.mlc.worn_out = true;
            return self.end(disk, TaskOutcome::NoBlock);
        }
        if let Some(list) = self.gather(disk, flash) {
            self.phase = FoldPhase::Gathering;
            return Next::List(ArrayKind::Slc, list);
        }
        self.copy(disk, flash, None)
    }

    /// Takes target blocks for the copies. If there are too few for SLC mode, the fold leaves that mode. Returns false
    /// if no block is left.
    fn take_targets(&mut self, mlc: &mut Mlc) -> bool {
        let half = Mode::Slc.pages(mlc.pages, 2);
        let needed = |fold: &Self| {
            let is_slc = fold.mode == Mode::Slc;
            let has = |part| fold.copies.iter().any(|copy| !is_slc || mlc.split(copy.lpn).1 / half == part);
            [has(0), is_slc && has(1)]
        };
        let wanted = needed(self).iter().filter(|needed| **needed).count() as u32;
        if mlc.mapping.blocks().spare() + u32::from(self.targets[0].is_some()) < wanted {
            self.mode = Mode::Full;
        }
        let needed = needed(self);
        if !needed[0] {
            self.targets.swap(0, 1);
        }
        for (target, needed) in self.targets.iter_mut().zip(needed) {
            *target = if needed { target.or_else(|| mlc.mapping.blocks_mut().take()) } else { *target };
        }
        self.targets.iter().any(Option::is_some)
    }

    /// Reads the sectors of the pages that are in the SLC flash, if copies take them along.
    fn gather(&mut self, disk: &Disk, flash: &mut Flash<'_>) -> Option<Handle<List>> {
        let slc = disk.slc.as_ref().filter(|_| disk.spec.fold_assistance)?;
        let mut gatherer = Gatherer::new();
        for (i, copy) in self.copies.iter_mut().enumerate() {
            if slc.held[copy.lpn as usize] == 0 {
                continue;
            }
            copy.slc = gatherer.add_unit(flash, slc, self.cause, (copy.lpn, SectorMask::MAX), (i, None));
        }
        gatherer.list()
    }

    fn copy(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, gathered: Option<Handle<List>>) -> Next {
        let list = flash.backend.open_list(Class::Other, 0);
        let part = self.mode.pages(disk.mlc.pages, 2);
        self.phase = FoldPhase::Copying;
        // Without content in sectors there is no data to hand over from the sectors that the copies take along.
        if self.mode == Mode::Full && (!flash.backend.has_content() || gathered.is_none()) {
            release_gathered(flash, gathered);
            let block = self.targets[0].expect("a target");
            let set = flash.backend.open_copies(self.cause, SuperblockId::new(block));
            let first = disk.mlc.slot(block, 0).get();
            let base = self.lba * disk.mlc.pages;
            let pages = self.copies.iter_mut().map(|copy| {
                let offset = copy.lpn - base;
                copy.to = Some(Psn::new(first + offset));
                (offset, Lpn::new(copy.lpn), copy.from)
            });
            flash.backend.push_serial_copies(set, list, pages);
            return Next::List(ArrayKind::Mlc, list);
        }
        for copy in &mut self.copies {
            let (_, offset) = disk.mlc.split(copy.lpn);
            let block = self.targets[(offset / part) as usize].expect("a target");
            let to = disk.mlc.slot(block, offset % part);
            let read = Slot { psn: copy.from, lpn: Lpn::new(copy.lpn), expected: true, ..Slot::default() };
            let slot = Slot { mask: copy.slc, ..Slot::default() };
            let program = Program { to, mode: self.mode, stream: Stream::COPIES, slot };
            disk.counts.slc_mode_pages += u64::from(self.mode == Mode::Slc);
            copy.to = Some(to);
            copy.slot = Some(add_program(flash.backend, list, self.cause, Some(read), program));
        }
        hand_over(flash, gathered, |at| self.copies[at].slot);
        Next::List(ArrayKind::Mlc, list)
    }

    /// Ends the copies, which are on flash: the targets become the data blocks, and the old chain is erased.
    fn copied(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, list: Handle<List>) -> Next {
        flash.backend.release(list);
        let part = self.mode.pages(disk.mlc.pages, 2);
        let media = flash.backend.media();
        // A program that tears a page makes its block fail.
        let torn = |block: u32| {
            media.is_failing(SuperblockId::new(block))
                && (0..part).any(|page| media.spare(disk.mlc.slot(block, page)) == Spare::Torn)
        };
        let failed = self.targets.map(|target| target.is_some_and(torn));
        if failed != [false; 2] {
            // The originals are all valid, so the good copies are erased together with the failed ones.
            for (target, failed) in std::mem::take(&mut self.targets).into_iter().zip(failed) {
                match target {
                    Some(target) if failed => disk.mlc.retire(flash.backend.media_mut(), target),
                    target => self.old.extend(target),
                }
            }
            return self.erase(disk, flash, true);
        }
        match self.targets {
            [Some(target), None] => disk.mlc.move_to(target, &self.copies),
            _ => self.copies.iter().for_each(|copy| disk.mlc.set(copy.lpn, Some(copy.target()))),
        }
        let along = self.copies.iter().filter(|copy| copy.slc != 0);
        along.for_each(|copy| disk.took_along(copy.lpn, copy.slc));
        disk.mlc.mapping.chains_mut().replace(self.lba, None, &mut self.old);
        for (half, target) in (0..).zip(std::mem::take(&mut self.targets)) {
            let Some(target) = target else { continue };
            let offsets = self.copies.iter().map(|copy| disk.mlc.split(copy.lpn).1);
            let pages = offsets.filter(|offset| offset / part == half).map(|offset| offset % part);
            let (count, last) = pages.fold((0, 0), |(count, _), page| (count + 1, page));
            let block = &mut disk.mlc.mapping.blocks_mut()[target];
            (block.mode, block.base, block.programmed) = (self.mode, half * part, last + 1);
            block.in_order = block.programmed == count;
            let chains = disk.mlc.mapping.chains_mut();
            if chains.chain(self.lba).next().is_none() {
                chains.append(self.lba, target);
            } else {
                chains.append_slc(self.lba, target);
            }
        }
        set_mode(disk, self.lba, self.mode);
        if self.cause == Cause::Gc {
            disk.counts.folds += 1;
        } else {
            disk.counts.levelled += 1;
        }
        self.erase(disk, flash, false)
    }

    /// Erases the old blocks. If `again`, the fold starts again after that.
    fn erase(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, again: bool) -> Next {
        let mut list = None;
        for block in self.old.drain(..) {
            debug_assert_eq!(disk.mlc.mapping.blocks()[block].valid, 0, "block {block} is erased");
            if disk.mlc.mapping.blocks()[block].failing {
                disk.mlc.retire(flash.backend.media_mut(), block);
                continue;
            }
            let list = *list.get_or_insert_with(|| flash.backend.open_list(Class::Other, 0));
            flash.backend.add_erase(list, self.cause, SuperblockId::new(block));
            disk.counts.fold_erases += u64::from(self.cause == Cause::Gc);
        }
        match list {
            Some(list) => {
                self.phase = FoldPhase::Erasing { again };
                Next::List(ArrayKind::Mlc, list)
            }
            None => self.erased(disk, again),
        }
    }

    fn erased(&mut self, disk: &mut Disk, again: bool) -> Next {
        if again {
            self.phase = FoldPhase::Begun;
            return Next::Again;
        }
        let outcome = if self.cause == Cause::Gc { TaskOutcome::Reclaimed } else { TaskOutcome::Done };
        self.end(disk, outcome)
    }

    fn end(&mut self, disk: &mut Disk, outcome: TaskOutcome) -> Next {
        put_back(&mut disk.vectors.copies, &mut self.copies);
        put_back(&mut disk.vectors.blocks, &mut self.old);
        Next::Ended(outcome)
    }
}

/// Sets the mode in which a fold has left a logical block.
fn set_mode(disk: &mut Disk, lba: u32, mode: Mode) {
    let Some(density) = &mut disk.mlc.density else { return };
    let chains = disk.mlc.mapping.chains_mut();
    match (chains.mode(lba), mode) {
        (Mode::Full, Mode::Slc) => {
            density.count += 1;
            disk.counts.to_slc_mode += 1;
        }
        (Mode::Slc, Mode::Full) => {
            density.count -= 1;
            disk.counts.from_slc_mode += 1;
        }
        (Mode::Full, Mode::Full) | (Mode::Slc, Mode::Slc) => {}
    }
    chains.set_mode(lba, mode);
}
