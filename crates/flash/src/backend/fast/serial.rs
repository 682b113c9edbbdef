//! Serial lists: one command after another, and one event for the whole list.
//!
//! If no two operations work in parallel (Chang, Sec. 5.1: no parallelism between chips), the time of every command
//! follows from the commands before it. So a list needs only one event, its end, and takes effect then. If the power
//! fails earlier, the commands that are over are done, and the command under way is torn. The list's time is fixed when
//! it begins, so a program that the backend refuses (see `refuse`) takes its time as well.

use base::engine::{EventHash, Handle};
use base::units::{Span, SuperblockId, Time};

use crate::backend::{
    Backend, Cause, Command, CommandState, List, Moment, Observer, Op, Phase, Primitive, Resource, Stop, Timing,
};

/// The serial list under way.
#[derive(Clone, Copy, Debug)]
struct Serial {
    list: Handle<List>,
    since: Time,
}

/// The state of serial lists, of which one at a time is under way.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct SerialLists {
    current: Option<Serial>,
    times: Vec<Times>,
}

impl SerialLists {
    pub(in crate::backend) const fn is_under_way(&self) -> bool {
        self.current.is_some()
    }
}

/// The times of a command, in the order in which they pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Channel time before the array works.
    before: Span,
    pub(super) array: Span,
    /// Channel time after the array has worked.
    after: Span,
    /// Time of the error correction after the transfer, and the part of a decoder's work that comes after the begin of
    /// the transfer.
    decode: Span,
    decoder: Span,
}

impl Times {
    /// The times of a command without error correction.
    pub(super) const fn plain(before: Span, array: Span, after: Span) -> Self {
        Self { before, array, after, decode: Span::ZERO, decoder: Span::ZERO }
    }

    pub(super) fn all(&self) -> Span {
        self.before + self.array + self.after + self.decode
    }

    /// Time on the channel, before and after the array's work.
    pub(super) fn bus(&self) -> Span {
        self.before + self.after
    }
}

impl Timing {
    /// The times of a read of one page of one slot, without error correction; `array` is the array time.
    #[inline]
    pub(super) fn page_read(&self, array: Span) -> Times {
        let after = self.transfer[1] + self.around_data_out(1);
        Times::plain(self.commands(Op::Read, 1), self.cycles.busy + array, after)
    }

    /// The times of a program of one page of one slot; `array` is the array time.
    #[inline]
    pub(super) fn page_program(&self, array: Span) -> Times {
        let before = self.before_data_in(1) + self.transfer[1];
        Times::plain(before, self.cycles.busy + array, self.cycles.status)
    }
}

/// Receives the phases of a serial list's commands, as if each phase were an event.
trait Listener {
    fn stop(&mut self, backend: &mut Backend, at: Time, command: Handle<Command>, stop: Stop);
    fn phase(&mut self, backend: &mut Backend, phase: Phase);
    fn serial(&mut self, backend: &mut Backend, from: Time, until: Time, cause: Cause);
    fn copies(&mut self, backend: &mut Backend, from: Time, until: Time, cause: Cause);
}

/// The listener for the observer of the backend itself.
struct OwnListener;

impl Listener for OwnListener {
    #[inline]
    fn stop(&mut self, backend: &mut Backend, at: Time, command: Handle<Command>, stop: Stop) {
        backend.notify(at, command, stop);
    }

    #[inline]
    fn phase(&mut self, backend: &mut Backend, phase: Phase) {
        if let Some(observer) = &mut backend.observer {
            observer.phase(phase);
        }
    }

    #[inline]
    fn serial(&mut self, backend: &mut Backend, from: Time, until: Time, cause: Cause) {
        if let Some(observer) = &mut backend.observer {
            observer.serial(from, until, cause);
        }
    }

    #[inline]
    fn copies(&mut self, backend: &mut Backend, from: Time, until: Time, cause: Cause) {
        if let Some(observer) = &mut backend.observer {
            observer.serial_copies(from, until, cause);
        }
    }
}

/// The listener for the observer of another backend. The dies and channels of this backend are numbered from `first`
/// on.
struct ForeignListener<'a> {
    observer: &'a mut dyn Observer,
    first: (u32, u32),
}

impl Listener for ForeignListener<'_> {
    #[inline]
    fn stop(&mut self, backend: &mut Backend, at: Time, handle: Handle<Command>, stop: Stop) {
        let command = &backend.table.commands[handle];
        let slots = backend.table.slots_of(handle);
        self.observer.command(Moment::new(at, stop, handle, command, slots));
    }

    #[inline]
    fn phase(&mut self, _: &mut Backend, phase: Phase) {
        let resource = match phase.resource {
            Resource::Array(die) => Resource::Array(die + self.first.0),
            Resource::Channel(channel) => Resource::Channel(channel + self.first.1),
            other @ (Resource::Decoder(_) | Resource::Plane(_)) => other,
        };
        self.observer.phase(Phase { resource, die: phase.die + self.first.0, ..phase });
    }

    #[inline]
    fn serial(&mut self, _: &mut Backend, from: Time, until: Time, cause: Cause) {
        self.observer.serial(from, until, cause);
    }

    #[inline]
    fn copies(&mut self, _: &mut Backend, from: Time, until: Time, cause: Cause) {
        self.observer.serial_copies(from, until, cause);
    }
}

impl Backend {
    /// Adds a scan of the spare areas of `pages` pages of a superblock. Each spare area takes as long as the whole page
    /// (Chang, Sec. 4.1, footnote 2); the FTL asks the media for the content.
    ///
    /// # Panics
    ///
    /// If `pages` is zero.
    pub fn add_scan(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId, pages: u32) {
        assert!(pages > 0, "a scan of nothing");
        let command = self.add_read(list, cause, superblock);
        self.table.commands[command].scanned = pages;
    }

    /// Forwards data from a read to a program, as [`Backend::forward`] does, in serial lists. The order of the commands
    /// is the only dependency in such a list, and any number of programs may take data from one read.
    pub fn forward_serial(&mut self, from: crate::backend::SlotRef, to: crate::backend::SlotRef) {
        self.table.slots[from.0 as usize].forward = Some(to);
    }

    /// Begins a serial list and returns the time of its end, when [`Backend::end_serial`] is due. With time off the
    /// list has ended already: returns `None`.
    ///
    /// # Panics If the list is empty, or another serial list is under way.
    pub fn begin_serial(&mut self, now: Time, list: Handle<List>) -> Option<Time> {
        assert!(self.fast.serial.current.is_none(), "two lists at once where one comes after the other");
        if let Some(copies) = self.table.lists[list].copies() {
            if !self.takes_serial_copies() {
                self.write_out::<crate::backend::Event>(copies.set, None);
            } else if self.rules.timed {
                self.fast.serial.current = Some(Serial { list, since: now });
                self.fast.serial.times.clear();
                return Some(now + self.time_of_copies(copies.set));
            } else {
                self.serial_copies_at_once(copies);
                self.table.finished.push_back(list);
                return None;
            }
        }
        let mut next = self.table.lists[list].first;
        assert!(next.is_some(), "a list of at least one command");
        if !self.rules.timed {
            while let Some(command) = next {
                next = self.table.commands[command].sibling;
                self.carry_out(command);
            }
            self.table.finished.push_back(list);
            return None;
        }
        self.fast.serial.current = Some(Serial { list, since: now });
        Some(now + self.time_commands(list))
    }

    /// Computes the times of a list's commands. Returns their sum.
    fn time_commands(&mut self, list: Handle<List>) -> Span {
        let mut sum = Span::ZERO;
        let mut next = self.table.lists[list].first;
        self.fast.serial.times.clear();
        while let Some(command) = next {
            next = self.table.commands[command].sibling;
            let times = self.times(command);
            sum += times.all();
            self.fast.serial.times.push(times);
        }
        sum
    }

    /// Ends the serial list; it is then finished.
    ///
    /// # Panics
    /// If no serial list is under way.
    pub fn end_serial(&mut self, now: Time, hash: &mut EventHash) {
        if self.observer.is_some() {
            self.narrate(&mut OwnListener);
        }
        let Serial { list, .. } = self.fast.serial.current.take().expect("a list under way");
        let mut commands = 0;
        if let Some(copies) = self.table.lists[list].copies() {
            if self.media.cannot_fail() {
                commands = self.end_serial_copies(copies);
            } else {
                self.write_out::<crate::backend::Event>(copies.set, None);
                self.time_commands(list);
            }
        }
        let mut next = self.table.lists[list].first;
        let all = std::mem::take(&mut self.fast.serial.times);
        for times in &all {
            let command = next.expect("the commands that were timed");
            debug_assert_eq!(*times, self.times(command), "the time of a serial list is fixed when it begins");
            next = self.table.commands[command].sibling;
            self.spend(command, times);
            self.carry_out(command);
        }
        commands += all.len() as u64;
        self.fast.serial.times = all;
        hash.add(now, commands << 3 | 4);
        self.table.finished.push_back(list);
    }

    /// Notifies the observer of another backend, too, before [`Backend::end_serial`]. The dies and channels of this
    /// backend are numbered from `first` on.
    pub fn notify_serial(&mut self, observer: &mut dyn Observer, first: (u32, u32)) {
        self.narrate(&mut ForeignListener { observer, first });
    }

    /// Calls a listener for the phases of the list under way, in the order of its commands.
    fn narrate(&mut self, to: &mut impl Listener) {
        let Serial { list, since } = self.fast.serial.current.expect("a list under way");
        if let Some(copies) = self.table.lists[list].copies() {
            let (until, cause) = (since + self.time_of_copies(copies.set), self.cause_of_copies(copies.set));
            return to.copies(self, since, until, cause);
        }
        let first = self.table.lists[list].first;
        let mut next = first;
        while let Some(command) = next {
            next = self.table.commands[command].sibling;
            to.stop(self, since, command, Stop::Submitted);
        }
        let (mut next, mut from) = (first, since);
        let all = std::mem::take(&mut self.fast.serial.times);
        for Times { before, array, after, decode, .. } in &all {
            let command = next.expect("the commands that were timed");
            next = self.table.commands[command].sibling;
            let begin = from;
            to.stop(self, begin, command, Stop::Ready);
            let (die, op, cause) = {
                let command = &self.table.commands[command];
                (command.die.get(), command.op, command.cause)
            };
            let channel = Resource::Channel(self.dies[die as usize].channel);
            let (sent, works) = match op {
                Op::Program => (CommandState::DataIn, Primitive::Program),
                Op::Erase => (CommandState::CommandCycles, Primitive::Erase),
                Op::Read | Op::CopyBack => (CommandState::CommandCycles, Primitive::Read),
            };
            let phases: [(Resource, Primitive, Span); 3] = [
                (channel, sent.primitive(), *before),
                (Resource::Array(die), works, *array),
                (channel, if op == Op::Read { Primitive::DataOut } else { Primitive::Status }, *after),
            ];
            for (resource, primitive, time) in phases.into_iter().filter(|(.., time)| *time > Span::ZERO) {
                let until = from + time;
                let number = command.number().get();
                to.phase(
                    self,
                    Phase { resource, die, primitive, op, cause, command: number, ready: from, from, until },
                );
                from = until;
            }
            from += *decode;
            to.stop(self, from, command, Stop::Finished);
            to.serial(self, begin, from, cause);
        }
        self.fast.serial.times = all;
    }

    /// Cuts the power of a serial list. Observers get no notice, because the tag of the list, and with it its purpose,
    /// is lost as well.
    pub(in crate::backend) fn cut_serial(&mut self, now: Time) {
        let Some(Serial { list, since }) = self.fast.serial.current.take() else { return };
        if let Some(copies) = self.table.lists[list].copies() {
            self.write_out::<crate::backend::Event>(copies.set, None);
        }
        // Faults are off, because without power no one learns that a command failed at this very moment.
        self.media.faults_mut().suspend(true);
        let mut from = since;
        let mut next = self.table.lists[list].first;
        while let Some(command) = next {
            next = self.table.commands[command].sibling;
            let times = self.times(command);
            if from + times.all() <= now {
                from += times.all();
                self.spend(command, &times);
                self.carry_out(command);
                continue;
            }
            let Times { before, array, after, .. } = times;
            // An erase or a program is torn only if the array has begun it. A read changes nothing.
            let begun = now.saturating_since(from);
            let in_array = begun.saturating_sub(before).min(array);
            let afterwards = begun.saturating_sub(before).saturating_sub(array).min(after);
            // Decoding that has begun is not counted.
            let (decode, decoder) = (Span::ZERO, Span::ZERO);
            self.spend(
                command,
                &Times { before: begun.min(before), array: in_array, after: afterwards, decode, decoder },
            );
            if begun > before {
                let (target, count) = (self.table.commands[command].target, self.table.commands[command].count);
                let op = self.table.commands[command].op;
                if op != Op::Read {
                    self.take_effect(command);
                }
                match op {
                    Op::Read => {}
                    // The operation is done: only its status had still to be read.
                    _ if begun >= before + array => {}
                    Op::Program | Op::CopyBack if self.table.commands[command].refused => {}
                    Op::Program | Op::CopyBack => self.media.tear_program(target, count),
                    Op::Erase => self.media.tear_erase(target.superblock),
                }
            }
            break;
        }
        self.media.faults_mut().suspend(false);
    }

    fn carry_out(&mut self, command: Handle<Command>) {
        if self.table.commands[command].scanned == 0 {
            self.take_effect(command);
            self.pass_on(command);
        }
        self.count(command);
        self.table.commands[command].state = CommandState::Done;
    }

    fn times(&self, handle: Handle<Command>) -> Times {
        let command = &self.table.commands[handle];
        let geometry = self.media.geometry();
        let timing = &self.rules.timing;
        let busy = timing.cycles.busy;
        let page = |offset| geometry.page_and_plane(offset).0;
        let (decode, decoder) = (Span::ZERO, Span::ZERO);
        // The decoding times of `slots` slots that cross the channel together.
        let decoding = |slots: u32| match &self.decoders {
            None => (Span::ZERO, Span::ZERO),
            Some(correction) => {
                let codewords = correction.ecc.codewords(slots * geometry.sectors);
                let behind = correction.ecc.behind(timing.transfer[slots as usize], codewords);
                (behind, correction.ecc.time_of(codewords))
            }
        };
        match command.op {
            Op::Read if command.scanned > 0 => {
                let pages = u64::from(command.scanned);
                let whole = self.rules.timing.transfer[geometry.slots as usize];
                let (decode, decoder) = decoding(geometry.slots);
                Times {
                    before: timing.commands(Op::Read, pages),
                    array: (busy + self.rules.read_time(&self.media, command.target.superblock, 0)) * pages,
                    after: (whole + timing.around_data_out(1)) * pages,
                    decode: decode * pages,
                    decoder: decoder * pages,
                }
            }
            Op::Read => {
                let first = self.table.first_slot(handle);
                let (superblock, offset) = geometry.locate(self.table.slots[first].psn);
                let array = self.rules.read_time(&self.media, superblock, page(offset));
                let pages = self.rules.pages_of(&self.table, handle, geometry);
                let after = timing.transfer[command.count as usize] + timing.around_data_out(pages);
                let (decode, decoder) = decoding(command.count);
                Times { before: timing.commands(Op::Read, pages), array: busy + array, after, decode, decoder }
            }
            Op::Program => Times {
                before: timing.before_data_in(self.rules.pages_of(&self.table, handle, geometry))
                    + timing.transfer[command.count as usize],
                array: busy + self.rules.program_time(command, page(command.target.offset)),
                after: timing.cycles.status,
                decode,
                decoder,
            },
            Op::Erase => Times {
                before: timing.commands(Op::Erase, self.rules.pages_of(&self.table, handle, geometry)),
                array: busy + timing.erase,
                after: timing.cycles.status,
                decode,
                decoder,
            },
            Op::CopyBack => unreachable!("copy-backs are not carried out in turn"),
        }
    }

    /// Charges the time of a command: all of it when its list ends, or the elapsed part when the power fails.
    fn spend(&mut self, handle: Handle<Command>, times: &Times) {
        let command = &self.table.commands[handle];
        let bus = times.before + times.after;
        let further =
            if self.rules.supply.is_some() { self.further_plane_time(handle, times.array) } else { Span::ZERO };
        let slots = if command.scanned > 0 { command.scanned * self.geometry().slots } else { command.count };
        let tally = self.account.at(command.op, command.cause);
        tally.array += times.array;
        tally.further_planes += further;
        tally.bus += bus;
        tally.decode += times.decoder;
        tally.bytes += self.rules.timing.slot_bytes * u64::from(slots);
        let die = &mut self.dies[command.die.index()];
        die.meter.add(times.array);
        let channel = die.channel;
        self.channels[channel as usize].meter.add(bus);
        if let Some(decoders) = &mut self.decoders {
            decoders.charge(channel, times.decoder);
        }
    }
}
