//! Requests that failed, in a summary.

use std::collections::BTreeMap;

use ssd::Status;

use super::{FlowSummary, Summary};
use crate::run::KindResult;
use crate::validity::MOST_FAILED;

/// The outcomes of requests that failed.
pub const FAILURES: [Status; Status::COUNT - 1] = {
    let mut failures = [Status::Uncorrectable; Status::COUNT - 1];
    let mut at = 0;
    while at < failures.len() {
        failures[at] = Status::ALL[at + 1];
        at += 1;
    }
    failures
};

/// The number of requests of a kind that failed, by outcome, without zeros.
pub(super) fn failed(result: &KindResult) -> BTreeMap<&'static str, u64> {
    let of = FAILURES.into_iter().map(|status| (status.name(), result.with_status(status)));
    of.filter(|(_, requests)| *requests > 0).collect()
}

impl FlowSummary {
    /// True if a larger share of the flow's requests failed than a comparison allows.
    fn fails_too_often(&self) -> bool {
        let done = self.outcomes.get(Status::Done.name()).copied().unwrap_or_default();
        (self.requests - done) as f64 > MOST_FAILED * self.requests as f64
    }
}

impl Summary {
    /// True if a larger share of the requests failed, in all or of one flow, than a comparison or a claim allows.
    #[must_use]
    pub fn fails_too_often(&self) -> bool {
        if self.life.is_some() {
            // The writes that a worn drive refuses do not count: the run was to end with them.
            let refused = self.outcomes.get(Status::ReadOnly.name()).copied().unwrap_or_default();
            let done = self.outcomes.get(Status::Done.name()).copied().unwrap_or_default();
            return (self.requests - done - refused) as f64 > MOST_FAILED * self.requests as f64;
        }
        self.validity.fails_too_often() || self.flows.iter().any(FlowSummary::fails_too_often)
    }
}
