//! Tools that try to break Flashloom: an oracle that knows the legal contents of every sector, a conformance suite for
//! every setting, a swarm of random devices, workloads, faults and power cuts drawn from one seed, a second model that
//! computes latencies in another way, and test doubles that several crates share.

pub mod block_host;
pub mod conformance;
mod files;
mod fixed;
mod host;
mod idle;
pub mod keys;
mod list;
pub mod model;
pub mod oracle;
mod plain;
pub mod raid;
pub mod requests;
mod sabotaged;
pub mod small;
pub mod swarm;
pub mod translation;
pub mod zones;

pub use files::names;
pub use fixed::{Bug, FixedDrive};
pub use host::Host;
pub use idle::leave_out_idle;
pub use list::List;
pub use model::Model;
pub use oracle::Oracle;
pub(crate) use plain::plain;
pub use swarm::Swarm;
