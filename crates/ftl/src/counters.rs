//! The counters of an FTL.

use crate::{
    FdpCounters, LogMerges, MergeCounters, ParityCounters, RefreshCounters, SlcCacheCounters, SlcMlcCounters,
    StreamCounters, ZoneCounters, map_unit,
};

/// The counters of an FTL. A field is `None` if the FTL lacks the mechanism that it counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Counters of the map unit since the power came on.
    pub map: Option<map_unit::Counters>,
    /// The merges of a block map, since the power came on.
    pub merges: Option<MergeCounters>,
    /// The merges of log blocks, since the power came on.
    pub log_merges: Option<LogMerges>,
    /// Counters of the FTL of a hybrid SLC/MLC disk since the power came on.
    pub slc_mlc: Option<Box<SlcMlcCounters>>,
    /// Counters of the write streams since the power came on, if there are several streams.
    pub streams: Option<Box<StreamCounters>>,
    /// The counters of Flexible Data Placement since the power came on, if the drive has it.
    pub fdp: Option<Box<FdpCounters>>,
    /// Counters of the SLC cache since the power came on, if there is an SLC cache.
    pub slc_cache: Option<SlcCacheCounters>,
    /// Counters of refresh since the power came on, if the drive refreshes blocks.
    pub refresh: Option<RefreshCounters>,
    /// Counters of parity since the power came on, if superblocks have parity.
    pub parity: Option<ParityCounters>,
    /// Counters of the zones since the power came on, if the drive has zones.
    pub zones: Option<ZoneCounters>,
}
