//! The memory of a full write buffer.

use base::engine::Handle;

use super::BufferEntry;
use super::index::Index;
use crate::spec::ResolvedBuffer;
use base::memory::growing;
use flash::backend::Payload;
use flash::nand::SectorKind;
use ftl::Origin;

/// Bytes of a buffer of this size, with mapping units of `sectors` sectors.
pub(crate) fn memory(size: &ResolvedBuffer, kind: SectorKind, sectors: u32) -> u64 {
    let units = u64::from(size.units);
    // With superblocks, a unit may hold a single sector.
    let index = Index::memory(size.units);
    let queue = growing(units, size_of::<(Handle<BufferEntry>, u64, u32)>());
    let data = units * Payload::memory(kind, sectors);
    let origins = if size.origins { growing(units, size_of::<Origin>()) } else { 0 };
    // The index exists from the start, and a second one while the power comes back.
    2 * index + queue + growing(units, size_of::<BufferEntry>()) + origins + data
}
