//! The description of the mechanisms of the backend, as devices give it.

mod ecc;
mod plane_reads;
mod power_cap;
mod suspend;

pub use ecc::{Decoders, Ecc};
pub use plane_reads::PlaneReadSpec;
pub use power_cap::PowerCapSpec;
pub use suspend::{ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
