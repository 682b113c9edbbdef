//! A solid-state disk as a state machine that is handed the time.
//!
//! `Ssd::submit` takes a request, `Ssd::next_event` tells when something happens next, and
//! `Ssd::advance` lets it happen. Nothing here reads a clock, a file, the environment or a thread.

mod counters;
mod drive;
mod request;

pub use counters::Counters;
pub use drive::Drive;
pub use request::{Completion, Request, Status, Tag};
