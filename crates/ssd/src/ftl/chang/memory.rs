//! The memory of a hybrid disk's FTL.

use super::blocks::Blocks;
use super::cache::MapCache;
use super::mapping::MappingSpec;
use super::nonmax::NonMaxU32;
use super::slc::Slc;
use super::{ChangFtl, chains, density, wear};
use crate::Resolved;

impl ChangFtl {
    /// Bytes that the FTL of a device takes.
    pub(crate) fn memory(resolved: &Resolved) -> u64 {
        let geometry = &resolved.geometry;
        let spec = resolved.ftl.chang.clone().unwrap_or_default();
        let (units, blocks) = (u64::from(resolved.units), u64::from(geometry.superblock_count()));
        let logical = units.div_ceil(u64::from(geometry.superblock_slots()));
        let mapping = match spec.mapping {
            MappingSpec::Chains => chains::memory(logical),
            MappingSpec::Pages => crate::ftl::victim::Minima::memory(1, blocks),
        };
        let map = units * size_of::<Option<NonMaxU32>>() as u64;
        let levelled = if resolved.ftl.wear.threshold.is_some() { wear::memory(blocks) } else { 0 };
        let density = if spec.density.is_some() { density::memory(logical) } else { 0 };
        let slc = resolved.second.as_ref().map_or(0, |second| Slc::memory(&spec, &second.geometry, units));
        map + mapping + MapCache::memory(logical) + Blocks::memory(blocks) + levelled + density + slc
    }

    /// Bytes that a mount takes besides: what has been programmed, by its age, and the newest copy of every sector in
    /// the small flash, which is about half of what is in it.
    pub(crate) fn memory_of_mount(resolved: &Resolved) -> u64 {
        let slots = resolved.second.as_ref().map_or(0, |second| u64::from(second.geometry.slot_count()));
        crate::memory::growing(u64::from(resolved.geometry.superblock_count()), 24)
            + crate::memory::growing(slots / 2, 32)
    }
}
