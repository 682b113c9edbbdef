//! Records the requests of a served drive as a workload, with their simulated times.

mod rows;

pub use rows::{Ended, Record, Row};
