//! The discrete-event engine: an event queue ordered by (time, sequence), named random streams and
//! the hash that two equal runs share.

mod hash;
mod queue;
mod rng;
mod slab;

pub use hash::EventHash;
pub use queue::EventQueue;
pub use rng::Rng;
pub use slab::{Handle, Slab};
