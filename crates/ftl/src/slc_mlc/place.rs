//! The place of a page, and the reserve: shared by the mappings, their parameters and density control.

use base::units::{Bytes, SECTOR};
use flash::nand::Geometry;

/// Spare blocks that never become log blocks: one for the data block of a fold, and two to replace that block if it
/// fails.
pub(super) const RESERVE: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PagePlace {
    /// The page of this number in the block of this number.
    At(u32, u32),
    /// No place, until another block is spare.
    NoBlock,
}

/// Data bytes of a block.
pub(super) fn block_bytes(geometry: &Geometry) -> Bytes {
    SECTOR * (u64::from(geometry.superblock_slots()) * u64::from(geometry.sectors))
}
