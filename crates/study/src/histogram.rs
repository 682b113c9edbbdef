//! Latency distributions with bounded error.
//!
//! The bins (an HDR histogram) give a percentile within 0.1 % or one nanosecond of the sample, whichever is larger.
//! Count, sum, minimum and maximum are exact. The range covers every span of a run, so that no value is clipped.

use std::fmt;

use base::units::Span;

/// Significant decimal digits of a bin.
const DIGITS: u8 = 3;

/// A distribution of spans. Recording never fails. It allocates memory only for a span more than twice as long as all
/// before: 16 kB hold spans up to 2 us, and each doubling takes 8 kB more.
#[derive(Clone)]
pub struct Histogram {
    bins: hdrhistogram::Histogram<u64>,
    count: u64,
    sum_ps: u128,
    min: Span,
    max: Span,
}

/// One non-empty bin of a [`Histogram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The longest span of the bin.
    pub up_to: Span,
    /// The number of spans in the bin.
    pub count: u64,
}

/// The percentiles of reports: the share, the key and the heading.
pub const PERCENTILES: [(f64, &str, &str); 7] = [
    (0.50, "p50", "p50"),
    (0.90, "p90", "p90"),
    (0.95, "p95", "p95"),
    (0.99, "p99", "p99"),
    (0.999, "p99_9", "p99.9"),
    (0.9999, "p99_99", "p99.99"),
    (0.99999, "p99_999", "p99.999"),
];

/// The upper edge of a bin; for the last bin the longest possible span.
fn from_ns(ns: u64) -> Span {
    Span::from_ps(ns.saturating_mul(1_000))
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Debug texts leave out the thousands of bins.
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        // Bins for all possible spans would take 380 kB, and a run has dozens of histograms, most of them for short
        // spans.
        let bins = hdrhistogram::Histogram::new(DIGITS).expect("a valid number of digits");
        Self { bins, count: 0, sum_ps: 0, min: Span::MAX, max: Span::ZERO }
    }
}

impl Histogram {
    /// Counts one span in its bin.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request passes here.
    pub fn record(&mut self, span: Span) {
        self.bins.record(span.as_ns()).expect("the bins grow to cover every span");
        self.count += 1;
        self.sum_ps += u128::from(span.as_ps());
        self.min = self.min.min(span);
        self.max = self.max.max(span);
    }

    /// The number of recorded spans.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// True if no span was recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact sum in picoseconds.
    #[must_use]
    pub const fn sum_ps(&self) -> u128 {
        self.sum_ps
    }

    /// The mean, rounded down to a picosecond; `None` if the histogram is empty.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_ps((self.sum_ps / u128::from(self.count)) as u64))
    }

    /// The exact minimum; `None` if the histogram is empty.
    #[must_use]
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact maximum; `None` if the histogram is empty.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then_some(self.max)
    }

    /// The smallest span such that a share `q` of all recorded spans does not exceed it; `None` if the histogram is
    /// empty.
    ///
    /// # Panics
    /// If `q` is not between 0 and 1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Span> {
        assert!((0.0..=1.0).contains(&q), "{q} is not a quantile");
        (self.count > 0).then(|| from_ns(self.bins.value_at_quantile(q)).clamp(self.min, self.max))
    }

    /// Records the same span `count` times.
    pub fn record_many(&mut self, span: Span, count: u64) {
        if count == 0 {
            return;
        }
        self.bins.record_n(span.as_ns(), count).expect("the bins grow to cover every span");
        self.count += count;
        self.sum_ps += u128::from(span.as_ps()) * u128::from(count);
        self.min = self.min.min(span);
        self.max = self.max.max(span);
    }

    /// Adds all spans of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.bins.add(&other.bins).expect("the bins grow to cover every span");
        self.count += other.count;
        self.sum_ps += other.sum_ps;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The non-empty bins, shortest first.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        self.bins
            .iter_recorded()
            .map(|bin| Bin { up_to: from_ns(bin.value_iterated_to()), count: bin.count_since_last_iteration() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::engine::Rng;
    use proptest::prelude::*;

    fn of(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        samples.iter().for_each(|ps| histogram.record(Span::from_ps(*ps)));
        histogram
    }

    /// The nearest-rank quantile of sorted samples, which the bins approximate.
    fn exact(sorted: &[u64], q: f64) -> u64 {
        let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
        sorted[rank.min(sorted.len()) - 1]
    }

    fn assert_close(histogram: &Histogram, sorted: &[u64], q: f64) {
        let (want, got) = (exact(sorted, q), histogram.quantile(q).expect("not empty").as_ps());
        let allowed = (want / 1_000).max(1_000);
        assert!(got.abs_diff(want) <= allowed, "q {q}: {got} ps, the raw samples say {want} ps");
    }

    #[test]
    fn percentiles_agree_with_sorted_samples() {
        let mut rng = Rng::stream(1, "histogram");
        // Latencies over seven decades, as of a drive with garbage collection.
        let mut samples: Vec<u64> = (0..200_000).map(|_| 10f64.powf(3.0 + 7.0 * rng.unit()) as u64).collect();
        let histogram = of(&samples);
        samples.sort_unstable();
        for (q, ..) in PERCENTILES {
            assert_close(&histogram, &samples, q);
        }
        assert_eq!(histogram.min(), Some(Span::from_ps(samples[0])));
        assert_eq!(histogram.max(), Some(Span::from_ps(samples[samples.len() - 1])));
        assert_eq!(histogram.sum_ps(), samples.iter().map(|ps| u128::from(*ps)).sum());
        assert_eq!(histogram.bins().map(|bin| bin.count).sum::<u64>(), histogram.count());
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        let empty = Histogram::default();
        assert_eq!((empty.mean(), empty.min(), empty.max(), empty.quantile(0.5)), (None, None, None, None));
    }

    #[test]
    fn the_histogram_keeps_the_smallest_and_the_largest_span() {
        let histogram = of(&[0, u64::MAX]);
        assert_eq!(histogram.quantile(0.0), Some(Span::ZERO));
        assert_eq!(histogram.quantile(1.0), Some(Span::MAX));
        assert_eq!(histogram.bins().count(), 2);
    }

    proptest! {
        #[test]
        fn any_percentile_agrees_with_sorted_samples(mut samples in prop::collection::vec(0u64..=1 << 52, 1..200), q in 0.0..=1.0) {
            let histogram = of(&samples);
            samples.sort_unstable();
            assert_close(&histogram, &samples, q);
        }

        #[test]
        fn merging_two_histograms_equals_recording_both(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both = of(&[a, b].concat());
            prop_assert_eq!((merged.count(), merged.sum_ps(), merged.min(), merged.max()), (both.count(), both.sum_ps(), both.min(), both.max()));
            prop_assert_eq!(merged.quantile(0.5), both.quantile(0.5));
        }
    }
}
