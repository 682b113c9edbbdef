//! Addresses of requests.
//!
//! A pattern chooses an address unit of the region; every address unit is `align` long. A request may be longer: one
//! that would cross the end of the region moves back until it ends there.

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors};
use libm::{floor, log, pow};

use super::permute::Permutation;
use super::stride::Stride;
use super::zipf::Zipf;

/// Reads, writes and discards, in the order of the arrays below.
pub(super) const KINDS: [IoKind; 3] = [IoKind::Read, IoKind::Write, IoKind::Discard];

/// The common properties of requests that differ only in their addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestClass {
    /// The kind, as an index of [`KINDS`].
    pub(super) kind: usize,
    pub(super) sectors: Sectors,
    pub(super) placement: PlacementId,
}

/// The address units of a region, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// First sector of the region.
    pub(super) start: u64,
    pub(super) count: u64,
    pub(super) length: u64,
}

impl Units {
    pub(super) const fn sectors(self) -> u64 {
        self.count * self.length
    }

    /// The first sector after the region.
    pub(super) const fn end(self) -> u64 {
        self.start + self.sectors()
    }

    #[inline]
    pub(super) const fn covered(self, sectors: u64) -> u64 {
        if sectors <= self.length { 1 } else { sectors.div_ceil(self.length) }
    }
}

/// A zone: its address units, and the cumulative probability of the zones up to and with this zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressZone {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) cumulative: f64,
}

/// A sequence: a slice of the region, and the position of each kind of request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    start: u64,
    end: u64,
    at: [u64; 3],
}

/// The rule by which address units are chosen.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Uniform,
    Shuffled { order: Permutation, next: u64 },
    Sequential { slices: Vec<Slice>, turn: [usize; 3] },
    Zipf { ranks: Zipf, spread: Option<Permutation> },
    Pareto { exponent: f64, spread: Option<Permutation> },
    Zoned { zones: Vec<AddressZone>, spread: Option<Permutation> },
    Window { units: u64, first: u64, period: Option<u64>, left: u64 },
    Strided(Stride),
}

impl Pattern {
    /// A pattern that visits every address unit once per pass.
    pub(super) fn shuffled(units: Units, rng: &mut Rng) -> Self {
        Self::Shuffled { order: Permutation::new(units.count, rng), next: 0 }
    }

    /// A pattern of `streams` sequences in slices of equal length. A remainder of the division is unused.
    pub(super) fn sequential(units: Units, streams: u32) -> Self {
        let length = units.count / u64::from(streams) * units.length;
        let slice = |i: u32| {
            let start = units.start + u64::from(i) * length;
            Slice { start, end: start + length, at: [start; 3] }
        };
        Self::Sequential { slices: (0..streams).map(slice).collect(), turn: [0; 3] }
    }

    /// A pattern in which a share `power` of the address units gets a share `1 - power` of the requests: P(unit < x n)
    /// = x^(ln(1 - power) / ln(power)), drawn by inversion.
    pub(super) fn pareto(power: f64, spread: Option<Permutation>) -> Self {
        Self::Pareto { exponent: log(power) / log(1.0 - power), spread }
    }

    /// A window of `units` address units that moves after `period` requests; never with `None`.
    pub(super) const fn window(units: u64, period: Option<u64>) -> Self {
        Self::Window { units, first: 0, period, left: 0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Addresses {
    units: Units,
    pattern: Pattern,
    rng: Rng,
}

impl Addresses {
    pub(super) const fn new(units: Units, pattern: Pattern, rng: Rng) -> Self {
        Self { units, pattern, rng }
    }

    pub(super) const fn units(&self) -> Units {
        self.units
    }

    /// The address of the next request of `sectors`. `kind` (below 3) selects the sequence.
    #[inline]
    pub(super) fn draw(&mut self, kind: usize, sectors: u64) -> Lba {
        let Units { start, count, length } = self.units;
        let last = self.starts(sectors) - 1;
        let rng = &mut self.rng;
        let spread = |spread: &Option<Permutation>, unit| spread.as_ref().map_or(unit, |p| p.apply(unit));
        let unit = match &mut self.pattern {
            Pattern::Uniform => rng.below(last + 1),
            Pattern::Shuffled { order, next } => {
                if *next == count {
                    *order = Permutation::new(count, rng);
                    *next = 0;
                }
                *next += 1;
                order.apply(*next - 1)
            }
            Pattern::Sequential { slices, turn } => {
                let chosen = turn[kind];
                turn[kind] = if chosen + 1 == slices.len() { 0 } else { chosen + 1 };
                return slices[chosen].advance(kind, sectors);
            }
            Pattern::Strided(stride) => return Lba::new(start + stride.draw(kind, sectors, rng)),
            Pattern::Zipf { ranks, spread: s } => spread(s, ranks.draw(rng)),
            Pattern::Pareto { exponent, spread: s } => {
                let unit = floor(count as f64 * pow(rng.unit(), *exponent)) as u64;
                spread(s, unit.min(count - 1))
            }
            Pattern::Zoned { zones, spread: s } => {
                let x = rng.unit();
                let zone = zones[zones.partition_point(|zone| zone.cumulative <= x).min(zones.len() - 1)];
                spread(s, zone.first + rng.below(zone.count))
            }
            Pattern::Window { units, first, period, left } => {
                if *left == 0 {
                    *first = rng.below(count - *units + 1);
                    *left = period.unwrap_or(u64::MAX);
                }
                *left -= 1;
                let covered = count - last;
                *first + rng.below(*units + 1 - covered)
            }
        };
        Lba::new(start + unit.min(last) * length)
    }
}

impl Addresses {
    /// Draws the next addresses for requests of one kind and size, one for each of `into`.
    pub(super) fn draw_each(&mut self, RequestClass { kind, sectors, placement }: RequestClass, into: &mut [Io]) {
        let request = |start| Io { placement, ..Io::new(KINDS[kind], start, sectors) };
        match self.pattern {
            // The most common pattern is tested once, and not for each request.
            Pattern::Uniform => {
                let Units { start, length, .. } = self.units;
                let units = self.starts(sectors.get());
                into.iter_mut().for_each(|io| *io = request(Lba::new(start + self.rng.below(units) * length)));
            }
            _ => into.iter_mut().for_each(|io| *io = request(self.draw(kind, sectors.get()))),
        }
    }

    /// The number of units at which a request of `sectors` may begin.
    #[inline]
    fn starts(&self, sectors: u64) -> u64 {
        let (count, covered) = (self.units.count, self.units.covered(sectors));
        assert!(covered <= count, "a request of {sectors} sectors in a region of {}", self.units.sectors());
        count - covered + 1
    }
}

impl Slice {
    #[inline]
    fn advance(&mut self, kind: usize, sectors: u64) -> Lba {
        let at = &mut self.at[kind];
        if *at + sectors > self.end {
            *at = self.start;
        }
        let lba = Lba::new(*at);
        *at += sectors;
        lba
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units { start: 800, count: 100, length: 8 };

    fn draw(pattern: Pattern, n: usize) -> Vec<u64> {
        let mut addresses = Addresses::new(UNITS, pattern, Rng::stream(4, "address"));
        (0..n).map(|_| (addresses.draw(0, 8).get() - UNITS.start) / UNITS.length).collect()
    }

    /// Checks that the count of every address unit lies within five standard deviations of its probability.
    fn check(drawn: &[u64], probability: impl Fn(u64) -> f64) {
        let n = drawn.len() as f64;
        let mut counts = [0u32; 100];
        drawn.iter().for_each(|unit| counts[*unit as usize] += 1);
        for (unit, count) in counts.iter().enumerate() {
            let p = probability(unit as u64);
            let sd = (n * p * (1.0 - p)).sqrt();
            assert!((f64::from(*count) - n * p).abs() <= 5.0 * sd, "address unit {unit}: {count}, expected {}", n * p);
        }
    }

    #[test]
    fn uniform_addresses_are_equally_likely() {
        check(&draw(Pattern::Uniform, 200_000), |_| 0.01);
    }

    #[test]
    fn zones_get_their_shares_of_requests() {
        let zones = vec![
            AddressZone { first: 0, count: 20, cumulative: 0.8 },
            AddressZone { first: 20, count: 30, cumulative: 0.8 },
            AddressZone { first: 50, count: 50, cumulative: 1.0 },
        ];
        check(&draw(Pattern::Zoned { zones, spread: None }, 200_000), |unit| match unit {
            0..20 => 0.04,
            20..50 => 0.0,
            _ => 0.004,
        });
    }

    #[test]
    fn pareto_follows_its_closed_form() {
        let k = (1.0f64 - 0.2).ln() / 0.2f64.ln();
        let cdf = |x: u64| (x as f64 / 100.0).powf(k);
        let drawn = draw(Pattern::pareto(0.2, None), 200_000);
        check(&drawn, |unit| cdf(unit + 1) - cdf(unit));
        // The 80/20 rule.
        let hot = drawn.iter().filter(|unit| **unit < 20).count() as f64 / 200_000.0;
        assert!((hot - 0.8).abs() < 5.0 * 0.0009, "{hot}");
    }

    #[test]
    fn spreading_moves_the_hot_addresses_and_keeps_their_weights() {
        let spread = Permutation::new(100, &mut Rng::stream(8, "spread"));
        let order: Vec<u64> = (0..100).map(|rank| spread.apply(rank)).collect();
        let ranks = Zipf::new(100, 0.99);
        let zeta: f64 = (1..=100).map(|k| f64::from(k).powf(-0.99)).sum();
        check(&draw(Pattern::Zipf { ranks, spread: Some(spread) }, 200_000), |unit| {
            let rank = order.iter().position(|u| *u == unit).unwrap();
            ((rank + 1) as f64).powf(-0.99) / zeta
        });
    }

    #[test]
    fn a_shuffled_pass_hits_every_address_once_and_passes_differ() {
        let drawn = draw(Pattern::shuffled(UNITS, &mut Rng::stream(2, "shuffle")), 200);
        for pass in drawn.chunks(100) {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..100));
        }
        assert_ne!(drawn[..100], drawn[100..]);
    }

    #[test]
    fn sequential_streams_take_turns_and_wrap_round() {
        assert_eq!(draw(Pattern::sequential(UNITS, 1), 102)[98..], [98, 99, 0, 1]);
        assert_eq!(draw(Pattern::sequential(UNITS, 3), 7), [0, 33, 66, 1, 34, 67, 2]);
        assert_eq!(draw(Pattern::sequential(UNITS, 3), 100)[99], 0);
        // Reads and writes advance separate sequences.
        let mut addresses = Addresses::new(UNITS, Pattern::sequential(UNITS, 1), Rng::stream(4, "address"));
        let at: Vec<u64> = [0, 1, 0, 1].iter().map(|kind| addresses.draw(*kind, 8).get() - 800).collect();
        assert_eq!(at, [0, 0, 8, 8]);
    }

    #[test]
    fn the_window_moves_after_its_period_only() {
        let drawn = draw(Pattern::window(10, Some(1000)), 10_000);
        let mut firsts = std::collections::BTreeSet::new();
        for window in drawn.chunks(1000) {
            let (min, max) = (window.iter().min().unwrap(), window.iter().max().unwrap());
            assert_eq!(max - min, 9, "a window of ten is filled by a thousand draws");
            firsts.insert(*min);
        }
        assert!(firsts.len() > 5, "{firsts:?}");
        let still = draw(Pattern::window(10, None), 10_000);
        assert_eq!(still.iter().max().unwrap() - still.iter().min().unwrap(), 9);
    }

    #[test]
    fn long_requests_stay_inside_the_window() {
        let mut addresses = Addresses::new(UNITS, Pattern::window(10, None), Rng::stream(6, "address"));
        let starts: Vec<u64> = (0..2000).map(|_| addresses.draw(0, 24).get()).collect();
        // A request covers three of ten address units, which leaves eight start addresses.
        assert_eq!(starts.iter().max().unwrap() - starts.iter().min().unwrap(), 7 * 8);
    }

    #[test]
    fn a_sequence_of_odd_sizes_never_crosses_the_end_of_the_region() {
        let mut addresses = Addresses::new(UNITS, Pattern::sequential(UNITS, 1), Rng::stream(6, "address"));
        let ends: Vec<u64> = (0..2000).map(|i| addresses.draw(0, 1 + i % 3).get() + 1 + i % 3).collect();
        assert_eq!(*ends.iter().max().unwrap(), UNITS.end());
    }

    #[test]
    fn long_requests_never_cross_the_end_of_the_region() {
        for pattern in [
            Pattern::Uniform,
            Pattern::Zipf { ranks: Zipf::new(100, 0.5), spread: None },
            Pattern::window(70, Some(3)),
            Pattern::sequential(UNITS, 1),
        ] {
            let mut addresses = Addresses::new(UNITS, pattern, Rng::stream(6, "address"));
            for _ in 0..2000 {
                let start = addresses.draw(0, 500).get();
                assert!(start >= 800 && start + 500 <= 1600);
            }
        }
    }
}
