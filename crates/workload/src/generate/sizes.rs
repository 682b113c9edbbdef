//! Sizes of requests: a histogram of sizes and ranges of sizes.

use base::engine::Rng;

/// A bar of a histogram: the sizes `min + k * step` sectors for k in 0..count, all equally likely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// The smallest size, in sectors.
    pub(super) min: u64,
    pub(super) count: u64,
    /// The distance of two sizes, in sectors.
    pub(super) step: u64,
    /// The frequency of the bar, relative to the others.
    pub(super) share: f64,
}

/// A histogram of sizes in sectors.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    bars: Vec<Bar>,
    /// Cumulative shares; the last value is the total.
    cumulative: Vec<f64>,
    rng: Rng,
}

impl Sizes {
    /// Creates a histogram. It needs at least one bar.
    pub(super) fn new(bars: Vec<Bar>, rng: Rng) -> Self {
        assert!(!bars.is_empty(), "a histogram without bars");
        let cumulative = bars
            .iter()
            .scan(0.0, |sum, bar| {
                *sum += bar.share;
                Some(*sum)
            })
            .collect();
        Self { bars, cumulative, rng }
    }

    /// The smallest size, in sectors.
    pub(super) fn min(&self) -> u64 {
        self.bars.iter().map(|bar| bar.min).min().expect("at least one bar")
    }

    /// The largest size, in sectors.
    pub(super) fn max(&self) -> u64 {
        self.bars.iter().map(|bar| bar.min + (bar.count - 1) * bar.step).max().expect("at least one bar")
    }

    /// Draws the next size, in sectors. A histogram of a single size draws no random number.
    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        let bar = if let [bar] = self.bars[..] {
            bar
        } else {
            let last = self.bars.len() - 1;
            let x = self.rng.unit() * self.cumulative[last];
            self.bars[self.cumulative.partition_point(|c| *c <= x).min(last)]
        };
        if bar.count == 1 { bar.min } else { bar.min + self.rng.below(bar.count) * bar.step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ranges_follow_their_shares() {
        let bars = vec![
            Bar { min: 8, count: 1, step: 1, share: 0.5 },
            Bar { min: 16, count: 4, step: 8, share: 0.3 },
            Bar { min: 128, count: 1, step: 1, share: 0.2 },
        ];
        let mut sizes = Sizes::new(bars, Rng::stream(9, "sizes"));
        assert_eq!((sizes.min(), sizes.max()), (8, 128));
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            *counts.entry(sizes.draw()).or_insert(0u32) += 1;
        }
        let expected = [(8, 0.5), (16, 0.075), (24, 0.075), (32, 0.075), (40, 0.075), (128, 0.2)];
        assert_eq!(counts.len(), expected.len(), "{counts:?}");
        for (size, p) in expected {
            let sd = (1e5 * p * (1.0f64 - p)).sqrt();
            assert!((f64::from(counts[&size]) - 1e5 * p).abs() < 5.0 * sd, "{size}: {counts:?}");
        }
    }

    #[test]
    fn a_size_with_a_share_of_zero_is_never_drawn() {
        let bar = |min, share| Bar { min, count: 1, step: 1, share };
        let mut sizes = Sizes::new(vec![bar(1, 0.0), bar(2, 1.0), bar(3, 0.0)], Rng::stream(1, "sizes"));
        assert!((0..10_000).all(|_| sizes.draw() == 2));
    }
}
