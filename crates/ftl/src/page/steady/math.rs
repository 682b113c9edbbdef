//! The functions that the model needs, made of additions and multiplications only: functions of the system's library
//! differ between systems in the last bit, and a result must not.

use base::engine::Rng;

/// e^-x for x >= 0.
pub(super) fn decay(x: f64) -> f64 {
    let mut halvings = 0;
    let mut small = x.max(0.0);
    while small > 0.125 {
        small /= 2.0;
        halvings += 1;
    }
    // Terms beyond x^10 / 10! are below 1e-16.
    let mut result = 1.0;
    for k in (1..=10).rev() {
        result = 1.0 - small / f64::from(k) * result;
    }
    for _ in 0..halvings {
        result *= result;
    }
    result
}

pub(super) fn power(x: f64, n: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, x, n);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

/// The probability of each number of successes in `n` trials, for 0 to `n`.
pub(super) fn binomial(n: u32, p: f64) -> Vec<f64> {
    let mut shares = vec![0.0; n as usize + 1];
    if p <= 0.0 || p >= 1.0 {
        shares[if p <= 0.0 { 0 } else { n as usize }] = 1.0;
        return shares;
    }
    // The most probable number comes first, then its neighbours in both directions, so that no probability that counts
    // underflows.
    let mode = ((f64::from(n) + 1.0) * p) as usize;
    let mode = mode.min(n as usize);
    let odds = p / (1.0 - p);
    shares[mode] = 1.0;
    for k in mode..n as usize {
        shares[k + 1] = shares[k] * (n as usize - k) as f64 / (k + 1) as f64 * odds;
    }
    for k in (0..mode).rev() {
        shares[k] = shares[k + 1] * (k + 1) as f64 / ((n as usize - k) as f64 * odds);
    }
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= total);
    shares
}

/// A random number of mean 0 and variance 1, nearly normal: the sum of twelve uniform ones.
pub(super) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// A random-looking permutation of the numbers below `count`, without a table: a Feistel network of four rounds over
/// the numbers below the next power of two, applied until the result is below `count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; 4],
}

impl Shuffle {
    pub(super) fn new(count: u64, rng: &mut Rng) -> Self {
        let bits = (64 - count.max(4).next_power_of_two().leading_zeros()) - 1;
        let keys = [rng.bits(), rng.bits(), rng.bits(), rng.bits()];
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// The permuted number at a position, both below `count`.
    #[inline]
    pub(super) fn at(&self, position: u64) -> u64 {
        let mut x = position;
        loop {
            x = self.permute(x);
            if x < self.count {
                return x;
            }
        }
    }

    /// A permutation of all numbers of `low_bits + high_bits` bits: a Feistel network of four rounds.
    #[inline]
    fn permute(&self, x: u64) -> u64 {
        let (low_mask, high_mask) = ((1 << self.low_bits) - 1, (1 << self.high_bits) - 1);
        let (mut low, mut high) = (x & low_mask, x >> self.low_bits);
        for pair in self.keys.chunks_exact(2) {
            high ^= mix(low, pair[0]) & high_mask;
            low ^= mix(high, pair[1]) & low_mask;
        }
        high << self.low_bits | low
    }
}

/// Mixes the bits of a number with a key; with the multipliers of SplitMix64.
#[inline]
const fn mix(x: u64, key: u64) -> u64 {
    let x = (x ^ key).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_those_of_the_library() {
        for x in [0.0, 1e-6, 0.1, 0.125, 0.126, 1.0, 3.3, 20.0, 300.0] {
            assert!((decay(x) / (-x).exp() - 1.0).abs() < 1e-12, "{x}");
        }
        for (x, n) in [(0.5, 0), (0.99, 677), (0.3, 7), (1.0, 4096)] {
            assert!((power(x, n) / x.powi(n as i32) - 1.0).abs() < 1e-12, "{x}^{n}");
        }
    }

    #[test]
    fn binomial_shares_have_their_sum_mean_and_variance() {
        for (n, p) in [(1, 0.3), (64, 0.99), (64, 1.0), (24_576, 0.97), (24_576, 0.5), (100, 0.0)] {
            let shares = binomial(n, p);
            let moment =
                |of: fn(f64) -> f64| -> f64 { (0..).zip(&shares).map(|(k, share)| of(f64::from(k)) * share).sum() };
            let (mean, square) = (moment(|k| k), moment(|k| k * k));
            let n = f64::from(n);
            assert!((moment(|_| 1.0) - 1.0).abs() < 1e-9 && (mean - n * p).abs() < 1e-6 * n, "{n} {p}");
            assert!((square - mean * mean - n * p * (1.0 - p)).abs() < 1e-5 * n, "{n} {p}");
        }
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut rng = Rng::stream(1, "test");
        let drawn: Vec<f64> = (0..20_000).map(|_| normal(&mut rng)).collect();
        let mean = drawn.iter().sum::<f64>() / 2e4;
        let variance = drawn.iter().map(|x| x * x).sum::<f64>() / 2e4;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn a_shuffle_has_every_number_once_and_looks_random() {
        for count in [1, 2, 3, 5, 16, 17, 1000, 4096, 70_001] {
            let shuffle = Shuffle::new(count, &mut Rng::stream(count, "test"));
            let mut seen = vec![false; count as usize];
            (0..count).for_each(|i| assert!(!std::mem::replace(&mut seen[shuffle.at(i) as usize], true), "{count}"));
        }
        // Pairs of neighbours fall into 16 x 16 cells with equal chances; the chi-squared statistic has mean 255 and
        // deviation 22.6.
        let count = 1 << 16;
        let shuffle = Shuffle::new(count, &mut Rng::stream(5, "test"));
        let mut cells = [0u32; 256];
        (0..count).step_by(2).for_each(|i| {
            cells[(shuffle.at(i) >> 12 << 4 | shuffle.at(i + 1) >> 12) as usize] += 1;
        });
        let expected = (count / 512) as f64;
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        assert!((165.0..345.0).contains(&chi), "{chi}");
    }
}
