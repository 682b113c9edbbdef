//! A solid-state drive as a state machine: the caller hands in the time.
//!
//! [`Drive::submit`] takes a request, [`Drive::next_event`] returns the time of the next event, and
//! [`Drive::advance`] handles the events up to a time. No code here reads a clock, a file, the environment or a
//! thread.
//!
//! A request passes through `host` (queue, link, order of overlapping requests, completion), `buffer` (volatile
//! writes), the `ftl` crate (which decides where data goes), and the `flash` crate's backend (which decides when
//! commands run) and media.

mod buffer;
#[cfg(debug_assertions)]
mod compiled;
mod counters;
mod device;
mod history;
mod host;
mod host_counts;
mod layer;
mod memory;
mod no_ftl;
mod power;
mod power_draw;
mod power_manager;
mod precondition;
mod raid_counters;
mod snapshot;
mod spec;
mod storage;
mod translation_counters;

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use compiled::{bare_life, stamped_life};
pub use counters::{Counters, SlcArrayCounters};
pub use device::Ssd;
pub use flash::backend::PowerCapSpec;
pub use flash::spec::{FlashSpec, ResolvedSlcArray, SlcSpec};
pub use ftl::{
    Candidate, CheckpointSpec, CollectionWindow, CopyStreamsSpec, Digits, DiscardSpec, FdpCounters, FdpEvent,
    FdpEventKind, FdpSpec, FoldPath, FtlKind, FtlSpec, GcSpec, HandleCounters, HostStreamsSpec, HostWrite, Isolation,
    LogMerges, MapSpec, MergeCounters, PageTimes, ParityCounters, ParseDigitsError, PlacementSpec, RefreshCounters,
    RefreshSpec, Sabotage, SlcCacheCounters, SlcCacheSpec, SlcMlcCounters, StreamCounters, StreamPolicy, StreamsSpec,
    UnmappedReads, VictimSpec, WearSpec, WriteCost, ZoneAction, ZoneCounters, ZoneError, ZoneReport, ZoneShape,
    ZoneState, ZrwaCounters, ZrwaShape, map_unit, register_stream_policy, register_victim_policy,
};
pub use history::History;
pub use host::{Completeness, Completion, Drive, QueueId, Request, Status, Tag};
pub use host_counts::HostCounts;
pub use layer::{Layer, LayerNotes, LayerRequest, LayerStep};
pub use memory::{Memory, Purpose};
pub use power::Recovery;
pub use power_draw::PowerDraw;
pub use power_manager::{PowerCounters, PowerStateSelection, StateCounters};
pub use precondition::{ParsePreconditionError, Precondition, PreconditioningResult};
pub use raid_counters::{RaidCounters, RaidDriveCounters, RaidJournalCounters};
pub use spec::{
    ALTERNATIVES, BufferPolicy, BufferSpec, CollectionTurns, ControllerPower, Cost, DriveFailure, DriveKind, Duplex,
    FlushPolicy, HostMemoryChange, HostMemorySpec, HostSpec, LinkSpec, OperationalState, PowerSpec, PowerState,
    QueueArbitration, QueueSpec, RaidCollection, RaidLevel, RaidSpec, RamSpec, ReadTransfer, ResolvedBuffer,
    ResolvedDevice, ResolvedHost, ResolvedQueue, ResolvedQueues, ResolvedSuperblocks, Spec, ThermalSpec, ThrottleSpec,
    ThrottleStyle, TranslationShape, TranslationSpec, UNSEEN_KEYS, ZoneCommand, ZoneGcSpec, ZoneVictim, builtin,
};
pub use storage::{ParseStorageError, Storage};
pub use translation_counters::TranslationCounters;
