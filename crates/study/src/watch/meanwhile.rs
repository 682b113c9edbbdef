//! The work of a drive while a request waited outside the flash: in the submission queue, behind an overlapping
//! request, for the write buffer, or in the FTL.
//!
//! No single command delays such a request, as a command delays another on its die. So its wait is divided in two ways,
//! both in proportion:
//!
//! 1. by the parts of the requests that completed meanwhile; 2. by the causes for which the dies worked meanwhile.
//!
//! Both are running sums over the run, stored at some instants. The difference of two sums belongs to the time between
//! them.

use std::iter::zip;

use base::units::{Span, Time};
use flash::backend::Cause;

use super::journey::JourneyPart;

/// Work over some time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    /// The parts of completed requests, without their time in the queue.
    parts: [f64; JourneyPart::COUNT],
    causes: [f64; Cause::COUNT],
}

/// A wait divided by the work meanwhile. A remainder has no known reason: no request completed, and no die worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DividedWait {
    pub(super) parts: [Span; JourneyPart::COUNT],
    pub(super) causes: [Span; Cause::COUNT],
}

impl DividedWait {
    pub(super) fn add(&mut self, other: &Self) {
        zip(&mut self.parts, other.parts).for_each(|(sum, more)| *sum += more);
        zip(&mut self.causes, other.causes).for_each(|(sum, more)| *sum += more);
    }
}

/// The most instants that are stored.
const MARKS: usize = 1 << 12;

/// The running sums at instants, in order. Between two instants the sums are interpolated linearly.
///
/// When there are too many instants, every second one of the older half is dropped. So the recent past is known
/// exactly, and the distance of instants grows with their age.
#[derive(Clone, Debug)]
pub(super) struct RunningSums {
    marks: Vec<(Time, Work)>,
    now: Work,
}

impl Default for RunningSums {
    fn default() -> Self {
        Self { marks: vec![(Time::ZERO, Work::default())], now: Work::default() }
    }
}

impl RunningSums {
    /// Adds work of a die. The whole span counts at its begin.
    pub(super) fn worked(&mut self, span: Span, cause: Cause) {
        self.now.causes[cause as usize] += span.as_us_f64();
    }

    /// Subtracts the rest of a die's work that stops before its end.
    pub(super) fn stopped(&mut self, left: Span, cause: Cause) {
        self.now.causes[cause as usize] -= left.as_us_f64();
    }

    /// Adds the parts of a completed request, without its time in the queue.
    pub(super) fn completed(&mut self, now: Time, parts: &[Span; JourneyPart::COUNT]) {
        for (part, (sum, span)) in zip(JourneyPart::ALL, zip(&mut self.now.parts, parts)) {
            if part != JourneyPart::Queue && !span.is_zero() {
                *sum += span.as_us_f64();
            }
        }
        match self.marks.last_mut() {
            Some((at, last)) if *at == now => *last = self.now,
            _ => self.marks.push((now, self.now)),
        }
        if self.marks.len() == MARKS {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                // The first instant is kept.
                number > MARKS / 2 || number % 2 == 1
            });
        }
    }

    /// The sums at an instant that is not after `now`.
    fn at(&self, time: Time, now: Time) -> Work {
        let after = self.marks.partition_point(|(at, _)| *at <= time);
        let (last, from) = after.checked_sub(1).map_or_else(Default::default, |before| self.marks[before]);
        let (next, to) = self.marks.get(after).copied().unwrap_or((now, self.now));
        if next <= last {
            return to;
        }
        let share = (time - last).as_us_f64() / (next - last).as_us_f64();
        let between = |from: f64, to: f64| from + (to - from) * share;
        let mut work = from;
        zip(&mut work.parts, to.parts).for_each(|(sum, to)| *sum = between(*sum, to));
        zip(&mut work.causes, to.causes).for_each(|(sum, to)| *sum = between(*sum, to));
        work
    }

    /// Divides the wait between two times, not after `now`, by the work meanwhile.
    pub(super) fn divide(&self, (from, until): (Time, Time), now: Time) -> DividedWait {
        let (before, after) = (self.at(from, now), self.at(until, now));
        let wait = until - from;
        DividedWait {
            parts: divide(wait, std::array::from_fn(|i| after.parts[i] - before.parts[i])),
            causes: divide(wait, std::array::from_fn(|i| after.causes[i] - before.causes[i])),
        }
    }
}

/// Divides a wait in proportion to the work. The parts are never more than the wait together.
fn divide<const COUNT: usize>(wait: Span, work: [f64; COUNT]) -> [Span; COUNT] {
    let all: f64 = work.iter().sum();
    let mut left = wait;
    work.map(|some| {
        if some <= 0.0 || all <= 0.0 {
            return Span::ZERO;
        }
        let share = Span::from_ps((wait.as_ps() as f64 * (some / all)).round() as u64).min(left);
        left -= share;
        share
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = |us| Time::ZERO + Span::from_us(us);

    fn parts(some: &[(JourneyPart, u64)]) -> [Span; JourneyPart::COUNT] {
        let mut parts = [Span::ZERO; JourneyPart::COUNT];
        some.iter().for_each(|(part, us)| parts[*part as usize] = Span::from_us(*us));
        parts
    }

    #[test]
    fn a_wait_is_divided_by_what_was_done_meanwhile() {
        let mut seen = RunningSums::default();
        seen.worked(Span::from_us(30), Cause::Merge);
        seen.completed(US(10), &parts(&[(JourneyPart::Queue, 500), (JourneyPart::Buffer, 9), (JourneyPart::Link, 1)]));
        seen.worked(Span::from_us(10), Cause::Host);
        seen.completed(US(20), &parts(&[(JourneyPart::Array, 10)]));
        // All of the work, without the time in the queue.
        let all = seen.divide((US(0), US(20)), US(20));
        assert_eq!(all.parts, parts(&[(JourneyPart::Buffer, 9), (JourneyPart::Link, 1), (JourneyPart::Array, 10)]));
        assert_eq!((all.causes[Cause::Merge as usize], all.causes[Cause::Host as usize]), {
            (Span::from_us(15), Span::from_us(5))
        });
        // Half of the work of the first ten microseconds, and all of the second.
        let some = seen.divide((US(5), US(20)), US(20));
        assert_eq!(some.parts[JourneyPart::Array as usize], Span::from_us(10));
        assert_eq!(some.parts[JourneyPart::Buffer as usize], Span::from_ns(4500));
        // No work since then.
        assert_eq!(seen.divide((US(20), US(40)), US(40)), DividedWait::default());
        // Work that has begun since the last completion counts.
        seen.worked(Span::from_us(1), Cause::Gc);
        assert_eq!(seen.divide((US(20), US(40)), US(40)).causes[Cause::Gc as usize], Span::from_us(20));
    }

    #[test]
    fn old_instants_thin_out_and_the_sums_stay() {
        let mut seen = RunningSums::default();
        let many = 20 * MARKS as u64;
        for us in 1..=many {
            seen.completed(US(us), &parts(&[(if us % 4 == 0 { JourneyPart::Die } else { JourneyPart::Array }, 1)]));
            assert!(seen.marks.len() < MARKS);
        }
        let all = seen.divide((US(0), US(many)), US(many));
        assert_eq!(all.parts, parts(&[(JourneyPart::Die, many / 4), (JourneyPart::Array, many / 4 * 3)]));
        // The last instants are exact.
        let last = seen.divide((US(many - 100), US(many)), US(many));
        assert_eq!(last.parts, parts(&[(JourneyPart::Die, 25), (JourneyPart::Array, 75)]));
        // The first instants are approximate.
        let first = seen.divide((US(0), US(many / 2)), US(many)).parts[JourneyPart::Die as usize].as_us_f64();
        assert!((first / (many / 8) as f64 - 1.0).abs() < 1e-2, "{first}");
    }

    #[test]
    fn the_shares_are_never_more_than_the_wait() {
        for wait in 1..1000 {
            let wait = Span::from_ps(wait);
            let shares = divide(wait, [0.1, 0.7, -0.1, 0.3, 1e9, 3.3]);
            assert!(shares.iter().copied().sum::<Span>() <= wait, "{shares:?}");
        }
        assert_eq!(divide(Span::from_us(1), [0.0; 3]), [Span::ZERO; 3]);
    }
}
