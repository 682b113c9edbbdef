//! Sources of requests: traces, generators and fio jobs.
//!
//! Each type implements [`Source`]: it yields requests with their times of arrival, and knows nothing of the device
//! that serves them.

mod fault;
pub mod field;
pub mod fio;
pub mod generate;
pub mod measure;
mod placement;
pub mod script;
mod source;
pub mod trace;
mod unreadable;
mod zone_writes;

pub use placement::PlacementSource;
pub use source::{Arrival, MOST_DEPTH, Pacing, Source, SourceError, Think};
pub use unreadable::unreadable;
pub use zone_writes::{ZoneOrder, ZoneTable, ZoneWrites, ZoneWritesSpec, ZrwaTable};
