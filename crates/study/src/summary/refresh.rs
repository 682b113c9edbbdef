//! Refresh in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::RefreshCounters;

/// Counters of refresh. Its reads, programs and erases are in `flash`, under the cause `refresh`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RefreshSummary {
    /// The number of reads with which the drive looked for blocks that need a refresh.
    pub patrol_reads: u64,
    /// The number of superblocks that had a page beyond the limit of age.
    pub by_age: u64,
    /// The number of superblocks that had a block beyond the limit of reads.
    pub by_reads: u64,
    /// The number of superblocks that had a page beyond the limit of errors.
    pub by_errors: u64,
    /// The number of superblocks whose data was moved, or was being moved at the end.
    pub superblocks: u64,
}

impl RefreshSummary {
    pub(super) const fn new(counters: &RefreshCounters) -> Self {
        let RefreshCounters { patrol_reads, by_age, by_reads, by_errors, superblocks } = *counters;
        Self { patrol_reads, by_age, by_reads, by_errors, superblocks }
    }
}
