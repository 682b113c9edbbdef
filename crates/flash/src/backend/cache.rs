//! Cache mode: the array works on one page while another page crosses the channel.
//!
//! By default only neighbouring commands of one list and one superblock use cache mode. With
//! [`super::Timing::cache_across`] any two reads and any two programs of a die do, of any lists and places (ONFI: Read
//! Cache Random, Page Cache Program).

use crate::nand::SectorMask;
use base::engine::{EventQueue, Handle};
use base::units::{Span, Time};

use super::{Backend, Command, Event, Op, Primitive};

impl Backend {
    /// True if a read follows or precedes another read in cache mode.
    pub(super) fn streams(&self, handle: Handle<Command>) -> bool {
        let die = &self.dies[self.table.commands[handle].unit as usize];
        let with = |other: Option<Handle<Command>>| other.is_some_and(|other| self.follows(handle, other));
        with(die.register) || with(die.queue.peek())
    }

    /// True if cache mode can run two commands back to back. That holds for neighbours of one list in one superblock,
    /// whose pages were or are being written in order; with `cache_across`, for any two reads or programs of one die. A
    /// software controller issues the second command only when the first is done.
    pub(super) fn follows(&self, first: Handle<Command>, second: Handle<Command>) -> bool {
        let (a, b) = (&self.table.commands[first], &self.table.commands[second]);
        let neighbours = a.list == b.list && a.target.superblock == b.target.superblock;
        let one_kind = a.op == b.op && a.unit == b.unit;
        one_kind && (neighbours || self.rules.timing.cache_across) && self.processor.has_issued(b)
    }

    /// In cache mode, lets the command behind `before` begin while `before` is still in the die.
    pub(super) fn pipeline<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        before: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let die = self.table.commands[before].unit as usize;
        let Some(head) = self.dies[die].queue.peek() else { return };
        if !self.follows(before, head) {
            return;
        }
        self.dies[die].queue.pop(&self.table.commands);
        self.begin(now, head, events);
    }

    /// For an occupied die: lets the first program that waits take its data into the cache register, if the array
    /// programs and the register is free. A read does not begin in this way, because it would overwrite the page that
    /// is being sent.
    #[inline(never)]
    pub(super) fn load_cache<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) {
        let state = &self.dies[die as usize];
        let (Some(array), None) = (state.array, state.register) else { return };
        if self.rules.timing.cache_program.is_some() && self.table.commands[array].op == Op::Program {
            self.pipeline(now, array, events);
        }
    }

    /// A planted bug: the data of the next program arrives although a complete page waits in the register.
    pub(super) fn overwrite_cache(&mut self, die: u32) {
        let state = &self.dies[die as usize];
        let (Some(there), Some(next)) = (state.register.filter(|_| state.loaded), state.queue.peek()) else { return };
        if !self.follows(there, next) {
            return;
        }
        let [to, from] = [there, next].map(|handle| self.table.first_slot(handle));
        let slots = self.table.commands[there].count.min(self.table.commands[next].count) as usize;
        if self.payload.is_present() {
            (0..slots).for_each(|i| self.payload.copy([from + i, to + i], SectorMask::MAX));
        }
    }

    /// True if a page that has been read goes to the cache register only now, because the next read came while the
    /// array worked. The array takes the time of the copy before it begins that read.
    pub(super) fn copies_late<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let Some(copy) = self.rules.timing.cache_read else { return false };
        if self.table.commands[handle].copied || !self.streams(handle) {
            return false;
        }
        self.table.commands[handle].copied = true;
        self.start_array(now, handle, (Span::ZERO, copy), Primitive::Read, (None, events));
        true
    }
}
