//! Records the requests of a served drive as a workload, with their simulated times.
//!
//! The file is a trace in Flashloom's own format: `flashloom run` plays it again, to the picosecond. The file grows by groups of
//! requests and is complete after each group.

mod rows;
mod writer;

pub use rows::{RequestCollector, RequestEnd, RequestRow};
pub(crate) use writer::Writer;
pub use writer::{Recording, RecordingTarget};
