//! Shares of a whole.

use std::fmt;

/// A share of a whole, at least 0 %; 100 % is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// A share of 0 %: nothing of the whole.
    pub const ZERO: Self = Self(0.0);

    /// Creates the share `value`: 0.07 for 7 %.
    ///
    /// # Panics
    ///
    /// If it is negative or not finite.
    #[must_use]
    pub const fn new(value: f64) -> Self {
        assert!(value >= 0.0 && value.is_finite(), "a ratio is a finite number of at least zero");
        Self(value)
    }

    /// The share as a number: 0.07 for 7 %.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.6}", self.0 * 100.0);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}
