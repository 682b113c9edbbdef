//! The physical blocks of the MLC flash, and the spare blocks among them.

use std::ops::{Index, IndexMut};

use base::nonmax::NonMaxU32;
use base::units::SuperblockId;
use flash::nand::Mode;

use super::free_list::{FreeLists, FreeOrder};

/// The use and the pages of a physical block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhysicalBlock {
    /// The logical block to whose chain the block belongs.
    pub(super) lba: Option<NonMaxU32>,
    /// The next block of the chain (the paper's LB table).
    pub(super) next: Option<NonMaxU32>,
    /// The number of the page after the last programmed one.
    pub(super) programmed: u32,
    /// Pages that the map leads to.
    pub(super) valid: u32,
    /// True if each page so far is at its own offset.
    pub(super) in_order: bool,
    /// True if a program in the block has failed: it takes no more pages, and is retired instead of erased.
    pub(super) failing: bool,
    /// True if the block is erased and unused.
    pub(super) spare: bool,
    pub(super) mode: Mode,
    /// For a data block: the offset, in the logical block, of the block's first page.
    pub(super) base: u32,
}

impl PhysicalBlock {
    /// The logical block to whose chain the block belongs.
    pub(super) fn lba(&self) -> Option<u32> {
        self.lba.map(NonMaxU32::get)
    }
}

const NEW: PhysicalBlock = PhysicalBlock {
    lba: None,
    next: None,
    programmed: 0,
    valid: 0,
    in_order: true,
    failing: false,
    spare: false,
    mode: Mode::Full,
    base: 0,
};

/// All physical blocks, and the lists of spare blocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    blocks: Vec<PhysicalBlock>,
    free: FreeLists,
}

impl Index<u32> for Blocks {
    type Output = PhysicalBlock;
    fn index(&self, block: u32) -> &PhysicalBlock {
        &self.blocks[block as usize]
    }
}

impl IndexMut<u32> for Blocks {
    fn index_mut(&mut self, block: u32) -> &mut PhysicalBlock {
        &mut self.blocks[block as usize]
    }
}

impl Blocks {
    pub(super) fn valid_pages(&self) -> u32 {
        self.blocks.iter().map(|block| block.valid).sum()
    }

    /// Bytes for `count` blocks, all of them spare.
    pub(super) const fn memory(count: u64) -> u64 {
        count * size_of::<PhysicalBlock>() as u64 + FreeLists::memory(count)
    }

    /// The blocks of all dies, none of them spare.
    pub(super) fn new(count: u32, dies: u32, order: FreeOrder) -> Self {
        Self { blocks: vec![NEW; count as usize], free: FreeLists::new(dies, count / dies, order) }
    }

    pub(super) fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(super) const fn spare(&self) -> u32 {
        self.free.count()
    }

    pub(super) fn spares(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter()
    }

    /// The erase count of each spare block, if the free lists are ordered by wear.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u32, SuperblockId)> + '_ {
        self.free.known_wear()
    }

    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self[block] = PhysicalBlock { spare: true, ..NEW };
        self.free.put(block, erases);
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        let block = self.free.take()?;
        self[block].spare = false;
        Some(block)
    }

    pub(super) fn take_on(&mut self, die: u32) -> Option<u32> {
        let block = self.free.take_on(die)?;
        self[block].spare = false;
        Some(block)
    }

    /// Takes `block` from the spare blocks. Returns false if it is not spare.
    pub(super) fn take_this(&mut self, block: u32) -> bool {
        let is_spare = self.free.take_this(block);
        if is_spare {
            self[block].spare = false;
        }
        is_spare
    }
}
