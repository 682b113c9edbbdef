//! The hot-data filter: a write not larger than a threshold counts as hot (Chang, Sec. 3.2).
//!
//! The filter counts requests by size. The counters fall into two clusters, and the threshold is the centre of the
//! cluster of smaller sizes. Algorithm 1 searches for the clusters by alternating between centres and partition. Its
//! printed start (0, 0, 0) is a fixed point for every histogram with few writes of one sector, and yields a threshold
//! of one sector. So this filter tries all partitions; the printed search is kept to show its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::toolkit::PeriodicTrigger;

/// Size classes: 2^0 to 2^10 sectors.
pub(crate) const SIZES: usize = 11;

/// The threshold before the first clustering, in sectors: the paper's value most of the time.
pub(super) const FIRST: u32 = 8;

/// The method that finds the clusters of write sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "ThresholdBy", rename_all = "kebab-case")]
pub enum ClusterMethod {
    /// The best of all partitions of the sizes into two clusters.
    #[default]
    Partition,
    /// Algorithm 1 as it is printed. From its start (0, 0, 0) it moves nowhere, and the threshold is one sector. For
    /// comparison.
    Alternation,
    /// No clustering: the threshold stays at 8 sectors.
    Fixed,
}

impl ClusterMethod {
    /// All methods, for tests and lists.
    pub const EVERY: [Self; 3] = [Self::Partition, Self::Alternation, Self::Fixed];
}

/// The counts of writes by size, and the threshold.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    by: ClusterMethod,
    counts: [u64; SIZES],
    every: PeriodicTrigger,
    threshold: u32,
}

impl Filter {
    pub(super) const fn new(by: ClusterMethod, period: u32) -> Self {
        Self { by, counts: [0; SIZES], every: PeriodicTrigger::new(period), threshold: FIRST }
    }

    /// The largest write that counts as hot, in sectors.
    pub(super) const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Counts a write, and at the end of a period recomputes the threshold.
    pub(super) fn record(&mut self, sectors: u32) {
        self.counts[size_class(sectors)] += 1;
        if !self.every.tick() {
            return;
        }
        let class = match self.by {
            ClusterMethod::Partition => by_partition(&self.counts),
            ClusterMethod::Alternation => Some(by_alternation(&self.counts)),
            ClusterMethod::Fixed => None,
        };
        if let Some(class) = class {
            self.threshold = 1 << class;
        }
    }
}

/// The index of the power of two nearest to a size; of two equally near powers the larger.
fn size_class(sectors: u32) -> usize {
    let below = sectors.max(1).ilog2();
    let up = u64::from(sectors) * 2 >= 3 << below;
    ((below + u32::from(up)) as usize).min(SIZES - 1)
}

/// The cost of gathering the classes up to `p` at centre `i` and the others at centre `j`: writes times distance.
fn cost(counts: &[u64; SIZES], i: usize, j: usize, p: usize) -> u64 {
    let at = |k: usize| if k <= p { i } else { j };
    (0..SIZES).map(|k| counts[k] * at(k).abs_diff(k) as u64).sum()
}

/// The best centres of a partition, which are weighted medians; of equally good centres the smaller.
fn centres(counts: &[u64; SIZES], p: usize) -> (usize, usize) {
    let best = |range: std::ops::Range<usize>, fallback: usize| {
        let of = |centre: usize| range.clone().map(|k| counts[k] * centre.abs_diff(k) as u64).sum::<u64>();
        if counts[range.clone()].iter().all(|count| *count == 0) {
            return fallback;
        }
        (0..SIZES).min_by_key(|centre| of(*centre)).unwrap_or(fallback)
    };
    (best(0..p + 1, 0), best(p + 1..SIZES, p))
}

/// The centre of the smaller sizes in the best partition. None if all writes have one size, because these are no two
/// clusters.
fn by_partition(counts: &[u64; SIZES]) -> Option<usize> {
    let of = |p: usize| {
        let (i, j) = centres(counts, p);
        (cost(counts, i, j, p), i)
    };
    let any = |counts: &[u64]| counts.iter().any(|count| *count > 0);
    let both = |p: &usize| any(&counts[..=*p]) && any(&counts[p + 1..]);
    (0..SIZES - 1).filter(both).map(of).min().map(|(_, i)| i)
}

/// Algorithm 1 as printed, except that misprints in f are corrected.
fn by_alternation(counts: &[u64; SIZES]) -> usize {
    let mut p = 0;
    loop {
        let (i, j) = centres(counts, p);
        let before = cost(counts, i, j, p);
        let (after, best) = (0..SIZES).map(|p| (cost(counts, i, j, p), p)).min().expect("sizes");
        if after == before {
            return i;
        }
        p = best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Histograms of the shapes in Fig. 7a: peaks at 8 and 128 sectors; EXT3 has more small writes and some of 256.
    const NTFS: [u64; SIZES] = [10, 10, 30, 680, 40, 40, 40, 140, 10, 0, 0];
    const EXT3: [u64; SIZES] = [5, 5, 20, 800, 30, 20, 10, 50, 60, 0, 0];

    #[test]
    fn small_writes_of_both_workloads_are_those_of_4_kib() {
        for counts in [NTFS, EXT3] {
            assert_eq!(by_partition(&counts), Some(3));
        }
    }

    #[test]
    fn the_printed_threshold_search_stops_at_its_start() {
        for counts in [NTFS, EXT3] {
            assert_eq!(1 << by_alternation(&counts), 1);
        }
    }

    #[test]
    fn writes_of_one_size_leave_the_threshold_where_it_is() {
        let mut filter = Filter::new(ClusterMethod::Partition, 1);
        (0..10).for_each(|_| filter.record(128));
        assert_eq!(filter.threshold(), 8);
        filter.record(16);
        assert_eq!(filter.threshold(), 16);
    }

    #[test]
    fn sizes_go_to_the_nearest_power_of_two() {
        let classes =
            [(0, 0), (1, 0), (2, 1), (3, 2), (5, 2), (6, 3), (8, 3), (11, 3), (12, 4), (1024, 10), (5000, 10)];
        for (sectors, class) in classes {
            assert_eq!(size_class(sectors), class, "{sectors}");
        }
    }

    #[test]
    fn the_threshold_moves_when_the_period_is_over() {
        let mut filter = Filter::new(ClusterMethod::Partition, 4);
        for sectors in [32, 32, 32] {
            filter.record(sectors);
            assert_eq!(filter.threshold(), 8);
        }
        filter.record(512);
        assert_eq!(filter.threshold(), 32);
    }
}
