//! Finished lists. The map changes only here.

use base::engine::Handle;
use flash::backend::{List, Op};

use super::awaited::Awaited;
use super::{Kind, LogBlockFtl};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::toolkit::{Commands, Programmed, Slots};

impl LogBlockFtl {
    /// A list has finished.
    pub(crate) fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.under_way -= 1;
        let (kind, log) = Kind::of(flash.backend.list(list));
        match kind {
            Kind::Read | Kind::OldPlace => self.read_finished(flash, owners, list, kind == Kind::Read),
            Kind::Write => self.write_finished(flash, owners, list),
            Kind::Merge => self.merge_finished(flash, log, list),
            Kind::Erase => self.erase_finished(flash, list),
        }
        self.advance_merges(flash, owners);
    }

    fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>, for_host: bool) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        while let Some((place, slot)) = slots.next(flash.backend) {
            if for_host {
                owners.read_done(&slot, flash.backend.content_of(place), service);
            }
            self.unpin(flash, self.geometry.locate(slot.psn).0, 1);
        }
        flash.backend.release(list);
    }

    fn write_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut programs = Commands::of(flash.backend, list);
        while let Some((handle, command)) = programs.next(flash.backend) {
            let (target, failed) = (command.target, command.failed);
            let Programmed { slot, torn, .. } = Programmed::of(flash.backend, handle, (target, failed), 0);
            let (lbn, offset) = self.address.split(slot.lpn);
            self.gates.done(handle);
            let log = self.blocks[target.superblock.index()].log;
            match log {
                Some(id) => self.logs.log_mut(id).programs -= 1,
                None => self.block(target.superblock).programs -= 1,
            }
            if failed {
                self.fail(target.superblock);
            }
            if torn {
                // The owner still has the data: the FTL writes it again, elsewhere.
                self.waiting.push(lbn, PageWrite::again(&slot), Awaited::Nothing);
                self.changed_pools = true;
                continue;
            }
            if log.is_some() {
                self.outdate_folded(lbn, offset);
            }
            self.with_orphans(lbn, |ftl| match log {
                Some(id) => ftl.logs.link(lbn, offset, ftl.logs.place(id, target.offset)),
                None => ftl.logs.unlink(lbn, offset),
            });
            if log.is_none() {
                self.holes.remove(lbn, offset);
            }
            owners.write_done(slot.owner, service);
        }
        flash.backend.release(list);
    }

    /// A program has failed: the block takes no more pages, and is retired after its merge.
    pub(super) fn fail(&mut self, superblock: base::units::SuperblockId) {
        let pages = self.pages;
        let block = self.block(superblock);
        block.failing = true;
        match block.log {
            None => block.next = pages,
            Some(id) => {
                let log = self.logs.log_mut(id);
                (log.next, log.in_order) = (pages, false);
            }
        }
    }

    fn erase_finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let erase = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(erase);
        debug_assert_eq!(command.op, Op::Erase);
        let (superblock, failed) = (command.target.superblock, command.failed);
        flash.backend.release(list);
        self.erased(flash, superblock, failed);
    }
}
