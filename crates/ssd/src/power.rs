//! Power: off, cut, and on again.

use base::io::IoKind;
use base::units::{Span, Time};
use flash::backend::Observer;
use flash::nand::Sector;

use crate::buffer::Buffer;
use crate::device::Event;
use crate::ftl::family::Ftl;
use crate::ftl::hydra::Saved;
use crate::host::Filter;
use crate::sabotage::Sabotage;
use crate::{Completion, Drive, QueueId, Request, Ssd, Tag};

/// How a device came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Simulated time of the scan of all spare areas. Then it takes requests, unless there are translation pages
    /// to be written: requests wait for these as well.
    pub time: Span,
    /// Translation pages that are out of date and are written before it takes requests.
    pub translation_pages: u32,
    /// Mapping units it found.
    pub units: u32,
}

/// The tag of the flush that precedes an orderly power-off.
pub(crate) const POWER_OFF: Tag = Tag::MAX;

impl<S: Sector, O: Observer> Ssd<S, O> {
    /// Cuts the power at this moment. Whatever had not reached the flash is lost, and what was under way
    /// there is torn. Returns the tags of the requests that will never complete.
    pub fn cut_power(&mut self) -> Vec<Tag> {
        let waiting = self.queues.tags();
        let active = self.active.iter().map(|handle| self.clients.requests[*handle].tag);
        let unseen = self.completions.iter().map(|completion| completion.tag);
        let lost = active.chain(waiting).chain(unseen).collect();
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.second, &mut self.events);
        self.ftl.power_fails(&mut flash);
        self.backend.cut_power(self.now);
        let stays = self.resolved.planted.is(Sabotage::SecondStaysOn);
        if let Some(second) = self.second.as_mut().filter(|_| !stays) {
            second.cut_power(self.now);
        }
        self.lose_everything_volatile();
        lost
    }

    /// Switches off in order: everything submitted completes, the buffer is written back and background
    /// work comes to rest. Returns what completed.
    pub fn power_off(&mut self) -> Vec<Completion<S>> {
        let mut completions = Vec::new();
        let flush = base::io::Io::FLUSH;
        debug_assert_eq!(flush.kind, IoKind::Flush);
        self.drain(&mut completions);
        self.submit(self.now, Request { tag: POWER_OFF, queue: QueueId::default(), io: flush, data: Vec::new() });
        self.drain(&mut completions);
        completions.retain(|completion| completion.tag != POWER_OFF);
        self.ftl.power_off(self.now);
        self.pump();
        self.drain(&mut Vec::new());
        self.backend.cut_power(self.now);
        if let Some(second) = &mut self.second {
            second.cut_power(self.now);
        }
        self.lose_everything_volatile();
        completions
    }

    /// Lets everything that is under way come to an end.
    pub fn drain(&mut self, completions: &mut Vec<Completion<S>>) {
        while let Some(at) = self.next_event() {
            self.advance(at, completions);
        }
    }

    fn lose_everything_volatile(&mut self) {
        self.events.clear();
        self.link.reset(self.now);
        self.clients.requests.clear();
        self.clients.served.clear();
        self.clients.dropped.clear();
        self.clients.drained = false;
        self.clients.buffer_failed = false;
        let sectors = self.resolved.geometry.sectors;
        let (sets, planted) = (self.resolved.host.queues.sets.len(), self.resolved.planted);
        self.clients.buffer = self.resolved.buffer.map(|buffer| Buffer::new(buffer, sectors, sets).with(planted));
        self.filter = Filter::new();
        self.active.clear();
        self.queues.clear();
        self.buffer_queue.clear();
        self.flushes.clear();
        self.completions.clear();
        self.powered = false;
    }

    /// Switches on: the FTL is rebuilt from nothing but the media. Requests may be submitted at once; they
    /// wait until recovery is over.
    ///
    /// # Panics
    /// If the power is on, or `now` is in the past.
    pub fn power_on(&mut self, now: Time) -> Recovery {
        assert!(!self.powered, "the power is on already");
        assert!(now >= self.now, "the power comes back before it went");
        self.now = now;
        self.ftl = Ftl::mount(&self.resolved, self.backend.media(), self.second_media(), self.seed);
        self.powered = true;
        let time = self.recovery_time();
        let translation_pages = self.ftl.stale_pages();
        self.scanned = time.is_zero() && translation_pages == 0;
        self.ready = self.scanned;
        if !self.ready {
            self.events.push(now + time, Event::Ready);
        }
        self.restore_saved();
        Recovery { time, translation_pages, units: self.ftl.found() }
    }

    /// What recovery reads would take if the power went now.
    pub(crate) fn recovery_time(&self) -> Span {
        Ftl::scan_time(&self.resolved, self.backend.media(), self.second_media())
    }

    /// The buffer gets back what flushes had put into a log and no merge has taken since.
    pub(crate) fn restore_saved(&mut self) {
        if self.resolved.planted.is(Sabotage::SavedForgotten) {
            return;
        }
        for Saved { lpn, mask, psn, first } in self.ftl.take_saved() {
            let media = self.backend.media();
            let buffer = self.clients.buffer.as_mut().expect("only a buffer is flushed");
            buffer.restore(lpn, mask, |i| {
                let before = mask & ((1 << i) - 1);
                media.content(psn, first + before.count_ones())
            });
        }
    }
}
