//! The merges of a block-mapped FTL in numbers.

use schemars::JsonSchema;
use serde::Serialize;
use ssd::MergeCounters;

/// What a block-mapped FTL did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MergeSummary {
    /// Merges, those of wear levelling among them.
    pub merges: u64,
    /// Rows that they copied inside their chips.
    pub copied: u64,
    /// Rows with sectors of the host.
    pub given: u64,
    /// Pages of the log, replicas not counted.
    pub log_pages: u64,
    /// Times the map was written.
    pub maps: u64,
    /// Pages of flushes without merges.
    pub flush_pages: u64,
    /// Failing blocks that a spare stands in for.
    pub replaced: u64,
    /// What recovery would take, in microseconds, if the power went at the end.
    pub recovery_us: f64,
    /// Erases of the most erased superblock less those of the least erased one, at the end.
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
