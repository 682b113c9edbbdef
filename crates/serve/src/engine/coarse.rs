//! A small histogram of the latencies between two observations of a drive.
//!
//! A histogram takes 15 KiB, so that the thread of the drive can hand it over and begin a new one at once. The bins are
//! 3 % wide; [`study::histogram::Histogram`] has finer bins and takes 360 KiB.

use base::units::Span;

/// Bins for each power of two.
const PARTS: u64 = 32;
const BITS: u32 = PARTS.trailing_zeros();
const BINS: usize = (PARTS as usize) * (64 - BITS as usize + 1);

/// A distribution of spans, to the nanosecond below 64 ns and within 3 % above.
#[derive(Clone, Debug)]
pub(crate) struct CoarseHistogram {
    bins: Box<[u64]>,
    count: u64,
    max: u64,
}

impl Default for CoarseHistogram {
    fn default() -> Self {
        Self { bins: vec![0; BINS].into(), count: 0, max: 0 }
    }
}

const fn bin(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let power = ns.ilog2() - BITS;
    (power as usize + 1) * PARTS as usize + ((ns >> power) - PARTS) as usize
}

/// The longest time of a bin.
const fn up_to(bin: usize) -> u64 {
    let (power, part) = ((bin as u64) / PARTS, (bin as u64) % PARTS);
    if power == 0 {
        return part;
    }
    // The edge of the last bin does not fit into 64 bits.
    (((PARTS + part + 1) as u128) << (power - 1)).saturating_sub(1) as u64
}

impl CoarseHistogram {
    pub(crate) fn record(&mut self, span: Span) {
        let ns = span.as_ns();
        self.bins[bin(ns)] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The latency in microseconds that a share `q` of all spans does not exceed; `None` without spans.
    pub(crate) fn quantile_us(&self, q: f64) -> Option<f64> {
        let wanted = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let found = self.bins.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map(|bin| up_to(bin).min(self.max) as f64 / 1e3)
    }

    /// The longest span in microseconds; `None` without spans.
    pub(crate) fn max_us(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use study::histogram::Histogram;

    use super::*;

    #[test]
    fn the_bins_meet_and_reach_the_end() {
        assert!((1..BINS).all(|i| bin(up_to(i - 1)) == i - 1 && bin(up_to(i - 1) + 1) == i));
        assert_eq!((bin(u64::MAX), up_to(BINS - 1)), (BINS - 1, u64::MAX));
        assert_eq!(CoarseHistogram::default().quantile_us(0.5), None);
    }

    proptest! {
        #[test]
        fn a_quantile_is_that_of_the_fine_histogram_within_its_bin(
            times in prop::collection::vec(0_u64..1 << 40, 1..200), q in 0.0..=1.0_f64,
        ) {
            let (mut coarse, mut fine) = (CoarseHistogram::default(), Histogram::default());
            for ns in &times {
                let span = Span::from_ps(ns * 1000);
                coarse.record(span);
                fine.record(span);
            }
            let (coarse, fine) = (coarse.quantile_us(q).expect("some"), fine.quantile(q).expect("some").as_us_f64());
            // Each of the two may say the upper edge of its bin.
            prop_assert!((coarse - fine).abs() <= fine.max(coarse) * 0.035 + 0.002, "{coarse} {fine} {times:?}");
        }
    }
}
