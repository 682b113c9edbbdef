//! NAND flash: what a chip is and what it allows.

mod part;

pub use part::{Bus, Cell, Electrical, Features, Geometry, Part, PartError, Timing};
