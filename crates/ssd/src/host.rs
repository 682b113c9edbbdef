//! The host's side: submission queues, the link and the order of overlapping requests.

mod link;
mod order;
mod queues;

pub(crate) use link::{Direction, Link};
pub(crate) use order::{Extent, Filter};
pub(crate) use queues::Queues;
