//! Merges: a chain becomes one block.
//!
//! If the youngest block has all pages up to its last one that are anywhere, the others are copied behind them, and it is the
//! new data block; where nothing is to be copied that is the switch of an overwrite from end to end. Otherwise the newest
//! copy of each page goes to a free block, page by page, and writes that wait for the merge are taken along. The chain stays
//! what it is until all that has been programmed, so reads go on.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, Command, List, Observer, Op};
use flash::nand::{Sector, Target};

use super::chains::{Chain, State};
use super::dies::{Merge, Waiting};
use super::{BlockFtl, Kind, Lbn};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::toolkit::{Commands, add_copy};

/// The commands of a merge, one after another: a page goes through the buffer of one page.
struct Copies {
    list: Handle<List>,
    last: Option<Handle<Command>>,
}

impl BlockFtl {
    /// Begins to merge a logical block. False if there is no room for that now.
    pub(super) fn merge<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        lbn: Lbn,
    ) -> bool {
        let die = self.home(lbn);
        let chain = self.chains[lbn as usize];
        assert_eq!(chain.programs, 0, "a merge waits for the programs of its chain");
        let youngest = chain.newest.expect("a merge of something");
        if chain.length > 1 && self.is_whole(flash, lbn, youngest) {
            self.dies[die].merge = Some(Merge { lbn, destination: None });
            let from = self.blocks[youngest.index()].next;
            self.copy(flash, owners, die, youngest, from);
            return true;
        }
        // With the last free block goes what is in the chain, and nothing else: if the power goes, what it holds is also where
        // it was, and it can be erased.
        let free = self.dies[die].free.len();
        if free == 0 || (free == 1 && chain.length == 1) {
            return false;
        }
        if free > 1 {
            self.take_along(die, lbn);
        }
        let destination = self.take_free(die).expect("a free block");
        self.dies[die].merge = Some(Merge { lbn, destination: Some(destination) });
        self.copy(flash, owners, die, destination, 0);
        true
    }

    /// True if a block has all pages before its next one that the chain has.
    fn is_whole<S: Sector, O: Observer>(&self, flash: &Flash<'_, S, O>, lbn: Lbn, superblock: SuperblockId) -> bool {
        let block = self.blocks[superblock.index()];
        let media = flash.backend.media();
        let here = |psn: Psn| self.geometry.locate(psn).0 == superblock;
        !block.failing && (0..block.next).all(|offset| self.place_of(media, lbn, offset).is_none_or(here))
    }

    /// Takes the writes that wait for a logical block out of the queue of its die, to be programmed by its merge.
    fn take_along(&mut self, die: usize, lbn: Lbn) {
        let waiting = &mut self.dies[die].waiting;
        let Some(place) = waiting.iter().position(|waiting| waiting.lbn == lbn) else { return };
        let Waiting { mut units, .. } = waiting.remove(place).expect("it was just found");
        for unit in units.drain(..) {
            let (_, offset) = self.split(unit.lpn);
            self.along[offset as usize] = Some(unit);
        }
        self.dies[die].over.push(units);
    }

    /// Sends the list of a merge: from a page on, the newest copies of all pages and what is taken along.
    fn copy<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        die: usize,
        superblock: SuperblockId,
        from: u32,
    ) {
        let lbn = self.dies[die].merge.expect("it has begun").lbn;
        let mut copies = Copies { list: flash.backend.open_list(Class::Other, Kind::Merge as u32), last: None };
        let mut along = std::mem::take(&mut self.along);
        for offset in from..self.pages.get() {
            let target = Target { superblock, offset };
            if let Some(unit) = along[offset as usize].take() {
                self.add_along(flash, owners, &mut copies, target, &unit);
            } else if let Some(psn) = self.place_of(flash.backend.media(), lbn, offset) {
                self.add_copy(flash, &mut copies, target, psn);
            } else {
                continue;
            }
            self.block(superblock).next = offset + 1;
        }
        self.along = along;
        if copies.last.is_some() {
            self.submit(flash, die, copies.list);
        } else {
            flash.backend.release(copies.list);
            self.end_merge(flash, die);
        }
    }

    /// Adds the program of a unit that a merge takes along.
    fn add_along<S: Sector, O: Observer>(
        &self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        copies: &mut Copies,
        target: Target,
        unit: &PageWrite,
    ) {
        let (program, _) = self.add_program(flash, owners, copies.list, target, unit);
        if let Some(last) = copies.last.replace(program) {
            flash.backend.depend(last, program);
        }
    }

    /// Adds the read of a page and its program.
    fn add_copy<S: Sector, O: Observer>(
        &self,
        flash: &mut Flash<'_, S, O>,
        copies: &mut Copies,
        target: Target,
        psn: Psn,
    ) {
        let [read, program] = add_copy(flash.backend, [copies.list; 2], psn, target);
        if let Some(last) = copies.last.replace(program) {
            flash.backend.depend(last, read);
        }
    }

    /// The list of a merge is done.
    pub(super) fn merge_finished<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        die: usize,
        list: Handle<List>,
    ) {
        let Merge { lbn, destination } = self.dies[die].merge.expect("its merge");
        let service = Service::of(flash.backend.list(list));
        let (mut taken, mut failed) = (std::mem::take(&mut self.taken), false);
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            failed |= command.failed;
            if command.op == Op::Program && command.cause == Cause::Host {
                taken.push(flash.backend.slot(handle, 0).1);
            }
        }
        flash.backend.release(list);
        if !failed {
            for slot in &taken {
                self.holes.remove(lbn, self.split(slot.lpn).1);
            }
            self.end_merge(flash, die);
            taken.drain(..).for_each(|slot| owners.write_done(slot.owner, service));
            self.taken = taken;
            return;
        }
        // The chain is what it was. What was taken along is still with its owners, and waits again.
        self.dies[die].merge = None;
        for slot in taken.drain(..).rev() {
            self.dies[die].wait(lbn, PageWrite::again(&slot), true);
        }
        self.taken = taken;
        match destination {
            Some(superblock) => {
                self.block(superblock).failing = true;
                self.give_up(flash, superblock, Cause::Recovery);
            }
            None => self.fail(self.chains[lbn as usize].newest.expect("it was copied to")),
        }
    }

    /// All pages are in one block: it is the data block, and the others are given up.
    fn end_merge<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, die: usize) {
        let Merge { lbn, destination } = self.dies[die].merge.take().expect("its merge");
        let chain = self.chains[lbn as usize];
        let data = destination.or(chain.newest).expect("a block that was copied to");
        let is_empty = self.blocks[data.index()].next == 0;
        let mut old = chain.newest;
        while let Some(superblock) = old {
            old = self.blocks[superblock.index()].older;
            if superblock != data {
                self.give_up(flash, superblock, Cause::Merge);
            }
        }
        self.dies[die].replaced.retain(|other| *other != lbn);
        self.chains[lbn as usize] = Chain::default();
        if is_empty {
            // Everything had been discarded.
            self.block(data).state = State::Free;
            self.dies[die].free.push(data, flash.backend.media().erases(data));
        } else {
            self.link(lbn, data);
        }
        for offset in 0..self.pages.get() {
            let there = flash.backend.media().holds_data(self.geometry.slot(data, offset));
            if is_empty || !there {
                self.holes.remove(lbn, offset);
            }
        }
    }
}
