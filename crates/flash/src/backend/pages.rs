//! The data of a program of several pages crosses the channel page by page, and a host read goes in between.
//!
//! Only host reads do: other transfers wait until all of the program's data is there, because its array can begin only
//! then. A program that let a read pass keeps its place at the head of its queue, so that the order of the channel
//! ([`super::BusOrder`]) decides what else goes before its next page.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::planted::Bug;
use super::{Backend, Class, Command, Event, Observer};

impl Command {
    /// The slots of the page that crosses next: from the first to behind the last.
    #[inline]
    pub(super) const fn next_page(&self, page: u32) -> (u32, u32) {
        let until = self.crossed + page;
        (self.crossed, if until < self.count { until } else { self.count })
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Called when a page of a program has crossed a channel: goes on with the next one, or with a host read. False if
    /// that was the last page.
    #[inline(never)]
    pub(super) fn goes_on<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let page = self.page_slots;
        let command = &mut self.commands[handle];
        let (_, until) = command.next_page(page);
        if command.sectors > 0 || until == command.count {
            command.crossed = 0;
            return false;
        }
        (command.crossed, command.ready) = (until, now);
        let channel = &mut self.channels[number as usize];
        let read =
            channel.queue.take_first(&mut self.commands, |commands, next| commands[next].class == Class::HostRead);
        let Some(read) = read else {
            self.transfer(now, number, handle, events);
            return true;
        };
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
        let (from, until) = self.commands[handle].next_page(self.page_slots);
        if until == self.commands[handle].count {
            return;
        }
        self.commands[handle].crossed = until;
        let first = handle.index() * self.slots_per_command as usize;
        let sectors = if S::PRESENT { self.media.geometry().sectors as usize } else { 0 };
        self.payload[(first + from as usize) * sectors..(first + until as usize) * sectors].fill(S::default());
    }
}
