//! Eviction by a formula of the description: the block with the highest score leaves.

use base::engine::Rng;

use super::{CachedBlock, CachedBlocks, EvictionPolicy};
use crate::formula::{Formula, FormulaError};

/// The names that a formula may use: the numbers of a block.
const NAMES: [&str; 5] = ["age", "recency", "uses", "dirty", "changes"];

/// The policy that evicts the block with the highest value of a formula.
pub(super) struct Score {
    formula: Formula,
}

impl Score {
    pub(super) fn parse(text: &str) -> Result<Self, FormulaError> {
        Formula::parse(text, &NAMES).map(|formula| Self { formula })
    }
}

impl EvictionPolicy for Score {
    fn choose<'c>(&self, blocks: &'c CachedBlocks<'_>, _: &mut Rng) -> Option<CachedBlock<'c>> {
        blocks.best(|block| {
            self.formula.value(|name| match name {
                0 => block.age() as f64,
                1 => block.recency() as f64,
                2 => f64::from(block.uses()),
                3 => f64::from(u8::from(block.is_dirty())),
                _ => f64::from(block.changes()),
            })
        })
    }
}
