//! What tries to break Flashloom: an oracle that knows what every sector must hold, a swarm of random
//! devices, workloads, faults and power cuts, all drawn from one seed, a second model that times them
//! another way, and test doubles that more than one crate needs.

mod fixed;
mod list;
pub mod oracle;
pub mod second;
pub mod swarm;

pub use fixed::{Bug, FixedDrive};
pub use list::List;
pub use oracle::Oracle;
pub use second::Second;
pub use swarm::Swarm;
