//! Dimensions of numbers, and how numbers are written.

use base::units::{Energy, Rate, Ratio, Span};
use serde::Serialize;
use workload::generate::RequestRate;

/// The dimension of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Microseconds.
    Time,
    /// Bytes per second.
    Rate,
    /// Requests per second.
    PerSecond,
    /// Joules.
    Energy,
    /// A share of a whole, which is 1.
    Share,
    /// A count.
    Count,
    /// A dimensionless quotient.
    Plain,
}

impl Dimension {
    /// The number in a text of this dimension.
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
                us if us >= 1.0 => format!("{}us", digits(value)),
                us if us > 0.0 => format!("{}ns", digits(value * 1e3)),
                _ => "0".into(),
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

/// The number with three significant digits.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        abs if abs >= 99.95 => format!("{value:.0}"),
        abs if abs >= 9.995 => format!("{value:.1}"),
        abs if abs >= 0.09995 || abs == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
