//! The memory of a map unit: its caches, what stands beside each block and set of them, and its buffers.

use base::units::Bytes;

use super::MapSpec;
use super::entry::ENTRY;

/// Bytes beside each block of a cache in software: its state.
const STATE: u64 = 12;
/// Bytes beside each block of a cache in hardware: its state, its registers, its place in lists.
const REGISTERS: u64 = 80;
/// Bytes beside each set: the hand, and what waits aside.
const SET: u64 = 72;
/// Bytes beside each translation page, in the list of those with dirty blocks or for who asks for it.
const PAGE: u64 = 56;
/// Bytes of a question that a core works on.
const TASK: u64 = 192;

fn cache(size: Bytes, block: u64, ways: u32, beside: u64) -> u64 {
    let blocks = size.get() / block.max(1);
    let set = if beside == STATE { size_of::<u32>() as u64 } else { SET };
    size.get() + blocks * beside + blocks / u64::from(ways.max(1)) * set
}

/// Bytes of the map unit of a device with so many units and translation pages of so many entries.
pub(crate) fn memory(spec: &MapSpec, units: u64, pages: u64, entries: u64) -> u64 {
    let page = entries * ENTRY;
    let beside = pages * PAGE;
    match spec {
        MapSpec::Ram => 0,
        MapSpec::Table { .. } => units * ENTRY,
        // A page has an image only while it is worked on.
        MapSpec::Uncached { .. } => pages * 3 * PAGE,
        MapSpec::Dftl(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * (TASK + page);
            cache(spec.cmt, spec.block.get(), spec.ways, STATE) + buffers + tasks + beside
        }
        MapSpec::Cdftl(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * TASK;
            let ctp = cache(spec.ctp, page, spec.ways, STATE);
            cache(spec.cmt, spec.block.get(), spec.ways, STATE) + ctp + buffers + tasks + beside
        }
        MapSpec::Fmmu(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let ctp = cache(spec.ctp, page, spec.ways, REGISTERS);
            cache(spec.cmt, spec.block.get(), spec.ways, REGISTERS) + ctp + buffers + beside
        }
    }
}
