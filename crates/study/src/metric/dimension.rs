//! Dimensions of numbers, and the notation of numbers.

use base::units::{Energy, Rate, Ratio, Span};
use serde::Serialize;
use workload::generate::RequestRate;

/// The dimension of a number, with the unit in which it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// A time, in microseconds.
    Time,
    /// Bytes per second.
    Rate,
    /// A rate of requests, per second.
    PerSecond,
    /// An energy, in joules.
    Energy,
    /// A share of a whole, which is 1.
    Share,
    /// A number of things, without a unit.
    Count,
    /// A quotient of two numbers with equal units, e.g. write amplification.
    Plain,
}

impl Dimension {
    /// Parses a number with a unit of this dimension; `None` if the unit does not fit.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<f64> {
        match self {
            Self::Time => text.parse::<Span>().ok().map(Span::as_us_f64),
            Self::Rate => text.parse::<Rate>().ok().map(|rate| rate.get() as f64),
            Self::PerSecond => text.parse::<RequestRate>().ok().map(RequestRate::per_second),
            Self::Share => text.parse::<Ratio>().ok().map(Ratio::get),
            Self::Energy | Self::Count | Self::Plain => None,
        }
    }

    /// An example of a number of this dimension, as written in a file.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Time => "\"25us\"",
            Self::Rate => "\"40MB/s\"",
            Self::PerSecond => "\"1.2M/s\"",
            Self::Share => "\"50%\" or 0.5",
            Self::Energy | Self::Count | Self::Plain => "1.5",
        }
    }

    /// A short text for a number of this dimension.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        if self == Self::Energy {
            return Energy::from_joules(value).to_string();
        }
        let (factor, unit) = self.scale(value);
        match self {
            Self::Share => format!("{:.1}{unit}", value * factor),
            Self::Time if value == 0.0 => "0".into(),
            _ => format!("{}{unit}", digits(value * factor)),
        }
    }

    /// The factor by which a number of this size is multiplied before it is written, and the unit behind it. Energies
    /// are written by other code.
    pub(crate) fn scale(self, value: f64) -> (f64, String) {
        let (factor, prefix) = match (self, value.abs()) {
            (Self::Time, us) if us >= 1e6 => (1e-6, "s"),
            (Self::Time, us) if us >= 1e3 => (1e-3, "ms"),
            (Self::Time, us) if us < 1.0 && us > 0.0 => (1e3, "ns"),
            (Self::Time, _) => (1.0, "us"),
            (Self::Share, _) => (100.0, "%"),
            (Self::Plain | Self::Energy, _) => (1.0, ""),
            (_, abs) if abs >= 1e9 => (1e-9, "G"),
            (_, abs) if abs >= 1e6 => (1e-6, "M"),
            (_, abs) if abs >= 1e4 => (1e-3, "k"),
            _ => (1.0, ""),
        };
        let unit = match self {
            Self::Rate => "B/s",
            Self::PerSecond => "/s",
            _ => "",
        };
        (factor, format!("{prefix}{unit}"))
    }
}

/// The number with three significant digits.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        abs if abs >= 99.95 => format!("{value:.0}"),
        abs if abs >= 9.995 => format!("{value:.1}"),
        abs if abs >= 0.09995 || abs == 0.0 => format!("{value:.2}"),
        abs if abs >= 0.009_995 => format!("{value:.4}"),
        // Smaller numbers get three significant digits as well.
        abs => format!("{value:.*}", (2 - abs.log10().floor() as i32).clamp(4, 15) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_above_zero_is_shown_as_zero() {
        for (value, wanted) in [
            (0.25, "0.25/s"),
            (0.0123, "0.0123/s"),
            (0.000_123_4, "0.000123/s"),
            (0.0, "0.00/s"),
            (4.5e-9, "0.00000000450/s"),
        ] {
            assert_eq!(Dimension::PerSecond.show(value), wanted);
        }
        assert_eq!(Dimension::Rate.show(0.000_5), "0.000500B/s");
    }
}
