//! The end of an array's work, as a controller learns of it: from the pin R/B#, or by polling.
//!
//! With R/B# the controller knows at once. It then reads the status of a program, an erase or a copy-back, because the
//! status says whether the operation failed. The chip begins the next page of cache mode by itself meanwhile. A
//! controller that polls reads the status repeatedly. Each read takes time on the channel, and the controller knows of
//! the end when a status that is not busy has crossed.

use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::{Backend, Command, CommandState, Event, Op};

impl Backend {
    /// Begins to poll a die whose array works from `from` on.
    pub(super) fn watch<E: From<Event> + Copy>(&mut self, from: Time, number: u32, events: &mut EventQueue<E>) {
        let Some(interval) = self.rules.polls else { return };
        let die = &mut self.dies[number as usize];
        die.watch = die.watch.wrapping_add(1);
        events.push(from + interval, Event::Poll { die: number, watch: die.watch }.into());
    }

    /// Queues the status of a die for the channel.
    pub(super) fn poll<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let handle = self.dies[number as usize].array.expect("a die that is polled has a command");
        self.request_channel(now, handle, CommandState::Status, events);
    }

    /// Called when an array is done. Returns true if its command goes on only after a status read.
    #[inline(never)]
    pub(super) fn awaits_status<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let command = &self.table.commands[handle];
        if command.refused {
            return false;
        }
        if self.rules.polls.is_some() {
            self.dies[number as usize].unnoticed = true;
            return true;
        }
        if command.op == Op::Read || command.wants_data() || self.rules.timing.cycles.status.is_zero() {
            return false;
        }
        let die = &mut self.dies[number as usize];
        if let Some(loaded) = die.take_loaded() {
            die.array = None;
            self.execute_loaded(now, loaded, events);
        } else {
            die.unnoticed = true;
        }
        self.request_channel(now, handle, CommandState::Status, events);
        true
    }

    /// Handles a status that has crossed the channel.
    pub(super) fn status_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let number = self.table.commands[handle].unit;
        let die = &mut self.dies[number as usize];
        if die.array != Some(handle) {
            // The array has already gone on with the next page.
            self.finish(now, handle, events);
            return self.next_command(now, number, events);
        }
        if std::mem::take(&mut die.unnoticed) {
            die.watch = die.watch.wrapping_add(1);
            return self.array_over(now, number, handle, events);
        }
        self.table.commands[handle].state = CommandState::Array;
        let interval = self.rules.polls.expect("only a die that is polled has its status read while it works");
        events.push(now + interval, Event::Poll { die: number, watch: die.watch }.into());
    }

    /// Called when a page has come into the register of a die whose array is done, but whose status has not been read:
    /// the chip begins with that page by itself. Returns false if the array still works.
    #[inline(never)]
    pub(super) fn begins_unnoticed<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        loaded: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let die = &mut self.dies[number as usize];
        if !die.unnoticed || self.rules.polls.is_some() {
            return false;
        }
        (die.array, die.register, die.unnoticed) = (None, None, false);
        self.execute_loaded(now, loaded, events);
        true
    }
}
