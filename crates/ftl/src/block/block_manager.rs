//! The blocks of the array, and the state of each die: its free blocks, its waiting writes, and at most one merge.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Cause, Class, List};
use flash::nand::Geometry;

use super::{BlockConfig, Lbn, ListTag};
use crate::port::{Flash, PageWrite};
use crate::toolkit::FreeList;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Erased, and in no chain.
    #[default]
    Free,
    /// In a chain, or the destination of a merge.
    Used,
    /// Removed from its chain, and to be erased when the last read of it has ended.
    Leaving,
    /// An erase is under way.
    Erasing,
    /// Retired.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    pub(super) state: BlockState,
    /// A program in it has failed: it takes no more pages, and is retired instead of erased.
    pub(super) failing: bool,
    /// Host reads under way.
    pub(super) pins: u32,
    /// The first page that may be programmed.
    pub(super) next: u32,
    /// The next older block of the chain.
    pub(super) older: Option<SuperblockId>,
}

/// The writes of a logical block that wait for its merge or for a free block.
#[derive(Clone, Debug)]
pub(super) struct WaitingWrites {
    pub(super) lbn: Lbn,
    pub(super) units: VecDeque<PageWrite>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub(super) lbn: Lbn,
    /// The new data block. If none, the youngest block of the chain becomes the data block.
    pub(super) destination: Option<SuperblockId>,
}

#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) free: FreeList,
    /// One entry for each logical block with waiting writes, in the order in which the waits began.
    pub(super) waiting: VecDeque<WaitingWrites>,
    /// Emptied queues of finished entries, kept so that the next entry allocates nothing.
    pub(super) over: Vec<VecDeque<PageWrite>>,
    pub(super) merge: Option<Merge>,
    /// Logical blocks with replacement blocks, in the order of their first replacements.
    pub(super) replaced: VecDeque<Lbn>,
    /// Blocks that are being erased, or will be after the last read of them.
    pub(super) leaving: u32,
    /// Submitted lists that have not finished.
    pub(super) under_way: u32,
}

impl Die {
    pub(super) fn new(free: FreeList) -> Self {
        Self {
            free,
            waiting: VecDeque::new(),
            over: Vec::new(),
            merge: None,
            replaced: VecDeque::new(),
            leaving: 0,
            under_way: 0,
        }
    }

    /// The entry of a logical block with waiting writes.
    pub(super) fn waiting_for(&mut self, lbn: Lbn) -> Option<&mut WaitingWrites> {
        self.waiting.iter_mut().find(|waiting| waiting.lbn == lbn)
    }

    /// Queues a write of a logical block, at the front or at the back.
    pub(super) fn wait(&mut self, lbn: Lbn, unit: PageWrite, first: bool) {
        match (self.waiting_for(lbn), first) {
            (Some(waiting), true) => waiting.units.push_front(unit),
            (Some(waiting), false) => waiting.units.push_back(unit),
            (None, _) => {
                let mut units = self.over.pop().unwrap_or_default();
                units.push_back(unit);
                self.waiting.push_back(WaitingWrites { lbn, units });
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct BlockManager {
    pub(super) geometry: Geometry,
    pub(super) pages: u32,
    table: Vec<Block>,
    pub(super) dies: Vec<Die>,
    /// Blocks that mount found without new pages; they are to be erased.
    pub(super) useless: Vec<SuperblockId>,
}

impl Index<SuperblockId> for BlockManager {
    type Output = Block;

    #[inline]
    fn index(&self, superblock: SuperblockId) -> &Block {
        &self.table[superblock.index()]
    }
}

impl IndexMut<SuperblockId> for BlockManager {
    #[inline]
    fn index_mut(&mut self, superblock: SuperblockId) -> &mut Block {
        &mut self.table[superblock.index()]
    }
}

impl BlockManager {
    pub(super) fn new(config: &BlockConfig) -> Self {
        let geometry = config.geometry.clone();
        let dies = geometry.die_count();
        let free = || FreeList::new(config.wear.dynamic, geometry.superblock_count() / dies);
        Self {
            pages: geometry.superblock_slots(),
            table: vec![Block::default(); geometry.superblock_count() as usize],
            dies: (0..dies).map(|_| Die::new(free())).collect(),
            useless: Vec::new(),
            geometry,
        }
    }

    /// Bytes of the tables of an array with this geometry.
    pub(super) fn memory(geometry: &Geometry) -> u64 {
        let (blocks, dies) = (u64::from(geometry.superblock_count()), u64::from(geometry.die_count()));
        blocks * size_of::<Block>() as u64 + FreeList::memory(blocks) + dies * size_of::<Die>() as u64
    }

    /// Bytes that the tables take now, without the free lists.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.table) + size_of_val(&*self.dies)
    }

    pub(super) fn states(&self) -> impl Iterator<Item = (SuperblockId, BlockState)> + Clone + '_ {
        (0..).map(SuperblockId::new).zip(self.table.iter().map(|block| block.state))
    }

    /// The die of a logical block.
    #[inline]
    pub(super) fn home(&self, lbn: Lbn) -> usize {
        lbn as usize % self.dies.len()
    }

    pub(super) fn die_of(&self, flash: &Flash<'_>, list: Handle<List>) -> usize {
        let first = flash.backend.list(list).first().expect("a list of commands");
        self.geometry.die_of(flash.backend.command(first).target.superblock).index()
    }

    pub(super) fn submit(&mut self, flash: &mut Flash<'_>, die: usize, list: Handle<List>) {
        self.dies[die].under_way += 1;
        flash.submit(list);
    }

    pub(super) fn take_free(&mut self, die: usize) -> Option<SuperblockId> {
        let superblock = self.dies[die].free.pop()?;
        self[superblock] = Block { state: BlockState::Used, ..Block::default() };
        Some(superblock)
    }

    /// A program has failed: the block takes no more pages, and is retired after its merge.
    pub(super) fn fail(&mut self, superblock: SuperblockId) {
        let pages = self.pages;
        let block = &mut self[superblock];
        (block.failing, block.next) = (true, pages);
    }

    /// A read of a block has ended.
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        let block = &mut self[superblock];
        block.pins = block.pins.checked_sub(1).expect("a pin for every read");
        self.erase_unread(flash, superblock, Cause::Merge);
    }

    /// Takes a block out of use: it is erased or retired as soon as no read of it is under way.
    pub(super) fn give_up(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) {
        let die = self.geometry.die_of(superblock).index();
        self.dies[die].leaving += 1;
        self[superblock].state = BlockState::Leaving;
        self.erase_unread(flash, superblock, cause);
    }

    /// Erases or retires a block that is out of use, unless it is being read.
    fn erase_unread(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) {
        let block = &mut self[superblock];
        if block.pins > 0 || block.state != BlockState::Leaving {
            return;
        }
        if block.failing {
            return self.retire(flash, superblock);
        }
        block.state = BlockState::Erasing;
        let list = flash.backend.open_list(Class::Other, ListTag::Erase as u32);
        flash.backend.add_erase(list, cause, superblock);
        let die = self.geometry.die_of(superblock).index();
        self.submit(flash, die, list);
    }

    fn retire(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        flash.backend.media_mut().retire(superblock);
        self[superblock].state = BlockState::Bad;
        let die = self.geometry.die_of(superblock).index();
        self.dies[die].leaving -= 1;
    }

    /// An erase has finished: the block is free, or retired if the erase has failed.
    pub(super) fn erased(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, failed: bool) {
        if failed {
            return self.retire(flash, superblock);
        }
        let die = self.geometry.die_of(superblock).index();
        self.dies[die].leaving -= 1;
        self.free(flash, superblock);
    }

    /// Adds an erased block to the free blocks of its die.
    pub(super) fn free(&mut self, flash: &Flash<'_>, superblock: SuperblockId) {
        let die = self.geometry.die_of(superblock).index();
        self[superblock].state = BlockState::Free;
        self.dies[die].free.push(superblock, flash.backend.media().erases(superblock));
    }
}
