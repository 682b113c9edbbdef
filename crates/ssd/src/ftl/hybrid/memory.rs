//! The memory of an FTL with log blocks.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::List;

use super::HybridFtl;
use super::address::Address;
use super::allocate::Allocator;
use super::blocks::Block;
use super::holes::Holes;
use super::logs::Logs;
use crate::Resolved;

impl HybridFtl {
    /// Bytes that the FTL of a device takes.
    pub(crate) fn memory(resolved: &Resolved) -> u64 {
        let (geometry, spec) = (&resolved.geometry, &resolved.ftl.log);
        let pages = geometry.superblock_slots();
        let blocks = u64::from(Address::new(resolved.units, pages, spec.width(geometry)).blocks());
        let dies = u64::from(geometry.die_count());
        u64::from(geometry.superblock_count()) * size_of::<Block>() as u64
            + blocks * size_of::<Option<SuperblockId>>() as u64
            + Holes::memory(blocks, pages)
            + Logs::memory(blocks, pages, spec.blocks, spec.parallel)
            + Allocator::memory(geometry)
            + 2 * dies * size_of::<Option<Handle<List>>>() as u64
            + u64::from(pages) * size_of::<Option<Psn>>() as u64
    }

    /// Bytes that a mount takes besides: the newest copy of every unit, and what is found of each block.
    pub(crate) fn memory_of_mount(resolved: &Resolved) -> u64 {
        let blocks = u64::from(resolved.geometry.superblock_count());
        u64::from(resolved.units) * size_of::<Option<Psn>>() as u64 + crate::memory::growing(blocks, 64)
    }
}
