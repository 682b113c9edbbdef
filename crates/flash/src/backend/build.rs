//! The FTL builds a command list: commands, and what depends on what.

use crate::nand::{Sector, Stream, Target};
use base::engine::Handle;
use base::units::SuperblockId;

use super::{Backend, Cause, Class, Command, List, Observer, Op, SlotRef};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Opens a command list. `tag` is the FTL's own number, which comes back with the list.
    #[inline]
    pub fn open_list(&mut self, class: Class, tag: u32) -> Handle<List> {
        self.lists.insert(List::new(class, tag, self.failures.reported()))
    }

    /// Adds a read of slots in one row of a superblock; [`Backend::push_slot`] names them.
    #[inline]
    pub fn add_read(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Read, cause, Target { superblock, offset: 0 }, Stream::Host)
    }

    /// Adds a program that begins at `target`; [`Backend::push_slot`] fills its slots.
    #[inline]
    pub fn add_program(&mut self, list: Handle<List>, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        self.add(list, Op::Program, cause, target, stream)
    }

    /// Adds a copy-back to `target`; each slot names its source.
    pub fn add_copy_back(&mut self, list: Handle<List>, cause: Cause, target: Target) -> Handle<Command> {
        self.add(list, Op::CopyBack, cause, target, Stream::Copies)
    }

    /// Adds an erase.
    pub fn add_erase(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Erase, cause, Target { superblock, offset: 0 }, Stream::Host)
    }

    #[inline]
    fn add(&mut self, list: Handle<List>, op: Op, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        let die = self.geometry().die_of(target.superblock);
        let class = self.lists[list].class;
        let handle = self.commands.insert(Command::new(op, cause, die, target, stream, list, class));
        self.make_room_for_slots();
        let list = &mut self.lists[list];
        list.remaining += 1;
        match list.last.replace(handle) {
            Some(last) => {
                let last = &mut self.commands[last];
                last.sibling = Some(handle);
                list.spreads |= last.die != die;
            }
            None => list.first = Some(handle),
        }
        handle
    }

    /// Forwards data from `read` to `program`. Slot `to` gets the payload of `from` in the sectors that its own mask
    /// leaves out, and the spare data unless it has its own. `program` waits for `read`.
    pub fn forward(&mut self, read: Handle<Command>, from: SlotRef, program: Handle<Command>, to: SlotRef) {
        self.slots[from.0 as usize].forward = Some(to);
        self.depend(read, program);
    }

    /// Lets `second` start only after `first` has finished. They may be of different lists, if the list of `first` is
    /// submitted first.
    ///
    /// # Panics
    /// If more than two commands depend on `first`.
    pub fn depend(&mut self, first: Handle<Command>, second: Handle<Command>) {
        if self.commands[first].done {
            return;
        }
        let (before, behind) = (self.commands[first].list, self.commands[second].list);
        if before != behind {
            self.lists[before].leads = true;
            self.lists[behind].follows = true;
        }
        let then = &mut self.commands[first].then;
        if then.contains(&Some(second)) {
            return;
        }
        let free = then.iter_mut().find(|place| place.is_none()).expect("at most two commands wait for one");
        *free = Some(second);
        self.commands[second].waits += 1;
    }

    /// Lets a command move only `sectors` sectors over the channel, with their share of the spare bytes, and not all
    /// its slots: a partial read (random data out), or a program whose other data comes from elsewhere. The sectors
    /// are spread over all lanes of a channel: if one lane has more than the others, count each lane for as many.
    ///
    /// A copy-back with sectors has three phases on its die: the array reads, the sectors come in, the array programs
    /// (Seong et al., Sec. 2.1). Sectors in the `mask` of a slot come from its payload, the others from its source
    /// page. An `expected` slot has its own version; any other takes the version of its source, like a program that
    /// takes forwarded data. The channel is free while the array works.
    ///
    /// # Panics
    /// If `sectors` is zero, or more than its slots have.
    pub fn set_sectors(&mut self, command: Handle<Command>, sectors: u32) {
        let all = self.commands[command].count * self.geometry().sectors;
        assert!((1..=all).contains(&sectors), "{sectors} of {all} sectors to move");
        self.commands[command].sectors = sectors;
    }

    /// Lets a read take its time on the array, the channel and the decoder and leave the media alone: what it returns is
    /// cleared, and its places need not be written. An FTL that reads an address without a place does this.
    pub fn set_blank(&mut self, command: Handle<Command>) {
        self.commands[command].blank = true;
    }

    /// Sets how many slots the program leaves unused beyond those it carries; they count as padding.
    pub fn set_padding(&mut self, command: Handle<Command>, slots: u32) {
        self.commands[command].padding = slots;
    }
}
