//! Sources of requests: traces, generators and fio jobs.
//!
//! Each implements [`Source`]: it yields requests with their times of arrival, and knows nothing of the device that
//! serves them.

mod fault;
pub mod field;
pub mod fio;
pub mod generate;
pub mod measure;
mod placement;
pub mod script;
mod source;
pub mod trace;
mod zone_writes;
mod unreadable;

pub use placement::PlacementSource;
pub use source::{Arrival, MOST_DEPTH, Pacing, Source, SourceError, Think};
pub use unreadable::unreadable;
pub use zone_writes::{ZoneOrder, ZoneWrites, ZoneWritesSpec, ZoneTable};
