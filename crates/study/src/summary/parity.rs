//! Parity in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::ParityCounters;

/// Counters of parity over the dies of a superblock. Its programs and reads are in `flash`, under the cause `parity`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ParitySummary {
    /// The number of uncorrectable reads of mapping units that were rebuilt.
    pub rebuilt: u64,
    /// The number of uncorrectable reads of mapping units that could not be rebuilt.
    pub lost: u64,
    /// The number of superblocks moved because one of their dies had failed.
    pub superblocks: u64,
    /// The number of superblocks that still wait for such a move at the end.
    pub waiting: u64,
}

impl ParitySummary {
    pub(super) const fn new(counters: &ParityCounters) -> Self {
        let ParityCounters { rebuilt, lost, rebuilt_superblocks, waiting_superblocks } = *counters;
        Self { rebuilt, lost, superblocks: rebuilt_superblocks, waiting: waiting_superblocks }
    }
}
