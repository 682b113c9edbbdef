//! The conditions under which flash keeps data: a temperature, and a time that may be longer than simulated time.

use std::fmt;

/// A temperature in thousandths of a degree Celsius, from 0 C on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Temperature(u64);

/// A time without power, in seconds. [`Span`](super::Span) ends at 213 days, but drives are stored for years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age(u64);

impl Temperature {
    /// The highest temperature that is accepted for flash.
    pub const HOTTEST: Self = Self::from_celsius(150);

    /// The temperature of `thousandths` of a degree Celsius.
    #[must_use]
    pub const fn from_thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }

    /// A temperature of `degrees` whole degrees Celsius.
    #[must_use]
    pub const fn from_celsius(degrees: u64) -> Self {
        Self(degrees * 1_000)
    }

    /// Thousandths of a degree Celsius.
    #[must_use]
    pub const fn as_thousandths(self) -> u64 {
        self.0
    }

    /// Degrees Celsius.
    #[must_use]
    pub fn as_celsius(self) -> f64 {
        self.0 as f64 * 1e-3
    }

    /// The absolute temperature in kelvins.
    #[must_use]
    pub fn as_kelvin(self) -> f64 {
        self.as_celsius() + 273.15
    }
}

impl Age {
    /// An age of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s)
    }

    /// An age of `d` days of 24 hours.
    #[must_use]
    pub const fn from_days(d: u64) -> Self {
        Self(d * 86_400)
    }

    /// Seconds.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0
    }

    /// True if the age is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}C", self.as_celsius())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Exact;

    #[test]
    fn ages_and_temperatures_are_written_in_their_largest_unit() {
        assert_eq!("90d".parse(), Ok(Age::from_days(90)));
        assert_eq!(Age::from_days(90).exact(), "90d");
        assert_eq!("1y".parse(), Ok(Age::from_days(365)));
        assert_eq!(("36h".parse(), Age::from_secs(129_600).exact()), (Ok(Age::from_secs(129_600)), "36h".into()));
        assert_eq!("40C".parse(), Ok(Temperature::from_celsius(40)));
        assert_eq!(Temperature::from_thousandths(40_500).to_string(), "40.5C");
        assert!((Temperature::from_celsius(40).as_kelvin() - 313.15).abs() < 1e-9);
        let error = "40K".parse::<Temperature>().expect_err("kelvins").to_string();
        assert!(error.contains("C, e.g. \"40C\""), "{error}");
    }
}
