//! Parity in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::ParityCounters;

/// What parity over the dies of a superblock did. Its programs and reads are in `flash`, under the cause `parity`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ParitySummary {
    /// Uncorrectable reads of mapping units that were rebuilt.
    pub rebuilt: u64,
    /// Uncorrectable reads of mapping units that could not be rebuilt.
    pub lost: u64,
    /// Superblocks moved because one of their dies had failed.
    pub superblocks: u64,
    /// Superblocks that wait for that at the end.
    pub waiting: u64,
}

impl ParitySummary {
    pub(super) const fn new(counters: &ParityCounters) -> Self {
        let ParityCounters { rebuilt, lost, rebuilt_superblocks, waiting_superblocks } = *counters;
        Self { rebuilt, lost, superblocks: rebuilt_superblocks, waiting: waiting_superblocks }
    }
}
