//! The slots of commands, and their payload.

use crate::nand::Sector;
use base::engine::Handle;

use super::{Backend, Command, Observer, Op, Slot, SlotContent, SlotRef};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Lets every command of the slab have its slots.
    #[inline]
    pub(super) fn make_room_for_slots(&mut self) {
        let needed = self.commands.places() * self.slots_per_command as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, Slot::default());
            if S::PRESENT {
                self.payload.resize(needed);
            }
        }
    }

    /// Adds a slot to a command. Its payload is cleared, unless the command is a read, which brings all of it.
    ///
    /// # Panics
    /// If the command is full.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A slot is put together where it stays: a call would copy it.
    pub fn push_slot(&mut self, command: Handle<Command>, slot: Slot) -> SlotRef {
        let &mut Command { ref mut count, op, .. } = &mut self.commands[command];
        assert!(*count < self.slots_per_command, "more slots than one command carries");
        let place = command.index() * self.slots_per_command as usize + *count as usize;
        *count += 1;
        self.slots[place] = slot;
        if S::PRESENT && op != Op::Read {
            self.payload.empty(place);
        }
        SlotRef(place as u32)
    }

    /// The payload of a slot: one entry per sector, none on a device without payload.
    pub fn payload_of(&mut self, slot: SlotRef) -> &mut [S] {
        if !S::PRESENT {
            return &mut [];
        }
        self.payload.of(slot.0 as usize)
    }

    /// Puts all sectors of a slot.
    #[inline]
    pub fn put_payload(&mut self, slot: SlotRef, content: &[S]) {
        self.payload.put(slot.0 as usize, content);
    }

    /// Puts the first sector of a slot, which determines the others.
    #[inline]
    pub fn put_run(&mut self, slot: SlotRef, first: S) {
        self.payload.put_run(slot.0 as usize, first);
    }

    /// The payload of a slot, to look at.
    #[must_use]
    #[inline]
    pub fn content_of(&self, slot: SlotRef) -> SlotContent<'_, S> {
        self.payload.get(slot.0 as usize)
    }

    /// Copies the sectors of a mask from one slot to another.
    #[inline]
    pub fn copy_payload(&mut self, from: SlotRef, into: SlotRef, mask: u64) {
        if S::PRESENT {
            self.payload.copy([from.0 as usize, into.0 as usize], mask);
        }
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
