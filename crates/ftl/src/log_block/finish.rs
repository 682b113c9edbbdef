//! Finished lists. The map changes only here.

use base::engine::Handle;
use flash::backend::{Cause, List, Op};

use super::LogBlockFtl;
use super::awaited::AwaitedEvent;
use super::heap::HeapEntry;
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::toolkit::{Commands, ProgramSlot, Slots};

impl LogBlockFtl {
    pub(super) fn read_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        list: Handle<List>,
        for_host: bool,
    ) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        while let Some((place, slot)) = slots.next(flash.backend) {
            if for_host {
                owners.read_done(&slot, flash.backend.content_of(place), service);
            }
            let (superblock, _) = self.blocks.geometry.locate(slot.psn);
            self.merger().unpin(flash, superblock, 1);
        }
        flash.backend.release(list);
    }

    pub(super) fn write_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut programs = Commands::of(flash.backend, list);
        while let Some((handle, command)) = programs.next(flash.backend) {
            let (target, failed) = (command.target, command.failed);
            let ProgramSlot { slot, torn, .. } = ProgramSlot::of(flash.backend, handle, (target, failed), 0);
            let (lbn, offset) = self.mapping.address.split(slot.lpn);
            self.writer.gates.done(handle);
            let log = self.blocks[target.superblock].log;
            match log {
                Some(id) => self.mapping.logs.log_mut(id).programs -= 1,
                None => self.blocks[target.superblock].programs -= 1,
            }
            if failed {
                self.blocks.fail(&mut self.mapping.logs, target.superblock);
            }
            if torn {
                // The owner still has the data: the FTL writes it again, elsewhere.
                self.writer.waiting.push(lbn, PageWrite::again(&slot), AwaitedEvent::Nothing);
                self.writer.waiting.room_changed = true;
                continue;
            }
            if log.is_some() {
                self.merges.outdate_folded(lbn, offset);
            }
            self.mapping.with_orphans(lbn, |mapping| match log {
                Some(id) => mapping.logs.link(lbn, offset, mapping.logs.place(id, target.offset)),
                None => mapping.logs.unlink(lbn, offset),
            });
            if log.is_none() {
                self.mapping.holes.remove(lbn, offset);
            }
            owners.write_done(slot.owner, service);
        }
        flash.backend.release(list);
    }

    pub(super) fn erase_finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let erase = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(erase);
        debug_assert_eq!(command.op, Op::Erase);
        let (superblock, failed) = (command.target.superblock, command.failed);
        flash.backend.release(list);
        self.merger().erased(flash, superblock, failed);
    }

    /// Advances the merges, and then the writes that waited for them. Refuses writes only if nothing under way can make
    /// room.
    pub(super) fn advance_merges(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for superblock in std::mem::take(&mut self.blocks.useless) {
            self.blocks.mark_for_erase(flash, superblock, Cause::Recovery);
        }
        if self.merges.jobs.is_empty() && self.writer.waiting.is_empty() {
            return;
        }
        loop {
            while self.merger().advance(flash) {
                self.writer.waiting.room_changed = true;
            }
            self.reader.release(&mut self.blocks, &self.mapping, &self.merges, flash, owners);
            if !std::mem::take(&mut self.writer.waiting.room_changed) {
                break;
            }
            self.resume(flash, owners);
        }
        if self.blocks.under_way == 0 {
            self.merger().abandon_folds(flash);
        }
        if self.blocks.under_way == 0 {
            while let Some(HeapEntry { lbn, .. }) = self.writer.waiting.oldest() {
                owners.write_refused(self.writer.waiting.take(lbn).owner);
                self.writer.waiting.placed(lbn);
            }
        }
    }
}
