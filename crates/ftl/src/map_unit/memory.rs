//! The simulator's memory for a map unit: its caches, and the state of each block and set.
//!
//! A page in a write buffer, or loaded for a question, shares the memory of flash. A page in the second level is a copy
//! from its first change on ([`cached_pages`]).

use base::units::Bytes;

use super::MapSpec;
use super::entry::ENTRY;
use super::evict::EvictSpec;
use super::host_memory::HostMemory;

/// Bytes of state for each block of a cache in software.
const STATE: u64 = 12;
/// Bytes of a page's handle in the second level.
const HANDLE: u64 = 8;
/// Bytes of state for each block of the CMT in software, which is chained to the other dirty blocks of its page.
const CHAINED: u64 = STATE + 4;
/// Bytes for each block of a cache in hardware: its state, its registers and its links in lists.
const REGISTERS: u64 = 80;
/// Bytes for each set: the hand, and the wait queue.
const SET: u64 = 72;
/// Bytes for each translation page in the list of pages with dirty blocks, and at the requester of pages.
const PAGE: u64 = 56;
/// Bytes of a question in progress on a core, with its entries in lists.
const TASK: u64 = 248;

/// Bytes of the states of a cache's blocks and sets, without the entries.
fn states(size: Bytes, block: u64, ways: u32, (beside, evict): (u64, EvictSpec)) -> u64 {
    let blocks = size.get() / block.max(1);
    let set = if beside < REGISTERS { size_of::<u32>() as u64 } else { SET };
    blocks * (beside + evict.memory()) + blocks / u64::from(ways.max(1)) * set
}

fn cache(size: Bytes, block: u64, ways: u32, beside: (u64, EvictSpec)) -> u64 {
    size.get() + states(size, block, ways, beside)
}

/// The number of translation pages of which the second level may hold copies, on a device with `pages` pages of
/// `entries` entries.
pub(crate) fn cached_pages(spec: &MapSpec, pages: u32, entries: u32) -> u32 {
    let size = match spec {
        MapSpec::Cdftl(spec) => spec.ctp,
        MapSpec::Fmmu(spec) => spec.ctp,
        MapSpec::Ram | MapSpec::Table { .. } | MapSpec::Uncached { .. } | MapSpec::Dftl(_) | MapSpec::Own(_) => {
            return 0;
        }
    };
    let blocks = size.get() / (u64::from(entries) * ENTRY).max(1);
    u32::try_from(blocks).map_or(pages, |blocks| blocks.min(pages))
}

/// Bytes of the map unit of a device with `units` mapping units and translation pages of `entries` entries, without the
/// pages on flash.
pub(crate) fn memory(spec: &MapSpec, units: u64, pages: u64, entries: u64) -> u64 {
    let page = entries * ENTRY;
    let beside = pages * PAGE + spec.hmb().map_or(0, |hmb| HostMemory::memory(hmb, page, pages));
    match spec {
        MapSpec::Ram => 0,
        MapSpec::Table { .. } => units * ENTRY,
        // A page has an image only while a question uses it.
        MapSpec::Uncached { .. } => pages * 3 * PAGE,
        MapSpec::Dftl(spec) => {
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * TASK;
            cache(spec.cmt, spec.block.get(), spec.ways, (CHAINED, spec.evict)) + tasks + beside
        }
        MapSpec::Cdftl(spec) => {
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * TASK;
            let ctp = states(spec.ctp, page, spec.ways, (STATE + HANDLE, spec.evict));
            cache(spec.cmt, spec.block.get(), spec.ways, (CHAINED, spec.evict)) + ctp + tasks + beside
        }
        // The map unit's tables, and all entries: it may keep them beside its tables for checks (`MapUnit::peek`).
        MapSpec::Own(spec) => spec.ram.get() + units * ENTRY + beside,
        MapSpec::Fmmu(spec) => {
            let ctp = states(spec.ctp, page, spec.ways, (REGISTERS, spec.evict));
            cache(spec.cmt, spec.block.get(), spec.ways, (REGISTERS, spec.evict)) + ctp + beside
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CdftlSpec, DftlSpec, FmmuSpec};
    use super::*;

    /// Translation pages of 4 KiB.
    fn bytes(spec: MapSpec) -> u64 {
        memory(&spec, 1 << 20, 1 << 10, 1 << 10)
    }

    #[test]
    fn a_cache_takes_its_blocks_their_states_and_its_sets() {
        let (size, block) = (Bytes::new(64 << 10), Bytes::new(64));
        // 1,024 blocks of 64 bytes in 256 sets, or sixteen pages in four.
        let software = (64 << 10) + 1024 * CHAINED + 256 * 4;
        let dftl = |cmt| bytes(MapSpec::Dftl(DftlSpec { cmt, block, ways: 4, ..DftlSpec::PUBLISHED }));
        assert_eq!(dftl(size * 2) - dftl(size), software);
        let cdftl = |cmt, ctp| bytes(MapSpec::Cdftl(CdftlSpec { cmt, ctp, block, ways: 4, ..CdftlSpec::PUBLISHED }));
        assert_eq!(cdftl(size * 2, size) - cdftl(size, size), software);
        assert_eq!(cdftl(size, size * 2) - cdftl(size, size), 16 * (STATE + HANDLE) + 4 * 4);
        let fmmu = |cmt, ctp| bytes(MapSpec::Fmmu(FmmuSpec { cmt, ctp, block, ways: 4, ..FmmuSpec::PUBLISHED }));
        assert_eq!(fmmu(size * 2, size) - fmmu(size, size), (64 << 10) + 1024 * REGISTERS + 256 * SET);
        assert_eq!(fmmu(size, size * 2) - fmmu(size, size), 16 * REGISTERS + 4 * SET);
        let spec = |ctp| MapSpec::Fmmu(FmmuSpec { ctp, ..FmmuSpec::PUBLISHED });
        assert_eq!([1 << 10, 7].map(|pages| cached_pages(&spec(size), pages, 1 << 10)), [16, 7]);
    }

    #[test]
    fn write_buffers_have_the_pages_of_flash() {
        let dftl = |write_buffers| bytes(MapSpec::Dftl(DftlSpec { write_buffers, ..DftlSpec::PUBLISHED }));
        let cdftl = |write_buffers| bytes(MapSpec::Cdftl(CdftlSpec { write_buffers, ..CdftlSpec::PUBLISHED }));
        let fmmu = |write_buffers| bytes(MapSpec::Fmmu(FmmuSpec { write_buffers, ..FmmuSpec::PUBLISHED }));
        for bytes in [&dftl as &dyn Fn(u32) -> u64, &cdftl, &fmmu] {
            assert_eq!(bytes(5), bytes(4));
        }
    }
}
