//! A random permutation of 0..n without a table.
//!
//! A Feistel network over the smallest power of two that holds n, repeated until the result lies below n (cycle
//! walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002): less than two rounds on average.

use base::engine::Rng;

const ROUNDS: usize = 6;

/// A bijection of 0..n.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    n: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(n: u64, rng: &mut Rng) -> Self {
        assert!(n > 0 && n <= 1 << 62, "a permutation of {n} units");
        let bits = (u64::BITS - (n - 1).leading_zeros()).max(2);
        let low_bits = bits / 2;
        let mut keys = [0; ROUNDS];
        keys.fill_with(|| rng.bits());
        Self { n, low_bits, low_mask: (1 << low_bits) - 1, high_mask: (1 << (bits - low_bits)) - 1, keys }
    }

    #[inline]
    pub(super) fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.n);
        let mut x = index;
        loop {
            let (mut low, mut high) = (x & self.low_mask, x >> self.low_bits);
            for pair in self.keys.chunks_exact(2) {
                low ^= mix(high, pair[0]) & self.low_mask;
                high ^= mix(low, pair[1]) & self.high_mask;
            }
            x = high << self.low_bits | low;
            if x < self.n {
                return x;
            }
        }
    }
}

#[inline]
fn mix(half: u64, key: u64) -> u64 {
    let x = (half ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_hit_exactly_once() {
        for n in (1..200).chain([1000, 1023, 1024, 1025, 65_537]) {
            let p = Permutation::new(n, &mut Rng::stream(n, "permute"));
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let j = p.apply(i) as usize;
                assert!(!std::mem::replace(&mut seen[j], true), "{j} twice in 0..{n}");
            }
        }
    }

    #[test]
    fn a_permutation_separates_neighbours() {
        // The mean distance of two independent uniform numbers below n is n/3, its standard
        // deviation n/sqrt(18): over 10,000 pairs 0.0024 n.
        let n = 1_000_003;
        let p = Permutation::new(n, &mut Rng::stream(1, "permute"));
        let total: u64 = (0..10_000).map(|i| p.apply(2 * i).abs_diff(p.apply(2 * i + 1))).sum();
        let mean = total as f64 / 10_000.0 / n as f64;
        assert!((mean - 1.0 / 3.0).abs() < 5.0 * 0.0024, "{mean}");
    }

    #[test]
    fn small_permutations_are_all_about_as_likely() {
        // 6 permutations of three, 60,000 draws: 10,000 each, standard deviation 91. A Feistel
        // network over four points yields only even permutations of the domain; cycle walking
        // restores the odd ones. Ten deviations still catch a permutation that never occurs.
        let mut counts = std::collections::BTreeMap::new();
        let mut rng = Rng::stream(3, "permute");
        for _ in 0..60_000 {
            let p = Permutation::new(3, &mut rng);
            *counts.entry([p.apply(0), p.apply(1), p.apply(2)]).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6, "{counts:?}");
        assert!(counts.values().all(|c| c.abs_diff(10_000) < 910), "{counts:?}");
    }
}
