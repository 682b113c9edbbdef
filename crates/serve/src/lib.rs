//! A drive as a real block device: clients speak NBD to it, its requests complete at the drive's times on the wall clock,
//! and its power can be cut.
//!
//! [`Disk`] is the seam between the two halves: connections know a `Disk` and no drive; the engine is a `Disk` and knows no
//! protocol.

mod disk;
pub mod nbd;
#[cfg(unix)]
pub mod server;
pub mod torture;

pub use disk::{Answer, Disk, Failed, Job, Operation};
