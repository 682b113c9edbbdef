//! Applies the stop rule of a session to the stages of its workload.

use base::units::Bytes;

use super::Session;
use crate::run::{RunResult, Stop, WarmUp};

impl Session<'_> {
    /// True if the stop rule leaves nothing for another stage.
    pub(super) fn is_over(&self) -> bool {
        match self.settings.window.stop {
            Stop::AtEnd | Stop::Worn(_) => false,
            Stop::Requests(requests) => requests == 0,
            Stop::Time(span) => span.is_zero(),
            Stop::Bytes(bytes) => bytes.get() == 0,
            Stop::Capacities(times) => times <= 0.0,
        }
    }

    /// Subtracts a finished stage from the stop rule, and drops the warm-up.
    pub(super) fn use_up(&mut self, result: &RunResult) {
        self.settings.window.warm_up = WarmUp::None;
        self.settings.window.stop = match self.settings.window.stop {
            end @ (Stop::AtEnd | Stop::Worn(_)) => end,
            Stop::Requests(requests) => Stop::Requests(requests.saturating_sub(result.submitted)),
            Stop::Time(span) => Stop::Time(span.saturating_sub(result.after.at - result.before.at)),
            Stop::Bytes(bytes) => {
                let asked: u64 = result.asked.iter().map(|sectors| sectors.bytes().get()).sum();
                Stop::Bytes(Bytes::new(bytes.get().saturating_sub(asked)))
            }
            Stop::Capacities(times) => Stop::Capacities(times - result.capacities_asked()),
        };
    }
}
