//! Collection of a block of a page-mapped MLC flash: its valid pages are read by one list and programmed by the next, on as
//! many dies as there are, and then it is erased.
//!
//! Copies keep the versions of their originals. Of equal ones either may count when the power has gone, because they are the
//! same, or what differs is found in the SLC flash again: a collection takes along what that has of the pages, as a
//! [fold](super::fold) does.

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Observer, Slot, SlotRef};
use flash::nand::{Sector, Spare, Stream, Target};

use super::gather::Gatherer;
use super::mapping::{Mapping, Place};
use super::page_map::Frontier;
use super::{ChangFtl, Step};
use crate::port::Flash;

/// How far a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// What is still valid is to be moved.
    Begun,
    /// What the SLC flash has of it has been read.
    Gathered,
    /// The pages have been read.
    Fetched,
    Erased,
}

/// A collection under way.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    block: u32,
    cause: Cause,
    phase: Phase,
    /// The worn block that the pages go to, for wear levelling.
    onto: Option<u32>,
    moves: Vec<Move>,
}

/// A page that is moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    lpn: u32,
    from: Psn,
    to: Psn,
    /// Sectors that come from the SLC flash.
    slc: u64,
    slot: Option<SlotRef>,
}

/// The vectors of the last collection, to be used again: what it moved, and which sectors of it were lost.
pub(super) type Spares = (Vec<Move>, Vec<bool>);

impl ChangFtl {
    pub(super) fn begin_collection(&mut self, block: u32, cause: Cause, onto: Option<u32>) {
        let moves = std::mem::take(&mut self.spare_moves.0);
        self.collection = Some(Collection { block, cause, phase: Phase::Begun, onto, moves });
    }

    /// Takes the next step of the collection.
    pub(super) fn collect_on<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let Some(mut collection) = self.collection.take() else { return };
        match collection.phase {
            Phase::Begun => {
                if !self.find_moves(flash, &mut collection) {
                    return;
                }
                if collection.moves.is_empty() {
                    self.erase_collected(flash, &mut collection);
                } else {
                    (collection.phase, self.is_gathered) = (Phase::Gathered, true);
                    self.gather_moves(flash, &mut collection);
                }
            }
            Phase::Gathered => {
                self.fetch_moves(flash, &collection);
                collection.phase = Phase::Fetched;
            }
            Phase::Fetched => self.write_moves(flash, &mut collection),
            Phase::Erased => return self.end_collection(flash, collection),
        }
        self.collection = Some(collection);
    }

    /// Finds the valid pages of the block, and places for as many as there is room for. False if there is none for any: the
    /// block stays as it is.
    fn find_moves<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, collection: &mut Collection) -> bool {
        let Mapping::Pages(pages) = &mut self.mapping else { unreachable!("chains are folded") };
        collection.moves.clear();
        for page in 0..self.pages {
            let from = self.geometry.slot(SuperblockId::new(collection.block), page);
            let Spare::Data { lpn, .. } = flash.backend.media().spare(from) else { continue };
            if self.map[lpn.index()] != from.get() {
                continue;
            }
            let onto = collection.onto.filter(|onto| !pages.blocks[*onto].failing);
            let place = match onto {
                Some(onto) => {
                    let page = pages.blocks[onto].programmed;
                    pages.blocks[onto].programmed += 1;
                    Place::At(onto, page)
                }
                None => pages.place(Frontier::Copies),
            };
            let Place::At(block, page) = place else {
                if !collection.moves.is_empty() {
                    break;
                }
                // Until something has been erased.
                self.worn_out = true;
                pages.close(collection.block);
                collection.onto.into_iter().for_each(|onto| pages.close(onto));
                return false;
            };
            let to = self.geometry.slot(SuperblockId::new(block), page);
            collection.moves.push(Move { lpn: lpn.get(), from, to, slc: 0, slot: None });
        }
        true
    }

    fn gather_moves<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, collection: &mut Collection) {
        let Some(slc) = self.slc.as_ref().filter(|_| self.spec.fold_assistance) else { return };
        let mut gatherer = Gatherer::new();
        for (i, page) in collection.moves.iter_mut().enumerate() {
            page.slc = gatherer.add_unit(flash, slc, collection.cause, page.lpn, i);
        }
        if let Some(list) = gatherer.list() {
            self.submit_second(flash, Step::Gather, list);
        }
    }

    fn fetch_moves<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, collection: &Collection) {
        let list = flash.backend.open_list(Class::Other, 0);
        for page in &collection.moves {
            let read = flash.backend.add_read(list, collection.cause, SuperblockId::new(collection.block));
            // Not `expected`: its version is wanted, which is read from the spare area.
            flash.backend.push_slot(read, Slot { psn: page.from, lpn: Lpn::new(page.lpn), ..Slot::default() });
        }
        self.submit(flash, Step::Fetch, list);
    }

    fn write_moves<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, collection: &mut Collection) {
        let list = flash.backend.open_list(Class::Other, 0);
        let mut lost = std::mem::take(&mut self.spare_moves.1);
        lost.clear();
        lost.resize(collection.moves.len(), false);
        Self::each_gathered(self.gathered, flash, |_, sector| lost[sector.at] |= sector.lost);
        let mut moves = collection.moves.iter_mut().zip(&lost);
        Self::each_fetched(self.fetched, flash, |flash, from, read| {
            let (page, lost) = moves.next().expect("a move for each page read");
            assert_eq!(read.lpn.get(), page.lpn, "the map is wrong");
            let (superblock, offset) = flash.backend.geometry().locate(page.to);
            let target = Target { superblock, offset };
            let program = flash.backend.add_program(list, collection.cause, target, Stream::Copies);
            let (lpn, version, lost) = (read.lpn, read.version, read.lost || *lost);
            let slot = Slot { lpn, version, lost, mask: page.slc, expected: true, ..Slot::default() };
            let into = flash.backend.push_slot(program, slot);
            Self::hand_rest_over(flash, from, into, page.slc);
            page.slot = Some(into);
        });
        self.spare_moves.1 = lost;
        let sectors = self.geometry.sectors;
        Self::each_gathered(self.gathered, flash, |flash, sector| {
            let into = collection.moves[sector.at].slot.expect("it has just been added");
            Self::hand_over(flash, sector.place, into, (sector.sector % sectors) as usize);
        });
        self.release_gathered(flash);
        self.release_fetched(flash);
        self.submit(flash, Step::Copy, list);
    }

    /// The copies are there: the map leads to them. What failed is moved again.
    pub(super) fn moved<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        flash.backend.release(list);
        let mut collection = self.collection.take().expect("a collection");
        for page in &collection.moves {
            if !flash.backend.media().holds_data(page.to) {
                let (superblock, _) = self.geometry.locate(page.to);
                self.mapping.blocks_mut()[superblock.get()].failing = true;
                continue;
            }
            self.set_map(page.lpn, page.to.get());
            if page.slc != 0 {
                self.counts.assisted += u64::from(page.slc.count_ones());
                self.drop_sectors(page.lpn, u64::MAX);
            }
        }
        collection.phase = Phase::Begun;
        self.collection = Some(collection);
    }

    fn erase_collected<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, collection: &mut Collection) {
        let block = collection.block;
        assert_eq!(self.mapping.blocks()[block].valid, 0, "block {block} is erased");
        collection.phase = Phase::Erased;
        if collection.cause == Cause::Gc {
            self.counts.folds += 1;
        } else {
            self.counts.levelled += 1;
        }
        if self.mapping.blocks()[block].failing {
            return self.retire(flash, block);
        }
        let list = flash.backend.open_list(Class::Other, 0);
        flash.backend.add_erase(list, collection.cause, SuperblockId::new(block));
        self.counts.fold_erases += u64::from(collection.cause == Cause::Gc);
        self.submit(flash, Step::Erase, list);
    }

    fn end_collection<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, mut collection: Collection) {
        if let (Some(onto), Mapping::Pages(pages)) = (collection.onto, &mut self.mapping) {
            if pages.blocks[onto].programmed > 0 {
                pages.close(onto);
            } else {
                pages.blocks.put(onto, flash.backend.media().erases(SuperblockId::new(onto)));
            }
        }
        collection.moves.clear();
        self.spare_moves.0 = collection.moves;
        if collection.cause == Cause::Gc {
            self.level();
        }
    }
}
