//! Counters of an SLC cache.

/// Counters of an SLC cache since the power came on, and its present fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcCacheCounters {
    /// Mapping units that were programmed in SLC mode.
    pub cached: u64,
    /// Programs in SLC mode, each of one row of pages.
    pub programs: u64,
    /// Mapping units of the host that were programmed in full blocks.
    pub direct: u64,
    /// Superblocks that are in SLC mode now, in all pools.
    pub superblocks: u64,
    /// Superblocks that may be in SLC mode at the present fill of the drive.
    pub limit: u64,
}

impl SlcCacheCounters {
    /// The counts since `earlier`, with the present level.
    #[must_use]
    pub const fn since(&self, from: &Self) -> Self {
        Self {
            cached: self.cached.saturating_sub(from.cached),
            programs: self.programs.saturating_sub(from.programs),
            direct: self.direct.saturating_sub(from.direct),
            superblocks: self.superblocks,
            limit: self.limit,
        }
    }
}
