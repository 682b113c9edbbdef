//! Counters of refresh.

/// Counters of refresh since the power came on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshCounters {
    /// Patrol reads, of one page each.
    pub patrol_reads: u64,
    /// Superblocks that had a page beyond the limit of age.
    pub by_age: u64,
    /// Superblocks that had a block beyond the limit of reads.
    pub by_reads: u64,
    /// Superblocks that had a page beyond the limit of errors.
    pub by_errors: u64,
    /// Superblocks whose data has been moved, or is being moved.
    pub superblocks: u64,
}

impl RefreshCounters {
    /// The counts since an earlier moment of the same drive.
    #[must_use]
    pub const fn since(&self, from: &Self) -> Self {
        Self {
            patrol_reads: self.patrol_reads.saturating_sub(from.patrol_reads),
            by_age: self.by_age.saturating_sub(from.by_age),
            by_reads: self.by_reads.saturating_sub(from.by_reads),
            by_errors: self.by_errors.saturating_sub(from.by_errors),
            superblocks: self.superblocks.saturating_sub(from.superblocks),
        }
    }
}
