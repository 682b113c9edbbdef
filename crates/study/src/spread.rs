//! The spread of a number: over runs with different seeds, and over the batches of one long run.
//!
//! Runs with different seeds are independent, so the interval of their mean is that of Student's t-distribution: Law,
//! *Simulation Modeling and Analysis* (5th edition, section 4.5). The parts of one run are not independent of each
//! other; [`batches`] groups them until they are.
//!
//! Two drives that ran with the same seeds saw the same requests (common random numbers), so their runs come in pairs.
//! [`difference`] is therefore the interval of the mean of the differences (the paired-t interval, Law, section 10.2.1).
//! Welch's test compares samples that are independent of each other, which these are not.

pub mod batches;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::metric::{Dimension, digits};

/// The share of all intervals that contain the true mean.
pub const CONFIDENCE: f64 = 0.95;

/// From these degrees of freedom on, the quantile equals the normal distribution's to four digits. No table goes
/// further.
const MOST_FREEDOM: usize = 10_000;

/// The number that a t-distributed quantity with `freedom` degrees of freedom exceeds in absolute value in 5 % of all cases.
///
/// # Panics
/// If `freedom` is zero.
#[must_use]
pub fn student_t(freedom: usize) -> f64 {
    student_t_beyond(freedom, 1.0 - CONFIDENCE)
}

/// The number that a t-distributed quantity with `freedom` degrees of freedom exceeds in absolute value with the probability
/// `error`.
fn student_t_beyond(freedom: usize, error: f64) -> f64 {
    assert!(freedom > 0, "one value has no spread");
    let t = StudentsT::new(0.0, 1.0, freedom.min(MOST_FREEDOM) as f64).expect("the parameters are positive");
    // Rounded to six decimals, so that differences between the logarithms of platforms do not reach a result.
    (t.inverse_cdf(1.0 - error / 2.0) * 1e6).round() * 1e-6
}

/// A mean with its 95 % confidence interval: `mean - half_width` to `mean + half_width`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Mean of the values; the centre of the interval.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean.
    pub half_width: f64,
    /// The number of values from which the interval follows.
    pub n: u32,
}

impl Interval {
    /// The interval of the mean of independent values; `None` if there are fewer than two, because a single value has
    /// no spread.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::with_error(values, 1.0 - CONFIDENCE)
    }

    /// The interval that misses the mean with the probability `error`.
    fn with_error(values: &[f64], error: f64) -> Option<Self> {
        let n = values.len();
        let freedom = n.checked_sub(1).filter(|freedom| *freedom > 0)?;
        let half_width = student_t_beyond(freedom, error) * deviation(values)? / (n as f64).sqrt();
        Some(Self { mean: mean(values)?, half_width, n: n as u32 })
    }

    /// True if the interval contains a value. An interval without width contains its mean.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }

    /// True if some value lies in both intervals.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.mean - other.mean).abs() <= self.half_width + other.half_width
    }

    /// The interval as text of this dimension, e.g. `12.3 plus or minus 0.4us`.
    #[must_use]
    pub fn show(&self, dimension: Dimension) -> String {
        if dimension == Dimension::Energy {
            return format!("{} \u{b1} {}", dimension.show(self.mean), dimension.show(self.half_width));
        }
        let (factor, unit) = dimension.scale(self.mean);
        let (mean, half_width) = rounded(self.mean * factor, self.half_width * factor);
        format!("{mean} \u{b1} {half_width}{unit}")
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, half_width) = rounded(self.mean, self.half_width);
        write!(f, "{mean} \u{b1} {half_width}")
    }
}

/// Mean and half-width, rounded: two significant digits of the half-width up to 3.5, one above (the rule of the
/// Particle Data Group), and at most six significant digits of the mean.
fn rounded(mean: f64, half_width: f64) -> (String, String) {
    if half_width <= 0.0 {
        return (digits(mean), "0".into());
    }
    let exponent = half_width.log10().floor();
    let kept = if half_width / 10f64.powf(exponent) < 3.55 { 1.0 } else { 0.0 };
    let most = 5.0 - mean.abs().max(half_width).log10().floor();
    let decimals = (kept - exponent).min(most).max(0.0) as usize;
    (format!("{mean:.decimals$}"), format!("{half_width:.decimals$}"))
}

/// A number over the runs with all seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t-distribution; missing with one seed,
    /// which has no spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// The number of seeds.
    pub n: u32,
    /// The value of each run, in the order of the seeds.
    pub values: Vec<f64>,
}

impl Spread {
    /// The spread of values; `None` if there are none.
    #[must_use]
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let half_width = Interval::of(&values).map(|interval| interval.half_width);
        Some(Self { mean: mean(&values)?, half_width, n: values.len() as u32, values })
    }

    /// The mean as text, with its interval if the interval has a width. A number that no seed changes is written
    /// without one.
    #[must_use]
    pub fn show(&self, dimension: Dimension) -> String {
        let interval = self.interval().filter(|interval| interval.half_width > 0.0);
        interval.map_or_else(|| dimension.show(self.mean), |interval| interval.show(dimension))
    }

    /// The interval of the mean; `None` with one seed.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        let Self { mean, half_width, n, .. } = *self;
        Some(Interval { mean, half_width: half_width?, n })
    }
}

/// The arithmetic mean; `None` if there are no values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation, whose square divides by one less than the number of values; `None` if there are fewer
/// than two.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    // Equal values have no spread, although the computed mean of three times 0.1 is not 0.1.
    if values.iter().all(|value| value.total_cmp(&values[0]).is_eq()) {
        return Some(0.0);
    }
    let mean = mean(values)?;
    Some((values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64).sqrt())
}

/// The interval of the mean difference `b - a` of values measured with the same seeds, in one order (the paired-t
/// interval); `None` with fewer than two seeds, or if the numbers of values differ.
#[must_use]
pub fn difference(a: &[f64], b: &[f64]) -> Option<Interval> {
    Interval::of(&differences(a, b)?)
}

/// The differences `b - a` of values measured with the same seeds; `None` if the numbers of values differ.
fn differences(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| b - a).collect())
}

/// True if two numbers measured with the same seeds differ by more than their spread: the 95 % interval of the mean
/// difference does not contain zero. `None` if the spread is unknown.
#[must_use]
pub fn differs(a: &[f64], b: &[f64]) -> Option<bool> {
    differs_with_error(a, b, 1.0 - CONFIDENCE)
}

/// Decides as [`differs`] does, with an interval that misses the mean difference with the probability `error`.
#[must_use]
pub fn differs_with_error(a: &[f64], b: &[f64], error: f64) -> Option<bool> {
    Interval::with_error(&differences(a, b)?, error).map(|difference| !difference.contains(0.0))
}

#[cfg(test)]
mod tests;
