//! The part of a workload that is measured, as its own description states it. The run may state another.

mod amount;
mod metric;
mod until;

use base::fault::Fault;

pub use amount::{Amount, ParseAmountError};
pub use metric::{Metric, NoMetric};
pub use until::{NoState, TargetState};

/// The keys of a description about its measurement: `warm-up`, `until`, `round` and `measure`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasureKeys {
    /// The part that runs before the measurement.
    pub warm_up: Option<Amount>,
    /// The state of the drive that the run waits for.
    pub until: Option<TargetState>,
    /// The length of a round of `until`.
    pub round: Option<Amount>,
    /// The part that is measured.
    pub measure: Option<Amount>,
}

impl MeasureKeys {
    /// The faults of keys that exclude each other.
    #[must_use]
    pub fn conflicts(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.until.is_some() && self.warm_up.is_some() {
            let message = match self.until {
                Some(TargetState::Worn) => "a warm-up beside until = \"worn\", which counts all that the drive takes",
                _ => "a warm-up of fixed length beside `until`, which warms up for as long as it takes",
            };
            faults.push(Fault::new("warm-up", message, "leave one of them out"));
        }
        if self.measure.is_some() && self.until == Some(TargetState::Worn) {
            let message = "until = \"worn\" measures the whole life of the drive";
            faults.push(Fault::new("measure", message, "leave one of them out, or end earlier with `rounds`"));
        }
        if self.round.is_some() && self.until.is_none() {
            faults.push(Fault::new("round", "rounds of nothing", "add until = \"steady\", or leave it out"));
        }
        faults
    }
}
