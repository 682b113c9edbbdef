//! The end of simulated time.

use base::units::{Span, Time};

/// The latest time at which a request may arrive: 13 days before the end of 64 bits, so that the device has time to
/// finish.
pub(super) const LAST: Time = Time::from_ps(u64::MAX - (1 << 60));

/// The latest time at which a run continues, half of these 13 days later: sums of device times that start here stay
/// within 64 bits.
pub(super) const END: Time = Time::from_ps(u64::MAX - (1 << 59));

/// The time of arrival of a request with the source's time `at`; `None` if it is after the end of simulated time.
pub(super) fn arrival(start: Time, at: Time, scale: Option<f64>) -> Option<Time> {
    let ps = match scale {
        None => at.as_ps(),
        // Beyond 64 bits the cast saturates, and the filter below refuses it.
        Some(factor) => (at.as_ps() as f64 * factor) as u64,
    };
    start.as_ps().checked_add(ps).map(Time::from_ps).filter(|at| *at <= LAST)
}

/// The end of a span; the end of time if that comes first.
pub(super) fn until(start: Time, span: Option<Span>) -> Time {
    span.map_or(Time::MAX, |span| Time::from_ps(start.as_ps().saturating_add(span.as_ps())))
}
