//! Where requests come from: traces, generators and fio jobs.
//!
//! Everything here is a [`Source`]: it yields requests with their times of arrival and knows nothing
//! of the device that will serve them.

mod fault;
pub mod fio;
pub mod generate;
pub mod script;
mod source;
pub mod trace;
mod unreadable;

pub use source::{Arrival, MOST_DEPTH, Pacing, Source, SourceError};
pub use unreadable::unreadable;
