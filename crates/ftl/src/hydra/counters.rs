//! Counters of merges and logged flushes of Hydra's FTL.

use base::units::Span;

/// Counts of the merges and of the log of a block-mapped FTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCounters {
    /// Finished merges, including merges of wear levelling.
    pub merges: u64,
    /// Rows that merges copied inside a chip.
    pub copied: u64,
    /// Rows that merges wrote with sectors of the host.
    pub given: u64,
    /// Pages written to the log, without the replicas.
    pub log_pages: u64,
    /// Times the map was written.
    pub maps: u64,
    /// Pages of logged flushes.
    pub flush_pages: u64,
    /// Failing blocks that spares have replaced.
    pub replaced: u64,
    /// Time that recovery after a power loss would take after a power cut now.
    pub recovery: Span,
    /// The highest erase count of a superblock less the lowest: the present state, not a count of events (Seong et al.,
    /// Fig. 21a).
    pub erase_spread: u32,
}

impl std::ops::Sub for MergeCounters {
    type Output = Self;

    fn sub(self, from: Self) -> Self {
        Self {
            merges: self.merges - from.merges,
            copied: self.copied - from.copied,
            given: self.given - from.given,
            log_pages: self.log_pages - from.log_pages,
            maps: self.maps - from.maps,
            flush_pages: self.flush_pages - from.flush_pages,
            replaced: self.replaced - from.replaced,
            recovery: self.recovery,
            erase_spread: self.erase_spread,
        }
    }
}
