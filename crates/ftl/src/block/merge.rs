//! Merges: a merge makes one block of a chain.
//!
//! If the youngest block has the newest copy of every page up to its last one, the merge copies only the pages behind
//! that, and the youngest block becomes the data block. After an overwrite from end to end there is nothing to copy: a
//! switch merge. Otherwise the merge copies the newest copy of each page to a free block, page by page, and also
//! programs the waiting writes of the logical block. The chain stays unchanged until all programs are done, so reads go
//! on.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, Command, List, Op};
use flash::nand::Target;

use super::block_manager::{Merge, WaitingWrites};
use super::mapping::Chain;
use super::{BlockFtl, Lbn, ListTag};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::toolkit::{Commands, add_copy};

/// The commands of a merge. They run one after another, because the buffer holds one page.
struct Copies {
    list: Handle<List>,
    last: Option<Handle<Command>>,
}

impl BlockFtl {
    /// Begins the merge of a logical block. Returns false if there is no room for it now.
    pub(super) fn merge(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, lbn: Lbn) -> bool {
        let die = self.blocks.home(lbn);
        let chain = self.mapping.chains[lbn as usize];
        assert_eq!(chain.programs, 0, "a merge waits for the programs of its chain");
        let youngest = chain.newest.expect("a merge of something");
        if chain.length > 1 && self.is_whole(flash, lbn, youngest) {
            self.blocks.dies[die].merge = Some(Merge { lbn, destination: None });
            let from = self.blocks[youngest].next;
            self.copy(flash, owners, die, youngest, from);
            return true;
        }
        // A merge into the last free block takes no writes along. After a power cut its pages are then also in the
        // chain, and the block can be erased.
        let free = self.blocks.dies[die].free.len();
        if free == 0 || (free == 1 && chain.length == 1) {
            return false;
        }
        if free > 1 {
            self.take_along(die, lbn);
        }
        let destination = self.blocks.take_free(die).expect("a free block");
        self.blocks.dies[die].merge = Some(Merge { lbn, destination: Some(destination) });
        self.copy(flash, owners, die, destination, 0);
        true
    }

    /// True if the newest copies of all pages before the block's next one are in this block.
    fn is_whole(&self, flash: &Flash<'_>, lbn: Lbn, superblock: SuperblockId) -> bool {
        let block = self.blocks[superblock];
        let media = flash.backend.media();
        let here = |psn: Psn| self.blocks.geometry.locate(psn).0 == superblock;
        !block.failing
            && (0..block.next).all(|offset| self.mapping.place_of(&self.blocks, media, lbn, offset).is_none_or(here))
    }

    /// Moves the waiting writes of a logical block from the queue of its die to its merge.
    fn take_along(&mut self, die: usize, lbn: Lbn) {
        let waiting = &mut self.blocks.dies[die].waiting;
        let Some(place) = waiting.iter().position(|waiting| waiting.lbn == lbn) else { return };
        let WaitingWrites { mut units, .. } = waiting.remove(place).expect("it was just found");
        for unit in units.drain(..) {
            let (_, offset) = self.mapping.split(unit.lpn);
            self.along[offset as usize] = Some(unit);
        }
        self.blocks.dies[die].over.push(units);
    }

    /// Submits the list of a merge: from a page on, the newest copies of all pages and the writes taken along.
    fn copy(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        die: usize,
        superblock: SuperblockId,
        from: u32,
    ) {
        let lbn = self.blocks.dies[die].merge.expect("it has begun").lbn;
        let mut copies = Copies { list: flash.backend.open_list(Class::Other, ListTag::Merge as u32), last: None };
        let mut along = std::mem::take(&mut self.along);
        for offset in from..self.blocks.pages {
            let target = Target { superblock, offset };
            if let Some(unit) = along[offset as usize].take() {
                self.add_along(flash, owners, &mut copies, target, &unit);
            } else if let Some(psn) = self.mapping.place_of(&self.blocks, flash.backend.media(), lbn, offset) {
                self.add_copy(flash, &mut copies, target, psn);
            } else {
                continue;
            }
            self.blocks[superblock].next = offset + 1;
        }
        self.along = along;
        if copies.last.is_some() {
            self.blocks.submit(flash, die, copies.list);
        } else {
            flash.backend.release(copies.list);
            self.end_merge(flash, die);
        }
    }

    /// Adds the program of a write that the merge takes along.
    fn add_along(
        &self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        copies: &mut Copies,
        target: Target,
        unit: &PageWrite,
    ) {
        let (program, _) = self.add_program(flash, owners, copies.list, target, unit);
        if let Some(last) = copies.last.replace(program) {
            flash.backend.depend(last, program);
        }
    }

    /// Adds the read and the program of a page.
    fn add_copy(&self, flash: &mut Flash<'_>, copies: &mut Copies, target: Target, psn: Psn) {
        let [read, program] = add_copy(flash.backend, [copies.list; 2], psn, target);
        if let Some(last) = copies.last.replace(program) {
            flash.backend.depend(last, read);
        }
    }

    pub(super) fn merge_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        die: usize,
        list: Handle<List>,
    ) {
        let Merge { lbn, destination } = self.blocks.dies[die].merge.expect("its merge");
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
                self.mapping.holes.remove(lbn, self.mapping.split(slot.lpn).1);
            }
            self.end_merge(flash, die);
            taken.drain(..).for_each(|slot| owners.write_done(slot.owner, service));
            self.taken = taken;
            return;
        }
        // The chain is unchanged. The owners still have the data of the writes taken along, and these wait again.
        self.blocks.dies[die].merge = None;
        for slot in taken.drain(..).rev() {
            self.blocks.dies[die].wait(lbn, PageWrite::again(&slot), true);
        }
        self.taken = taken;
        match destination {
            Some(superblock) => {
                self.blocks[superblock].failing = true;
                self.blocks.give_up(flash, superblock, Cause::Recovery);
            }
            None => self.blocks.fail(self.mapping.chains[lbn as usize].newest.expect("it was copied to")),
        }
    }

    /// All pages are in one block: makes it the data block, and gives up the others.
    fn end_merge(&mut self, flash: &mut Flash<'_>, die: usize) {
        let Merge { lbn, destination } = self.blocks.dies[die].merge.take().expect("its merge");
        let chain = self.mapping.chains[lbn as usize];
        let data = destination.or(chain.newest).expect("a block that was copied to");
        let is_empty = self.blocks[data].next == 0;
        let mut old = chain.newest;
        while let Some(superblock) = old {
            old = self.blocks[superblock].older;
            if superblock != data {
                self.blocks.give_up(flash, superblock, Cause::Merge);
            }
        }
        self.blocks.dies[die].replaced.retain(|other| *other != lbn);
        self.mapping.chains[lbn as usize] = Chain::default();
        if is_empty {
            // All pages had been discarded.
            self.blocks.free(flash, data);
        } else {
            self.mapping.link(&mut self.blocks, lbn, data);
        }
        for offset in 0..self.blocks.pages {
            let there = flash.backend.media().holds_data(self.blocks.geometry.slot(data, offset));
            if is_empty || !there {
                self.mapping.holes.remove(lbn, offset);
            }
        }
    }
}
