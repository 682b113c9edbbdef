//! Miss status registers, which lie in the block that waits for its data (Sec. 4.2, Figs. 6 and 7).
//!
//! A block does not need its data space while its data are on their way, so the space holds the requests that wait for
//! the data. The number of registers follows from the block's size and the layouts in the figures. The first request
//! always fits, because the block was allocated for it.

/// Bytes of a lookup in a CMT block.
pub(super) const CMT_LOOKUP: u32 = 6;
/// Bytes of an update in a CMT block, with one place. The figure shows no conditional update; its second place is our
/// assumption.
pub(super) const CMT_UPDATE: u32 = 6 + 4;
/// Bytes of a conditional update in a CMT block.
pub(super) const CMT_COND_UPDATE: u32 = 6 + 2 * 4;
/// Bytes of a load in a CTP block; a flush has the data of the CMT block in addition.
pub(super) const CTP_REQUEST: u32 = 4;

/// The registers of all blocks of a cache.
#[derive(Clone, Debug)]
pub(super) struct Mshrs<T> {
    blocks: Vec<MissRegisters<T>>,
    capacity: u32,
    in_use: u64,
    at_most: u64,
}

#[derive(Clone, Debug)]
struct MissRegisters<T> {
    registers: Vec<T>,
    bytes: u32,
}

impl<T> Mshrs<T> {
    /// Registers for `blocks` blocks of `capacity` bytes.
    pub(super) fn new(blocks: u32, capacity: u32) -> Self {
        let blocks = (0..blocks).map(|_| MissRegisters { registers: Vec::new(), bytes: 0 }).collect();
        Self { blocks, capacity, in_use: 0, at_most: 0 }
    }

    /// Adds a register to a block; returns false if it does not fit.
    pub(super) fn push(&mut self, block: usize, bytes: u32, register: T) -> bool {
        let waiting = &mut self.blocks[block];
        if !waiting.registers.is_empty() && waiting.bytes + bytes > self.capacity {
            return false;
        }
        waiting.bytes += bytes;
        waiting.registers.push(register);
        self.in_use += 1;
        self.at_most = self.at_most.max(self.in_use);
        true
    }

    /// The registers of a block, in order.
    pub(super) fn of(&self, block: usize) -> &[T] {
        &self.blocks[block].registers
    }

    /// Removes the registers of a block after all are served.
    pub(super) fn clear(&mut self, block: usize) {
        let waiting = &mut self.blocks[block];
        self.in_use -= waiting.registers.len() as u64;
        waiting.registers.clear();
        waiting.bytes = 0;
    }

    /// The most registers in use at once since power-on.
    pub(super) fn at_most(&self) -> u64 {
        self.at_most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes registers of these sizes in rotation until one does not fit, and returns how many fit.
    fn fit(capacity: u32, sizes: &[u32]) -> usize {
        let mut mshrs = Mshrs::new(2, capacity);
        (0..5_000).take_while(|i| mshrs.push(1, sizes[i % sizes.len()], *i)).count()
    }

    #[test]
    fn a_block_holds_as_many_requests_as_its_layout_allows() {
        assert_eq!(fit(64, &[CMT_LOOKUP]), 10);
        assert_eq!(fit(64, &[CMT_UPDATE]), 6);
        assert_eq!(fit(64, &[CMT_COND_UPDATE]), 4);
        assert_eq!(fit(64, &[CMT_LOOKUP, CMT_UPDATE]), 8, "mixed by bytes");
        assert_eq!(fit(4096, &[CTP_REQUEST]), 1024);
        assert_eq!(fit(4096, &[CTP_REQUEST + 64]), 60);
        assert_eq!(fit(8, &[CMT_UPDATE]), 1, "the first always fits");
    }

    #[test]
    fn the_peak_of_outstanding_requests_is_recorded() {
        let mut mshrs = Mshrs::new(2, 64);
        assert!(mshrs.push(0, 6, 'a') && mshrs.push(1, 6, 'b') && mshrs.push(0, 6, 'c'));
        assert_eq!(mshrs.of(0), ['a', 'c']);
        mshrs.clear(0);
        assert!(mshrs.of(0).is_empty() && mshrs.push(0, 64, 'd'));
        assert_eq!(mshrs.at_most(), 3);
    }
}
