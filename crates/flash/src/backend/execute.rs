//! The path of a command: die, channel, array, and out again.

use crate::nand::Sector;
use base::engine::{Due, EventHash, EventQueue, Handle};
use base::units::{Span, Time};

use super::dispatch::FOREGROUND;
use super::planted::Bug;
use super::{Backend, Command, Controllers, Event, Observer, Op, Phase, Primitive, Resource, Stage, Stop, Transfer};

/// The processor's number in the event hash, where dies and channels count from zero on.
const PROCESSOR: u64 = u64::MAX - 1;

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Lets an idle die begin the first command that waits for it.
    pub(super) fn next_command<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) {
        self.begin_waiting(now, die, events);
    }

    /// The same, without a call.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for programs, behind which mostly none waits, and one for all else.
    fn begin_waiting<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) {
        let state = &self.dies[die as usize];
        // A forwarder has no business with an idle die.
        let is_idle = state.array.is_none() && state.register.is_none();
        if self.intervenes && (self.issues || !is_idle) && !self.may_begin(now, die, events) {
            return;
        }
        let state = &self.dies[die as usize];
        if state.array.is_some() || state.register.is_some() {
            if self.timing.cache_across {
                self.load_cache(now, die, events);
            }
            return;
        }
        if !state.queue.is_empty() {
            self.begin_next(now, die, events);
        }
    }

    #[inline(never)]
    fn begin_next<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) {
        let Some(handle) = self.dies[die as usize].queue.pop(&self.commands) else { return };
        self.begin(now, handle, events);
    }

    /// The slow path with a forwarder or software controllers. If the die is occupied, speeds up a host read that
    /// waits for it. If the die is idle, has the processor issue the next command. False if the die begins nothing
    /// now.
    #[cold]
    #[inline(never)]
    fn may_begin<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) -> bool {
        let state = &self.dies[die as usize];
        if state.array.is_none() && state.register.is_none() {
            return self.prepare(now, die, events);
        }
        if self.forwards {
            self.forward_to(now, die, events);
        }
        if self.timing.cache_across {
            self.load_cache(now, die, events);
        }
        false
    }

    pub(super) fn begin<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.commands[handle];
        let die = &mut self.dies[command.die.index()];
        if now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = die.last {
                self.lists[command.list].waited_for.insert(cause);
            }
        }
        if self.plain && command.op == Op::Read {
            return self.begin_read(now, handle, events);
        }
        if command.behind > 0 && !self.media.cannot_fail() {
            self.split_run(handle);
        }
        let command = &mut self.commands[handle];
        let die = &mut self.dies[command.die.index()];
        die.last = Some(command.cause);
        self.lists[command.list].start(now);
        let op = command.op;
        self.fetch_next(handle);
        let die = &mut self.dies[self.commands[handle].die.index()];
        if op == Op::Program {
            die.register = Some(handle);
            self.request_bus(now, handle, Stage::DataIn, events);
        } else if self.timing.command.is_zero() && !self.arbitration.hold {
            self.execute_array(now, handle, events);
        } else {
            die.array = Some(handle);
            self.request_bus(now, handle, Stage::Command, events);
        }
    }

    /// Starts the array and applies the command to the media.
    #[inline]
    fn execute_array<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        self.execute_array_after(now, handle, Span::ZERO, events);
    }

    /// The same, after the copy time of a page from the cache register.
    #[inline(never)]
    fn execute_array_after<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) {
        let (time, primitive) = self.array_work(handle);
        if self.timing.cache_across {
            self.commands[handle].copied = self.streams(handle);
        }
        self.take_effect(handle);
        if self.commands[handle].refused {
            return self.pass_over(now, handle, events);
        }
        let delay = copy + self.timing.cycles.busy;
        if self.commands[handle].op == Op::CopyBack {
            return self.start_copy_back(now, handle, (delay, time), primitive, events);
        }
        self.start_array(now, handle, (delay, time), primitive, (None, events));
    }

    /// Skips a refused program: its die is done with it at once.
    #[cold]
    fn pass_over<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        let number = self.commands[handle].die.get();
        let die = &mut self.dies[number as usize];
        die.array = Some(handle);
        let generation = die.meter.begin(now, now);
        events.push(now, Event::Array { die: number, generation }.into());
    }

    /// Begins a phase of an array: `time` of work, after a delay that occupies the die (a copy between its registers,
    /// tWB). The event of its end gets a new place in the order of events, or a given one.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller that every command passes, and rare ones.
    pub(super) fn start_array<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        (delay, time): (Span, Span),
        primitive: Primitive,
        (place, events): (Option<Due>, &mut EventQueue<E>),
    ) {
        let command = &self.commands[handle];
        let number = command.die.get();
        let from = now + delay;
        let until = from + time;
        self.observer.phase(Phase {
            resource: Resource::Array(number),
            die: number,
            primitive,
            op: command.op,
            cause: command.cause,
            command: handle.number().get(),
            ready: from,
            from,
            until,
        });
        let die = &mut self.dies[number as usize];
        die.array = Some(handle);
        let generation = die.meter.begin(now, until);
        if self.arbitration.hold {
            self.keep_channel(handle, until);
        }
        match place {
            None => events.push(until, Event::Array { die: number, generation }.into()),
            Some(place) => events.push_at(place.moved_to(until), Event::Array { die: number, generation }.into()),
        }
        self.fetch_next_data(handle);
        if self.polls.is_some() {
            self.watch(from, number, events);
        }
    }

    /// The array time and the primitive of a command; of a copy-back with data in, those of the first phase.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for reads on their short way and one for all else.
    pub(super) fn array_work(&self, handle: Handle<Command>) -> (Span, Primitive) {
        let command = &self.commands[handle];
        let geometry = self.media.geometry();
        let row_of = |offset| geometry.page_and_plane(offset).0;
        match command.op {
            Op::Erase => (self.timing.erase, Primitive::Erase),
            Op::Program => (self.program_time(command, row_of(command.target.offset)), Primitive::Program),
            Op::CopyBack => {
                let source = geometry.locate(self.slot(handle, 0).1.psn).1;
                let read = self.timing.read_time(row_of(source));
                if command.sectors > 0 {
                    return (read, Primitive::Read);
                }
                (read + self.timing.program_time(row_of(command.target.offset)), Primitive::CopyBack)
            }
            Op::Read => {
                let page =
                    if self.timing.read.len() == 1 { 0 } else { row_of(geometry.locate(self.slot(handle, 0).1.psn).1) };
                let time = self.read_time(command.target.superblock, page);
                let time = match self.timing.cache_read {
                    // In cache mode the page moves to the cache register before its transfer.
                    Some(copy) if self.streams(handle) => time + copy,
                    _ => time,
                };
                (time, Primitive::Read)
            }
        }
    }

    /// Handles an event that the backend scheduled. Drops the event of an aborted phase.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A device calls it from one place.
    pub fn handle<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        event: Event,
        events: &mut EventQueue<E>,
        hash: &mut EventHash,
    ) {
        match event {
            Event::Array { die, generation } => {
                if !self.dies[die as usize].meter.awaits(generation) {
                    return;
                }
                hash.add(now, u64::from(die) << 2);
                self.array_done(now, die, events);
            }
            Event::Poll { die, watch } => {
                if self.dies[die as usize].watch != watch {
                    return;
                }
                hash.add(now, u64::from(die) << 2 | 3);
                self.poll(now, die, events);
            }
            Event::Bus { channel, generation } => {
                if !self.channels[channel as usize].meter.awaits(generation) {
                    return;
                }
                hash.add(now, u64::from(channel) << 2 | 1);
                self.bus_done(now, channel, events);
            }
            Event::Copies { set, generation } => {
                self.run_copies(now, (set, generation), now, events, hash);
            }
            Event::Codeword { .. } | Event::Decoder { .. } | Event::Decoded { .. } => {
                self.handle_decoding(now, event, events, hash);
            }
            Event::Processor { generation } => {
                if !self.processor.awaits(generation) {
                    return;
                }
                hash.add(now, PROCESSOR);
                self.processed(now, events);
            }
        }
    }

    /// Ends a phase of an array, and charges it to its command.
    #[inline]
    pub(super) fn charge_array(&mut self, now: Time, number: u32) -> Handle<Command> {
        let die = &mut self.dies[number as usize];
        let handle = die.array.expect("an array that works has a command");
        let command = &self.commands[handle];
        self.account.at(command.op, command.cause).array += die.meter.end(now);
        handle
    }

    fn array_done<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let handle = self.charge_array(now, number);
        if self.arbitration.hold {
            self.charge_channel(now, self.channel_of(handle));
        }
        if self.reads_status && self.awaits_status(now, number, handle, events) {
            return;
        }
        self.array_over(now, number, handle, events);
    }

    /// Goes on behind the work of an array whose controller knows that it is done. Reads pass here on their way, and
    /// status reads are rare: a call would cost the former 34 instructions.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Two callers, see above.
    pub(super) fn array_over<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let die = &mut self.dies[number as usize];
        match self.commands[handle].op {
            Op::Read if die.register.is_some() => die.held = true,
            Op::Read => self.send(now, number, handle, events),
            Op::Program => {
                die.array = None;
                if let Some(loaded) = die.register.take_if(|_| die.loaded) {
                    die.loaded = false;
                    self.execute_array_loaded(now, loaded, events);
                }
                self.end(now, handle, events);
                self.begin_waiting(now, number, events);
            }
            Op::CopyBack if self.commands[handle].wants_data() => {
                (die.array, die.register) = (None, Some(handle));
                self.request_bus(now, handle, Stage::Patch, events);
            }
            Op::CopyBack => self.copied_back(now, number, handle, events),
            Op::Erase => {
                die.array = None;
                self.finish(now, handle, events);
                self.next_command(now, number, events);
            }
        }
    }

    /// Moves a page from the array to the register, and requests the channel. In cache mode the array goes on.
    #[inline]
    fn send<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        if self.timing.cache_across && self.copies_late(now, handle, events) {
            return;
        }
        let die = &mut self.dies[number as usize];
        die.held = false;
        die.array = None;
        die.register = Some(handle);
        // The command of the next page goes before the data of this one. Behind it, the array would be idle during
        // the transfer.
        if self.timing.cache_read.is_some() {
            self.pipeline(now, handle, events);
        }
        self.request_bus(now, handle, Stage::DataOut, events);
    }

    /// Moves a page from the register into the array. In cache mode the register takes the next page.
    #[inline]
    pub(super) fn execute_array_loaded<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        match self.timing.cache_program {
            None => self.execute_array(now, handle, events),
            Some(copy) => self.execute_array_cached(now, handle, copy, events),
        }
    }

    #[inline(never)]
    fn execute_array_cached<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) {
        // The copy takes time only if another page follows, or may follow from another list.
        let die = &self.dies[self.commands[handle].die.index()];
        let follower = self.timing.cache_across || die.queue.peek().is_some_and(|head| self.follows(handle, head));
        self.execute_array_after(now, handle, if follower { copy } else { Span::ZERO }, events);
        self.pipeline(now, handle, events);
    }

    fn bus_done<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        if self.plain {
            let current = self.channels[number as usize].current;
            if let Some(sent) = current.filter(|current| self.commands[*current].stage == Stage::DataOut) {
                return self.read_sent(now, number, sent, events);
            }
            self.settle(now, number, events);
        }
        let handle = self.charge_channel(now, number);
        if self.by_pages && self.commands[handle].stage == Stage::DataIn && self.goes_on(now, number, handle, events) {
            return;
        }
        if !self.arbitration.hold {
            self.free_channel(now, number, events);
        }
        let command = &self.commands[handle];
        let die_number = command.die.get();
        let die = &mut self.dies[die_number as usize];
        match command.stage {
            Stage::Command => self.execute_array(now, handle, events),
            Stage::Status => self.status_read(now, handle, events),
            Stage::DataIn if die.array.is_some() => {
                if self.reads_status && self.begins_unnoticed(now, die_number, handle, events) {
                    return;
                }
                let die = &mut self.dies[die_number as usize];
                die.loaded = true;
                if self.planted.is(Bug::CacheOverwritten) {
                    self.overwrite_cache(die_number);
                }
            }
            Stage::DataIn => {
                die.register = None;
                self.execute_array_loaded(now, handle, events);
            }
            Stage::Patch => {
                die.register = None;
                // The first phase changed the media.
                let row = self.media.geometry().page_and_plane(command.target.offset).0;
                self.commands[handle].patched = true;
                let time = (self.timing.cycles.busy, self.timing.program_time(row));
                self.start_array(now, handle, time, Primitive::Program, (None, events));
            }
            Stage::DataOut => {
                die.register = None;
                if let Some(held) = die.array.filter(|_| die.held) {
                    self.send(now, die_number, held, events);
                }
                match self.correction {
                    Some(_) => self.decode(now, number, handle, events),
                    None => self.finish(now, handle, events),
                }
                self.next_command(now, die_number, events);
            }
        }
    }

    /// Ends a command: it is counted, and leaves its die and its list.
    pub(super) fn finish<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        self.end(now, handle, events);
    }

    /// The same, without a call.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for programs and one for all else.
    fn end<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        self.count(handle);
        self.notify(now, handle, Stop::Finished);
        let command = &mut self.commands[handle];
        command.done = true;
        let cause = command.cause;
        let die = &mut self.dies[command.die.index()];
        die.unfinished -= 1;
        // A read whose data is decoded has left its channel before.
        if self.arbitration.hold && (self.correction.is_none() || command.op != Op::Read) {
            let channel = die.channel;
            self.free_channel(now, channel, events);
        }
        if let Some(controller) = self.end_in_list(now, handle, events) {
            self.vacate(now, controller, cause, events);
        }
    }

    /// Ends a command in its list, and lets the commands go that wait for it. Returns the controller of the list if this
    /// was its last command.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for reads on their short way and one for all else.
    pub(super) fn end_in_list<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> Option<u32> {
        let &Command { list, wait, then, .. } = &self.commands[handle];
        if let [Some(next), after] = then {
            self.pass_on(handle);
            self.let_go(now, next, events);
            if let Some(next) = after {
                self.let_go(now, next, events);
            }
        }
        let entry = &mut self.lists[list];
        entry.remaining -= 1;
        entry.wait = entry.wait.max(wait);
        if entry.remaining > 0 {
            return None;
        }
        self.finished.push_back(list);
        entry.controller()
    }

    /// Ends a dependency of a command. Without others, the command goes to its die.
    #[inline]
    fn let_go<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        let command = &mut self.commands[handle];
        command.waits -= 1;
        if command.waits == 0 && self.lists[command.list].dispatched {
            self.send_to_die(now, handle, events);
        }
    }

    /// Ends the list of a controller, which takes the next.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for commands and one for copies.
    pub(super) fn vacate<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        controller: u32,
        cause: super::Cause,
        events: &mut EventQueue<E>,
    ) {
        let leaver = &mut self.controllers[controller as usize];
        let left = leaver.list.take();
        leaver.last = Some(cause);
        leaver.busy += now - leaver.since;
        self.observer.controller(now, controller, None);
        if self.transfer == Transfer::Controller && matches!(self.controllers_kind, Controllers::Shared(_)) {
            self.hold(left.expect("a unit that leaves has a list"), false);
            return self.assign(now, events);
        }
        let shared = match self.controllers_kind {
            Controllers::Shared(_) => true,
            Controllers::Background(_) => controller != FOREGROUND,
            Controllers::None | Controllers::PerDie | Controllers::PerChannel => false,
        };
        let queue = if shared { &mut self.shared } else { &mut leaver.queue };
        if let Some(next) = queue.pop(&self.lists) {
            self.occupy(now, controller, next, events);
        }
    }
}
