//! What numbers count, and how they are read and shown.

use base::units::{Energy, Rate, Ratio, Span};
use serde::Serialize;
use workload::generate::RequestRate;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Microseconds.
    Time,
    /// Bytes per second.
    Rate,
    /// Requests per second.
    PerSecond,
    /// Joules.
    Energy,
    /// A share of something, 1 being all of it.
    Share,
    /// Things.
    Count,
    /// Nothing: a quotient.
    Plain,
}

impl Unit {
    /// The number that a text with this unit stands for.
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

    /// How a number of this unit is written in a file.
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

    /// A number of this unit, short.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        let scaled = |value: f64, unit: &str| {
            let (value, prefix) = match value.abs() {
                abs if abs >= 1e9 => (value * 1e-9, "G"),
                abs if abs >= 1e6 => (value * 1e-6, "M"),
                abs if abs >= 1e4 => (value * 1e-3, "k"),
                _ => (value, ""),
            };
            format!("{}{prefix}{unit}", digits(value))
        };
        match self {
            Self::Time => match value.abs() {
                us if us >= 1e6 => format!("{}s", digits(value * 1e-6)),
                us if us >= 1e3 => format!("{}ms", digits(value * 1e-3)),
                _ => format!("{}us", digits(value)),
            },
            Self::Rate => scaled(value, "B/s"),
            Self::PerSecond => scaled(value, "/s"),
            Self::Energy => Energy::from_joules(value).to_string(),
            Self::Share => format!("{:.1}%", value * 100.0),
            Self::Count => scaled(value, ""),
            Self::Plain => digits(value),
        }
    }
}

/// Three digits that count.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        abs if abs >= 99.95 => format!("{value:.0}"),
        abs if abs >= 9.995 => format!("{value:.1}"),
        abs if abs >= 0.09995 || abs == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_shown_with_their_unit() {
        assert_eq!(Unit::Time.parse("1.5ms"), Some(1500.0));
        assert_eq!(Unit::Rate.parse("25MB/s"), Some(25e6));
        assert_eq!(Unit::PerSecond.parse("1.2M/s"), Some(1.2e6));
        assert_eq!(Unit::Count.parse("3"), None);
        assert_eq!(Unit::Time.show(12_345.0), "12.3ms");
        assert_eq!(Unit::Rate.show(9.2e9), "9.20GB/s");
        assert_eq!(Unit::Share.show(0.173), "17.3%");
        assert_eq!([digits(0.0412), digits(123.4), digits(0.5)], ["0.0412", "123", "0.50"]);
    }
}
