//! Loads of translation pages from the host's memory.
//!
//! The decision to load a page is made at once, and the load begins with the next work of the map: only then the host
//! side, whose link the load shares with the requests, can be called.

use base::units::{Bytes, Time};
use flash::backend::RequestStep;

use super::{MapClient, Question};
use crate::Event;
use crate::map_unit::{ENTRY, HmbRead, HmbTransfer};
use crate::port::{Direction, Flash, Owners};

impl MapClient {
    /// Queues the load of a page, or of some of its entries, from the host's memory. Returns false if the host's memory
    /// lacks the page. With time off the map does not use the host's memory.
    pub(in crate::page) fn load_from_host(&mut self, page: u32, entries: Option<u32>, timed: bool) -> bool {
        let Some(memory) = self.host_memory.as_mut().filter(|_| timed) else { return false };
        let Some(image) = memory.find(page) else { return false };
        let bytes = Bytes::new(u64::from(entries.unwrap_or(self.entries)) * ENTRY);
        memory.read(page, bytes, image);
        self.pages[page as usize].loading += 1;
        self.awake = true;
        true
    }

    /// Starts the queued transfers on the link.
    pub(in crate::page) fn begin_transfers(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let Some(memory) = &mut self.host_memory else { return };
        while let Some(transfer) = memory.next_transfer() {
            match transfer {
                HmbTransfer::Write { bytes } => _ = owners.carry(flash.now, Direction::Out, bytes),
                HmbTransfer::Read { page, bytes, image } => {
                    let sent = owners.carry(flash.now, Direction::In, bytes);
                    let at = memory.begin(flash.now, sent, page, image);
                    flash.events.push(at, Event::Ftl);
                }
            }
        }
    }

    /// Hands the pages that have arrived from the host's memory by `now` to the map unit.
    pub(super) fn take_arrivals(&mut self, now: Time) {
        while let Some((page, image)) = self.host_memory.as_mut().and_then(|memory| memory.next_arrival(now)) {
            self.pages[page as usize].loading -= 1;
            self.loaded(now, page, Some(&image));
        }
    }

    /// Notifies an observer of the time for which a read request has read the host's memory, when the request's
    /// question is answered.
    #[inline(never)]
    pub(in crate::page) fn notify_host_memory(&self, flash: &mut Flash<'_>, question: &Question) {
        let Some(observer) = flash.backend.observer_mut() else { return };
        let Question::Read(look_up) = question else { return };
        let page = look_up.first.get() / self.entries;
        let read = self.host_memory.as_ref().and_then(|memory| memory.last_read(page));
        if let (Some(owner), Some(HmbRead { from, until })) = (look_up.owner, read)
            && until <= flash.now
        {
            observer.request(flash.now, owner, RequestStep::HostMemory { from, until });
        }
    }
}
