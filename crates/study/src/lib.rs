//! Runs workloads against disks and says what came of it.
//!
//! A [`session::Session`] is the one way to run a drive: device, state, workloads, warm-up, stop rule, observers and checks in,
//! a [`session::Outcome`] out. In it, [`run::Runner`] drives anything that is an [`ssd::Drive`] with anything that is a
//! [`workload::Source`]; [`oracle`] checks the data and [`reconcile`] the counters on the way;
//! [`summary`] has the numbers of a run, for programs too; what people look at is made of them elsewhere. [`config`] reads
//! the files that describe devices and workloads and reports all of their faults at once.

pub mod catalogue;
pub mod compare;
pub mod config;
pub mod execute;
pub mod expect;
pub mod histogram;
pub mod inspect;
pub mod label;
pub mod memory;
pub mod metric;
pub mod oracle;
pub mod output;
pub mod plan;
pub mod reconcile;
pub mod run;
pub mod schema;
pub mod series;
pub mod session;
pub mod snapshot;
pub mod summary;
pub mod text;
pub mod watch;
pub mod worn;

#[cfg(test)]
mod testing;
