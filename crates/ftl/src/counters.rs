//! The counters of an FTL.

use crate::{
    FdpCounters, LogMerges, MergeCounters, ParityCounters, RefreshCounters, SlcCacheCounters, SlcMlcCounters,
    StreamCounters, ZoneCounters, map_unit,
};

/// The counters of an FTL; each field belongs to the FTLs that have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The map unit's, since the power came on.
    pub map: Option<map_unit::Counters>,
    /// The merges of a block map, since the power came on.
    pub merges: Option<MergeCounters>,
    /// The merges of log blocks, since the power came on.
    pub log_merges: Option<LogMerges>,
    /// Counters of the FTL of a hybrid SLC/MLC disk.
    pub slc_mlc: Option<Box<SlcMlcCounters>>,
    /// The streams', since the power came on, if there are several.
    pub streams: Option<Box<StreamCounters>>,
    /// The counters of Flexible Data Placement since the power came on, if the drive has it.
    pub fdp: Option<Box<FdpCounters>>,
    /// The SLC cache's, since the power came on, if there is one.
    pub slc_cache: Option<SlcCacheCounters>,
    /// Refresh's, since the power came on, if there is any.
    pub refresh: Option<RefreshCounters>,
    /// Parity's, since the power came on, if superblocks have it.
    pub parity: Option<ParityCounters>,
    /// The zones', since the power came on, if there are any.
    pub zones: Option<ZoneCounters>,
}
