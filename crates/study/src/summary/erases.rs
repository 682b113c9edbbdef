//! The distribution of erase counts in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of erase counts over blocks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Erases {
    /// The number of blocks whose erases are counted.
    pub blocks: u64,
    /// The least erase count.
    pub min: u32,
    /// The mean erase count.
    pub mean: f64,
    /// The greatest erase count.
    pub max: u32,
    /// Standard deviation of the erase counts over all blocks.
    pub deviation: f64,
}

impl Erases {
    pub(super) fn of(counts: &[u32]) -> Option<Self> {
        let (min, max) = (*counts.iter().min()?, *counts.iter().max()?);
        let blocks = counts.len() as f64;
        let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / blocks;
        let variance = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / blocks;
        Some(Erases { blocks: counts.len() as u64, min, mean, max, deviation: variance.sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_of_erase_counts_is_that_of_all_blocks() {
        // Squares of the differences: 9, 1, 1, 1, 0, 0, 4 and 16, with the mean 4. The blocks are all blocks, not a
        // sample.
        let found = Erases::of(&[2, 4, 4, 4, 5, 5, 7, 9]).expect("blocks");
        assert_eq!((found.blocks, found.min, found.max, found.mean, found.deviation), (8, 2, 9, 5.0, 2.0));
        assert_eq!(Erases::of(&[]), None);
    }
}
