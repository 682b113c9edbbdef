//! The pace by a formula of the description: its value is the number of copies.

use super::{CollectionPolicy, CollectionPool};
use crate::formula::{Formula, FormulaError};

/// The names that a formula may use: the numbers of a pool.
const NAMES: [&str; 11] =
    ["free", "start", "stop", "parallel", "copies", "erases", "waiting", "writes", "commands", "u", "idle"];

const IDLE: usize = 10;

/// The formula, with the values of its names for a pool.
pub(super) struct ByFormula {
    formula: Formula,
}

impl ByFormula {
    pub(super) fn parse(text: &str) -> Result<Self, FormulaError> {
        Formula::parse(text, &NAMES).map(|formula| Self { formula })
    }

    /// True if the value can change although nothing happens, because the formula uses `idle`.
    pub(super) fn asks_for_idle(&self) -> bool {
        self.formula.uses(IDLE)
    }
}

impl CollectionPolicy for ByFormula {
    fn copies(&self, pool: &CollectionPool<'_>) -> u32 {
        let copies = self.formula.value(|name| match name {
            0 => f64::from(pool.free()),
            1 => f64::from(pool.start()),
            2 => f64::from(pool.stop()),
            3 => f64::from(pool.parallel()),
            4 => f64::from(pool.copies()),
            5 => f64::from(pool.erases()),
            6 => f64::from(pool.waiting()),
            7 => f64::from(pool.writes()),
            8 => f64::from(pool.commands()),
            9 => pool.utilization(),
            _ => pool.idle().as_secs_f64(),
        });
        // A value that is not a number, or below zero, becomes 0.
        copies as u32
    }
}
