//! A list of one read of one slot, as most reads are: built in one step.

use crate::nand::{Sector, Stream, Target};
use base::engine::Handle;
use base::units::SuperblockId;

use super::{Backend, Cause, Class, Command, List, Observer, Op, Slot};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Opens a list of one read of one slot.
    #[inline]
    pub fn open_read(
        &mut self,
        (class, tag): (Class, u32),
        cause: Cause,
        superblock: SuperblockId,
        slot: Slot,
    ) -> Handle<List> {
        let list = self.lists.insert(List::new(class, tag, self.failures.reported()));
        let die = self.geometry().die_of(superblock);
        let target = Target { superblock, offset: 0 };
        let command = Command::new(Op::Read, cause, die, target, Stream::Host, list, class);
        let command = self.commands.insert(Command { count: 1, ..command });
        self.make_room_for_slots();
        self.lists[list].take_alone(command);
        let place = command.index() * self.slots_per_command as usize;
        self.slots[place] = slot;
        list
    }
}
