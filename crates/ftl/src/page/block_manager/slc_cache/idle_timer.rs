//! Tells when the host has been idle for long enough.

use base::units::{Span, Time};

use crate::event::Event;
use crate::port::Flash;

/// When the host has been idle for long enough.
#[derive(Clone, Debug)]
pub(super) struct IdleTimer {
    after: Span,
    /// Superblocks that stay in SLC mode in each pool.
    kept: u32,
    latest: Time,
    /// The time of the event at which the drive may be idle. One event is enough for many requests: it comes again.
    event: Option<Time>,
    is_due: bool,
    is_idle: bool,
}

impl IdleTimer {
    pub(super) const fn new(after: Span, kept: u32) -> Self {
        Self { after, kept, latest: Time::ZERO, event: None, is_due: false, is_idle: false }
    }

    pub(super) const fn kept(&self) -> u32 {
        self.kept
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    #[inline]
    pub(super) fn note_request(&mut self, flash: &mut Flash<'_>) {
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

    pub(super) fn wake(&mut self, now: Time) {
        if self.event.is_some_and(|at| at <= now) {
            (self.event, self.is_due) = (None, true);
        }
    }

    /// True, once, if the drive has become idle.
    pub(super) fn becomes_idle(&mut self, flash: &mut Flash<'_>) -> bool {
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
