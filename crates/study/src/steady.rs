//! The usual rule for steady state: the definition in SNIA's *Solid State Storage Performance Test Specification* (PTS,
//! version 2.0.2 of October 2020).
//!
//! A drive is in steady state if a metric was steady over the last five rounds:
//!
//! - its values lie within 20 % of their mean, from the lowest to the highest;
//! - the straight line fitted to them by least squares rises or falls by at most 10 % of the mean from the first round
//!   to the last.
//!
//! The rule alone would accept a new drive that still has free blocks. So a window in which the drive programmed pages
//! and erased nothing is not steady, whatever its values.

pub use workload::measure::Metric;

/// The number of rounds in a window.
pub const WINDOW: usize = 5;

/// The largest excursion of a steady window: the distance of the lowest value from the highest, as a share of the mean.
pub const EXCURSION: f64 = 0.20;

/// The largest slope of a steady window: the rise of the fitted line over the window, as a share of the mean.
pub const SLOPE: f64 = 0.10;

/// The excursion and the slope of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyWindow {
    /// Mean over the rounds of the window.
    pub mean: f64,
    /// The distance of the lowest value from the highest, as a share of the mean.
    pub excursion: f64,
    /// The rise of the fitted line from the first value to the last, as a share of the mean; negative if it falls.
    pub slope: f64,
}

impl SteadyWindow {
    /// The window of the last [`WINDOW`] values; `None` if there are fewer, or if their mean is not above zero.
    #[must_use]
    pub fn last(values: &[f64]) -> Option<Self> {
        let values = values.get(values.len().checked_sub(WINDOW)?..)?;
        let mean = values.iter().sum::<f64>() / WINDOW as f64;
        if mean.is_nan() || mean <= 0.0 {
            return None;
        }
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(*y), high.max(*y)));
        // Least squares for x from -2 to 2. The squares of x add up to 10.
        let middle = (WINDOW / 2) as f64;
        let squares: f64 = (0..WINDOW).map(|x| (x as f64 - middle).powi(2)).sum();
        let products: f64 = values.iter().zip(0..).map(|(y, x)| (f64::from(x) - middle) * y).sum();
        let rise = products / squares * (WINDOW - 1) as f64;
        Some(Self { mean, excursion: (high - low) / mean, slope: rise / mean })
    }

    /// True if both limits hold.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.excursion <= EXCURSION && self.slope.abs() <= SLOPE
    }
}

/// The numbers of a round, or of any other part of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// The number of reads and writes that succeeded.
    pub requests: u64,
    /// The length of the round in simulated seconds.
    pub span_s: f64,
    /// Reads and writes that succeeded, per simulated second.
    pub rate: f64,
    /// Write amplification; `None` if the host wrote nothing.
    pub waf: Option<f64>,
    /// The mean latency of the reads and writes that succeeded, in microseconds.
    pub latency_us: f64,
    /// The number of commands that programmed pages.
    pub programs: u64,
    /// The number of commands that erased blocks.
    pub erases: u64,
}

impl Round {
    /// The value of a metric in this round; `None` if the round has none.
    #[must_use]
    pub const fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Rate => Some(self.rate),
            Metric::Waf => self.waf,
            Metric::Latency => Some(self.latency_us),
        }
    }
}

/// The verdict of the rule on the last rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// There are too few rounds, or the metric has no value in one of them.
    Unknown,
    /// The drive programmed pages in the window and erased nothing, so it still uses up free blocks.
    Filling,
    /// The window is within both limits.
    Steady(SteadyWindow),
    /// The window exceeds a limit.
    Drifting(SteadyWindow),
}

impl Verdict {
    /// The verdict on the last [`WINDOW`] rounds.
    #[must_use]
    pub fn of(rounds: &[Round], metric: Metric) -> Self {
        let Some(window) = rounds.len().checked_sub(WINDOW).map(|first| &rounds[first..]) else { return Self::Unknown };
        let sum = |count: fn(&Round) -> u64| window.iter().map(count).sum::<u64>();
        if sum(|round| round.programs) > 0 && sum(|round| round.erases) == 0 {
            return Self::Filling;
        }
        let values: Option<Vec<f64>> = window.iter().map(|round| round.value(metric)).collect();
        match values.and_then(|values| SteadyWindow::last(&values)) {
            None => Self::Unknown,
            Some(window) if window.is_steady() => Self::Steady(window),
            Some(window) => Self::Drifting(window),
        }
    }

    /// Returns true if the metric is steady: excursion and slope are below their limits.
    #[must_use]
    pub const fn is_steady(&self) -> bool {
        matches!(self, Self::Steady(_))
    }
}

/// The result of a warm-up that waited for steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyResult {
    /// The metric that had to be steady.
    pub metric: Metric,
    /// All rounds of the warm-up, in order.
    pub rounds: Vec<Round>,
    /// The verdict on the last [`WINDOW`] rounds.
    pub verdict: Verdict,
}

#[cfg(test)]
mod tests;
