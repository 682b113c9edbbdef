//! Block-chain folding: spare blocks are made of chains (Chang, Sec. 3.5).
//!
//! The valid pages of a chain are copied in order to a spare block, which becomes the data block, and the blocks of the
//! chain are erased. A log block that is full and in order becomes the data block without a copy. Copies keep the versions
//! of their originals, which win as long as both are there: so a fold that was interrupted has left nothing that counts.
//!
//! A fold takes along what the SLC flash has of the pages (Sec. 3.6). The copy still has the version of the MLC page: if
//! the power goes before the SLC block is erased, the sector is found there again, with the same content.

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Observer, Slot};
use flash::nand::{Mode, Sector, Spare, Stream, Target};

use super::blocks::NONE;
use super::density::Change;
use super::gather::Gatherer;
use super::mapping::Mapping;
use super::{ChangFtl, Step};
use crate::port::Flash;

/// How far a fold is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Begun,
    Gathering,
    Erasing,
}

/// A fold under way.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    lba: u32,
    cause: Cause,
    phase: Phase,
    /// It begins anew when what it has copied in vain is erased.
    again: bool,
    /// The mode that it is to leave the logical block in.
    slc: bool,
    /// The block that the copies go to; in SLC mode there is one for each half that has any.
    targets: [Option<u32>; 2],
    /// Where they are read from, by offset.
    pub(super) copies: Vec<Copy>,
    /// Blocks that are to be erased.
    pub(super) old: Vec<u32>,
}

/// A page that is copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    offset: u32,
    from: u32,
    /// Sectors that come from the SLC flash.
    slc: u64,
    to: Option<flash::backend::SlotRef>,
}

impl ChangFtl {
    fn begin_fold(&mut self, (lba, slc): Change, cause: Cause, target: Option<u32>) {
        let (copies, old) = std::mem::take(&mut self.spare_vectors);
        self.fold =
            Some(Fold { lba, cause, phase: Phase::Begun, again: false, slc, targets: [target, None], copies, old });
    }

    /// Begins to reclaim a chain, or a block where pages are mapped. False if there is none, or no block to copy it to.
    pub(super) fn collect(&mut self) -> bool {
        if self.worn_out {
            return false;
        }
        let Mapping::Pages(pages) = &mut self.mapping else { return self.collect_chain() };
        let Some(block) = pages.victim() else { return pages.make_do() };
        self.begin_collection(block, Cause::Gc, None);
        true
    }

    fn collect_chain(&mut self) -> bool {
        let chains = self.mapping.chains();
        let (has_log, is_slc) = (|lba| chains.has_log(lba), |lba| chains.is_slc(lba));
        let change = self.density.as_mut().and_then(|density| density.next_change(has_log, is_slc));
        let victim = change.or_else(|| self.mapping.chains_mut().victim().map(|lba| (lba, self.mode_of(lba))));
        let victim = victim.or_else(|| {
            let chains = self.mapping.chains();
            self.density.as_mut().and_then(|density| density.give_back(|lba| chains.is_slc(lba)))
        });
        let Some(change) = victim else { return false };
        self.begin_fold(change, Cause::Gc, None);
        true
    }

    /// The mode that a fold for garbage collection is to leave a logical block in.
    fn mode_of(&self, lba: u32) -> bool {
        self.density.as_ref().is_some_and(|density| density.mode_of(lba, self.mapping.chains().is_slc(lba)))
    }

    /// A fold has left a logical block in this mode.
    fn set_mode(&mut self, lba: u32, slc: bool) {
        let Some(density) = &mut self.density else { return };
        let was = self.mapping.chains().is_slc(lba);
        self.mapping.chains_mut().set_slc(lba, slc);
        density.count = density.count + u32::from(slc) - u32::from(was);
        self.counts.to_slc_mode += u64::from(slc && !was);
        self.counts.from_slc_mode += u64::from(was && !slc);
    }

    /// Pages for which there is one target.
    const fn half(&self, slc: bool) -> u32 {
        if slc { Mode::Slc.pages(self.pages) } else { self.pages }
    }

    /// Takes the next step of the fold.
    pub(super) fn fold_on<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let Some(mut fold) = self.fold.take() else { return };
        match fold.phase {
            Phase::Begun => self.fold_begun(flash, fold),
            Phase::Gathering => {
                self.copy(flash, &mut fold);
                self.fold = Some(fold);
            }
            Phase::Erasing => self.erase_old(flash, fold),
        }
    }

    fn fold_begun<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, mut fold: Fold) {
        let log = self.mapping.chains().switch_of(fold.lba).filter(|_| fold.cause == Cause::Gc);
        fold.copies.clear();
        if log.is_none() {
            let first = fold.lba * self.pages;
            let pages = self.pages.min(self.units - first);
            let mapped = (0..pages).map(|offset| (offset, self.map[(first + offset) as usize]));
            let copy = |(offset, from)| Copy { offset, from, slc: 0, to: None };
            fold.copies.extend(mapped.filter(|(_, from)| *from != NONE).map(copy));
        }
        if fold.copies.is_empty() {
            // A log block takes the place of the data block, or nothing is left of the chain.
            self.mapping.chains_mut().replace(fold.lba, log, &mut fold.old);
            self.set_mode(fold.lba, false);
            self.counts.switches += u64::from(log.is_some());
            for target in std::mem::take(&mut fold.targets).into_iter().flatten() {
                self.mapping.put(target, flash.backend.media().erases(SuperblockId::new(target)));
            }
            fold.phase = Phase::Erasing;
            self.fold = Some(fold);
            return;
        }
        if !self.take_targets(&mut fold) {
            // Until something has been erased.
            self.worn_out = true;
            self.put_away(fold);
            return;
        }
        (fold.phase, self.is_gathered) = (Phase::Gathering, true);
        if self.spec.fold_assistance {
            self.gather_fold(flash, &mut fold);
        }
        self.fold = Some(fold);
    }

    /// Finds blocks for the copies. If there are too few for SLC mode, the logical block is not to be in it. False if there
    /// is none.
    fn take_targets(&mut self, fold: &mut Fold) -> bool {
        let half = self.half(true);
        let needed = |fold: &Fold| {
            let has = |part: u32| fold.copies.iter().any(|copy| !fold.slc || copy.offset / half == part);
            [has(0), fold.slc && has(1)]
        };
        let wanted = needed(fold).iter().filter(|needed| **needed).count() as u32;
        fold.slc &= self.mapping.blocks().spare() + u32::from(fold.targets[0].is_some()) >= wanted;
        if !needed(fold)[0] {
            fold.targets.swap(0, 1);
        }
        let needed = needed(fold);
        for (target, needed) in fold.targets.iter_mut().zip(needed) {
            *target = if needed { target.or_else(|| self.mapping.blocks_mut().take()) } else { *target };
        }
        fold.targets.iter().any(Option::is_some)
    }

    fn gather_fold<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, fold: &mut Fold) {
        let Some(slc) = &self.slc else { return };
        let mut gatherer = Gatherer::new();
        for (i, copy) in fold.copies.iter_mut().enumerate() {
            copy.slc = gatherer.add_unit(flash, slc, fold.cause, fold.lba * self.pages + copy.offset, i);
        }
        if let Some(list) = gatherer.list() {
            self.submit_second(flash, Step::Gather, list);
        }
    }

    fn copy<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, fold: &mut Fold) {
        let list = flash.backend.open_list(Class::Other, 0);
        let half = self.half(fold.slc);
        let first = fold.lba * self.pages;
        for copy in &mut fold.copies {
            let read = flash.backend.add_read(list, fold.cause, SuperblockId::new(copy.from / self.pages));
            let lpn = Lpn::new(first + copy.offset);
            let slot = Slot { psn: Psn::new(copy.from), lpn, expected: true, ..Slot::default() };
            let from = flash.backend.push_slot(read, slot);
            let block = fold.targets[(copy.offset / half) as usize].expect("a target");
            let target = Target { superblock: SuperblockId::new(block), offset: copy.offset % half };
            let program = flash.backend.add_program(list, fold.cause, target, Stream::Copies);
            if fold.slc {
                flash.backend.in_slc_mode(program);
                self.counts.slc_mode_pages += 1;
            }
            let to = flash.backend.push_slot(program, Slot { mask: copy.slc, ..Slot::default() });
            flash.backend.forward_in_turn(from, to);
            copy.to = Some(to);
        }
        let sectors = self.geometry.sectors;
        Self::each_gathered(self.gathered, flash, |flash, sector| {
            let into = fold.copies[sector.at].to.expect("it has just been added");
            Self::hand_over(flash, sector.place, into, (sector.sector % sectors) as usize);
        });
        self.release_gathered(flash);
        self.submit(flash, Step::Copy, list);
    }

    /// All copies are there: the target is the data block, and what it was made of is erased.
    pub(super) fn copied<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        flash.backend.release(list);
        let mut fold = self.fold.take().expect("a fold");
        let half = self.half(fold.slc);
        let first = fold.lba * self.pages;
        let torn = |target: u32| {
            let media = flash.backend.media();
            (0..half).any(|page| media.spare(self.slot(target, page)) == Spare::Torn)
        };
        let failed = fold.targets.map(|target| target.is_some_and(torn));
        if failed != [false; 2] {
            // The originals are all there. What else was copied is in the way.
            for (target, failed) in std::mem::take(&mut fold.targets).into_iter().zip(failed) {
                match target {
                    Some(target) if failed => self.retire(flash, target),
                    target => fold.old.extend(target),
                }
            }
            (fold.phase, fold.again) = (Phase::Erasing, true);
            self.fold = Some(fold);
            return;
        }
        for copy in &fold.copies {
            let lpn = first + copy.offset;
            let target = fold.targets[(copy.offset / half) as usize].expect("a target");
            self.set_map(lpn, self.slot(target, copy.offset % half).get());
            if copy.slc != 0 {
                self.counts.assisted += u64::from(copy.slc.count_ones());
                self.drop_sectors(lpn, u64::MAX);
            }
        }
        self.mapping.chains_mut().replace(fold.lba, None, &mut fold.old);
        for (part, target) in (0..).zip(std::mem::take(&mut fold.targets)) {
            let Some(target) = target else { continue };
            let pages = fold.copies.iter().map(|copy| copy.offset).filter(|offset| offset / half == part);
            let (count, last) = pages.fold((0, 0), |(count, _), offset| (count + 1, offset % half));
            let block = &mut self.mapping.blocks_mut()[target];
            (block.slc, block.base, block.programmed) = (fold.slc, part * half, last + 1);
            block.in_order = block.programmed == count;
            if self.mapping.chains().chain(fold.lba).next().is_none() {
                self.mapping.chains_mut().append(fold.lba, target);
            } else {
                self.mapping.chains_mut().append_second(fold.lba, target);
            }
        }
        self.set_mode(fold.lba, fold.slc);
        if fold.cause == Cause::Gc {
            self.counts.folds += 1;
        } else {
            self.counts.levelled += 1;
        }
        fold.phase = Phase::Erasing;
        self.fold = Some(fold);
    }

    fn erase_old<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, mut fold: Fold) {
        if fold.old.is_empty() && fold.again {
            (fold.phase, fold.again) = (Phase::Begun, false);
            self.fold = Some(fold);
            return;
        }
        if fold.old.is_empty() {
            let cause = fold.cause;
            self.put_away(fold);
            if cause == Cause::Gc {
                self.level();
            }
            return;
        }
        let mut list = None;
        for block in fold.old.drain(..) {
            debug_assert_eq!(self.mapping.blocks()[block].valid, 0, "block {block} is erased");
            if self.mapping.blocks()[block].failing {
                self.retire(flash, block);
                continue;
            }
            let list = *list.get_or_insert_with(|| flash.backend.open_list(Class::Other, 0));
            flash.backend.add_erase(list, fold.cause, SuperblockId::new(block));
            self.counts.fold_erases += u64::from(fold.cause == Cause::Gc);
        }
        self.fold = Some(fold);
        if let Some(list) = list {
            self.submit(flash, Step::Erase, list);
        }
    }

    pub(super) fn fold_erased<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        let mut next = flash.backend.list(list).first();
        while let Some(erase) = next {
            let command = flash.backend.command(erase);
            next = command.sibling();
            let (block, failed) = (command.target.superblock.get(), command.failed);
            self.erased(flash, block, failed);
        }
        flash.backend.release(list);
    }

    /// Its vectors are used again.
    fn put_away(&mut self, mut fold: Fold) {
        fold.copies.clear();
        fold.old.clear();
        self.spare_vectors = (fold.copies, fold.old);
    }

    /// Moves the data of a cold block to a worn one, if there are two that are so far apart.
    pub(super) fn level(&mut self) {
        let blocks = self.mapping.blocks();
        let Some(wear) = &mut self.wear else { return };
        let Some((from, to)) = wear.look(|block| blocks[block].spare) else { return };
        match &mut self.mapping {
            Mapping::Chains(chains) => {
                let lba = chains.blocks[from].lba;
                if lba != NONE && chains.blocks.take_this(to) {
                    let slc = chains.is_slc(lba);
                    self.begin_fold((lba, slc), Cause::Wear, Some(to));
                }
            }
            Mapping::Pages(pages) => {
                if pages.take_closed(from) {
                    assert!(pages.blocks.take_this(to), "block {to} is spare");
                    self.begin_collection(from, Cause::Wear, Some(to));
                }
            }
        }
    }

    /// Erases what recovery found useless.
    pub(super) fn scrub<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let list = flash.backend.open_list(Class::Other, 0);
        for block in self.useless.drain(..) {
            flash.backend.add_erase(list, Cause::Recovery, SuperblockId::new(block));
        }
        self.submit(flash, Step::Scrub, list);
    }

    pub(super) fn scrubbed<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        self.fold_erased(flash, list);
    }
}
