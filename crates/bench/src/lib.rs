//! The bare event loops that the simulator is measured against, in a program of their own.
//!
//! Inside the bench's own program their speed changed by a tenth with every change of the simulator, because the
//! compiler laid out their code differently. A program of their own has the same code until they change.
//!
//! [`rounds`] measures loads beside them, and [`report`] prints what came out. [`pairs`] runs the benches of two builds, and
//! [`compare`] judges their rows.

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
pub mod writes;

/// Outstanding requests.
pub const DEPTH: u32 = 512;
