//! The distribution of a latency, point by point.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Points of a curve are about this factor apart, so there are at most 232 in each decade: more than a chart shows.
/// Each point is exact, as are the ends. A latency that is left out lies at most 4 % below the next point.
const APART: f64 = 1.02;

/// A cumulative distribution of latencies: the points of the histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Latencies in microseconds, ascending; the last is the longest.
    pub us: Vec<f64>,
    /// For each of these latencies, the number of requests that took no longer.
    pub requests: Vec<u64>,
}

impl Curve {
    /// The curve of a histogram, with the upper edges of its bins as points.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let mut curve = Self::default();
        let (Some(least), Some(most)) = (histogram.min(), histogram.max()) else { return curve };
        let mut requests = 0;
        let mut left_out: Option<(f64, u64)> = None;
        let mut bins = histogram.bins().peekable();
        while let Some(bin) = bins.next() {
            let is_last = bins.peek().is_none();
            let us = if is_last { most } else { bin.up_to.clamp(least, most) }.as_us_f64();
            // The last latency before a gap becomes a point of its own. Otherwise the requests before the gap would
            // seem to take as long as those after it.
            if let Some((before, requests)) = left_out.filter(|(before, _)| us >= before * APART) {
                curve.push(before, requests);
            }
            requests += bin.count;
            left_out = Some((us, requests));
            if is_last || curve.us.last().is_none_or(|before| us >= before * APART) {
                curve.push(us, requests);
                left_out = None;
            }
        }
        curve
    }

    fn push(&mut self, us: f64, requests: u64) {
        self.us.push(us);
        self.requests.push(requests);
    }

    /// The curve of all requests of several runs.
    #[must_use]
    pub fn together<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let all: Vec<&Self> = all.into_iter().collect();
        let mut us: Vec<f64> = all.iter().flat_map(|curve| curve.us.iter().copied()).collect();
        us.sort_by(f64::total_cmp);
        us.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let up_to = |us: &f64| all.iter().map(|curve| curve.up_to(*us)).sum();
        let requests = us.iter().map(up_to).collect();
        Self { us, requests }
    }

    /// The number of requests that took at most this long, according to the points.
    fn up_to(&self, us: f64) -> u64 {
        let beyond = self.us.partition_point(|point| *point <= us);
        beyond.checked_sub(1).map_or(0, |last| self.requests[last])
    }

    /// The points as shares of all requests, each with its latency in microseconds. The last of n requests stands at
    /// 1 - 1/2n, because an axis of nines never reaches 1.
    pub fn points(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        let all = self.requests.last().copied().unwrap_or_default() as f64;
        let share = move |requests: u64| (requests as f64 / all).min(1.0 - 0.5 / all);
        self.us.iter().zip(&self.requests).map(move |(us, requests)| [share(*requests), *us])
    }

    /// The latency in microseconds that this share of the requests did not exceed; `None` if there is no request.
    #[must_use]
    pub fn at(&self, share: f64) -> Option<f64> {
        // The tolerance is a millionth of a request: shares are quotients of whole numbers, which binary fractions only
        // approximate.
        let wanted = share * *self.requests.last()? as f64 - 1e-6;
        let point = self.requests.partition_point(|requests| (*requests as f64) < wanted);
        self.us.get(point).or(self.us.last()).copied()
    }

    /// True if there is no request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.us.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;
    use base::units::Span;

    use super::*;

    fn samples(seed: u64, count: u64) -> Vec<u64> {
        let mut rng = Rng::stream(seed, "curve");
        let mut samples: Vec<u64> = (0..count).map(|_| 10f64.powf(7.0 + 3.0 * rng.unit()) as u64).collect();
        samples.sort_unstable();
        samples
    }

    fn curve(samples: &[u64]) -> Curve {
        let mut histogram = Histogram::default();
        samples.iter().for_each(|ps| histogram.record(Span::from_ps(*ps)));
        Curve::of(&histogram)
    }

    #[test]
    fn every_point_counts_the_requests_up_to_it() {
        let samples = samples(1, 50_000);
        let curve = curve(&samples);
        assert!((200..400).contains(&curve.us.len()), "three decades have {} points", curve.us.len());
        for (us, requests) in curve.us.iter().zip(&curve.requests) {
            // The bins are a thousandth wide.
            let counted = |factor: f64| samples.partition_point(|ps| *ps as f64 * 1e-6 <= us * factor) as u64;
            assert!((counted(0.999)..=counted(1.001)).contains(requests), "{requests} up to {us}");
        }
        assert_eq!(curve.requests.last(), Some(&50_000));
        let last = curve.points().last().expect("points");
        assert!((last[0] - (1.0 - 0.5 / 50_000.0)).abs() < 1e-12, "{last:?}");
    }

    #[test]
    fn a_share_keeps_its_latency_in_front_of_a_gap() {
        // One request of 14.9 us, 98 of 15 us, and one of 150 us.
        let ps: Vec<u64> = [vec![14_900_000], vec![15_000_000; 98], vec![150_000_000]].concat();
        let curve = curve(&ps);
        let median = curve.at(0.5).expect("requests");
        assert!((14.9..15.1).contains(&median), "{median} us: {curve:?}");
        assert_eq!((curve.requests[curve.requests.len() - 2], curve.at(1.0)), (99, Some(150.0)), "{curve:?}");
        // Buffered writes may take no time at all.
        let none = self::curve(&[[0; 99].as_slice(), &[5_000_000]].concat());
        assert_eq!((none.us, none.requests), (vec![0.0, 5.0], vec![99, 100]));
    }

    #[test]
    fn the_latency_at_the_share_of_a_point_is_that_of_the_point() {
        let curve = curve(&samples(4, 12_345));
        for [share, us] in curve.points() {
            assert_eq!(curve.at(share), Some(us), "{share}");
        }
        assert_eq!(curve.at(0.0), curve.us.first().copied());
        assert_eq!(curve.at(1.0), curve.us.last().copied());
        assert_eq!(Curve::default().at(0.5), None);
    }

    #[test]
    fn the_curve_of_two_runs_counts_both() {
        let [a, b] = [1, 2].map(|seed| samples(seed, 1_000));
        let both = Curve::together([&curve(&a), &curve(&b)]);
        assert_eq!(both.requests.last(), Some(&2_000));
        assert!(both.requests.is_sorted() && both.us.is_sorted());
        let middle = both.us[both.us.len() / 2];
        assert_eq!(both.up_to(middle), curve(&a).up_to(middle) + curve(&b).up_to(middle));
        assert!(Curve::together([]).is_empty() && curve(&[]).is_empty());
    }
}
