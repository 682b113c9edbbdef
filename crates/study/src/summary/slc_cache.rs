//! The SLC cache in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::SlcCacheCounters;

/// Counters of an SLC cache, and its level at the end. Folded units are in `flash`, under the cause `fold`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SlcCacheSummary {
    /// The number of mapping units programmed in SLC mode.
    pub cached: u64,
    /// The number of programs in SLC mode, each of one row of pages.
    pub programs: u64,
    /// The number of the host's mapping units programmed in full blocks.
    pub direct: u64,
    /// The share of the host's mapping units that went to the cache; 0 if the host wrote none.
    pub share: f64,
    /// The number of superblocks in SLC mode at the end, in all pools.
    pub superblocks: u64,
    /// The number of superblocks that may be in SLC mode when the drive is as full as at the end.
    pub limit: u64,
}

impl SlcCacheSummary {
    pub(super) fn new(counters: &SlcCacheCounters) -> Self {
        let SlcCacheCounters { cached, programs, direct, superblocks, limit } = *counters;
        Self { cached, programs, direct, share: cached as f64 / (cached + direct).max(1) as f64, superblocks, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_units_that_the_host_wrote() {
        let of = |cached, direct| {
            SlcCacheSummary::new(&SlcCacheCounters { cached, programs: 9, direct, superblocks: 3, limit: 4 })
        };
        assert_eq!((of(30, 10).share, of(0, 0).share, of(5, 0).share), (0.75, 0.0, 1.0));
    }
}
