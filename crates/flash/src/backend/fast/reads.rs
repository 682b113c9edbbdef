//! The short way of a read that meets only its array and its channel. Each step does in one function the work of
//! several functions of the ordinary way, in the same order.

use base::engine::{EventQueue, Handle};
use base::units::Time;

use crate::backend::command_table::CommandTable;
use crate::backend::{Backend, BusOrder, Command, CommandState, Event, List, Op};

impl Backend {
    /// Begins a read in the array of a die.
    #[inline]
    pub(in crate::backend) fn begin_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.table.commands[handle];
        (command.effected, command.state) = (true, CommandState::Array);
        let number = command.unit;
        let (time, _) = self.array_work(handle);
        self.read(handle);
        let until = now + self.rules.timing.cycles.busy + time;
        let die = &mut self.dies[number as usize];
        die.array = Some(handle);
        let generation = die.meter.begin(now, until);
        if !self.ends_quietly(handle, (until, generation), events) {
            events.push(until, Event::Array { die: number, generation }.into());
        }
        self.prefetch_next_data(handle);
    }

    /// Ends a read whose data has been sent: frees the channel, ends the command, and begins the next command of its
    /// die.
    pub(in crate::backend) fn read_sent<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let channel = &mut self.channels[number as usize];
        let (_, load) = channel.end(now);
        channel.free();
        let command = &mut self.table.commands[handle];
        command.state = CommandState::Done;
        let &mut Command { cause, die, unit, count, .. } = command;
        let pages = if count == 1 { 1 } else { self.pages_read(handle) };
        let tally = self.account.at(Op::Read, cause);
        tally.bus += load.time;
        tally.bytes += load.bytes;
        tally.commands += 1;
        tally.pages += pages;
        tally.slots += u64::from(count);
        self.dies[die.index()].unfinished -= 1;
        self.unfinished -= 1;
        let state = &mut self.dies[unit as usize];
        if state.array.take().is_some() {
            // The array phase ended quietly, and the data went straight from the array to the channel.
            tally.array += state.meter.end(now);
            self.fast.note_end(state.meter.until(), unit);
        } else {
            state.register = None;
        }
        if let Some(controller) = self.end_in_list(now, handle, events) {
            self.controllers.vacate(now, controller, cause);
            if let Some(next) = self.controllers.take_next(controller, &self.table.lists) {
                self.begin_list(now, controller, next, events);
            }
        }
        let state = &self.dies[unit as usize];
        let waits = !state.queue.is_empty() || state.is_suspended() || self.rules.plane_reads.is_some();
        if waits && state.array.is_none() {
            self.next_command(now, unit, events);
        }
        let channel = &mut self.channels[number as usize];
        if channel.queue.is_empty() && self.rules.arbitration.bus != BusOrder::ReadFirst {
            // No other transfer waits, so the channel need not choose.
            channel.chooses = false;
            if let Some(next) = self.next_quiet(now, number, events) {
                self.send_read(now, number, next, events);
            }
        } else {
            self.settle(now, number, events);
            self.next_transfer(now, number, events);
        }
    }

    /// Begins to send the data of a read whose array phase ended quietly.
    #[inline]
    fn send_read<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let load = self.rules.load_of(&self.table, (handle, CommandState::DataOut), self.media.geometry());
        let channel = &mut self.channels[number as usize];
        channel.quiet.begin_transfer(now, now + load.time);
        let CommandTable { commands, lists, .. } = &mut self.table;
        let generation = channel.begin((now, load), handle, &mut commands[handle], lists);
        events.push(now + load.time, Event::Bus { channel: number, generation }.into());
    }

    /// Gives a list to the free controller of a die. If the list is one read for an idle die, the array begins at once.
    /// Observers and held chips need no attention, because plain reads exist only without them.
    #[inline]
    fn begin_list<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        controller: u32,
        list: Handle<List>,
        events: &mut EventQueue<E>,
    ) {
        let Self { table: CommandTable { commands, lists, .. }, dies, .. } = self;
        let entry = &mut lists[list];
        let lone = entry.first.filter(|_| entry.remaining == 1 && entry.copies().is_none());
        let Some(handle) = lone.filter(|lone| {
            let command = &commands[*lone];
            command.op == Op::Read
                && command.waits == 0
                && self.fast.lone_reads
                && dies[command.unit as usize].is_idle()
        }) else {
            return self.occupy(now, controller, list, events);
        };
        entry.dispatched = true;
        entry.start(now);
        let command = &mut commands[handle];
        command.ready = now;
        dies[command.unit as usize].last = Some(command.cause);
        self.controllers.occupy(now, controller, list, lists);
        self.prefetch_next(handle);
        self.begin_read(now, handle, events);
    }
}
