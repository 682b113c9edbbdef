//! The discrete-event engine: an event queue ordered by (time, sequence), the order of overlapping requests, named
//! random streams, and a hash of all events.

mod conflicts;
mod hash;
mod order;
mod queue;
mod rng;
mod slab;

pub use conflicts::Interval;
pub use hash::EventHash;
pub use order::Order;
pub use queue::{Due, EventQueue};
pub use rng::Rng;
pub use slab::{Handle, Slab};
