//! The metrics of steady state.

use std::fmt;
use std::str::FromStr;

/// A metric that can become steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Requests per simulated second.
    #[default]
    Rate,
    /// Write amplification.
    Waf,
    /// The mean latency of all requests.
    Latency,
}

impl Metric {
    /// All metrics that a workload can name for its steady state.
    pub const ALL: [Self; 3] = [Self::Rate, Self::Waf, Self::Latency];

    /// The metric's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Waf => "waf",
            Self::Latency => "latency",
        }
    }

    /// The metric's name in sentences.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Rate => "requests per second",
            Self::Waf => "write amplification",
            Self::Latency => "mean latency",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a text that names no metric of steady state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMetric(String);

impl fmt::Display for NoMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no metric of steady state", self.0)
    }
}

impl std::error::Error for NoMetric {}

impl FromStr for Metric {
    type Err = NoMetric;

    fn from_str(text: &str) -> Result<Self, NoMetric> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| NoMetric(text.to_owned()))
    }
}
