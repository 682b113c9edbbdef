//! Quiet ends of reads: the array of a die is done, and its data can only wait, because the channel is busy.
//!
//! A channel serves one transfer after another without a pause as long as any waits. When the array begins a read, the
//! reads whose arrays are at work on the same channel are known, and so is the least that the channel will have to do until
//! this one ends: each of them brings its data at a known time (a Lindley recursion; whatever else comes only adds work). If
//! that is more than nothing, the end of this read concerns nobody until the channel has a transfer to choose. Such an end
//! is no event. It keeps its place in the order of events, and before the queue of the channel is used all ends take effect
//! whose place has passed. Every time, every order and the event hash are those of a backend with an event for each end.
//! Nearly all reads of a busy channel end quietly.

use crate::nand::Sector;
use base::engine::{Due, EventHash, EventQueue, Handle};
use base::units::Time;

use super::command::Stage;
use super::{Backend, Class, Command, Completion, Config, Controllers, Event, Observer, Op, Transfer};

/// The end of a read that is no event.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietEnd {
    due: Due,
    die: u32,
    /// The number of the array's phase.
    generation: u16,
}

impl Config {
    /// True if a read is an array time and a transfer, and nothing but the channel waits for the end of its array: no
    /// status, no forwarder or software, no data that crosses lists, no error correction.
    pub(super) fn has_plain_reads(&self) -> bool {
        let own = matches!(self.controllers, Controllers::None | Controllers::PerDie);
        let timing = &self.timing;
        own && self.transfer == Transfer::Bus
            && self.completion == Completion::ReadyBusy
            && !self.arbitration.hold
            && !self.arbitration.forwards()
            && self.software.is_none()
            && self.ecc.is_none()
            && !timing.cache_across
            && timing.cache_read.is_none()
            && timing.cycles.status.is_zero()
            && timing.command.is_zero()
    }

    /// Bytes of the quiet ends that may be under way.
    pub(super) fn quiet_memory(&self, dies: u64) -> u64 {
        if self.has_plain_reads() { dies * size_of::<QuietEnd>() as u64 } else { 0 }
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The events that the quiet ends up to `now` would have been.
    #[must_use]
    pub fn quiet_ends(&self, now: Time) -> EventHash {
        let mut hash = self.quiet_hash;
        self.each_boundary(now, |at, die, _| hash.add(at, u64::from(die) << 2));
        for (number, die) in (0u32..).zip(&self.dies) {
            // The end of any other array at work is an event to come.
            let reads = |handle: Handle<Command>| self.commands[handle].op == Op::Read;
            if self.plain && die.array.is_some_and(reads) && !die.meter.works(now) {
                hash.add(die.meter.until(), u64::from(number) << 2);
            }
        }
        hash
    }

    /// The number of those whose data has been sent.
    #[must_use]
    #[inline]
    pub const fn quiet_events(&self) -> u64 {
        self.quiet_hash.events()
    }

    /// Notes the quiet end of a read whose data has been sent.
    #[inline]
    pub(super) fn note_quiet_end(&mut self, at: Time, die: u32) {
        self.quiet_hash.add(at, u64::from(die) << 2);
    }

    /// The array of a die begins a read of a plain backend. False if its end is to be an event.
    #[inline]
    pub(super) fn ends_quietly<E: From<Event> + Copy>(
        &mut self,
        handle: Handle<Command>,
        (until, generation): (Time, u16),
        events: &mut EventQueue<E>,
    ) -> bool {
        let die = self.commands[handle].die.get();
        let (transfer, _) = self.data_out(handle);
        let number = self.dies[die as usize].channel as usize;
        let channel = &mut self.channels[number];
        // Pages of one part may take different times.
        if until < channel.latest {
            return false;
        }
        channel.latest = until;
        if until >= channel.busy_until {
            channel.busy_until = until + transfer;
            return false;
        }
        channel.busy_until += transfer;
        if self.by_pages && self.crosses_pages(&self.channels[number]) {
            return false;
        }
        self.channels[number].quiet.push_back(QuietEnd { due: events.reserve(until), die, generation });
        true
    }

    /// The read of the first quiet end, if the place of that has passed: now its data may be sent.
    #[inline]
    pub(super) fn next_quiet<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        events: &EventQueue<E>,
    ) -> Option<Handle<Command>> {
        let quiet = &mut self.channels[number as usize].quiet;
        let &QuietEnd { due, die, .. } = quiet.front().filter(|end| events.has_passed(end.due, now))?;
        quiet.pop_front();
        // The array keeps the command until its data has been sent: nobody else sees the difference to the register.
        let handle = self.dies[die as usize].array.expect("the array that has ended");
        let command = &mut self.commands[handle];
        (command.stage, command.ready) = (Stage::DataOut, due.at());
        Some(handle)
    }

    /// Lets the reads wait for the channel whose quiet ends have passed.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly there is none: a call would cost a program 30 instructions.
    pub(super) fn settle<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &EventQueue<E>) {
        if !self.channels[number as usize].quiet.is_empty() {
            self.settle_passed(now, number, events);
        }
    }

    #[inline(never)]
    fn settle_passed<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &EventQueue<E>) {
        while let Some(handle) = self.next_quiet(now, number, events) {
            let reads = self.by_pages && self.commands[handle].class == Class::HostRead;
            let class = self.class_on_channel(handle);
            let channel = &mut self.channels[number as usize];
            channel.queue.push(&mut self.commands, class, handle);
            channel.host_reads += u32::from(reads);
        }
    }

    /// Pages of a program begin to cross a channel, which a host read interrupts: the ends of reads are events again.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_quiet_ends<E: From<Event> + Copy>(&mut self, number: u32, events: &mut EventQueue<E>) {
        for QuietEnd { due, die, generation } in self.channels[number as usize].quiet.drain(..) {
            events.push_at(due, Event::Array { die, generation }.into());
        }
    }

    /// Forgets the ends at a power cut, when what they change is lost.
    pub(super) fn drop_quiet_ends(&mut self, now: Time) {
        self.quiet_hash = self.quiet_ends(now);
        for channel in &mut self.channels {
            channel.quiet.clear();
            (channel.busy_until, channel.latest) = (Time::ZERO, Time::ZERO);
        }
    }
}
