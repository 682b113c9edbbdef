//! NAND flash: geometry, parts, state and rules.
//!
//! The media judge the FTL. The run aborts, in release builds too, if an FTL programs a page twice or out of order,
//! reads a page that was never written, moves a page out of its plane by copy-back, or touches a retired block.

mod endurance;
mod errors;
mod fault;
mod geometry;
mod image;
mod mask;
mod media;
mod numbers;
pub mod part;
mod sector;
mod spare;
pub(crate) mod spread;

pub use errors::{Attempt, Decoding, ErrorModel, ErrorSettings, SoftLimit, acceleration};
pub use fault::{DieFailure, FaultKind, FaultSpec, Faults};
pub use geometry::{Geometry, GeometryError};
pub use image::Image;
pub(crate) use mask::copy_between_units;
pub use mask::{SectorMask, copy_from_unit, copy_into_unit, is_whole_unit, ranges, run_into_list};
pub use media::{
    BackingStore, BlockBirth, BlockRecord, Contradiction, ErrorCounters, ImageRecord, Media, Mode, PageErrors,
    ProgrammedSlot, SlotRecord, SnapshotError, StoredContent, Stream, Target,
};
pub(crate) use media::{Contents, SlotRead};
pub use numbers::{Run, read_numbers, write_numbers};
pub use part::{Cell, CustomPart, Electrical, ErrorTable, Part, PartError, SlcMode};
pub use sector::{Bytes512, Sector, SectorKind, Stamp, decode, encode};
pub use spare::Spare;
