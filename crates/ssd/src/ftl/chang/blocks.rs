//! Physical blocks of the MLC flash, and those that are spare.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

pub(super) const NONE: u32 = u32::MAX;

/// What is known of a physical block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The logical block whose chain it is in.
    pub(super) lba: u32,
    /// LB: the next block of the chain.
    pub(super) next: u32,
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
    /// It is in SLC mode.
    pub(super) slc: bool,
    /// As a data block: the page of the logical block that its first one is for.
    pub(super) base: u32,
}

const NEW: Block = Block {
    lba: NONE,
    next: NONE,
    programmed: 0,
    valid: 0,
    in_order: true,
    failing: false,
    spare: false,
    slc: false,
    base: 0,
};

/// All blocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// Spare blocks, for each die: least worn first, or, without dynamic wear levelling, in the order in which they became
    /// spare.
    free: Vec<BTreeSet<(u64, u32)>>,
    spare: u32,
    per_die: u32,
    dynamic: bool,
    freed: u64,
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
    /// Bytes of so many blocks, all of them spare: a leaf of the set is two thirds full.
    pub(super) const fn memory(count: u64) -> u64 {
        count * (size_of::<Block>() + size_of::<(u64, u32)>() * 3 / 2) as u64
    }

    /// Blocks of so many dies, none of them spare.
    pub(super) fn new(count: u32, dies: u32, dynamic: bool) -> Self {
        let free = vec![BTreeSet::new(); dies as usize];
        Self { blocks: vec![NEW; count as usize], free, spare: 0, per_die: count / dies, dynamic, freed: 0 }
    }

    pub(super) fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(super) const fn spare(&self) -> u32 {
        self.spare
    }

    pub(super) fn spares(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter().flatten().map(|(_, block)| *block)
    }

    /// How often each spare block has been erased, if that decides which one is taken.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.free.iter().filter(|_| self.dynamic).flatten().copied()
    }

    /// A block is erased.
    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self[block] = Block { spare: true, ..NEW };
        self.freed += 1;
        let key = if self.dynamic { u64::from(erases) } else { self.freed };
        self.free[(block / self.per_die) as usize].insert((key, block));
        self.spare += 1;
    }

    /// A spare block.
    pub(super) fn take(&mut self) -> Option<u32> {
        let (_, block) = self.free.iter().filter_map(BTreeSet::first).min().copied()?;
        self.take_on(block / self.per_die)
    }

    /// A spare block of a die.
    pub(super) fn take_on(&mut self, die: u32) -> Option<u32> {
        let (_, block) = self.free[die as usize].pop_first()?;
        self[block].spare = false;
        self.spare -= 1;
        Some(block)
    }

    /// This spare block.
    pub(super) fn take_this(&mut self, block: u32) -> bool {
        let free = &mut self.free[(block / self.per_die) as usize];
        let Some(entry) = free.iter().find(|(_, free)| *free == block).copied() else { return false };
        free.remove(&entry);
        self[block].spare = false;
        self.spare -= 1;
        true
    }
}
