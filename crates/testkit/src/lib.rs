//! What tries to break Flashloom: an oracle that knows what every sector must hold, and a swarm of random
//! devices, workloads, faults and power cuts, all drawn from one seed.

pub mod oracle;
pub mod swarm;

pub use oracle::Oracle;
pub use swarm::Swarm;
