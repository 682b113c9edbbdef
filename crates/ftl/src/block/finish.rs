//! Finished lists. Only here a write takes effect.

use base::engine::Handle;
use flash::backend::{List, Op};

use super::BlockFtl;
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::toolkit::{Commands, ProgramSlot, Slots};

impl BlockFtl {
    pub(super) fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        while let Some((place, slot)) = slots.next(flash.backend) {
            owners.read_done(&slot, flash.backend.content_of(place), service);
            let (superblock, _) = self.blocks.geometry.locate(slot.psn);
            self.blocks.unpin(flash, superblock);
        }
        flash.backend.release(list);
    }

    pub(super) fn write_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        die: usize,
        list: Handle<List>,
    ) {
        let service = Service::of(flash.backend.list(list));
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                continue;
            }
            let (target, failed) = (command.target, command.failed);
            let ProgramSlot { slot, torn, .. } = ProgramSlot::of(flash.backend, handle, (target, failed), 0);
            let (lbn, offset) = self.mapping.split(slot.lpn);
            self.gates.done(handle);
            self.mapping.chains[lbn as usize].programs -= 1;
            if failed {
                self.blocks.fail(target.superblock);
            }
            if torn {
                // The owner still has the data: the FTL writes it again, elsewhere.
                self.blocks.dies[die].wait(lbn, PageWrite::again(&slot), false);
                continue;
            }
            self.mapping.holes.remove(lbn, offset);
            owners.write_done(slot.owner, service);
        }
        flash.backend.release(list);
    }

    pub(super) fn erase_finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let erase = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(erase);
        let (superblock, failed) = (command.target.superblock, command.failed);
        flash.backend.release(list);
        self.blocks.erased(flash, superblock, failed);
    }
}
