//! Electrical quantities, which turn a data sheet's currents into energy.

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

/// A power in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power(u64);

/// A thermal resistance in thousandths of a kelvin per watt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThermalResistance(u64);

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

impl Power {
    /// A power of `uw` microwatts.
    #[must_use]
    pub const fn from_uw(uw: u64) -> Self {
        Self(uw)
    }

    /// Microwatts.
    #[must_use]
    pub const fn as_uw(self) -> u64 {
        self.0
    }

    /// The power in watts; stored as whole microwatts.
    #[must_use]
    pub fn as_watts(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// The energy that a constant draw of this power spends in `time`.
    #[must_use]
    pub fn during(self, time: Span) -> Energy {
        Energy(self.as_watts() * time.as_secs_f64())
    }
}

impl ThermalResistance {
    /// A resistance of `thousandths` of a kelvin per watt.
    #[must_use]
    pub const fn from_thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }

    /// Thousandths of a kelvin per watt.
    #[must_use]
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }

    /// The thermal resistance in kelvins per watt; stored as whole thousandths.
    #[must_use]
    pub fn as_kelvin_per_watt(self) -> f64 {
        self.0 as f64 * 1e-3
    }
}

impl Energy {
    /// An energy of zero joules.
    pub const ZERO: Self = Self(0.0);

    /// An energy of `joules`, which may be fractional.
    #[must_use]
    pub const fn from_joules(joules: f64) -> Self {
        Self(joules)
    }

    /// The energy of `current` at `voltage` during `time`: volts x amperes x seconds.
    #[must_use]
    pub fn of(voltage: Voltage, current: Current, time: Span) -> Self {
        Self(voltage.0 as f64 * 1e-3 * (current.0 as f64 * 1e-6) * time.as_secs_f64())
    }

    /// The energy in joules, without rounding.
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

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000_000 => write!(f, "{}mW", self.0 as f64 / 1e3),
            _ => write!(f, "{}W", self.0 as f64 / 1e6),
        }
    }
}

impl fmt::Display for ThermalResistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}K/W", self.as_kelvin_per_watt())
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

    #[test]
    fn a_power_is_an_energy_per_second() {
        assert!((Power::from_uw(49_500).during(Span::from_us(800)).as_joules() - 39.6e-6).abs() < 1e-12);
        assert_eq!(("8.5W".parse(), "70mW".parse()), (Ok(Power::from_uw(8_500_000)), Ok(Power::from_uw(70_000))));
        assert_eq!((Power::from_uw(8_500_000).to_string(), Power::from_uw(70_000).to_string()), {
            ("8.5W".to_owned(), "70mW".to_owned())
        });
        assert_eq!("7.5K/W".parse(), Ok(ThermalResistance::from_thousandths(7_500)));
        assert_eq!(ThermalResistance::from_thousandths(7_500).to_string(), "7.5K/W");
    }
}
