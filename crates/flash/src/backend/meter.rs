//! The working time of a die's array, a channel or the processor, phase by phase.
//!
//! A phase is charged when it ends, with the time that it has lasted. A reading in between adds the elapsed part. So a
//! phase may be aborted at any moment and continued later as another phase. Every phase has a number, which the event
//! of its end carries. The event of an aborted phase finds another number, or no phase, and is dropped.

use base::units::{Span, Time};

/// The number of a phase, small enough for an event with the number of a die. Numbers repeat after 65,536 phases of one
/// resource; by then no event of the earlier phase is left.
pub(super) type Generation = u16;

/// The working time of a resource.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    /// Time of the phases that have ended.
    ended: Span,
    /// The begin and the scheduled end of the latest phase.
    since: Time,
    until: Time,
    generation: Generation,
    /// True while the latest phase has not ended.
    open: bool,
}

impl Meter {
    /// Begins a phase. Returns its number, for the event of its end.
    #[inline]
    pub(super) fn begin(&mut self, since: Time, until: Time) -> Generation {
        debug_assert!(!self.open, "two phases at once of one resource");
        (self.since, self.until, self.open) = (since, until, true);
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Changes the end of the phase under way. Returns the number for its new event; the event of the previous end is
    /// dropped.
    pub(super) fn reschedule(&mut self, until: Time) -> Generation {
        debug_assert!(self.open, "no phase is under way");
        self.until = until;
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Ends the phase under way, on schedule or early. Returns its duration, to be charged.
    #[inline]
    pub(super) fn end(&mut self, now: Time) -> Span {
        let worked = self.worked(now);
        self.ended += worked;
        self.until = self.until.min(now);
        self.open = false;
        worked
    }

    /// True if the end of the phase with this number is still to come.
    #[inline]
    pub(super) const fn awaits(&self, generation: Generation) -> bool {
        self.open && self.generation == generation
    }

    /// The elapsed part of the phase under way; zero without one.
    #[inline]
    pub(super) fn worked(&self, now: Time) -> Span {
        if self.open { now.min(self.until).saturating_since(self.since) } else { Span::ZERO }
    }

    /// True if the phase under way has time left.
    pub(super) fn works(&self, now: Time) -> bool {
        self.open && self.until > now
    }

    /// The number of the latest phase.
    pub(super) const fn generation(&self) -> Generation {
        self.generation
    }

    /// The begin of the latest phase.
    pub(super) const fn since(&self) -> Time {
        self.since
    }

    /// The end of the latest phase, scheduled or actual.
    pub(super) const fn until(&self) -> Time {
        self.until
    }

    /// All time worked until `now`.
    pub(super) fn busy(&self, now: Time) -> Span {
        self.ended + self.worked(now)
    }

    /// Adds working time that belongs to no phase.
    pub(super) fn add(&mut self, time: Span) {
        self.ended += time;
    }

    /// Resets the charged time.
    pub(super) const fn reset(&mut self) {
        self.ended = Span::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn a_phase_is_charged_at_its_end_and_read_while_it_runs() {
        let mut meter = Meter::default();
        meter.begin(at(10), at(40));
        assert_eq!([5, 10, 25, 40, 90].map(|us| meter.busy(at(us)).as_us_f64() as u64), [0, 0, 15, 30, 30]);
        assert_eq!(meter.end(at(40)), Span::from_us(30));
        assert_eq!((meter.busy(at(90)), meter.worked(at(90))), (Span::from_us(30), Span::ZERO));
        meter.reset();
        assert_eq!(meter.busy(at(90)), Span::ZERO);
    }

    #[test]
    fn an_interrupted_phase_continues_as_another_and_its_old_event_is_recognised() {
        let mut meter = Meter::default();
        let first = meter.begin(at(0), at(100));
        assert!(meter.awaits(first));
        assert_eq!(meter.end(at(30)), Span::from_us(30));
        assert!(!meter.awaits(first) && !meter.works(at(30)), "it was broken off");
        assert_eq!(meter.until(), at(30));
        let second = meter.begin(at(50), at(120));
        assert!(!meter.awaits(first) && meter.awaits(second), "the event of the first phase is not that of the second");
        assert_eq!(meter.end(at(120)), Span::from_us(70));
        assert_eq!(meter.busy(at(200)), Span::from_us(100), "nothing is charged twice");
    }
}
