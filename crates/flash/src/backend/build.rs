//! The calls with which the FTL builds a command list: commands, their slots, and their dependencies.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};

use super::{Backend, Cause, Class, Command, List, Op, Slot, SlotContent, SlotMut, SlotRef};
use crate::nand::{Mode, SectorMask, Stream, Target};

impl Backend {
    /// Opens a command list. `tag` is the FTL's own number, which comes back with the list.
    #[inline]
    pub fn open_list(&mut self, class: Class, tag: u32) -> Handle<List> {
        self.table.open(class, tag)
    }

    /// Adds a read of slots in one row of a superblock; [`Backend::push_slot`] names them.
    #[inline]
    pub fn add_read(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Read, cause, Target { superblock, offset: 0 }, Stream::HOST)
    }

    /// Adds a program that begins at `target`; [`Backend::push_slot`] fills its slots.
    #[inline]
    pub fn add_program(&mut self, list: Handle<List>, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        self.add(list, Op::Program, cause, target, stream)
    }

    /// Adds a copy-back to `target`, a row or the rows of a one-shot program. Each slot names its source, which is in
    /// the slot's own plane.
    pub fn add_copy_back(
        &mut self,
        list: Handle<List>,
        cause: Cause,
        target: Target,
        stream: Stream,
    ) -> Handle<Command> {
        self.add(list, Op::CopyBack, cause, target, stream)
    }

    /// Adds an erase of a superblock at the end of a list.
    pub fn add_erase(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Erase, cause, Target { superblock, offset: 0 }, Stream::HOST)
    }

    #[inline]
    fn add(&mut self, list: Handle<List>, op: Op, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        let die = self.geometry().die_of(target.superblock);
        let command = self.table.add(list, op, cause, (die, target), stream);
        self.make_room_for_payload();
        command
    }

    /// Grows the payload so that each slot can have content.
    #[inline]
    pub(super) fn make_room_for_payload(&mut self) {
        if self.payload.is_present() && self.payload.slots() < self.table.slots.len() {
            self.payload.resize(self.table.slots.len());
        }
    }

    /// Adds a slot to a command. The slot's payload is cleared, unless the command is a read, which overwrites all of
    /// it.
    ///
    /// # Panics
    ///
    /// If the command is full.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A slot is built in its final place: a call would copy it.
    pub fn push_slot(&mut self, command: Handle<Command>, slot: Slot) -> SlotRef {
        let place = self.table.push_slot(command, slot);
        if self.payload.is_present() && self.table.commands[command].op != Op::Read {
            self.payload.empty(place);
        }
        SlotRef(place as u32)
    }

    /// Returns the content that a command carries in a slot.
    #[must_use]
    #[inline]
    pub fn content_of(&self, slot: SlotRef) -> SlotContent<'_> {
        self.payload.get(slot.0 as usize)
    }

    /// The content of a slot, to be changed.
    #[inline]
    pub const fn content_mut(&mut self, slot: SlotRef) -> SlotMut<'_> {
        self.payload.slot_mut(slot.0 as usize)
    }

    /// True if slots have content, because sectors do.
    #[must_use]
    #[inline]
    pub const fn has_content(&self) -> bool {
        self.payload.is_present()
    }

    /// Copies the sectors of a mask from one slot to another.
    #[inline]
    pub fn copy_payload(&mut self, from: SlotRef, into: SlotRef, mask: SectorMask) {
        if self.payload.is_present() {
            self.payload.copy([from.0 as usize, into.0 as usize], mask);
        }
    }

    /// The slots of a command, in order, each with a reference to its payload.
    #[inline]
    pub fn slots(&self, command: Handle<Command>) -> impl Iterator<Item = (SlotRef, Slot)> + '_ {
        let first = self.table.first_slot(command) as u32;
        (first..).map(SlotRef).zip(self.table.slots_of(command).iter().copied())
    }

    /// The `i`-th slot of a command: the reference to its content, and its place on flash.
    #[must_use]
    #[inline]
    pub fn slot(&self, command: Handle<Command>, i: u32) -> (SlotRef, Slot) {
        let place = self.table.first_slot(command) + i as usize;
        (SlotRef(place as u32), self.table.slots[place])
    }

    /// Forwards data from `read` to `program`. Slot `to` gets the payload of `from` in the sectors that its own mask
    /// leaves out, and the spare data of `from` unless it has its own. `program` waits for `read`.
    pub fn forward(&mut self, read: Handle<Command>, from: SlotRef, program: Handle<Command>, to: SlotRef) {
        self.table.forward(read, from, program, to);
    }

    /// Gives a slot of a program the content of a slot of the media that cannot be read, in the sectors that the
    /// program's mask leaves out, and its spare data unless the slot has its own. The FTL rebuilds this content from
    /// other slots, whose reads the program waits for.
    pub fn recall(&mut self, psn: Psn, to: SlotRef) {
        let read = self.media.read(psn, &mut self.payload.scratch);
        let slot = &mut self.table.slots[to.0 as usize];
        if !slot.expected {
            (slot.lpn, slot.version, slot.expected) = (read.lpn, read.version, true);
        }
        let mask = slot.mask;
        if self.payload.is_present() {
            self.payload.fill_from_scratch(to.0 as usize, !mask);
        }
    }

    /// Marks the data of a slot that could not be read as rebuilt from other slots.
    pub fn mend(&mut self, slot: SlotRef) {
        self.table.slots[slot.0 as usize].lost = false;
    }

    /// Makes `second` wait until `first` has finished. They may be in different lists, if the list of `first` is
    /// submitted first.
    ///
    /// # Panics
    ///
    /// If more than two commands depend on `first`.
    pub fn depend(&mut self, first: Handle<Command>, second: Handle<Command>) {
        self.table.depend(first, second);
    }

    /// Limits the transfer of a command to `sectors` sectors, with their share of the spare bytes, instead of all its
    /// slots: a partial read (random data out), or a program whose other data comes from elsewhere. The sectors are
    /// spread over all lanes of a channel: if one lane has more sectors than the others, count that many for each lane.
    ///
    /// A copy-back with sectors has three phases on its die: the array reads, the sectors come in, the array programs
    /// (Seong et al., Sec. 2.1). Sectors in the `mask` of a slot come from its payload, the others from its source
    /// page. An `expected` slot has its own version; any other slot takes the version of its source, like a program
    /// that takes forwarded data. The channel is free while the array works.
    ///
    /// # Panics
    ///
    /// If `sectors` is zero, or more than the command's slots have.
    pub fn set_sectors(&mut self, command: Handle<Command>, sectors: u32) {
        let all = self.table.commands[command].count * self.geometry().sectors;
        assert!((1..=all).contains(&sectors), "{sectors} of {all} sectors to move");
        self.table.commands[command].sectors = sectors;
    }

    /// Makes a read a blank one: it takes its time on the array, the channel and the decoder, but does not read the
    /// media. Its slots are cleared, and need not be programmed. An FTL uses this for the read of an address without a
    /// place.
    pub fn set_blank(&mut self, command: Handle<Command>) {
        self.table.commands[command].blank = true;
    }

    /// Sets the number of slots that the program leaves unused in addition to those it carries; they count as padding.
    pub fn set_padding(&mut self, command: Handle<Command>, slots: u32) {
        self.table.commands[command].padding = slots;
    }

    /// Makes a program open its block in SLC mode, or continue a block in SLC mode. Its page takes the time of that
    /// mode.
    ///
    /// # Panics
    ///
    /// If the flash has no SLC mode.
    pub fn in_slc_mode(&mut self, program: Handle<Command>) {
        assert!(self.rules.timing.slc_mode.is_some(), "a program in SLC mode, which the flash does not have");
        self.table.commands[program].mode = Mode::Slc;
    }
}
