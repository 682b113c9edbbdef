//! How a controller learns that an array is done: from the pin R/B#, or by polling.
//!
//! With R/B# it knows at once, and reads the status of a program, an erase or a copy-back, because that says whether it
//! failed. The chip begins the next page of cache mode by itself meanwhile. A controller that polls reads the status over
//! and over; each time costs the channel, and the end of the work is known when a status that says so has crossed.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::{Backend, Command, Event, Observer, Op, Stage};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Begins to poll a die whose array works from `from` on.
    pub(super) fn watch<E: From<Event> + Copy>(&mut self, from: Time, number: u32, events: &mut EventQueue<E>) {
        let Some(interval) = self.polls else { return };
        let die = &mut self.dies[number as usize];
        die.watch = die.watch.wrapping_add(1);
        events.push(from + interval, Event::Poll { die: number, watch: die.watch }.into());
    }

    /// Has the status of a die cross the channel.
    pub(super) fn poll<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let handle = self.dies[number as usize].array.expect("a die that is polled has a command");
        self.request_bus(now, handle, Stage::Status, events);
    }

    /// Called when an array is done: true if its command goes on only behind a status.
    #[inline(never)]
    pub(super) fn awaits_status<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let command = &self.commands[handle];
        if command.refused {
            return false;
        }
        if self.polls.is_some() {
            self.dies[number as usize].unnoticed = true;
            return true;
        }
        if command.op == Op::Read || command.wants_data() || self.timing.cycles.status.is_zero() {
            return false;
        }
        let die = &mut self.dies[number as usize];
        if let Some(loaded) = die.register.take_if(|_| die.loaded) {
            (die.array, die.loaded) = (None, false);
            self.execute_array_loaded(now, loaded, events);
        } else {
            die.unnoticed = true;
        }
        self.request_bus(now, handle, Stage::Status, events);
        true
    }

    /// Called when a status has crossed the channel.
    pub(super) fn status_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let number = self.commands[handle].die.get();
        let die = &mut self.dies[number as usize];
        if die.array != Some(handle) {
            // The array has gone on with the next page.
            self.finish(now, handle, events);
            return self.next_command(now, number, events);
        }
        if std::mem::take(&mut die.unnoticed) {
            die.watch = die.watch.wrapping_add(1);
            return self.array_over(now, number, handle, events);
        }
        let interval = self.polls.expect("only a die that is polled has its status read while it works");
        events.push(now + interval, Event::Poll { die: number, watch: die.watch }.into());
    }

    /// Called when a page has come into the register of a die whose array is done while its status has not been read:
    /// the chip begins with that page by itself. False if the array works.
    #[inline(never)]
    pub(super) fn begins_unnoticed<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        loaded: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let die = &mut self.dies[number as usize];
        if !die.unnoticed || self.polls.is_some() {
            return false;
        }
        (die.array, die.register, die.unnoticed) = (None, None, false);
        self.execute_array_loaded(now, loaded, events);
        true
    }
}
