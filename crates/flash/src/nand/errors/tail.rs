//! The tail of the binomial distribution: the probability that a codeword has more errors than its decoder corrects.

use libm::{exp, lgamma, log, log1p};

/// The probability that more than `limit` of `bits` bits are wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    bits: f64,
    limit: f64,
    /// The logarithm of the number of ways to choose `limit + 1` bits of `bits`.
    ways: f64,
    /// The value of [`beyond`](Self::beyond) at the lower end of each range of probabilities, and at the end of the
    /// last range.
    ends: Vec<f64>,
}

/// The number of ranges of probabilities from 2^-32 to 1: 16 to each power of two, by the exponent and the first bits
/// of the mantissa.
const RANGES: u64 = 32 * 16;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - 4;
const FIRST: u64 = (1.0_f64.to_bits() >> SHIFT) - RANGES;

/// A bound on the rounding error of [`Tail::beyond`].
const MARGIN: f64 = 1e-6;

impl Tail {
    pub(super) fn new(bits: u32, limit: u32) -> Self {
        let (bits, limit) = (f64::from(bits), f64::from(limit.min(bits)));
        let first = (limit + 1.0).min(bits);
        let ways = lgamma(bits + 1.0) - lgamma(first + 1.0) - lgamma(bits - first + 1.0);
        let mut tail = Self { bits, limit, ways, ends: Vec::new() };
        tail.ends = (0..=RANGES).map(|range| tail.beyond(f64::from_bits((FIRST + range) << SHIFT))).collect();
        tail
    }

    /// Bytes of the table of values at the ends of the ranges.
    pub(super) const MEMORY: u64 = (RANGES + 1) * size_of::<f64>() as u64;

    /// True if `u < beyond(p)`. `beyond` rises with `p`, so its values at the ends of the range of `p` decide nearly
    /// always.
    pub(super) fn exceeds(&self, u: f64, p: f64) -> bool {
        let range = (p.to_bits() >> SHIFT).checked_sub(FIRST).filter(|range| *range < RANGES);
        match range.map(|range| &self.ends[range as usize..][..2]) {
            Some([_, to]) if u > to * (1.0 + MARGIN) => false,
            Some([from, _]) if u < from * (1.0 - MARGIN) => true,
            _ => u < self.beyond(p),
        }
    }

    /// The probability that more than `limit` bits are wrong, if each is wrong with probability `p`: the sum over the
    /// shorter side of the limit. Each term follows from the one before, and terms far from the mean vanish quickly.
    pub(super) fn beyond(&self, p: f64) -> f64 {
        let &Self { bits, limit, ways, .. } = self;
        if p <= 0.0 || limit >= bits {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        let odds = p / (1.0 - p);
        let mut k = limit + 1.0;
        let mut term = exp(ways + k * log(p) + (bits - k) * log1p(-p));
        let mut sum = 0.0;
        if k > bits * p {
            while term > sum * 1e-16 {
                sum += term;
                term *= (bits - k) / (k + 1.0) * odds;
                k += 1.0;
            }
            return sum.min(1.0);
        }
        while k > 0.0 {
            term *= k / (bits - k + 1.0) / odds;
            k -= 1.0;
            sum += term;
            if term <= sum * 1e-16 {
                break;
            }
        }
        (1.0 - sum).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_ranges_decide_as_the_tail_does() {
        let tail = Tail::new(36_672, 180);
        let mut rng = base::engine::Rng::stream(1, "test");
        for _ in 0..20_000 {
            let p = libm::exp2(-34.0 * rng.unit());
            let beyond = tail.beyond(p);
            for u in
                [rng.unit(), beyond, beyond * (1.0 + 1e-9), beyond * (1.0 - 1e-9), beyond * 1.01, beyond * 0.99, 0.0]
            {
                assert_eq!(tail.exceeds(u, p), u < beyond, "{u} at {p}");
            }
        }
        assert!(!tail.exceeds(0.0, 0.0) && tail.exceeds(0.999, 1.0));
    }

    /// The probability as a sum of single probabilities, each computed by itself.
    fn exact(bits: u32, limit: u32, p: f64) -> f64 {
        let mut chance = (1.0 - p).powi(bits.cast_signed());
        let mut upto = chance;
        for k in 1..=limit {
            chance *= f64::from(bits - k + 1) / f64::from(k) * p / (1.0 - p);
            upto += chance;
        }
        1.0 - upto
    }

    #[test]
    fn the_tail_is_the_sum_of_the_probabilities() {
        for (bits, limit) in [(64, 3), (64, 40), (1000, 0), (1000, 12), (1000, 300)] {
            let tail = Tail::new(bits, limit);
            for p in [0.001, 0.01, 0.1, 0.3, 0.5] {
                let (found, wanted) = (tail.beyond(p), exact(bits, limit, p));
                assert!((found - wanted).abs() < 1e-9, "{bits} bits, {limit}, {p}: {found} for {wanted}");
            }
        }
        assert_eq!(
            (Tail::new(64, 64).beyond(0.9), Tail::new(64, 3).beyond(0.0), Tail::new(64, 3).beyond(1.0)),
            (0.0, 0.0, 1.0)
        );
    }

    #[test]
    fn a_far_tail_keeps_its_digits() {
        // P(X > 1) of two bits is p^2, however small.
        let tail = Tail::new(2, 1).beyond(1e-9);
        assert!((tail / 1e-18 - 1.0).abs() < 1e-6, "{tail}");
        let tail = Tail::new(36_000, 180);
        let mut before = 0.0;
        for p in (1..200).map(|i| f64::from(i) * 1e-4) {
            let chance = tail.beyond(p);
            assert!(chance >= before && chance <= 1.0, "{p}: {chance} after {before}");
            before = chance;
        }
        assert!(tail.beyond(0.003) < 1e-8 && (tail.beyond(0.005) - 0.48).abs() < 0.02 && before > 1.0 - 1e-12);
    }
}
