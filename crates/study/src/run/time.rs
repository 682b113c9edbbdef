//! The end of simulated time.

use base::units::{Span, Time};

/// The last instant at which a request arrives: 13 days before 64 bits end. They are for the device to finish in.
pub(super) const LAST: Time = Time::from_ps(u64::MAX - (1 << 60));

/// The last instant at which a run goes on, half of these days later: no time of a device that is summed from here leaves
/// 64 bits.
pub(super) const END: Time = Time::from_ps(u64::MAX - (1 << 59));

/// When a request arrives that its source gives at `at`; `None` if that is after the end of simulated time.
pub(super) fn arrival(start: Time, at: Time, scale: Option<f64>) -> Option<Time> {
    let ps = match scale {
        None => at.as_ps(),
        // Beyond 64 bits it is the largest number, which is refused below.
        Some(factor) => (at.as_ps() as f64 * factor) as u64,
    };
    start.as_ps().checked_add(ps).map(Time::from_ps).filter(|at| *at <= LAST)
}

/// The end of a span; the end of time if that comes first.
pub(super) fn until(start: Time, span: Option<Span>) -> Time {
    span.map_or(Time::MAX, |span| Time::from_ps(start.as_ps().saturating_add(span.as_ps())))
}
