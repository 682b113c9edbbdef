//! Quiet ends of reads: the array of a die is done, and its data can only wait, because the channel is busy.
//!
//! The problem: nearly every read of a busy channel ends its array phase while the channel sends other data, so the
//! event of that end only puts the read into the channel's queue.
//!
//! The mechanism: when an array begins a read, a Lindley recursion over the reads under way gives a lower bound on the
//! time at which the channel has sent all data that is ready by the end of this read. If the read ends before that
//! bound, its end is *quiet*: it gets a sequence number and no event. Before the channel's queue is used, all quiet
//! ends whose time and sequence number have passed take effect.

use base::engine::{Due, EventHash, EventQueue, Handle};
use base::units::{Span, Time};
use std::collections::VecDeque;

use crate::backend::{Backend, Command, CommandState, Config, Event, Op};

/// The end of a read's array phase that is no event.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietEnd {
    due: Due,
    die: u32,
    /// The number of the array's phase.
    generation: u16,
}

/// The reads of a channel whose array phases may end quietly.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct QuietReads {
    /// Lower bound on the time at which the channel has sent all data that is ready by `latest`.
    busy_until: Time,
    /// The latest end of an array phase among the reads that have begun.
    latest: Time,
    /// Pending quiet ends, in their order.
    ends: VecDeque<QuietEnd>,
}

impl QuietReads {
    pub(in crate::backend) fn with_capacity(reads: usize) -> Self {
        Self { ends: VecDeque::with_capacity(reads), ..Self::default() }
    }

    /// Bytes that the quiet ends take.
    #[cfg(test)]
    pub(in crate::backend) fn taken(&self) -> usize {
        self.ends.capacity() * size_of::<QuietEnd>()
    }

    /// Notes a transfer that begins and that no read may interrupt.
    #[inline]
    pub(in crate::backend) fn begin_transfer(&mut self, now: Time, until: Time) {
        if self.busy_until <= now {
            self.busy_until = until;
        }
    }

    /// Forgets all reads, at a power cut.
    pub(in crate::backend) fn clear(&mut self) {
        self.ends.clear();
        (self.busy_until, self.latest) = (Time::ZERO, Time::ZERO);
    }

    /// Notes a read that an array begins. Returns true if its end may be quiet. The caller checks for pages of a
    /// program, which a host read may interrupt.
    #[inline]
    fn note(&mut self, until: Time, transfer: Span) -> bool {
        // Reads may end out of order, because pages of one part may have different times.
        if until < self.latest {
            return false;
        }
        self.latest = until;
        if until >= self.busy_until {
            self.busy_until = until + transfer;
            return false;
        }
        self.busy_until += transfer;
        true
    }
}

impl Config {
    /// Bytes of the quiet ends that may be pending.
    pub(in crate::backend) fn quiet_memory(&self, units: u64) -> u64 {
        if self.has_plain_reads() { units * size_of::<QuietEnd>() as u64 } else { 0 }
    }
}

impl Backend {
    /// The hash of the events that were left out up to `now`: quiet ends, and boundaries of copy-back runs.
    #[must_use]
    pub fn quiet_ends(&self, now: Time) -> EventHash {
        let mut hash = self.fast.events;
        self.each_boundary(now, |at, die, _| hash.add(at, u64::from(die) << 2));
        for (number, die) in (0u32..).zip(&self.dies) {
            // Of arrays at work, only reads with quiet ends have no event. Such a read keeps the array while its data
            // waits for the channel.
            let reads = |handle: Handle<Command>| {
                let command = &self.table.commands[handle];
                command.op == Op::Read && matches!(command.state, CommandState::Array | CommandState::DataOut)
            };
            if self.fast.plain_reads && die.array.is_some_and(reads) && !die.meter.works(now) {
                hash.add(die.meter.until(), u64::from(number) << 2);
            }
        }
        hash
    }

    /// The number of events that were left out and are already in the hash.
    #[must_use]
    #[inline]
    pub const fn quiet_events(&self) -> u64 {
        self.fast.events.events()
    }

    /// Notes that the array of a die begins a plain read. Returns false if its end has to be an event.
    #[inline]
    pub(in crate::backend) fn ends_quietly<E: From<Event> + Copy>(
        &mut self,
        handle: Handle<Command>,
        (until, generation): (Time, u16),
        events: &mut EventQueue<E>,
    ) -> bool {
        let die = self.table.commands[handle].unit;
        let transfer = self.rules.load_of(&self.table, (handle, CommandState::DataOut), self.media.geometry()).time;
        let channel = &mut self.channels[self.dies[die as usize].channel as usize];
        if !channel.quiet.note(until, transfer) || channel.is_crossed_by_pages(&self.rules, &self.table.commands) {
            return false;
        }
        channel.quiet.ends.push_back(QuietEnd { due: events.reserve(until), die, generation });
        true
    }

    /// The read of the first quiet end, if that end has passed: its data may be sent now.
    #[inline]
    pub(super) fn next_quiet<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        events: &EventQueue<E>,
    ) -> Option<Handle<Command>> {
        let quiet = &mut self.channels[number as usize].quiet.ends;
        let &QuietEnd { due, die, .. } = quiet.front().filter(|end| events.has_passed(end.due, now))?;
        quiet.pop_front();
        // The command stays with the array until its data has been sent, instead of moving to the register; no other
        // command can see the difference.
        let handle = self.dies[die as usize].array.expect("the array that has ended");
        let command = &mut self.table.commands[handle];
        (command.state, command.ready) = (CommandState::DataOut, due.at());
        Some(handle)
    }

    /// Queues the reads whose quiet ends have passed at the channel.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly there is none: a call would cost a program 30 instructions.
    pub(in crate::backend) fn settle<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &EventQueue<E>) {
        if !self.channels[number as usize].quiet.ends.is_empty() {
            self.settle_passed(now, number, events);
        }
    }

    #[inline(never)]
    fn settle_passed<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &EventQueue<E>) {
        while let Some(handle) = self.next_quiet(now, number, events) {
            let class = self.class_on_channel(handle);
            self.channels[number as usize].wait(&self.rules, &mut self.table.commands, class, handle);
        }
    }

    /// Turns quiet ends back into events, because pages of a program begin to cross a channel and a host read may
    /// interrupt them.
    #[inline]
    pub(in crate::backend) fn wake_quiet_reads<E: From<Event> + Copy>(
        &mut self,
        number: u32,
        events: &mut EventQueue<E>,
    ) {
        for QuietEnd { due, die, generation } in self.channels[number as usize].quiet.ends.drain(..) {
            events.push_at(due, Event::Array { die, generation }.into());
        }
    }
}
