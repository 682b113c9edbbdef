//! The host side: takes a request from its submission queue over the link to its completion, and keeps overlapping
//! requests in order.

mod allocation;
mod buffered;
mod clients;
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
mod through_ram;
mod zones;

pub(crate) use clients::{Active, Clients, PreconditioningCounts};
pub use drive::Drive;
pub(crate) use link::Link;
pub(crate) use overlap::{Extent, Overlaps};
pub(crate) use queues::Queues;
pub(crate) use ram::Ram;
pub use request::{Completeness, Completion, QueueId, Request, Status, Tag};
