//! The transfers of commands: each waits for its channel, crosses it, and leaves it to the next.

use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::planted::Bug;
use super::{Backend, BusOrder, Class, Command, CommandState, Event, Op, Phase, Primitive, Resource};

impl Backend {
    /// The channel of a command: the bus of its die, or the link of its controller.
    #[inline]
    pub(super) fn channel_of(&self, handle: Handle<Command>) -> u32 {
        let command = &self.table.commands[handle];
        if self.controllers.links {
            return self.table.lists[command.list].controller().expect("a command under way has a controller");
        }
        self.dies[command.die.index()].channel
    }

    /// Gives a command its channel for a transfer, or queues the command. Every command passes here and most find the
    /// channel free: a call would cost each 25 instructions.
    #[inline(always)]
    #[allow(clippy::inline_always)] // See above.
    pub(super) fn request_channel<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        state: CommandState,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.table.commands[handle];
        (command.state, command.ready) = (state, now);
        let number = self.channel_of(handle);
        if self.channels[number as usize].is_free_for(handle) {
            return self.transfer(now, number, handle, events);
        }
        self.wait_for_channel(now, number, handle, events);
    }

    /// The queue in which a command waits for its channel.
    pub(super) fn class_on_channel(&self, handle: Handle<Command>) -> usize {
        match self.rules.arbitration.bus {
            BusOrder::ReadFirst => self.urgency(handle),
            order => self.table.commands[handle].state.queue(order),
        }
    }

    #[inline(never)]
    fn wait_for_channel<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        self.settle(now, number, events);
        let class = self.class_on_channel(handle);
        let Self { channels, rules, table, .. } = self;
        channels[number as usize].wait(rules, &mut table.commands, class, handle);
        if rules.by_pages && table.commands[handle].class == Class::HostRead {
            self.shorten(now, number, events);
        }
    }

    /// Shortens a transfer of pages of a program to the page under way, because a host read has begun to wait.
    #[inline(never)]
    fn shorten<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let Self { channels, rules, table, .. } = self;
        let channel = &mut channels[number as usize];
        let Some(handle) = channel.current.filter(|_| channel.is_crossed_by_pages(rules, &table.commands)) else {
            return;
        };
        let command = &table.commands[handle];
        if let Some((at, generation)) = channel.shorten(now, rules, command) {
            if let Some(observer) = &mut self.observer {
                observer.shortened(Resource::Channel(number), command.die.get(), handle.number().get(), at);
            }
            events.push(at, Event::Bus { channel: number, generation }.into());
        }
    }

    /// Begins the transfer of a command on its free channel.
    #[inline(never)]
    pub(super) fn transfer<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let pages = self.channels[number as usize].pages_to_cross(&self.rules, &self.table.commands[handle]);
        let state = self.table.commands[handle].state;
        let load = match pages {
            Some(until) => {
                self.wake_quiet_reads(number, events);
                self.channels[number as usize].crosses = until;
                self.rules.load_of_pages(self.table.commands[handle].crossed, until)
            }
            None => self.rules.load_of(&self.table, (handle, state), self.media.geometry()),
        };
        let until = now + load.time;
        let channel = &mut self.channels[number as usize];
        if pages.is_none() {
            channel.quiet.begin_transfer(now, until);
        }
        let command = &mut self.table.commands[handle];
        let generation = channel.begin((now, load), handle, command, &mut self.table.lists);
        if let Some(observer) = &mut self.observer {
            let part = (Resource::Channel(number), state.primitive());
            observer.phase(Phase::of((handle, command), part, [command.ready, now, until]));
        }
        events.push(until, Event::Bus { channel: number, generation }.into());
        if state == CommandState::DataIn {
            self.prefetch_target(handle);
        }
        if state == CommandState::DataOut
            && let Some(decoders) = &self.decoders
        {
            decoders.expect_codewords(
                (number, (now, until), generation),
                (&mut self.table.commands[handle], &self.rules.timing, self.media.geometry()),
                events,
            );
        }
    }

    /// Ends a phase of a channel, and charges it to its command, which keeps the channel.
    #[inline]
    pub(super) fn charge_channel(&mut self, now: Time, number: u32) -> Handle<Command> {
        let (handle, load) = self.channels[number as usize].end(now);
        let command = &self.table.commands[handle];
        let tally = self.account.at(command.op, command.cause);
        tally.bus += load.time;
        tally.bytes += load.bytes;
        handle
    }

    /// Begins the next transfer of a channel that is free and has to choose.
    #[inline]
    pub(super) fn next_transfer<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let channel = &mut self.channels[number as usize];
        if !channel.chooses {
            return;
        }
        if let Some(next) = channel.choose(&self.rules, &self.table.commands) {
            self.transfer(now, number, next, events);
        }
    }

    /// Keeps the channel for a command while its array works (Seong et al., Fig. 7a). The time is charged when the
    /// array is done.
    pub(super) fn keep_channel(&mut self, handle: Handle<Command>, until: Time) {
        let number = self.channel_of(handle);
        let command = &self.table.commands[handle];
        let channel = &mut self.channels[number as usize];
        let from = channel.meter.until();
        channel.meter.begin(from, until);
        if let Some(observer) = &mut self.observer {
            let part = (Resource::Channel(number), Primitive::Hold);
            observer.phase(Phase::of((handle, command), part, [from, from, until]));
        }
    }

    /// Ends the transfer under way on a channel.
    pub(super) fn transfer_done<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        if self.fast.plain_reads {
            let current = self.channels[number as usize].current;
            if let Some(sent) = current.filter(|current| self.table.commands[*current].state == CommandState::DataOut) {
                return self.read_sent(now, number, sent, events);
            }
            self.settle(now, number, events);
        }
        let handle = self.charge_channel(now, number);
        let by_pages = self.rules.by_pages && self.table.commands[handle].state == CommandState::DataIn;
        if by_pages && self.goes_on(now, number, handle, events) {
            return;
        }
        if !self.rules.arbitration.hold {
            self.channels[number as usize].free();
        }
        self.go_on_behind_transfer(now, number, handle, events);
        self.next_transfer(now, number, events);
    }

    /// Continues a command on its die after its transfer.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller, which every transfer passes.
    fn go_on_behind_transfer<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &self.table.commands[handle];
        let (die_number, state) = (command.unit, command.state);
        let die = &mut self.dies[die_number as usize];
        match state {
            CommandState::CommandCycles => {
                self.execute(now, handle, events);
                self.suspend_begun(now, die_number, events);
            }
            CommandState::Status => self.status_read(now, handle, events),
            CommandState::DataIn if die.array.is_some() => {
                if self.rules.reads_status && self.begins_unnoticed(now, die_number, handle, events) {
                    return;
                }
                self.dies[die_number as usize].loaded = true;
                if self.rules.planted.is(Bug::CacheOverwritten) {
                    self.overwrite_cache(die_number);
                }
            }
            CommandState::DataIn => {
                die.register = None;
                self.execute_loaded(now, handle, events);
                self.suspend_begun(now, die_number, events);
            }
            CommandState::Patch => {
                die.register = None;
                // The media changed in the first phase.
                let row = self.media.geometry().page_and_plane(command.target.offset).0;
                let superblock = (command.target.superblock, None);
                let program = (Op::Program, self.rules.timing.program_time(row));
                let time = (self.rules.timing.cycles.busy, self.rules.vary(&self.media, program, superblock));
                self.table.commands[handle].patched = true;
                self.start_array(now, handle, time, Primitive::Program, (None, events));
            }
            CommandState::DataOut => {
                die.register = None;
                if let Some(held) = die.array.filter(|_| die.held) {
                    self.send(now, die_number, held, events);
                }
                match self.decoders {
                    Some(_) => self.decode(now, number, handle, events),
                    None => self.finish(now, handle, events),
                }
                self.next_command(now, die_number, events);
            }
            CommandState::Queued | CommandState::Array | CommandState::Suspended | CommandState::Done => {
                unreachable!("nothing crosses a channel in this state")
            }
        }
    }

    /// Called when pages of a program have crossed a channel: goes on with the next page, or with a host read. Returns
    /// false if those were the last pages.
    #[inline(never)]
    fn goes_on<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let Self { channels, table, .. } = self;
        if channels[number as usize].end_pages(now, &mut table.commands[handle]) {
            return false;
        }
        let class = self.class_on_channel(handle);
        let Self { channels, table, .. } = self;
        let read = channels[number as usize].let_read_pass(&mut table.commands, class, handle);
        if read.is_some() && self.rules.planted.is(Bug::PageSkipped) {
            self.skip_page(handle);
        }
        self.transfer(now, number, read.unwrap_or(handle), events);
        true
    }

    /// A planted bug: the next page of a program never crosses.
    fn skip_page(&mut self, handle: Handle<Command>) {
        let command = &mut self.table.commands[handle];
        let (from, until) = (command.crossed, command.next_page(self.rules.page_slots));
        if until == command.count {
            return;
        }
        command.crossed = until;
        let first = self.table.first_slot(handle);
        if self.payload.is_present() {
            (from..until).for_each(|i| self.payload.empty(first + i as usize));
        }
    }

    /// Called when all data of a read has crossed a channel: gives its last codeword to the decoder.
    #[cold]
    #[inline(never)]
    fn decode<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        channel: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        if self.rules.arbitration.hold {
            self.channels[channel as usize].free();
        }
        self.table.commands[handle].ready = now;
        let Some(decoders) = &mut self.decoders else { return };
        let taken = decoders.take(now, (channel, handle), &mut self.table, events);
        if let (Some(phase), Some(observer)) = (taken, &mut self.observer) {
            observer.phase(phase);
        }
    }

    /// True for an operation whose data passes a decoder: a read, if there is error correction.
    pub(super) fn is_decoded(&self, op: Op) -> bool {
        self.decoders.is_some() && op == Op::Read
    }
}
