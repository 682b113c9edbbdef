//! Flash translation layers behind one port.
//!
//! [`Ftl`] is the interface that a device calls. [`Flash`] and [`Owners`] are all that an FTL sees of the device: the
//! backend at one moment, and the requests whose data it moves. An FTL can therefore be built and tested without a
//! device, and an FTL of another crate runs in a device like those here.
//!
//! A family is a folder (`page`, `hydra`, `log_block`, `slc_mlc`, `block`, `zns`) and a line in [`FtlKind`]. Its [`Family`] interprets its keys and refuses descriptions. `toolkit` holds what several families
//! share.

pub mod map_unit;

mod block;
mod counters;
mod event;
mod families;
mod family;
mod foresight;
pub mod formula;
mod hydra;
mod idle;
mod kind;
mod log_block;
mod own;
mod page;
mod pages;
mod port;
mod registry;
#[cfg(test)]
mod rig;
mod sabotage;
pub mod simple;
mod slc_mlc;
mod spec;
mod toolkit;
mod zns;
mod zone;

pub use block::{BlockConfig, BlockFtl, BlockSpec};
pub use counters::Counters;
pub use event::{Event, HostEvent};
pub use families::{register_ftl, register_simple_ftl};
pub use family::{Array, Config, Family, MapImages, Setup, Site, WorkingSpace};
pub use foresight::{Foresight, NextWrites, WriteLog};
pub use hydra::{HydraConfig, HydraFtl, HydraSpec, MergeCounters, ProcessorSpec};
pub use idle::Idle;
pub use kind::{FtlKind, UnknownKind};
pub use log_block::{Allocation, EraseTiming, LogBlockConfig, LogBlockFtl, LogMerges, LogSpec, Striping};
pub use map_unit::MapSpec;
pub use own::OwnFtl;
pub use page::{
    AgeUnit, CachePoint, Candidate, Candidates, CheckpointSpec, CollectionPolicy, CollectionPool, CollectionWindow,
    CopyStreamsSpec, Digits, DiscardSpec, FdpCounters, FdpEvent, FdpEventKind, FdpSpec, FirmwareSpec, FoldPath, GcSpec,
    HandleCounters, HostStreamsSpec, HostWrite, IdleFoldSpec, IdleGcSpec, Isolation, OverflowPolicy, PaceSpec,
    PageConfig, PageFtl, ParityCounters, ParseDigitsError, PlacementPolicy, PlacementPool, PlacementPools,
    PlacementSpec, PlacementTarget, RefreshCounters, RefreshSpec, SlcCacheCounters, SlcCacheSpec, StreamCounters,
    StreamPolicy, StreamsSpec, UnmappedReads, VictimPolicy, VictimSpec, register_collection_policy,
    register_placement_policy, register_stream_policy, register_victim_policy,
};
pub use port::{
    Background, Direction, Flash, FlushLog, Ftl, HostMemoryBuffer, Mount, OldPlace, Origin, Owner, Owners, PageRead,
    PageWrite, PowerCycle, Preconditioning, ReclaimUnitHandles, SavedSectors, Service, ZoneReport, ZoneWrite, Zones,
    full_mask,
};
pub use registry::RegisterError;
pub use sabotage::{PlantedBug, Sabotage};
pub use slc_mlc::{
    ArrayShape, ClusterMethod, DensitySpec, MappingSpec, PageTimes, ProbeSequence, SlcMlcConfig, SlcMlcCounters,
    SlcMlcFtl, SlcMlcSpec, WriteCost,
};
pub use spec::FtlSpec;
pub use toolkit::WearSpec;
pub use zns::{ZnsConfig, ZnsFtl, ZnsSpec, ZoneCounters, ZrwaCounters, ZrwaSpec};
pub use zone::{ZoneAction, ZoneError, ZoneShape, ZoneState, ZrwaShape};
