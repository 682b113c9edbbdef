//! Physical blocks of the MLC flash, and those that are spare.

use std::ops::{Index, IndexMut};

use base::nonmax::NonMaxU32;
use base::units::SuperblockId;
use flash::nand::Mode;

use super::free_list::{FreeLists, FreeOrder};

/// What is known of a physical block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The logical block whose chain it is in.
    pub(super) lba: Option<NonMaxU32>,
    /// LB: the next block of the chain.
    pub(super) next: Option<NonMaxU32>,
    /// The page behind the last programmed one.
    pub(super) programmed: u32,
    /// Pages that the map leads to.
    pub(super) valid: u32,
    /// Each page so far is at its own offset.
    pub(super) in_order: bool,
    /// A program failed: nothing more is written there, and it is retired instead of erased.
    pub(super) failing: bool,
    /// It is erased and has no part yet.
    pub(super) spare: bool,
    pub(super) mode: Mode,
    /// As a data block: the page of the logical block that its first one is for.
    pub(super) base: u32,
}

impl Block {
    /// The logical block whose chain it is in.
    pub(super) fn lba(&self) -> Option<u32> {
        self.lba.map(NonMaxU32::get)
    }
}

const NEW: Block = Block {
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

/// All blocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    free: FreeLists,
}

impl Index<u32> for Blocks {
    type Output = Block;
    fn index(&self, block: u32) -> &Block {
        &self.blocks[block as usize]
    }
}

impl IndexMut<u32> for Blocks {
    fn index_mut(&mut self, block: u32) -> &mut Block {
        &mut self.blocks[block as usize]
    }
}

impl Blocks {
    /// Bytes of so many blocks, all of them spare.
    pub(super) const fn memory(count: u64) -> u64 {
        count * size_of::<Block>() as u64 + FreeLists::memory(count)
    }

    /// Blocks of so many dies, none of them spare.
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

    /// How often each spare block has been erased, if that decides which one is taken.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u32, SuperblockId)> + '_ {
        self.free.known_wear()
    }

    /// A block is erased.
    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self[block] = Block { spare: true, ..NEW };
        self.free.put(block, erases);
    }

    /// A spare block.
    pub(super) fn take(&mut self) -> Option<u32> {
        let block = self.free.take()?;
        self[block].spare = false;
        Some(block)
    }

    /// A spare block of a die.
    pub(super) fn take_on(&mut self, die: u32) -> Option<u32> {
        let block = self.free.take_on(die)?;
        self[block].spare = false;
        Some(block)
    }

    /// This spare block. False if it is none.
    pub(super) fn take_this(&mut self, block: u32) -> bool {
        let is_spare = self.free.take_this(block);
        if is_spare {
            self[block].spare = false;
        }
        is_spare
    }
}
