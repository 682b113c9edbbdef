//! The data of a program of several pages crosses the channel page by page, and a host read goes in between.
//!
//! While no host read waits, all remaining pages cross as one transfer with one event at its end. A host read that
//! arrives meanwhile shortens the transfer to the end of the page under way. The times are those of one transfer for
//! each page.
//!
//! Only host reads do: other transfers wait until all of the program's data is there, because its array can begin only
//! then. A program that let a read pass keeps its place at the head of its queue, so that the order of the channel
//! ([`super::BusOrder`]) decides what else goes before its next page.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::{Bytes, Span, Time};

use super::command::Stage;
use super::planted::Bug;
use super::{Backend, Channel, Class, Command, Event, Observer, Resource};

impl Command {
    /// The slot behind the page that crosses next.
    #[inline]
    const fn next_page(&self, page: u32) -> u32 {
        let until = self.crossed + page;
        if until < self.count { until } else { self.count }
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The slot behind those that cross in the next transfer of a program: one page if a host read waits, all that
    /// are left otherwise.
    #[inline]
    pub(super) fn crosses_until(&self, number: u32, handle: Handle<Command>) -> u32 {
        let command = &self.commands[handle];
        let waits = self.channels[number as usize].host_reads > 0;
        if waits { command.next_page(self.page_slots) } else { command.count }
    }

    /// The time and the bytes of slots of a program that cross in one transfer.
    #[inline]
    pub(super) fn crossing(&self, from: u32, until: u32) -> (Span, Bytes) {
        let slots = until - from;
        let cycles = if self.data_only {
            Span::ZERO
        } else {
            self.timing.before_data_in(1) * u64::from(slots.div_ceil(self.page_slots))
        };
        let data = self.timing.transfer[until as usize] - self.timing.transfer[from as usize];
        (data + cycles, self.timing.slot_bytes * u64::from(slots))
    }

    /// The slot behind the page of a program that crosses at `now`, and the time at which that page has crossed. A
    /// page that ends at `now` counts as crossing.
    fn page_under_way(&self, now: Time, channel: &Channel, handle: Handle<Command>) -> (u32, Time) {
        let command = &self.commands[handle];
        let mut until = command.crossed;
        let mut at = channel.meter.since();
        while until < channel.crosses && (at < now || until == command.crossed) {
            let from = until;
            until = (from + self.page_slots).min(channel.crosses);
            at += self.crossing(from, until).0;
        }
        (until, at)
    }

    /// True if a transfer of pages of a program is under way, between which a host read may go.
    pub(super) fn crosses_pages(&self, channel: &Channel) -> bool {
        let crossing = |handle: Handle<Command>| {
            let command = &self.commands[handle];
            command.stage == Stage::DataIn && command.sectors == 0
        };
        self.by_pages && channel.current.is_some_and(crossing)
    }

    /// Called when a host read begins to wait for a channel: shortens a transfer of pages to the page under way.
    #[inline(never)]
    pub(super) fn shorten<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let channel = &self.channels[number as usize];
        if !self.crosses_pages(channel) {
            return;
        }
        let handle = channel.current.expect("a channel at work");
        let (until, at) = self.page_under_way(now, channel, handle);
        if until == channel.crosses {
            return;
        }
        let (_, bytes) = self.crossing(self.commands[handle].crossed, until);
        let channel = &mut self.channels[number as usize];
        (channel.crosses, channel.bytes) = (until, bytes);
        let generation = channel.meter.reschedule(at);
        self.observer.shortened(Resource::Channel(number), self.commands[handle].die.get(), handle.number().get(), at);
        events.push(at, Event::Bus { channel: number, generation }.into());
    }

    /// Bytes of the transfer under way: of pages of a program, those of the pages that have begun.
    pub(super) fn begun_bytes(&self, now: Time, channel: &Channel) -> Bytes {
        match channel.current.filter(|_| self.crosses_pages(channel)) {
            Some(handle) => {
                let (until, _) = self.page_under_way(now, channel, handle);
                self.crossing(self.commands[handle].crossed, until).1
            }
            None => channel.bytes,
        }
    }

    /// Called when pages of a program have crossed a channel: goes on with the next, or with a host read. False if
    /// those were the last pages.
    #[inline(never)]
    pub(super) fn goes_on<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let channel = &mut self.channels[number as usize];
        let command = &mut self.commands[handle];
        if command.sectors > 0 || channel.crosses == command.count {
            command.crossed = 0;
            return false;
        }
        (command.crossed, command.ready) = (channel.crosses, now);
        let read = (channel.host_reads > 0).then(|| {
            channel.queue.take_first(&mut self.commands, |commands, next| commands[next].class == Class::HostRead)
        });
        let Some(read) = read.flatten() else {
            self.transfer(now, number, handle, events);
            return true;
        };
        channel.host_reads -= 1;
        if self.planted.is(Bug::PageSkipped) {
            self.skip_page(handle);
        }
        let class = self.class_on_channel(handle);
        self.channels[number as usize].queue.push_front(&mut self.commands, class, handle);
        self.transfer(now, number, read, events);
        true
    }

    /// A planted bug: the next page of a program never crosses.
    fn skip_page(&mut self, handle: Handle<Command>) {
        let from = self.commands[handle].crossed;
        let until = self.commands[handle].next_page(self.page_slots);
        if until == self.commands[handle].count {
            return;
        }
        self.commands[handle].crossed = until;
        let first = handle.index() * self.slots_per_command as usize;
        if S::PRESENT {
            (from..until).for_each(|i| self.payload.empty(first + i as usize));
        }
    }
}
