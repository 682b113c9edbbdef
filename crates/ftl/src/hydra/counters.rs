//! What merges did.

use base::units::Span;

/// What a block-mapped FTL has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCounters {
    /// Merges that have ended, those of wear levelling among them.
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
    /// What recovery would take if the power went now.
    pub recovery: Span,
    /// Erases of the most erased superblock less those of the least erased one: not what happened, but how it is now
    /// (Seong et al., Fig. 21a).
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
