//! Runs workloads on drives and measures them.
//!
//! A [`session::Session`] is the only way to run a drive. It takes the device, its state, the workloads, the warm-up,
//! the stop rule, the observers and the checks, and returns a [`session::Outcome`]. Inside the session, [`run`] submits
//! the requests of a [`workload::Source`] to an [`ssd::Drive`]; [`oracle`] checks the data, [`reconcile`] checks the
//! counters. [`summary`] names the numbers of a run for people and programs; other crates make tables and
//! pages of them. [`config`] reads device and workload files and reports all their faults at once.

pub mod catalogue;
pub mod caution;
pub mod compare;
pub mod config;
pub mod curves;
pub mod execute;
pub mod expect;
pub mod explanation;
pub mod histogram;
pub mod inspect;
pub mod label;
pub mod life;
pub mod memory;
pub mod metric;
mod name;
pub mod oracle;
pub mod output;
pub mod plan;
pub mod reconcile;
pub mod repeat;
pub mod run;
pub mod schema;
pub mod series;
pub mod session;
pub mod snapshot;
pub mod spread;
pub mod steady;
pub mod store;
pub mod summary;
pub mod text;
pub mod validity;
pub mod watch;
pub mod what_if;
pub mod worn;

#[cfg(test)]
mod testing;
