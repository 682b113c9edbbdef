//! Records the requests of a served drive as a workload, with their simulated times.
//!
//! The file is a trace of our own: `flashloom run` plays it again, to the picosecond. It grows by groups of requests and is
//! whole after each of them.

mod rows;
mod writer;

pub use rows::{Ended, Record, Row};
pub(crate) use writer::Writer;
pub use writer::{RecordTo, Recording};
