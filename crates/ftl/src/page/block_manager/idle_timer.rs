//! The timer of an idle drive: it tells when the host has been idle for long enough to fold the SLC cache, or to
//! collect ahead.

use base::units::{Span, Time};

use super::BlockManager;
use crate::event::Event;
use crate::port::Flash;

/// The timer, restarted by each request.
#[derive(Clone, Debug)]
pub(in crate::page) struct IdleTimer {
    after: Span,
    latest: Time,
    /// The time of the pending event. One event serves many requests: if a request came in the meantime, the event is
    /// scheduled again.
    event: Option<Time>,
    is_due: bool,
    is_idle: bool,
}

impl IdleTimer {
    pub(in crate::page) const fn new(after: Span) -> Self {
        Self { after, latest: Time::ZERO, event: None, is_due: false, is_idle: false }
    }

    pub(in crate::page) const fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub(in crate::page) const fn is_due(&self) -> bool {
        self.is_due
    }

    #[inline]
    pub(in crate::page) fn note_request(&mut self, flash: &mut Flash<'_>) {
        (self.latest, self.is_idle) = (flash.now, false);
        if self.event.is_none() && flash.backend.is_timed() {
            self.schedule(flash);
        }
    }

    fn schedule(&mut self, flash: &mut Flash<'_>) {
        let at = self.latest + self.after;
        self.event = Some(at);
        flash.events.push(at, Event::Ftl);
    }

    pub(in crate::page) fn wake(&mut self, now: Time) {
        if self.event.is_some_and(|at| at <= now) {
            (self.event, self.is_due) = (None, true);
        }
    }

    /// True if the drive has become idle. A second call returns false.
    pub(in crate::page) fn becomes_idle(&mut self, flash: &mut Flash<'_>) -> bool {
        if !std::mem::take(&mut self.is_due) {
            return false;
        }
        self.is_idle = self.latest + self.after <= flash.now;
        if !self.is_idle {
            self.schedule(flash);
        }
        self.is_idle
    }
}

impl BlockManager {
    fn timers(&mut self) -> impl Iterator<Item = &mut IdleTimer> {
        self.slc_cache.iter_mut().filter_map(|cache| cache.idle_timer()).chain(&mut self.idle_collection)
    }

    /// True if the drive does something that depends on the time since a request.
    #[inline]
    pub(in crate::page) const fn has_timers(&self) -> bool {
        self.slc_cache.is_some() || self.idle_collection.is_some() || self.refresh.is_some()
    }

    /// Restarts the timers, because a request has reached the FTL.
    pub(in crate::page) fn note_request(&mut self, flash: &mut Flash<'_>) {
        if self.slc_cache.is_some() || self.idle_collection.is_some() {
            self.timers().for_each(|timer| timer.note_request(flash));
        }
        self.note_request_for_patrol(flash);
    }

    /// Marks the timers whose event is due.
    pub(in crate::page) fn wake(&mut self, now: Time) {
        self.timers().for_each(|timer| timer.wake(now));
        self.wake_patrol(now);
        self.dead_dies.wake(now);
    }

    /// True if the event of a timer is due: the drive may be idle, or a patrol read or a move from a failed die is due.
    #[inline]
    pub(in crate::page) fn timer_is_due(&self) -> bool {
        self.dead_dies.is_due() || (self.has_timers() && self.timer_of_host_is_due())
    }

    #[inline(never)]
    fn timer_of_host_is_due(&self) -> bool {
        let of_cache = self.slc_cache.as_ref().is_some_and(|cache| cache.idle_is_due());
        of_cache || self.idle_collection.as_ref().is_some_and(IdleTimer::is_due) || self.patrol_is_due()
    }

    /// True if the drive has become idle. A second call returns false.
    pub(in crate::page) fn becomes_idle(&mut self, flash: &mut Flash<'_>) -> bool {
        let mut is_idle = false;
        // Every timer is asked, because the question also schedules the timer's next event.
        for timer in self.timers() {
            is_idle |= timer.becomes_idle(flash);
        }
        if is_idle && let Some(cache) = &mut self.slc_cache {
            cache.note_idle();
        }
        is_idle
    }
}
