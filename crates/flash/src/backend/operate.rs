//! A command's way through its die: the die takes the command, the array works, the register sends or takes data.
//!
//! ARCHITECTURE.md has the states of a command as a picture.

use base::engine::{Due, EventHash, EventQueue, Handle};
use base::units::{Span, Time};

use super::{Backend, Command, CommandState, Event, Op, Phase, Primitive, Stop};

/// The processor's number in the event hash; dies and channels are numbered from zero on.
const PROCESSOR: u64 = u64::MAX - 1;

/// The number in the event hash for the begin of a window of the power cap.
const POWER_WINDOW: u64 = u64::MAX - 2;

impl Backend {
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
                self.transfer_done(now, channel, events);
            }
            Event::Copies { set, generation } => {
                self.run_copies(now, (set, generation), now, events, hash);
            }
            Event::PowerWindow => {
                hash.add(now, POWER_WINDOW);
                self.begin_capped(now, events);
            }
            Event::Codeword { .. } | Event::Decoder { .. } | Event::Decoded { .. } => {
                self.handle_decoding(now, event, events, hash);
            }
            Event::Processor { generation } => {
                if !self.processor.awaits(generation) {
                    return;
                }
                hash.add(now, PROCESSOR);
                if let Some(issued) = self.processor.end_job(now, &mut self.table.commands, events) {
                    self.next_command(now, issued, events);
                }
            }
        }
    }

    /// Lets a free die begin the first command that waits for it. If the forwarder, software controllers or cache mode
    /// may act, also serves a die that is occupied.
    pub(super) fn next_command<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        if self.rules.plane_reads.is_some() {
            return self.next_of_die(now, number, events);
        }
        self.next_of_unit(now, number, events);
    }

    /// Lets one unit of a die begin the first command that waits for it, if the unit is free.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller that every command passes, and a rare one.
    pub(super) fn next_of_unit<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let die = &self.dies[number as usize];
        if !die.is_free() {
            if self.rules.forwards {
                self.forward_to(now, number, events);
            }
            if self.rules.timing.cache_across {
                self.load_cache(now, number, events);
            }
            if self.rules.suspend.is_some() {
                self.suspend(now, number, events);
            }
            return;
        }
        if die.is_suspended() && self.resume(now, number, events) {
            return;
        }
        let Some(head) = self.dies[number as usize].queue.peek() else { return };
        if self.rules.issues && !self.processor.issues(now, head, &mut self.table.commands, events) {
            return;
        }
        self.dies[number as usize].queue.pop(&self.table.commands);
        self.begin(now, head, events);
    }

    /// Begins a command on a free die.
    pub(super) fn begin<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.table.commands[handle];
        let die = &mut self.dies[command.unit as usize];
        if now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = die.last {
                self.table.lists[command.list].waited_for.insert(cause);
            }
        }
        if command.behind > 0 && !self.media.cannot_fail() {
            self.split_run(handle);
        }
        let &Command { op, cause, unit, list, .. } = &self.table.commands[handle];
        self.dies[unit as usize].last = Some(cause);
        self.table.lists[list].start(now);
        self.prefetch_next(handle);
        let die = &mut self.dies[unit as usize];
        if op == Op::Program {
            die.register = Some(handle);
            self.request_channel(now, handle, CommandState::DataIn, events);
        } else if self.rules.timing.command.is_zero() && !self.rules.arbitration.hold {
            self.execute(now, handle, events);
        } else {
            die.array = Some(handle);
            self.request_channel(now, handle, CommandState::CommandCycles, events);
        }
    }

    /// Begins the array's work on a command, and applies the command to the media.
    #[inline]
    pub(super) fn execute<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        if self.fast.plain_reads && self.table.commands[handle].op == Op::Read {
            return self.begin_read(now, handle, events);
        }
        self.execute_after(now, handle, Span::ZERO, events);
    }

    /// Begins the array's work on a program whose page is in the register. In cache mode the register then takes the
    /// next page.
    #[inline]
    pub(super) fn execute_loaded<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        match self.rules.timing.cache_program {
            None => self.execute(now, handle, events),
            Some(copy) => self.execute_cached(now, handle, copy, events),
        }
    }

    #[inline(never)]
    fn execute_cached<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) {
        // The copy takes time only if another page follows, or may follow from another list.
        let die = &self.dies[self.table.commands[handle].unit as usize];
        let across = self.rules.timing.cache_across;
        let follower = across || die.queue.peek().is_some_and(|head| self.follows(handle, head));
        self.execute_after(now, handle, if follower { copy } else { Span::ZERO }, events);
        self.pipeline(now, handle, events);
    }

    /// Begins the array's work on a command after the copy time of a page from the cache register, if the power cap
    /// allows it.
    #[inline(never)]
    fn execute_after<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) {
        if self.cap.is_none() || self.begins_under_cap(now, handle, copy, events) {
            self.begin_array(now, handle, copy, events);
        }
    }

    /// Begins the array's work after the copy time; the power cap has admitted it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller that every program passes, and a rare one.
    pub(super) fn begin_array<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) {
        let (time, primitive) = self.array_work(handle);
        if self.rules.timing.cache_across {
            self.table.commands[handle].copied = self.streams(handle);
        }
        let (time, primitive) = match self.rules.errors {
            None => {
                self.take_effect(handle);
                (time, primitive)
            }
            Some(_) => self.take_effect_with_errors(now, handle, (time, primitive)),
        };
        if self.table.commands[handle].refused {
            return self.pass_over(now, handle, events);
        }
        let delay = copy + self.rules.timing.cycles.busy;
        if self.table.commands[handle].op == Op::CopyBack {
            return self.start_copy_back(now, handle, (delay, time), primitive, events);
        }
        self.start_array(now, handle, (delay, time), primitive, (None, events));
    }

    /// Skips a refused program: its die is done with it at once.
    #[cold]
    fn pass_over<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        let command = &mut self.table.commands[handle];
        command.state = CommandState::Array;
        let number = command.unit;
        let die = &mut self.dies[number as usize];
        die.array = Some(handle);
        let generation = die.meter.begin(now, now);
        events.push(now, Event::Array { die: number, generation }.into());
    }

    /// Begins a phase of an array: `time` of work, after a delay that occupies the die (a copy between its registers,
    /// tWB). The event of its end gets a new position in the order of events, or `place`.
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
        let command = &mut self.table.commands[handle];
        command.state = CommandState::Array;
        let number = command.unit;
        let from = now + delay;
        let until = from + time;
        if let Some(observer) = &mut self.observer {
            let resource = self.rules.array_of(number);
            observer.phase(Phase::of((handle, command), (resource, primitive), [from, from, until]));
        }
        let die = &mut self.dies[number as usize];
        if let Some(suspension) = &mut die.suspension {
            suspension.begin(handle, command, from, until);
        }
        die.array = Some(handle);
        let generation = die.meter.begin(now, until);
        if self.rules.arbitration.hold {
            self.keep_channel(handle, until);
        }
        let event = Event::Array { die: number, generation }.into();
        match place {
            None => events.push(until, event),
            Some(place) => events.push_at(place.moved_to(until), event),
        }
        self.prefetch_next_data(handle);
        if self.rules.polls.is_some() {
            self.watch(from, number, events);
        }
    }

    /// The array time and the primitive of a command; for a copy-back with data in, of its first phase.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for reads on their short way, and one for all else.
    pub(super) fn array_work(&self, handle: Handle<Command>) -> (Span, Primitive) {
        let command = &self.table.commands[handle];
        let (geometry, timing) = (self.media.geometry(), &self.rules.timing);
        let row_of = |offset| geometry.page_and_plane(offset).0;
        let source = || geometry.locate(self.table.slots[self.table.first_slot(handle)].psn);
        let target = command.target.superblock;
        // Commands of several slots may work on several planes.
        let plane_of = |offset| (command.count == 1).then(|| geometry.page_and_plane(offset).1);
        let vary = |op, time, superblock, plane| self.rules.vary(&self.media, (op, time), (superblock, plane));
        match command.op {
            Op::Erase => (vary(Op::Erase, timing.erase, target, None), Primitive::Erase),
            Op::Program => {
                let time = self.rules.program_time(command, row_of(command.target.offset));
                (vary(Op::Program, time, target, plane_of(command.target.offset)), Primitive::Program)
            }
            Op::CopyBack => {
                // The planes of a row read at the same time, the rows of a one-shot program one after another.
                let rows = self.table.slots_of(handle).iter().step_by(geometry.row_slots() as usize);
                let read = rows.map(|slot| {
                    let (from, offset) = geometry.locate(slot.psn);
                    let time = self.rules.read_time(&self.media, from, row_of(offset));
                    vary(Op::Read, time, from, plane_of(offset))
                });
                let read = read.sum();
                if command.sectors > 0 {
                    return (read, Primitive::Read);
                }
                let program = timing.program_time(row_of(command.target.offset));
                let plane = plane_of(command.target.offset);
                (read + vary(Op::Program, program, target, plane), Primitive::CopyBack)
            }
            Op::Read => {
                let page = if timing.read.len() == 1 { 0 } else { row_of(source().1) };
                let time = self.rules.read_time(&self.media, target, page);
                let time = match self.rules.variation {
                    None => time,
                    Some(_) => vary(Op::Read, time, target, plane_of(source().1)),
                };
                let time = match timing.cache_read {
                    // In cache mode the page moves to the cache register before its transfer.
                    Some(copy) if self.streams(handle) => time + copy,
                    _ => time,
                };
                (time, Primitive::Read)
            }
        }
    }

    /// Ends a phase of an array, and charges its time to its command.
    #[inline]
    pub(super) fn charge_array(&mut self, now: Time, number: u32) -> Handle<Command> {
        let die = &mut self.dies[number as usize];
        let handle = die.array.expect("an array that works has a command");
        let command = &self.table.commands[handle];
        let (op, cause, worked) = (command.op, command.cause, die.meter.end(now));
        self.account.at(op, cause).array += worked;
        if self.rules.supply.is_some() {
            let further = self.further_plane_time(handle, worked);
            self.account.at(op, cause).further_planes += further;
        }
        handle
    }

    fn array_done<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let handle = self.charge_array(now, number);
        if self.cap.is_some() {
            self.end_under_cap(now, number, events);
        }
        if self.rules.suspend.is_some() && self.stands_still(now, number, handle, events) {
            return;
        }
        if self.rules.arbitration.hold {
            return self.held_array_done(now, number, handle, events);
        }
        self.go_on_behind_array(now, number, handle, events);
    }

    /// Handles the end of an array's work for a command that has kept its channel.
    #[cold]
    #[inline(never)]
    fn held_array_done<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let channel = self.channel_of(handle);
        self.charge_channel(now, channel);
        self.go_on_behind_array(now, number, handle, events);
        self.next_transfer(now, channel, events);
    }

    /// Continues a command after its array's work, or after the status that reports the end of it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller that every command passes, and a rare one.
    fn go_on_behind_array<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        if self.rules.reads_status && self.awaits_status(now, number, handle, events) {
            return;
        }
        self.array_over(now, number, handle, events);
    }

    /// Continues a command after its array's work, of which the controller knows. Reads pass here on their way, and
    /// status reads are rare: a call would cost reads 34 instructions.
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
        match self.table.commands[handle].op {
            Op::Read if die.register.is_some() => die.held = true,
            Op::Read => self.send(now, number, handle, events),
            Op::Program => {
                die.array = None;
                if let Some(loaded) = die.take_loaded() {
                    self.execute_loaded(now, loaded, events);
                }
                self.finish(now, handle, events);
                self.next_command(now, number, events);
            }
            Op::CopyBack if self.table.commands[handle].wants_data() => {
                (die.array, die.register) = (None, Some(handle));
                self.request_channel(now, handle, CommandState::Patch, events);
            }
            Op::CopyBack => self.copied_back(now, number, handle, events),
            Op::Erase => {
                die.array = None;
                self.finish(now, handle, events);
                self.next_command(now, number, events);
            }
        }
    }

    /// Moves a page from the array to the register, and requests the channel. In cache mode the array begins the next
    /// page.
    #[inline]
    pub(super) fn send<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        if self.rules.timing.cache_across && self.copies_late(now, handle, events) {
            return;
        }
        let die = &mut self.dies[number as usize];
        die.held = false;
        (die.array, die.register) = (None, Some(handle));
        // The command of the next page goes before the data of this page. After the data, the array would be idle
        // during the transfer.
        if self.rules.timing.cache_read.is_some() {
            self.pipeline(now, handle, events);
        }
        self.request_channel(now, handle, CommandState::DataOut, events);
    }

    /// Ends a command: it is counted, and leaves its die and its list.
    pub(super) fn finish<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        self.count(handle);
        self.notify(now, handle, Stop::Finished);
        let command = &mut self.table.commands[handle];
        command.state = CommandState::Done;
        let (op, cause) = (command.op, command.cause);
        self.dies[command.die.index()].unfinished -= 1;
        self.unfinished -= 1;
        // A read whose data is decoded has already left its channel.
        if self.rules.arbitration.hold && !self.is_decoded(op) {
            let channel = self.channel_of(handle);
            self.channels[channel as usize].free();
        }
        if let Some(controller) = self.end_in_list(now, handle, events) {
            self.vacate(now, controller, cause, events);
        }
    }

    /// Ends a command in its list, and releases the commands that wait for it. Returns the controller of the list if
    /// that was the list's last command.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for reads on their short way, and one for all else.
    pub(super) fn end_in_list<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> Option<u32> {
        if let [Some(next), after] = self.table.commands[handle].then {
            self.pass_on(handle);
            self.let_go(now, next, events);
            if let Some(next) = after {
                self.let_go(now, next, events);
            }
        }
        self.table.end_in_list(handle)
    }

    /// Ends a dependency of a command. A command without further dependencies goes to its die.
    #[inline]
    fn let_go<E: From<Event> + Copy>(&mut self, now: Time, handle: Handle<Command>, events: &mut EventQueue<E>) {
        let command = &mut self.table.commands[handle];
        command.waits -= 1;
        if command.waits == 0 && self.table.lists[command.list].dispatched {
            self.send_to_die(now, handle, events);
        }
    }
}
