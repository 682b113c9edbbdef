//! The memory of a full write buffer.

use base::engine::Handle;

use super::Entry;
use crate::spec::ResolvedBuffer;
use base::memory::growing;

/// Bytes of a buffer of this size, with units of `sectors` sectors.
pub(crate) fn memory<S>(size: &ResolvedBuffer, sectors: u32) -> u64 {
    let units = u64::from(size.units);
    // A hash table is full at seven eighths, and its capacity is a power of two. With superblocks, a unit may hold a
    // single sector.
    let index = (units * 8 / 7 + 1).next_power_of_two() * (size_of::<(u32, Handle<Entry>)>() as u64 + 1);
    let queue = growing(units, size_of::<(Handle<Entry>, u64, u32)>());
    let data = units * u64::from(sectors) * size_of::<S>() as u64;
    // The index exists from the start, and a second time while the power comes back.
    2 * index + queue + growing(units, size_of::<Entry>()) + data
}
