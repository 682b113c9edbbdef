//! The short path of a read that meets nothing but its array and its channel.
//!
//! With plain reads (`Config::has_plain_reads`) a read is an array time and a transfer. Here are its steps: its array begins,
//! its data begins to be sent, and has been sent. Each does what the long path does (`execute`, `channel`, `dispatch`), in
//! the same order.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::{Bytes, Span, Time};

use super::{Backend, BusOrder, Command, Event, List, Observer, Op};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The data of a read has been sent: frees the channel, ends the command, and begins the next one of its die.
    pub(super) fn read_sent<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let channel = &mut self.channels[number as usize];
        channel.current = None;
        let (worked, bytes) = (channel.meter.end(now), std::mem::take(&mut channel.bytes));
        if channel.queue.is_empty() && self.arbitration.bus != BusOrder::ReadFirst {
            if let Some(next) = self.next_quiet(now, number, events) {
                self.send_read(now, number, next, events);
            }
        } else {
            self.settle(now, number, events);
            self.free_channel(now, number, events);
        }
        let command = &mut self.commands[handle];
        command.done = true;
        let &mut Command { cause, die, count, .. } = command;
        let pages = if count == 1 { 1 } else { self.pages_read(handle) };
        let tally = self.account.at(Op::Read, cause);
        tally.bus += worked;
        tally.bytes += bytes;
        tally.commands += 1;
        tally.pages += pages;
        tally.slots += u64::from(count);
        let state = &mut self.dies[die.index()];
        state.unfinished -= 1;
        let quiet = state.array.take();
        if quiet.is_some() {
            tally.array += state.meter.end(now);
            let at = state.meter.until();
            self.note_quiet_end(at, die.get());
        } else {
            state.register = None;
        }
        if let Some(controller) = self.end_in_list(now, handle, events) {
            let leaver = &mut self.controllers[controller as usize];
            leaver.list = None;
            leaver.last = Some(cause);
            leaver.busy += now - leaver.since;
            if let Some(next) = leaver.queue.pop(&self.lists) {
                self.follow(now, controller, next, events);
            }
        }
        let state = &self.dies[die.index()];
        if state.array.is_none() && !state.queue.is_empty() {
            self.next_command(now, die.get(), events);
        }
    }

    /// The data of a read that has waited for the channel begins to be sent.
    #[inline]
    fn send_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let (time, bytes) = self.data_out(handle);
        let command = &mut self.commands[handle];
        let channel = &mut self.channels[number as usize];
        if now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = channel.last {
                self.lists[command.list].waited_for.insert(cause);
            }
        }
        channel.current = Some(handle);
        channel.last = Some(command.cause);
        channel.bytes = bytes;
        let generation = channel.meter.begin(now, now + time);
        events.push(now + time, Event::Bus { channel: number, generation }.into());
    }

    /// The time and the bytes of the data of a read on the channel.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Two callers, which each read passes.
    pub(super) fn data_out(&self, handle: Handle<Command>) -> (Span, Bytes) {
        let command = &self.commands[handle];
        // Most reads.
        if command.count == 1 && command.sectors == 0 && self.data_only {
            return (self.timing.transfer[1], self.timing.slot_bytes);
        }
        self.data_out_of(command, handle)
    }

    #[inline(never)]
    fn data_out_of(&self, command: &Command, handle: Handle<Command>) -> (Span, Bytes) {
        let (data, bytes) = match command.sectors {
            0 => (self.timing.transfer[command.count as usize], self.timing.slot_bytes * u64::from(command.count)),
            part => (self.timing.sectors[part as usize], self.timing.bytes_of(part)),
        };
        (if self.data_only { data } else { data + self.timing.around_data_out(self.pages_of(handle)) }, bytes)
    }

    /// A controller of a die takes the next list.
    #[inline]
    fn follow<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        controller: u32,
        list: Handle<List>,
        events: &mut EventQueue<E>,
    ) {
        let entry = &mut self.lists[list];
        let lone = entry.first.filter(|_| entry.remaining == 1 && entry.copies().is_none());
        let Some(handle) = lone.filter(|lone| {
            let command = &self.commands[*lone];
            let die = &self.dies[command.die.index()];
            command.op == Op::Read && command.waits == 0 && die.is_idle()
        }) else {
            return self.occupy(now, controller, list, events);
        };
        let taker = &mut self.controllers[controller as usize];
        (taker.list, taker.since) = (Some(list), now);
        entry.take_controller(controller);
        if now > entry.submitted {
            entry.wait = now - entry.submitted;
            if let Some(cause) = taker.last {
                entry.waited_for.insert(cause);
            }
        }
        entry.dispatched = true;
        self.commands[handle].ready = now;
        self.begin_read(now, handle, events);
    }

    /// The array of an idle die begins a read.
    #[inline]
    pub(super) fn begin_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.commands[handle];
        command.effected = true;
        let (number, cause, list) = (command.die.get(), command.cause, command.list);
        self.lists[list].start(now);
        self.fetch_next(handle);
        let (time, _) = self.array_work(handle);
        self.read(handle);
        let until = now + self.timing.cycles.busy + time;
        let die = &mut self.dies[number as usize];
        (die.last, die.array) = (Some(cause), Some(handle));
        let generation = die.meter.begin(now, until);
        if !self.ends_quietly(handle, (until, generation), events) {
            events.push(until, Event::Array { die: number, generation }.into());
        }
        self.fetch_next_data(handle);
    }
}
