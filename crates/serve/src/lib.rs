//! A drive as a real block device: clients speak NBD to it, its requests complete at the drive's times on the wall clock,
//! and its power can be cut.
//!
//! [`Disk`] is the interface between the two halves: connections use a `Disk` and know no drive; the engine is a `Disk` and knows
//! no protocol.

mod allocation;
pub mod control;
mod disk;
pub mod engine;
mod failed;
mod http;
pub mod metrics;
pub mod nbd;
pub mod nvme_tcp;
pub mod record;
pub mod server;
mod state;
pub mod web;
mod zone_query;

pub use allocation::{AllocatedExtent, Allocation, AllocationQuery, TakeExtents};
pub use disk::{Disk, Job, JobResult, Operation, ResultCallback};
pub use engine::{Engine, EngineError, EngineOptions, FinalState};
pub use failed::JobFailure;
pub use state::{DamagedPlace, Difference, Durability, FileOperation, State, StateDir, StateError};
pub use zone_query::{TakeZones, ZoneQuery};
