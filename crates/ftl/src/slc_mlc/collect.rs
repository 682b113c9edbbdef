//! Garbage collection of a block of the page-mapped MLC flash. One list reads the valid pages, the next one programs
//! them on all dies, and a third erases the block.
//!
//! A collection takes sectors of the SLC flash along, as a [fold](super::fold) does. A copy has the version of its
//! original, or the newest version of the sectors that it takes along. So after a power cut either of two copies with
//! equal versions may count; they have the same content.

use base::engine::Handle;
use base::units::{Lpn, SuperblockId};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::SectorMask;
use flash::nand::{Mode, Spare, Stream};

use super::disk::Disk;
use super::due::{PageCopy, Vectors, put_back};
use super::gather::{Gatherer, Program, add_program, each_gathered, hand_over, hand_rest_over};
use super::mapping::SlcMlcMapping;
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use super::page_map::Frontier;
use super::place::PagePlace;
use crate::port::Flash;
use crate::toolkit::{Slots, add_read};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CollectionPhase {
    /// The valid pages have not been found yet.
    Begun,
    /// The sectors in the SLC flash are being read.
    Gathering,
    /// The pages are being read.
    Fetching { gathered: Option<Handle<List>> },
    /// The copies are being programmed.
    Writing,
    /// The block is being erased.
    Erasing,
}

/// A collection of a block: a task.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    block: u32,
    cause: Cause,
    phase: CollectionPhase,
    /// The worn block that wear levelling copies to; none for garbage collection.
    onto: Option<u32>,
    moves: Vec<PageCopy>,
}

impl Collection {
    /// Begins the collection of a block. `onto` is the worn block that wear levelling copies to, a spare one.
    pub(super) fn new(vectors: &mut Vectors, block: u32, cause: Cause, onto: Option<u32>) -> Self {
        Self { block, cause, phase: CollectionPhase::Begun, onto, moves: std::mem::take(&mut vectors.copies) }
    }

    pub(super) fn step(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, wakeup: Wakeup) -> Next {
        match self.phase {
            CollectionPhase::Begun => self.begin(disk, flash),
            CollectionPhase::Gathering => self.read_missing(flash, Some(wakeup.list())),
            CollectionPhase::Fetching { gathered } => self.write(flash, gathered, wakeup.list()),
            CollectionPhase::Writing => self.written(disk, flash, wakeup.list()),
            CollectionPhase::Erasing => {
                disk.mlc.blocks_erased(flash.backend, wakeup.list());
                self.erased(disk, flash)
            }
        }
    }

    fn begin(&mut self, disk: &mut Disk, flash: &mut Flash<'_>) -> Next {
        if !self.find_moves(disk, flash) {
            return self.end(disk, TaskOutcome::NoBlock);
        }
        if self.moves.is_empty() {
            return self.erase(disk, flash);
        }
        if let Some(list) = self.gather(disk, flash) {
            self.phase = CollectionPhase::Gathering;
            return Next::List(ArrayKind::Slc, list);
        }
        self.read_missing(flash, None)
    }

    /// Finds the valid pages of the block, and places for as many as possible. Returns false if no page has a place:
    /// the block then stays as it is.
    fn find_moves(&mut self, disk: &mut Disk, flash: &Flash<'_>) -> bool {
        self.moves.clear();
        for page in 0..disk.mlc.pages {
            let from = disk.mlc.slot(self.block, page);
            let Spare::Data { lpn, .. } = flash.backend.media().spare(from) else { continue };
            if disk.mlc.psn_of(lpn.get()) != Some(from) {
                continue;
            }
            let SlcMlcMapping::Pages(pages) = &mut disk.mlc.mapping else { unreachable!("chains are folded") };
            let onto = self.onto.filter(|onto| !pages.blocks[*onto].failing);
            let place = match onto {
                Some(onto) => {
                    let page = pages.blocks[onto].programmed;
                    pages.blocks[onto].programmed += 1;
                    PagePlace::At(onto, page)
                }
                None => pages.place(Frontier::Copies),
            };
            let PagePlace::At(block, page) = place else {
                if !self.moves.is_empty() {
                    break;
                }
                // The disk counts as worn out until the next erase.
                disk.mlc.worn_out = true;
                pages.close(self.block);
                self.onto.into_iter().for_each(|onto| pages.close(onto));
                return false;
            };
            self.moves.push(PageCopy::new(lpn.get(), from, Some(disk.mlc.slot(block, page))));
        }
        true
    }

    /// Reads the sectors of the pages that are in the SLC flash, if copies take them along.
    fn gather(&mut self, disk: &Disk, flash: &mut Flash<'_>) -> Option<Handle<List>> {
        let slc = disk.slc.as_ref().filter(|_| disk.spec.fold_assistance)?;
        let mut gatherer = Gatherer::new();
        for (i, page) in self.moves.iter_mut().enumerate() {
            // No page may have the version of a write and only some of that write's sectors.
            if disk.interrupted.iter().any(|unit| unit.lpn.get() == page.lpn) {
                continue;
            }
            page.slc = gatherer.add_unit(flash, slc, self.cause, (page.lpn, SectorMask::MAX), (i, None));
        }
        gatherer.list()
    }

    fn read_missing(&mut self, flash: &mut Flash<'_>, gathered: Option<Handle<List>>) -> Next {
        let list = flash.backend.open_list(Class::Other, 0);
        for page in &self.moves {
            // The slot has no `expected` version, because the copy needs the version in the spare area.
            let slot = Slot { psn: page.from, lpn: Lpn::new(page.lpn), ..Slot::default() };
            add_read(flash.backend, list, self.cause, slot);
        }
        self.phase = CollectionPhase::Fetching { gathered };
        Next::List(ArrayKind::Mlc, list)
    }

    fn write(&mut self, flash: &mut Flash<'_>, gathered: Option<Handle<List>>, fetched: Handle<List>) -> Next {
        let list = flash.backend.open_list(Class::Other, 0);
        each_gathered(flash, gathered, |_, _, sector| {
            let page = &mut self.moves[sector.at as usize];
            page.lost |= sector.lost;
            page.newest = page.newest.max(sector.version);
        });
        let (mut pages, mut moves) = (Slots::of(flash.backend, fetched), self.moves.iter_mut());
        while let Some((from, read)) = pages.next(flash.backend) {
            let page = moves.next().expect("a move for each page read");
            assert_eq!(read.lpn.get(), page.lpn, "the map is wrong");
            let (lpn, version, lost) = (read.lpn, read.version.max(page.newest), read.lost || page.lost);
            let slot = Slot { lpn, version, lost, mask: page.slc, expected: true, ..Slot::default() };
            let program = Program { to: page.target(), mode: Mode::Full, stream: Stream::COPIES, slot };
            let into = add_program(flash.backend, list, self.cause, None, program);
            hand_rest_over(flash.backend, from, into, page.slc);
            page.slot = Some(into);
        }
        hand_over(flash, gathered, |at| self.moves[at].slot);
        flash.backend.release(fetched);
        self.phase = CollectionPhase::Writing;
        Next::List(ArrayKind::Mlc, list)
    }

    /// Maps the copies, which are on flash. Pages whose program failed are moved again.
    fn written(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, list: Handle<List>) -> Next {
        flash.backend.release(list);
        for page in &self.moves {
            let to = page.target();
            if !flash.backend.media().holds_data(to) {
                let block = disk.mlc.block_of(to);
                disk.mlc.mapping.blocks_mut()[block].failing = true;
                continue;
            }
            disk.mlc.set(page.lpn, Some(to));
            disk.took_along(page.lpn, page.slc);
        }
        self.phase = CollectionPhase::Begun;
        Next::Again
    }

    fn erase(&mut self, disk: &mut Disk, flash: &mut Flash<'_>) -> Next {
        let block = self.block;
        assert_eq!(disk.mlc.mapping.blocks()[block].valid, 0, "block {block} is erased");
        if self.cause == Cause::Gc {
            disk.counts.folds += 1;
        } else {
            disk.counts.levelled += 1;
        }
        if disk.mlc.mapping.blocks()[block].failing {
            disk.mlc.retire(flash.backend.media_mut(), block);
            return self.erased(disk, flash);
        }
        let list = flash.backend.open_list(Class::Other, 0);
        flash.backend.add_erase(list, self.cause, SuperblockId::new(block));
        disk.counts.fold_erases += u64::from(self.cause == Cause::Gc);
        self.phase = CollectionPhase::Erasing;
        Next::List(ArrayKind::Mlc, list)
    }

    fn erased(&mut self, disk: &mut Disk, flash: &Flash<'_>) -> Next {
        if let (Some(onto), SlcMlcMapping::Pages(pages)) = (self.onto, &mut disk.mlc.mapping) {
            if pages.blocks[onto].programmed > 0 {
                pages.close(onto);
            } else {
                pages.blocks.put(onto, flash.backend.media().erases(SuperblockId::new(onto)));
            }
        }
        let outcome = if self.cause == Cause::Gc { TaskOutcome::Reclaimed } else { TaskOutcome::Done };
        self.end(disk, outcome)
    }

    fn end(&mut self, disk: &mut Disk, outcome: TaskOutcome) -> Next {
        put_back(&mut disk.vectors.copies, &mut self.moves);
        Next::Ended(outcome)
    }
}
