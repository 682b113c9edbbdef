//! The bare event loops that the simulator is measured against, in a program of their own.
//!
//! Inside the bench's own program their speed changed by a tenth with every change of the simulator, because the
//! compiler laid out their code differently. In a separate program their code stays the same until the loops themselves
//! change.
//!
//! [`simulator`] is the loop; [`reads`], [`mapped`], [`writes`] and [`buffered`] are its firmwares.
//!
//! [`rounds`] measures loads beside them, and [`report`] prints the results. [`pairs`] runs the benches of two builds,
//! and [`compare`] judges their rows.

pub mod agenda;
mod array;
pub mod buffered;
pub mod clock;
pub mod compare;
pub mod core;
pub mod histogram;
pub mod mapped;
pub mod pairs;
pub mod random;
pub mod reads;
pub mod report;
pub mod rounds;
mod server;
pub mod simulator;
pub mod writes;

/// The number of outstanding requests.
pub const DEPTH: u32 = 512;
