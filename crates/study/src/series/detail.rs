//! The details of an interval of a detailed series, beside its counters: the distribution of latencies by kind and by
//! flow, and the queue depth.
//!
//! The bins of a distribution are logarithmic, 128 to each power of two, so that a percentile lies within 0.8 % or one
//! nanosecond of its sample. Only bins with requests are kept, so intervals can be merged and their memory stays small.

use base::io::IoKind;
use base::units::{Sectors, Span};

use super::Window;

/// The number of bits for bins within a power of two.
const BITS: u32 = 7;

/// The bin of a latency in nanoseconds.
const fn bin_of(ns: u64) -> u16 {
    let least = 1 << BITS;
    if ns < least {
        return ns as u16;
    }
    let shift = ns.ilog2() - BITS;
    ((shift << BITS) as u64 + (ns >> shift)) as u16
}

/// The longest latency of a bin, in nanoseconds.
const fn up_to(bin: u16) -> u64 {
    let (bin, least) = (bin as u64, 1 << BITS);
    if bin < 2 * least {
        return bin;
    }
    let shift = bin / least - 1;
    // The edge of the last bin overflows.
    ((bin % least + least + 1) << shift).wrapping_sub(1)
}

/// A distribution of latencies: bins, each with its number of requests, shortest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies(Vec<(u16, u32)>);

impl Latencies {
    /// The number of requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// The span that a share `q` of the requests did not exceed; `None` without requests. It is the upper edge of a bin, and
    /// may exceed the longest latency.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let rank = (q * self.count() as f64).ceil().max(1.0);
        let mut seen = 0.0;
        let found = self.0.iter().find(|(_, count)| {
            seen += f64::from(*count);
            seen >= rank
        });
        found.or(self.0.last()).map(|(bin, _)| Span::from_ps(up_to(*bin).saturating_mul(1_000)))
    }

    fn merge(&mut self, other: &Self) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(&other.0);
        all.sort_unstable_by_key(|(bin, _)| *bin);
        for (bin, count) in all {
            match self.0.last_mut() {
                Some((last, sum)) if *last == bin => *sum = sum.saturating_add(count),
                _ => self.0.push((bin, count)),
            }
        }
    }
}

/// A distribution under construction: a count for each bin, and the bins in use.
#[derive(Clone, Default)]
struct HistogramBuilder {
    counts: Vec<u32>,
    used: Vec<u16>,
}

impl HistogramBuilder {
    #[inline]
    fn record(&mut self, latency: Span) {
        let bin = bin_of(latency.as_ns());
        if self.counts.len() <= usize::from(bin) {
            self.counts.resize(usize::from(bin) + 1, 0);
        }
        let count = &mut self.counts[usize::from(bin)];
        if *count == 0 {
            self.used.push(bin);
        }
        *count = count.saturating_add(1);
    }

    /// Returns the distribution so far, and begins the next distribution.
    fn take(&mut self) -> Latencies {
        self.used.sort_unstable();
        let counts = &mut self.counts;
        Latencies(self.used.drain(..).map(|bin| (bin, std::mem::take(&mut counts[usize::from(bin)]))).collect())
    }
}

/// The number of outstanding requests during an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// The sum of the number of outstanding requests over all picoseconds.
    sum_ps: u128,
    /// The largest number at any time.
    pub max: u64,
}

impl Depth {
    #[inline]
    fn pass(&mut self, outstanding: u64, span: Span) {
        self.sum_ps += u128::from(outstanding) * u128::from(span.as_ps());
        self.max = self.max.max(outstanding);
    }

    fn merge(&mut self, other: &Self) {
        self.sum_ps += other.sum_ps;
        self.max = self.max.max(other.max);
    }

    /// The mean over an interval of this length; zero if the length is zero.
    #[must_use]
    pub fn mean(&self, over: Span) -> f64 {
        if over.is_zero() { 0.0 } else { self.sum_ps as f64 / over.as_ps() as f64 }
    }
}

/// The details of one of several flows in one interval.
#[derive(Clone, Debug, Default)]
pub struct FlowDetail {
    /// Count and latencies of the flow's requests that succeeded.
    pub window: Window,
    /// The distribution of the latencies.
    pub latencies: Latencies,
    /// The number of sectors that the flow's reads and writes moved.
    pub moved: Sectors,
    /// The number of the flow's outstanding requests.
    pub depth: Depth,
}

/// The details of one interval.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// The distribution of latencies by `IoKind`.
    pub kinds: [Latencies; IoKind::ALL.len()],
    /// The number of outstanding requests of all flows.
    pub depth: Depth,
    /// The details of each flow, if there are several.
    pub flows: Vec<FlowDetail>,
}

impl Detail {
    /// Adds an earlier or later interval.
    pub(super) fn merge(&mut self, other: &Self) {
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(of, other)| of.merge(other));
        self.depth.merge(&other.depth);
        for (flow, other) in self.flows.iter_mut().zip(&other.flows) {
            flow.window.merge(&other.window);
            flow.latencies.merge(&other.latencies);
            flow.moved += other.moved;
            flow.depth.merge(&other.depth);
        }
    }
}

/// The interval that has not ended.
#[derive(Clone)]
pub(super) struct OpenInterval {
    kinds: [HistogramBuilder; IoKind::ALL.len()],
    flows: Vec<OpenFlow>,
    depth: Depth,
    /// The details of a longer interval that was taken back because it could not be completed.
    before: Option<Detail>,
}

#[derive(Clone, Default)]
struct OpenFlow {
    latencies: HistogramBuilder,
    outstanding: u64,
    detail: FlowDetail,
}

impl OpenInterval {
    pub(super) fn new(outstanding: &[u64]) -> Self {
        let flow = |outstanding: &u64| OpenFlow { outstanding: *outstanding, ..OpenFlow::default() };
        let flows = outstanding.iter().map(flow).collect();
        Self { kinds: Default::default(), flows, depth: Depth::default(), before: None }
    }

    pub(super) fn outstanding(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.outstanding).collect()
    }

    #[inline]
    pub(super) fn submitted(&mut self, flow: usize) {
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.outstanding += 1;
        }
    }

    /// Counts the end of a request of a flow.
    #[inline]
    pub(super) fn ended(&mut self, flow: u16) {
        if let Some(flow) = self.flows.get_mut(usize::from(flow)) {
            flow.outstanding = flow.outstanding.saturating_sub(1);
        }
    }

    /// Counts a request of a flow that succeeded.
    #[inline]
    pub(super) fn completed(&mut self, flow: u16, kind: IoKind, sectors: Sectors, latency: Span) {
        self.ended(flow);
        self.kinds[kind as usize].record(latency);
        if let Some(flow) = self.flows.get_mut(usize::from(flow)) {
            flow.latencies.record(latency);
            flow.detail.window.record(latency);
            if IoKind::DATA.contains(&kind) {
                flow.detail.moved += sectors;
            }
        }
    }

    #[inline]
    pub(super) fn pass(&mut self, outstanding: u64, span: Span) {
        if span.is_zero() {
            return;
        }
        self.depth.pass(outstanding, span);
        for flow in &mut self.flows {
            flow.detail.depth.pass(flow.outstanding, span);
        }
    }

    /// Ends the interval and begins the next. Returns the details of the ended one.
    pub(super) fn close(&mut self) -> Detail {
        let flow =
            |flow: &mut OpenFlow| FlowDetail { latencies: flow.latencies.take(), ..std::mem::take(&mut flow.detail) };
        let mut detail = Detail {
            kinds: self.kinds.each_mut().map(HistogramBuilder::take),
            depth: std::mem::take(&mut self.depth),
            flows: self.flows.iter_mut().map(flow).collect(),
        };
        if let Some(before) = self.before.take() {
            detail.merge(&before);
        }
        detail
    }

    /// Takes back an interval: its details become a part of the open one.
    pub(super) fn reopen(&mut self, detail: Detail) {
        match &mut self.before {
            Some(before) => before.merge(&detail),
            None => self.before = Some(detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quantile_is_the_bin_of_the_nearest_rank(
            mut ns in prop::collection::vec(0_u64..1 << 40, 1..300),
            thousandths in 0_u64..=1_000,
        ) {
            let mut growing = HistogramBuilder::default();
            ns.iter().for_each(|ns| growing.record(Span::from_ps(ns * 1_000)));
            let latencies = growing.take();
            ns.sort_unstable();
            // The rank in integers: the least rank that a share of all does not exceed.
            let rank = (thousandths * ns.len() as u64).div_ceil(1_000).max(1);
            let nearest = Span::from_ps(up_to(bin_of(ns[rank as usize - 1])) * 1_000);
            // Slightly less than the share, because a thousandth has no exact binary fraction.
            let q = (thousandths as f64 / 1_000.0 - 1e-9).max(0.0);
            prop_assert_eq!(latencies.quantile(q), Some(nearest));
        }
    }

    #[test]
    fn a_percentile_has_the_rank_of_exact_arithmetic() {
        for (q, key, _) in crate::histogram::PERCENTILES {
            let share = (q * 1e5).round() as u64;
            for count in (1..2_000).chain((2_000..2_000_000).step_by(977)) {
                let rank = (share * count).div_ceil(100_000) as u32;
                // If the first bin has as many requests as the rank, the percentile lies in it; with one fewer it does
                // not.
                for (first, bin) in [(rank, 0), (rank - 1, 1)] {
                    let latencies = Latencies(vec![(0, first), (1, count as u32 - first)]);
                    let found = latencies.quantile(q).expect("requests");
                    assert_eq!(found.as_ns(), bin, "{key} of {count} requests, {first} of them in the first bin");
                }
            }
        }
    }

    #[test]
    fn bins_cover_all_latencies_without_a_gap() {
        let all: Vec<u64> =
            (0..100_000).chain((17..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])).collect();
        for ns in all.into_iter().chain([u64::MAX]) {
            let (bin, edge) = (bin_of(ns), up_to(bin_of(ns)));
            assert!(edge >= ns && (edge - ns) as f64 <= ns as f64 / 128.0, "{ns}: {edge}");
            assert_eq!(bin_of(edge), bin, "{ns}");
            assert!(edge == u64::MAX || bin_of(edge + 1) == bin + 1, "{ns}");
        }
    }

    #[test]
    fn percentiles_of_merged_intervals_are_those_of_all_requests() {
        let (mut growing, mut merged) = (HistogramBuilder::default(), Latencies::default());
        for i in 1..=1_000 {
            growing.record(Span::from_us(i * 37 % 1_000 + 1));
            if i % 100 == 0 {
                merged.merge(&growing.take());
            }
        }
        assert_eq!(merged.count(), 1_000);
        for (q, us) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1_000.0)] {
            let found = merged.quantile(q).expect("requests").as_us_f64();
            assert!((found / us - 1.0).abs() < 0.01, "{q}: {found}");
        }
        assert_eq!(Latencies::default().quantile(0.5), None);
    }
}
