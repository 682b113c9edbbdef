//! The host side: takes a request from its submission queue over the link to its completion, and keeps overlapping
//! requests in order.

mod active;
mod allocation;
mod buffered;
mod drive;
mod handles;
mod host_memory;
mod link;
mod overlap;
mod power;
mod queues;
mod ram;
mod refuse;
mod request;
mod serve;
mod side;
mod through_ram;
mod write_buffer;
mod zones;

pub(crate) use active::Active;
pub use drive::Drive;
pub(crate) use overlap::{Extent, Overlaps};
pub(crate) use queues::Queues;
pub use request::{Completeness, Completion, QueueId, Request, Status, Tag};
pub(crate) use side::{HostSide, PreconditioningCounts};
