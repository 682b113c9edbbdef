//! Named random streams.
//!
//! Every component draws from its own stream, derived from the run's seed and the component's name, so that a new
//! consumer of randomness does not change the numbers of the others. The generator is xoshiro256++ (Blackman and
//! Vigna, ACM TOMS 47(4), 2021), seeded by SplitMix64. Its code is part of this crate, because a library may change
//! its stream between versions, and a result must not change.

/// A deterministic random number generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream `name` of the run with this `seed`.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a over the name keeps distinct names apart; SplitMix64 spreads the result.
        let mut x =
            name.bytes().fold(0xCBF2_9CE4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
        x ^= seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut next = || {
            x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number below `bound` (Lemire's multiplication with rejection: no bias).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a random number below zero");
        let mut wide = u128::from(self.bits()) * u128::from(bound);
        if (wide as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (wide as u64) < threshold {
                wide = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// A uniform number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let first = |seed, name| Rng::stream(seed, name).bits();
        assert_eq!(first(1, "gc"), first(1, "gc"));
        assert_ne!(first(1, "gc"), first(1, "wear"));
        assert_ne!(first(1, "gc"), first(2, "gc"));
    }

    #[test]
    fn the_numbers_of_a_stream_never_change() {
        // Golden values: a change here changes every published result.
        let mut rng = Rng::stream(42, "golden");
        let drawn: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(drawn, GOLDEN);
    }

    const GOLDEN: [u64; 3] = [6_307_313_271_880_868_155, 18_125_299_149_362_293_919, 1_818_821_773_095_618_148];

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::stream(7, "uniform");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        // Standard deviation of each count is 95: five of them.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 475), "{counts:?}");
    }
}
