//! Where a page may be written, and what is kept back: what the mappings, their parameters and density control share.

use base::units::{Bytes, SECTOR};
use flash::nand::Geometry;

/// Spare blocks that no log block is made of: one for the data block of a fold, and two in its place if it fails.
pub(super) const RESERVE: u32 = 3;

/// Where a page may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At this page of this block.
    At(u32, u32),
    /// Nowhere before there is another spare block.
    NoBlock,
}

/// The data of a block.
pub(super) fn block_bytes(geometry: &Geometry) -> Bytes {
    SECTOR * (u64::from(geometry.superblock_slots()) * u64::from(geometry.sectors))
}
