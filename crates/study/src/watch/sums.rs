//! Sums of the parts of the time of requests by latency: sufficient for all bands of percentiles, in memory that does
//! not grow with the run.
//!
//! Requests of nearly equal latency share a sum. A band that ends within a sum takes a share of it. The band's number
//! of requests is therefore exact, its parts add up to its latency, and both deviate by less than the width of a bin.

use base::io::IoKind;
use base::units::Span;
use flash::backend::Cause;

use super::journey::{Journey, JourneyPart};

/// The number of bins between a latency and its double, as a power of two: requests in one bin differ by less than 0.4
/// %.
const FINE: u32 = 8;

/// Requests of one kind and nearly equal latency, or a share of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) requests: f64,
    pub(super) latency_us: f64,
    pub(super) parts_us: [f64; JourneyPart::COUNT],
    pub(super) behind_us: [f64; Cause::COUNT],
    pub(super) ahead_us: [f64; JourneyPart::COUNT],
    pub(super) meanwhile_us: [f64; Cause::COUNT],
    /// The time for which the requests waited for each drive of a layer; empty for a single drive.
    pub(super) drives_us: Vec<f64>,
}

impl Sum {
    fn add(&mut self, of: &Self, share: f64) {
        self.requests += of.requests * share;
        self.latency_us += of.latency_us * share;
        self.parts_us.iter_mut().zip(of.parts_us).for_each(|(sum, us)| *sum += us * share);
        self.behind_us.iter_mut().zip(of.behind_us).for_each(|(sum, us)| *sum += us * share);
        self.ahead_us.iter_mut().zip(of.ahead_us).for_each(|(sum, us)| *sum += us * share);
        self.meanwhile_us.iter_mut().zip(of.meanwhile_us).for_each(|(sum, us)| *sum += us * share);
        if self.drives_us.len() < of.drives_us.len() {
            self.drives_us.resize(of.drives_us.len(), 0.0);
        }
        self.drives_us.iter_mut().zip(&of.drives_us).for_each(|(sum, us)| *sum += us * share);
    }
}

/// The sums of all requests.
#[derive(Clone, Debug, Default)]
pub struct Sums([Vec<Sum>; IoKind::ALL.len()]);

/// The bin of a latency: one per nanosecond for short latencies, then a constant number for each doubling.
fn bin(latency: Span) -> usize {
    let ns = latency.as_ns();
    let doublings = (u64::BITS - ns.leading_zeros()).saturating_sub(FINE + 1);
    ((u64::from(doublings) << FINE) + (ns >> doublings)) as usize
}

impl Sums {
    /// Adds a request, and the time for which it waited for each drive of a layer.
    pub(super) fn add(&mut self, journey: &Journey, drives: &[Span]) {
        let (bins, at) = (&mut self.0[journey.io.kind as usize], bin(journey.latency()));
        if bins.len() <= at {
            bins.resize(at + 1, Sum::default());
        }
        let sum = &mut bins[at];
        sum.requests += 1.0;
        sum.latency_us += journey.latency().as_us_f64();
        // Most parts are zero and need no conversion.
        let add = |(sum, span): (&mut f64, Span)| *sum += span.as_us_f64();
        let is_some = |(_, span): &(&mut f64, Span)| !span.is_zero();
        sum.parts_us.iter_mut().zip(journey.parts).filter(is_some).for_each(add);
        sum.behind_us.iter_mut().zip(journey.behind).filter(is_some).for_each(add);
        sum.ahead_us.iter_mut().zip(journey.ahead).filter(is_some).for_each(add);
        sum.meanwhile_us.iter_mut().zip(journey.meanwhile).filter(is_some).for_each(add);
        if sum.drives_us.len() < drives.len() {
            sum.drives_us.resize(drives.len(), 0.0);
        }
        sum.drives_us.iter_mut().zip(drives.iter().copied()).for_each(add);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (bins, others) in self.0.iter_mut().zip(&other.0) {
            bins.resize(bins.len().max(others.len()), Sum::default());
            let some = bins.iter_mut().zip(others).filter(|(_, other)| other.requests > 0.0);
            some.for_each(|(sum, other)| sum.add(other, 1.0));
        }
    }

    pub(super) fn requests(&self, kind: IoKind) -> u64 {
        self.0[kind as usize].iter().map(|sum| sum.requests).sum::<f64>() as u64
    }

    /// The sum over a range of requests of a kind, counted from the fastest.
    pub(super) fn between(&self, kind: IoKind, from: u64, until: u64) -> Sum {
        let (mut all, mut seen) = (Sum::default(), 0.0);
        for sum in self.0[kind as usize].iter().filter(|sum| sum.requests > 0.0) {
            let first = (from as f64).max(seen);
            seen += sum.requests;
            let some = (until as f64).min(seen) - first;
            if some > 0.0 {
                all.add(sum, some / sum.requests);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_rise_with_the_latency_and_are_narrow() {
        let mut before = 0;
        for exponent in 0..53 {
            for ns in [1_u64 << exponent, (1 << exponent) + (1 << exponent) / 3] {
                let at = bin(Span::from_ns(ns));
                assert!(at >= before, "{ns}");
                before = at;
                // The next bin begins within 1/256 of the latency.
                assert!(bin(Span::from_ns(ns + (ns >> FINE) + 1)) > at, "{ns}");
            }
        }
        assert!(bin(Span::MAX) < 1 << 15, "the room is bounded");
    }
}
