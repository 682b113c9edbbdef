//! Power off, power loss, and power on.

use base::io::Io;
use base::units::{Span, Time};
use flash::nand::Sector;
use ftl::{Event, HostEvent, Mount, Sabotage, SavedSectors};

use crate::no_ftl::NoFtl;
use crate::{Completion, Drive, QueueId, Request, Ssd, Tag};

/// The result of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Simulated time of the scan of all spare areas. The device takes requests after the scan or, if there are stale
    /// translation pages, after it has written these.
    pub time: Span,
    /// The number of stale translation pages, which the device writes before it takes requests.
    pub translation_pages: u32,
    /// The number of mapping units that the recovery found.
    pub units: u32,
}

impl<S: Sector> Ssd<S> {
    /// Cuts the power at this moment. Data that has not reached the flash is lost, and flash operations under way are
    /// torn. Returns the tags of the requests that will never complete.
    pub fn cut_power(&mut self) -> Vec<Tag> {
        let waiting = self.host.queues.tags();
        let active = self.host.active.iter().map(|handle| self.host.requests[*handle].tag);
        let unseen = self.host.completions.iter().map(|completion| completion.tag);
        let lost = active.chain(waiting).chain(unseen).collect();
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        if let Some(ftl) = self.ftl.power_cycle() {
            ftl.power_fails(&mut flash);
        }
        self.backend.cut_power(self.now);
        let stays = self.resolved.planted.is(Sabotage::SecondStaysOn);
        if let Some(slc_array) = self.slc_array.as_mut().filter(|_| !stays) {
            slc_array.cut_power(self.now);
        }
        self.note_power_off();
        self.lose_everything_volatile();
        lost
    }

    /// Switches off in order: all requests complete, the buffer is written back and background work ends. Returns the
    /// completions.
    pub fn power_off(&mut self) -> Vec<Completion<S>> {
        let mut completions = Vec::new();
        self.drain(&mut completions);
        // The device is idle, so the only completion is this flush. Only an observer sees its tag.
        self.powering_off = true;
        let flush = Request { tag: Tag::MAX, queue: QueueId::default(), io: Io::FLUSH, data: Vec::new() };
        self.submit(self.now, flush);
        self.drain(&mut Vec::new());
        if let Some(ftl) = self.ftl.power_cycle() {
            ftl.power_off(self.now);
        }
        self.run_ready();
        self.drain(&mut Vec::new());
        self.backend.cut_power(self.now);
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.cut_power(self.now);
        }
        self.note_power_off();
        self.lose_everything_volatile();
        completions
    }

    /// Handles all events until nothing is under way.
    pub fn drain(&mut self, completions: &mut Vec<Completion<S>>) {
        while let Some(at) = self.next_event() {
            self.advance(at, completions);
        }
    }

    fn lose_everything_volatile(&mut self) {
        self.events.clear();
        self.host.lose_power(self.now, &self.resolved);
        (self.powered, self.powering_off) = (false, false);
    }

    /// Switches on: the FTL is rebuilt from the media alone. The host may submit requests at once; they wait until
    /// recovery is over.
    ///
    /// # Panics
    /// If the power is on, or `now` is in the past.
    pub fn power_on(&mut self, now: Time) -> Recovery {
        assert!(!self.powered, "the power is on already");
        assert!(now >= self.now, "the power comes back before it went");
        self.now = now;
        let (seed, planted) = (self.seed, self.resolved.planted);
        self.ftl = Box::new(NoFtl);
        let from = Mount { media: self.backend.media(), slc_array: self.slc_media(), seed, planted };
        self.ftl = self.resolved.family.mount(&from);
        self.powered = true;
        if self.resolved.spec.ftl.map.hmb().is_some() {
            // The host gives its memory again, at once.
            self.next_change = Some(now);
        }
        self.note_power_on();
        let recovery = self.begin_recovery(now);
        self.note_power_condition();
        self.restore_saved();
        recovery
    }

    /// Makes a device that was just created over used flash take the time of a power-on. Without this call it is ready
    /// as soon as it has written its stale translation pages.
    ///
    /// # Panics
    ///
    /// If the time of the device has begun.
    pub fn start_with_recovery(&mut self) -> Recovery {
        assert!(self.now == Time::ZERO && self.host.active.is_empty(), "the device is in use");
        self.events.clear();
        self.begin_recovery(Time::ZERO)
    }

    /// Begins recovery: requests wait until the scan of the spare areas is over.
    fn begin_recovery(&mut self, now: Time) -> Recovery {
        let time = self.recovery_time();
        let (units, translation_pages) = self.ftl.power_cycle().map_or((0, 0), |ftl| (ftl.found(), ftl.stale_pages()));
        self.scanned = time.is_zero() && translation_pages == 0;
        self.ready = self.scanned;
        if !self.ready {
            self.events.push(now + time, Event::Host(HostEvent::Ready));
        }
        Recovery { time, translation_pages, units }
    }

    /// The time that recovery's reads would take if the power failed now.
    #[must_use]
    pub fn recovery_time(&self) -> Span {
        self.resolved.family.scan_time(self.backend.media(), self.slc_media())
    }

    /// Restores the buffer's units that flushes had logged and no merge has taken since.
    pub(crate) fn restore_saved(&mut self) {
        if self.resolved.planted.is(Sabotage::SavedForgotten) {
            return;
        }
        let Some(log) = self.ftl.flush_log() else { return };
        for SavedSectors { lpn, mask, psn, first } in log.take_saved() {
            let media = self.backend.media();
            let buffer = self.host.buffer.as_mut().expect("only a buffer is flushed");
            buffer.units.restore(lpn, mask, |i| {
                let before = mask & ((1 << i) - 1);
                media.content::<S>(psn, first + before.count_ones())
            });
        }
    }
}
