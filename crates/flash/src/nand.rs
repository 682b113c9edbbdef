//! NAND flash: its geometry, its parts, its state and its rules.
//!
//! This is the judge. An FTL that programs a page twice or out of order, reads a page that was never
//! written, moves a page out of its plane by copy-back or touches a retired block is a broken
//! program, and the run aborts, in release builds too.

mod fault;
mod geometry;
mod media;
pub mod part;
mod sector;
mod spare;

pub use fault::{FaultSpec, Faults};
pub use geometry::{Geometry, GeometryError};
pub use media::{BlockBirth, Media, Mode, SnapshotError, Stream, Target};
pub use part::{Part, PartError};
pub use sector::{Bytes512, Sector, Stamp};
pub use spare::Spare;
