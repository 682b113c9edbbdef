//! The memory that the media take.

use super::payload::Content;
use super::{Block, CellState, Images, Media, Spares, Writes};
use crate::nand::{ErrorModel, Geometry, SectorKind};

impl Media {
    /// Bytes of a new array of this shape, and of its payload after all of it is programmed.
    #[must_use]
    pub fn memory(geometry: &Geometry, kind: SectorKind) -> [u64; 2] {
        let blocks = u64::from(geometry.block_count());
        let sectors = u64::from(geometry.slot_count()) * u64::from(geometry.sectors);
        let payload =
            blocks * size_of::<Content>() as u64 + sectors * kind.bytes() as u64 + Writes::memory(geometry, kind);
        let state = blocks * size_of::<Block>() as u64 + Spares::memory(geometry);
        [state, if kind.is_present() { payload } else { 0 }]
    }

    /// Bytes of the state on which bit errors depend, if reads of an array of this shape have errors.
    #[must_use]
    pub fn memory_of_errors(geometry: &Geometry, errors: Option<&ErrorModel>) -> u64 {
        let (slots, blocks) = (u64::from(geometry.slot_count()), u64::from(geometry.block_count()));
        errors.map_or(0, |model| CellState::memory(slots / u64::from(geometry.slots), blocks) + model.memory())
    }

    /// Bytes of the payload of an array of this shape if `blocks` of its blocks store content of their own.
    #[must_use]
    pub fn memory_of_content(geometry: &Geometry, kind: SectorKind, blocks: u64) -> u64 {
        let all = u64::from(geometry.block_count());
        let each = u64::from(geometry.slot_count()) / all.max(1);
        let blocks = blocks.min(all);
        let sectors = blocks * each * u64::from(geometry.sectors);
        let payload = all * size_of::<Content>() as u64
            + sectors * kind.bytes() as u64
            + Writes::memory_of(geometry, kind, blocks * each);
        if kind.is_present() { payload } else { 0 }
    }

    /// Bytes of the content of `pages` translation pages of `entries` entries, and of the `copies` of such pages that
    /// the FTL has.
    #[must_use]
    pub fn memory_of_images(pages: u32, copies: u32, entries: u32) -> u64 {
        Images::memory(pages, entries) + u64::from(copies) * Images::memory_of_one(entries)
    }
}
