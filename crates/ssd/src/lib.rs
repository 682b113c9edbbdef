//! A solid-state disk as a state machine that is handed the time.
//!
//! [`Drive::submit`] takes a request, [`Drive::next_event`] tells when something happens next, and
//! [`Drive::advance`] lets it happen. Nothing here reads a clock, a file, the environment or a thread.
//!
//! A request's way: `host` (queue, link, order of overlapping requests), `buffer` (volatile writes),
//! `ftl` (where things go), then the `flash` crate's backend (when things happen) and media.

mod buffer;
mod clients;
#[cfg(debug_assertions)]
mod compiled;
mod counters;
mod device;
mod drive;
mod ftl;
mod host;
mod memory;
mod past;
mod power;
mod precondition;
mod request;
mod sabotage;
mod serve;
mod snapshot;
mod spec;

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use compiled::{bare_life, stamped_life};
pub use counters::{Counters, MergeCounters, SecondCounters};
pub use device::Ssd;
pub use drive::Drive;
pub use ftl::chang::{
    ArrayShape, ChangSpec, DensitySpec, HybridCounters, MappingSpec, PageTimes, Probing, ThresholdBy, WriteCost,
};
pub use ftl::hybrid::{Allocation, EraseWhen, LogMerges, LogSpec, Striping};
pub use ftl::map_unit::{self, MapSpec};
pub use ftl::placement::{Digits, ParseDigitsError, PlacementSpec};
pub use ftl::victim::VictimSpec;
pub use memory::{Memory, Purpose};
pub use past::Past;
pub use power::Recovery;
pub use precondition::{ParsePreconditionError, Precondition, Preconditioned};
pub use request::{Completion, QueueId, Request, Status, Tag};
pub use sabotage::Sabotage;
pub use spec::{
    BufferPolicy, BufferSpec, Cost, Duplex, FlashSpec, FlushPolicy, FtlKind, FtlSpec, GcSpec, HostSpec, HydraSpec,
    LinkSpec, ProcessorSpec, QueueArbitration, QueueSpec, Resolved, ResolvedBuffer, ResolvedHost, ResolvedHydra,
    ResolvedQueue, ResolvedQueues, ResolvedSecond, ResolvedSuperblocks, SlcSpec, Spec, WearSpec, builtin,
};
