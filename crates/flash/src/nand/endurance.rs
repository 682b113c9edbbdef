//! Differences in endurance: each block draws its share of the part's rated cycles from a log-normal distribution.
//!
//! The draw follows from the seed of the drive and the number of the block. So a block keeps its endurance over power
//! cycles and in snapshots, and takes no memory for it.

use std::f64::consts::TAU;

use base::engine::Rng;
use base::units::Ratio;
use libm::{cos, exp, log};

use super::spread::spread;

/// The distribution of the endurance of blocks: log-normal, with the part's rated cycles as its mean.
///
/// The log-normal shape is assumed: endurance is positive, and this distribution is the usual one for cycles to
/// failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EnduranceSpread {
    /// Standard deviation of the logarithm of the endurance.
    sigma: f64,
    /// A number derived from the seed, which differs between drives.
    key: u64,
}

impl EnduranceSpread {
    /// The distribution with a standard deviation of `deviation`, given as a share of the mean; `None` if all blocks
    /// are equal.
    pub(crate) fn new(deviation: Ratio, seed: u64) -> Option<Self> {
        let deviation = deviation.get();
        let key = Rng::stream(seed, "nand.endurance").bits();
        (deviation > 0.0).then(|| Self { sigma: log(1.0 + deviation * deviation).sqrt(), key })
    }

    /// The endurance of a block as a share of the rated cycles.
    pub(crate) fn share(&self, block: u32) -> f64 {
        let unit = |draw: u64| f64::midpoint(1.0, spread(self.key.wrapping_add(u64::from(block) << 1 | draw)));
        // The method of Box and Muller. The first number is below 1, so the logarithm is finite.
        let normal = (-2.0 * log(1.0 - unit(0))).sqrt() * cos(TAU * unit(1));
        exp(self.sigma * normal - self.sigma * self.sigma / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use base::units::{BlockId, SuperblockId};

    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Media};

    const BLOCKS: u32 = 100_000;

    fn shares(deviation: f64, seed: u64) -> Vec<f64> {
        let spread = EnduranceSpread::new(Ratio::new(deviation), seed).expect("a spread");
        (0..BLOCKS).map(|block| spread.share(block)).collect()
    }

    #[test]
    fn shares_have_the_mean_and_the_deviation_of_the_part() {
        for deviation in [0.02, 0.1, 0.5] {
            let shares = shares(deviation, 7);
            let mean = shares.iter().sum::<f64>() / f64::from(BLOCKS);
            let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / f64::from(BLOCKS);
            assert!((mean - 1.0).abs() < 4.0 * deviation / f64::from(BLOCKS).sqrt(), "{deviation}: {mean}");
            assert!((variance.sqrt() / deviation - 1.0).abs() < 0.03, "{deviation}: {}", variance.sqrt());
        }
    }

    /// Of a normal distribution 2.275 % lie two deviations below the mean, and as much above.
    #[test]
    fn the_tails_are_those_of_a_log_normal_distribution() {
        let spread = EnduranceSpread::new(Ratio::new(0.2), 3).expect("a spread");
        let logs: Vec<f64> =
            shares(0.2, 3).into_iter().map(|share| (log(share) + spread.sigma.powi(2) / 2.0) / spread.sigma).collect();
        for tail in [logs.iter().filter(|z| **z < -2.0).count(), logs.iter().filter(|z| **z > 2.0).count()] {
            let share = tail as f64 / f64::from(BLOCKS);
            assert!((share - 0.022_75).abs() < 0.002, "{share}");
        }
    }

    #[test]
    fn each_block_fails_behind_the_erases_that_it_endures() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 64, 1, 1, 1).expect("a small array");
        let spec = FaultSpec { wear_out: true, ..FaultSpec::default() };
        let new = |deviation| {
            Media::new(geometry.clone(), 100, 1, Faults::new(&spec, 5)).with_endurance_spread(Ratio::new(deviation), 5)
        };
        let lives = |media: &mut Media| -> Vec<u32> {
            let one = |block| (0..).find(|_| !media.erase(SuperblockId::new(block))).expect("it fails");
            (0..64).map(one).collect()
        };
        assert_eq!(lives(&mut new(0.0)), [100; 64], "without a spread all are equal");
        let mut media = new(0.2);
        let found = lives(&mut media);
        let wanted: Vec<u32> = (0..64).map(|block| media.endurance_of(BlockId::new(block))).collect();
        assert_eq!(found, wanted);
        assert!(found.iter().any(|life| *life < 80) && found.iter().any(|life| *life > 120), "{found:?}");
        // In SLC mode a block endures the same share of the other rating.
        let mut slc = new(0.2).with_slc_mode(2, Some(100));
        // Erases are whole numbers, hence a difference of one.
        assert!(lives(&mut slc).iter().zip(&wanted).all(|(slc, full)| slc.abs_diff(*full) <= 1));
    }

    #[test]
    fn a_block_keeps_its_share_and_another_drive_has_others() {
        let first = shares(0.1, 1);
        assert_eq!(first, shares(0.1, 1));
        let equal = first.iter().zip(shares(0.1, 2)).filter(|(one, other)| one.to_bits() == other.to_bits()).count();
        assert_eq!(equal, 0, "blocks of two drives with equal endurance");
        assert_eq!(EnduranceSpread::new(Ratio::ZERO, 1), None);
    }
}
