//! The memory of a map unit: its caches, the state of each block and set, and its buffers.

use base::units::Bytes;

use super::MapSpec;
use super::entry::ENTRY;

/// Bytes of state for each block of a cache in software.
const STATE: u64 = 12;
/// The same of a block of the CMT, which is chained to the other dirty blocks of its page.
const CHAINED: u64 = STATE + 4;
/// Bytes for each block of a cache in hardware: its state, its registers, its links in lists.
const REGISTERS: u64 = 80;
/// Bytes for each set: the hand, and the wait queue.
const SET: u64 = 72;
/// Bytes for each translation page in the list of those with dirty blocks or at its requester.
const PAGE: u64 = 56;
/// Bytes of a question in progress on a core, with its places in lists.
const TASK: u64 = 248;

fn cache(size: Bytes, block: u64, ways: u32, beside: u64) -> u64 {
    let blocks = size.get() / block.max(1);
    let set = if beside < REGISTERS { size_of::<u32>() as u64 } else { SET };
    size.get() + blocks * beside + blocks / u64::from(ways.max(1)) * set
}

/// Bytes of the map unit of a device with `units` mapping units and translation pages of `entries` entries.
pub(crate) fn memory(spec: &MapSpec, units: u64, pages: u64, entries: u64) -> u64 {
    let page = entries * ENTRY;
    let beside = pages * PAGE;
    match spec {
        MapSpec::Ram => 0,
        MapSpec::Table { .. } => units * ENTRY,
        // A page has an image only while a question uses it.
        MapSpec::Uncached { .. } => pages * 3 * PAGE,
        MapSpec::Dftl(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * (TASK + page);
            cache(spec.cmt, spec.block.get(), spec.ways, CHAINED) + buffers + tasks + beside
        }
        MapSpec::Cdftl(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let tasks = u64::from(spec.cores) * u64::from(spec.outstanding) * TASK;
            let ctp = cache(spec.ctp, page, spec.ways, STATE);
            cache(spec.cmt, spec.block.get(), spec.ways, CHAINED) + ctp + buffers + tasks + beside
        }
        MapSpec::Fmmu(spec) => {
            let buffers = u64::from(spec.write_buffers) * page;
            let ctp = cache(spec.ctp, page, spec.ways, REGISTERS);
            cache(spec.cmt, spec.block.get(), spec.ways, REGISTERS) + ctp + buffers + beside
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
        assert_eq!(cdftl(size, size * 2) - cdftl(size, size), (64 << 10) + 16 * STATE + 4 * 4);
        let fmmu = |cmt, ctp| bytes(MapSpec::Fmmu(FmmuSpec { cmt, ctp, block, ways: 4, ..FmmuSpec::PUBLISHED }));
        assert_eq!(fmmu(size * 2, size) - fmmu(size, size), (64 << 10) + 1024 * REGISTERS + 256 * SET);
        assert_eq!(fmmu(size, size * 2) - fmmu(size, size), (64 << 10) + 16 * REGISTERS + 4 * SET);
    }

    #[test]
    fn each_write_buffer_takes_a_page_of_memory() {
        let dftl = |write_buffers| bytes(MapSpec::Dftl(DftlSpec { write_buffers, ..DftlSpec::PUBLISHED }));
        let cdftl = |write_buffers| bytes(MapSpec::Cdftl(CdftlSpec { write_buffers, ..CdftlSpec::PUBLISHED }));
        let fmmu = |write_buffers| bytes(MapSpec::Fmmu(FmmuSpec { write_buffers, ..FmmuSpec::PUBLISHED }));
        for bytes in [&dftl as &dyn Fn(u32) -> u64, &cdftl, &fmmu] {
            assert_eq!(bytes(5) - bytes(4), 4096);
        }
    }
}
