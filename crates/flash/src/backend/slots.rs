//! The slots of commands, and their payload.

use crate::nand::Sector;
use base::engine::Handle;

use super::{Backend, Command, Observer, Op, Slot, SlotRef};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Lets every command of the slab have its slots.
    #[inline]
    pub(super) fn make_room_for_slots(&mut self) {
        let needed = self.commands.places() * self.slots_per_command as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, Slot::default());
            if S::PRESENT {
                let sectors = self.geometry().sectors as usize;
                self.payload.resize(needed * sectors, S::default());
            }
        }
    }

    /// Adds a slot to a command. Its payload is cleared, unless the command is a read, which brings all of it.
    ///
    /// # Panics
    /// If the command is full.
    #[inline]
    pub fn push_slot(&mut self, command: Handle<Command>, slot: Slot) -> SlotRef {
        let &mut Command { ref mut count, op, .. } = &mut self.commands[command];
        assert!(*count < self.slots_per_command, "more slots than one command carries");
        let place = command.index() * self.slots_per_command as usize + *count as usize;
        *count += 1;
        self.slots[place] = slot;
        if S::PRESENT && op != Op::Read {
            self.payload_of(SlotRef(place as u32)).fill(S::default());
        }
        SlotRef(place as u32)
    }

    /// The payload of a slot: one entry per sector, none on a device without payload.
    pub fn payload_of(&mut self, slot: SlotRef) -> &mut [S] {
        if !S::PRESENT {
            return &mut [];
        }
        let sectors = self.media.geometry().sectors as usize;
        &mut self.payload[slot.0 as usize * sectors..][..sectors]
    }

    /// The slots of a command, in order, each with the place of its payload.
    #[inline]
    pub fn slots(&self, command: Handle<Command>) -> impl Iterator<Item = (SlotRef, Slot)> + '_ {
        let first = command.index() * self.slots_per_command as usize;
        let range = first..first + self.commands[command].count as usize;
        range.map(|place| (SlotRef(place as u32), self.slots[place]))
    }

    /// One slot of a command.
    #[must_use]
    #[inline]
    pub fn slot(&self, command: Handle<Command>, i: u32) -> (SlotRef, Slot) {
        let place = command.index() * self.slots_per_command as usize + i as usize;
        (SlotRef(place as u32), self.slots[place])
    }
}
