//! The host's side: the life of a request, from its submission queue over the link, in order with those that it overlaps,
//! to its completion.

mod clients;
mod drive;
mod link;
mod overlap;
mod queues;
mod request;
mod serve;

pub(crate) use clients::{Active, Before, Clients};
pub use drive::Drive;
pub(crate) use link::Link;
pub(crate) use overlap::Filter;
pub(crate) use queues::Queues;
pub use request::{Completion, QueueId, Request, Status, Tag};
