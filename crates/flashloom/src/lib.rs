#![doc = include_str!("lib.md")]

mod args;
mod check;
mod cluster;
mod command;
mod compare;
mod completions;
mod ctl;
mod device;
mod exit;
mod explain;
mod failures;
mod flows;
mod help;
mod lists;
mod machine;
mod manual;
mod mqsim;
mod on;
mod options;
mod progress;
mod run;
mod serve;
mod store;
mod studies;
mod torture;
mod trace;

pub use command::{command, command_with};
pub use machine::memory_limit;
pub use on::{Address, Cluster, ClusterError, ClusterSettings, ProgressCallback};
pub use run::program;
pub use store::default_store;

pub use base::io::{Io, IoKind, PlacementId};
pub use ssd::{
    Completion, Counters, Drive, Precondition, QueueId, Recovery, Request, ResolvedDevice, Spec, Ssd, Status, Tag,
};
pub use study::catalogue::{Device, WorkloadError, WorkloadFile};
pub use study::config::Faults;
pub use study::oracle::{Oracle, Verification};
pub use study::session::{
    Flow, Measurement, Outcome, Program, Progress, Session, SessionError, Snapshot, Stop, WarmUp,
};
pub use study::summary::Summary;
pub use workload::trace::TraceOptions;
pub use workload::{Arrival, Pacing, Source, SourceError};

/// Quantities as types: each parses and prints its unit of measure (`"25us"`, `"4KiB"`, `"667MB/s"`).
pub mod units {
    pub use base::units::{Bytes, DieId, Lba, Lpn, Psn, Rate, Ratio, SECTOR, Sectors, Span, SuperblockId, Time};
}

/// NAND flash: geometry, parts, faults, and the contents of a sector.
pub mod nand {
    pub use flash::nand::{
        BlockBirth, Bytes512, FaultSpec, Faults, Geometry, Image, Media, Part, Sector, Spare, Stamp, Stream, Target,
    };
}

/// The backend: it runs command lists on dies and channels and times each command.
pub mod backend {
    pub use flash::backend::{Account, Backend, Cause, Class, Command, List, Observer, Op, Slot, SlotRef, Timing};
}

/// The conformance suite that every FTL of the library passes, for one of your own.
#[cfg(feature = "conformance")]
pub use testkit::conformance;

/// The interface between an FTL and its device. An FTL of another crate is used by the name under which
/// [`register_ftl`](ftl::register_ftl) or [`register_simple_ftl`](ftl::register_simple_ftl) has registered it.
pub mod ftl {
    pub use base::engine::{EventQueue, Handle, Rng};
    pub use ftl::map_unit;
    pub use ftl::simple;
    pub use ftl::{
        AgeUnit, Array, Background, Candidate, Candidates, CollectionPolicy, CollectionPool, Config, Counters, Event,
        Family, Flash, FlushLog, Ftl, FtlKind, FtlSpec, HostEvent, HostWrite, MapImages, Mount, OldPlace, Origin,
        Owner, Owners, PageRead, PageWrite, PlacementPolicy, PlacementPool, PlacementPools, PlantedBug, PowerCycle,
        Preconditioning, ReclaimUnitHandles, RegisterError, SavedSectors, Service, StreamPolicy, VictimPolicy,
        WorkingSpace, ZoneAction, ZoneCounters, ZoneError, ZoneReport, ZoneShape, ZoneState, ZoneWrite, Zones,
        ZrwaCounters, ZrwaShape, full_mask, register_collection_policy, register_ftl, register_placement_policy,
        register_simple_ftl, register_stream_policy, register_victim_policy,
    };
}
