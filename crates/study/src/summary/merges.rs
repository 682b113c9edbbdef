//! The merges of a block-mapped FTL in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::MergeCounters;

/// The work of a block-mapped FTL.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct MergeSummary {
    /// The number of merges, including merges of wear levelling.
    pub merges: u64,
    /// The number of rows that merges copied inside their chips.
    pub copied: u64,
    /// The number of rows with sectors from the host.
    pub given: u64,
    /// The number of pages of the log, without replicas.
    pub log_pages: u64,
    /// The number of times the map was written.
    pub maps: u64,
    /// The number of pages that flushes logged instead of merging.
    pub flush_pages: u64,
    /// The number of failing blocks replaced by spares.
    pub replaced: u64,
    /// The time of recovery after a power cut at the end, in microseconds.
    pub recovery_us: f64,
    /// The spread of erase counts at the end: the highest erase count of a superblock minus the lowest.
    pub erase_spread: u32,
}

impl MergeSummary {
    pub(super) fn new(of: MergeCounters) -> Self {
        let MergeCounters { merges, copied, given, log_pages, maps, flush_pages, replaced, recovery, erase_spread } =
            of;
        let recovery_us = recovery.as_us_f64();
        Self { merges, copied, given, log_pages, maps, flush_pages, replaced, recovery_us, erase_spread }
    }
}
