//! The blocks of the array. A block is taken, programmed, marked for erase, and erased or retired.

use std::ops::{Index, IndexMut};

use base::engine::Handle;
use base::units::{DieId, SuperblockId};
use flash::backend::{Cause, Class, List};
use flash::nand::Geometry;

use super::allocate::{Allocator, Use};
use super::logs::{LogId, Logs};
use super::{ListTag, LogBlockConfig};
use crate::port::Flash;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Erased, and in a free list.
    #[default]
    Free,
    /// A data block, a log block, or the destination of a merge.
    Used,
    /// All pages of the block are obsolete; reads of them may still be under way.
    Doomed,
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
    /// Reads under way.
    pub(super) pins: u32,
    /// Programs under way, if the block is a data block.
    pub(super) programs: u32,
    /// The first page that may be programmed, if the block is a data block.
    pub(super) next: u32,
    pub(super) log: Option<LogId>,
}

impl Block {
    /// Takes a free block into use, with no page programmed.
    pub(super) fn open(&mut self) {
        *self = Self { state: BlockState::Used, ..Self::default() };
    }
}

/// All blocks of the array, and the choice of a free block.
#[derive(Clone, Debug)]
pub(super) struct BlockManager {
    pub(super) geometry: Geometry,
    pub(super) pages: u32,
    table: Vec<Block>,
    pub(super) allocator: Allocator,
    /// Blocks that recovery found without valid pages; they are to be erased.
    pub(super) useless: Vec<SuperblockId>,
    /// Submitted lists that have not finished. While there are any, a block may become free.
    pub(super) under_way: u32,
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
    pub(super) fn new(config: &LogBlockConfig) -> Self {
        let (geometry, spec) = (config.geometry.clone(), &config.spec);
        Self {
            pages: geometry.superblock_slots(),
            table: vec![Block::default(); geometry.superblock_count() as usize],
            allocator: Allocator::new(spec.allocation, config.wear.dynamic, config.controllers, &geometry),
            useless: Vec::new(),
            under_way: 0,
            geometry,
        }
    }

    /// Bytes of the tables of an array with this geometry.
    pub(super) fn memory(geometry: &Geometry) -> u64 {
        u64::from(geometry.superblock_count()) * size_of::<Block>() as u64 + Allocator::memory(geometry)
    }

    pub(super) fn in_state(&self, state: BlockState) -> impl Iterator<Item = SuperblockId> + '_ {
        let blocks = (0..).map(SuperblockId::new).zip(&self.table);
        blocks.filter(move |(_, block)| block.state == state).map(|(superblock, _)| superblock)
    }

    pub(super) fn submit(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        self.under_way += 1;
        flash.submit(list);
    }

    /// Takes a free block, if possible on a die that the allocation method allows.
    pub(super) fn take(&mut self, flash: &Flash<'_>, purpose: Use, beside: Option<DieId>) -> Option<SuperblockId> {
        let load = |die| flash.backend.load(die);
        let superblock = self.allocator.take(purpose, beside, load)?;
        self[superblock].open();
        Some(superblock)
    }

    /// Marks a block for erase. When no read of the block is under way, it is erased, or retired if it is failing.
    /// Returns true if the erase or a read takes time, and false if the block is already retired.
    pub(super) fn mark_for_erase(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) -> bool {
        self[superblock].state = BlockState::Doomed;
        if self[superblock].pins > 0 {
            return true;
        }
        if self[superblock].failing {
            self.retire(flash, superblock);
            return false;
        }
        self[superblock].state = BlockState::Erasing;
        let list = flash.backend.open_list(Class::Other, ListTag::Erase.tag(0));
        flash.backend.add_erase(list, cause, superblock);
        self.submit(flash, list);
        true
    }

    /// Ends `reads` reads of a block. Returns true if the block was marked for erase and is retired now.
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, reads: u32) -> bool {
        let block = &mut self[superblock];
        block.pins = block.pins.checked_sub(reads).expect("a pin for every unpin");
        block.pins == 0 && block.state == BlockState::Doomed && !self.mark_for_erase(flash, superblock, Cause::Merge)
    }

    /// A program has failed: the block takes no more pages, and is retired after its merge.
    pub(super) fn fail(&mut self, logs: &mut Logs, superblock: SuperblockId) {
        let pages = self.pages;
        let block = &mut self[superblock];
        block.failing = true;
        match block.log {
            None => block.next = pages,
            Some(id) => {
                let log = logs.log_mut(id);
                (log.next, log.in_order) = (pages, false);
            }
        }
    }

    /// An erase has finished: the block is free, or retired if the erase has failed.
    pub(super) fn erased(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, failed: bool) {
        if failed {
            self.retire(flash, superblock);
        } else {
            self[superblock].state = BlockState::Free;
            let erases = flash.backend.media().erases(superblock);
            self.allocator.put(self.geometry.die_of(superblock), superblock, erases);
        }
    }

    fn retire(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        flash.backend.media_mut().retire(superblock);
        self[superblock].state = BlockState::Bad;
    }
}
