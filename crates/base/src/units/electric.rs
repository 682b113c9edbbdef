//! Electrical quantities: enough to turn a data sheet's currents into energy.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use super::Span;

/// A supply voltage in millivolts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Voltage(u64);

/// A supply current in microamperes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Current(u64);

/// An energy in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Energy(f64);

impl Voltage {
    /// A voltage of `mv` millivolts.
    #[must_use]
    pub const fn from_mv(mv: u64) -> Self {
        Self(mv)
    }

    /// Millivolts.
    #[must_use]
    pub const fn as_mv(self) -> u64 {
        self.0
    }
}

impl Current {
    /// A current of `ua` microamperes.
    #[must_use]
    pub const fn from_ua(ua: u64) -> Self {
        Self(ua)
    }

    /// Microamperes.
    #[must_use]
    pub const fn as_ua(self) -> u64 {
        self.0
    }
}

impl Energy {
    /// No energy.
    pub const ZERO: Self = Self(0.0);

    /// An energy of `joules`.
    #[must_use]
    pub const fn from_joules(joules: f64) -> Self {
        Self(joules)
    }

    /// The energy of `current` at `voltage` during `time`: volts x amperes x seconds.
    #[must_use]
    pub fn of(voltage: Voltage, current: Current, time: Span) -> Self {
        Self(voltage.0 as f64 * 1e-3 * (current.0 as f64 * 1e-6) * time.as_secs_f64())
    }

    /// Joules.
    #[must_use]
    pub const fn as_joules(self) -> f64 {
        self.0
    }
}

impl Add for Energy {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Mul<f64> for Energy {
    type Output = Self;
    fn mul(self, rhs: f64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Voltage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}V", self.0 as f64 / 1e3)
    }
}

impl fmt::Display for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}mA", self.0 as f64 / 1e3)
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 5] = [(1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ")];
        let (size, name) = UNITS.into_iter().find(|(size, _)| self.0 >= *size).unwrap_or((1.0, "J"));
        let text = format!("{:.3}", self.0 / size);
        write!(f, "{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_changs_paper_takes_39_6_uj() {
        // chang.md A1, Table 1: 3.3 V x 15 mA x 800 us = 39.6 uJ.
        let e = Energy::of(Voltage::from_mv(3300), Current::from_ua(15_000), Span::from_us(800));
        assert!((e.as_joules() - 39.6e-6).abs() < 1e-12);
    }
}
