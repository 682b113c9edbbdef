//! The host's side: the link and the order of overlapping requests.

mod link;
mod order;

pub(crate) use link::{Direction, Link};
pub(crate) use order::{Extent, Filter};
