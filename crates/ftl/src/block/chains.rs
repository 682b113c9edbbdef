//! The chain of a logical block: its data block, and the replacement blocks behind it.
//!
//! Each block links to the next older one. A page goes to a younger block only if an older one already has it, so the
//! copy in the youngest block is the newest. A lookup goes from the youngest block to the oldest.

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::Media;

use super::{BlockFtl, FAILURES, Lbn, RESERVE};

/// The state of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Erased, and in no chain.
    #[default]
    Free,
    /// In a chain, or the destination of a merge.
    Used,
    /// Out of its chain; reads of it may still be under way.
    Leaving,
    /// An erase is under way.
    Erasing,
    /// Retired.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    pub(super) state: State,
    /// A program in it has failed: it takes no more pages, and is retired instead of erased.
    pub(super) failing: bool,
    /// Host reads under way.
    pub(super) pins: u32,
    /// The first page that may be programmed.
    pub(super) next: u32,
    /// The next older block of its chain.
    pub(super) older: Option<SuperblockId>,
}

/// The chain of a logical block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    pub(super) newest: Option<SuperblockId>,
    /// Number of blocks.
    pub(super) length: u32,
    /// Programs under way.
    pub(super) programs: u32,
}

impl BlockFtl {
    /// The blocks of a logical block, the youngest first.
    #[inline]
    pub(super) fn chain(&self, lbn: Lbn) -> impl Iterator<Item = SuperblockId> + '_ {
        let newest = self.chains[lbn as usize].newest;
        std::iter::successors(newest, |block| self.blocks[block.index()].older)
    }

    /// The place of a page's newest copy, if the page has not been discarded.
    #[inline]
    pub(super) fn place_of(&self, media: &Media, lbn: Lbn, offset: u32) -> Option<Psn> {
        let mut places = self.chain(lbn).map(|block| self.geometry.slot(block, offset));
        let place = places.find(|psn| media.holds_data(*psn))?;
        (!self.holes.contains(lbn, offset)).then_some(place)
    }

    /// Adds a block at the young end of a chain.
    pub(super) fn link(&mut self, lbn: Lbn, superblock: SuperblockId) {
        let die = self.home(lbn);
        let chain = &mut self.chains[lbn as usize];
        self.blocks[superblock.index()].older = chain.newest.replace(superblock);
        chain.length += 1;
        if chain.length == 2 {
            self.dies[die].replaced.push_back(lbn);
        }
    }

    /// Opens the data block, or a replacement block if no block of the chain can take the page. Returns none if the
    /// chain has reached its limit, or if merges need the free blocks.
    pub(super) fn open(&mut self, lbn: Lbn) -> Option<SuperblockId> {
        let (die, length) = (self.home(lbn), self.chains[lbn as usize].length);
        // Merges of chains with replacement blocks make room: only without them a data block may use the reserve.
        let is_last = length == 0 && self.dies[die].replaced.is_empty();
        let kept = if is_last { RESERVE - FAILURES } else { RESERVE };
        if length > self.replacements || self.dies[die].free.len() <= kept {
            return None;
        }
        let superblock = self.take_free(die)?;
        self.link(lbn, superblock);
        Some(superblock)
    }

    pub(super) fn take_free(&mut self, die: usize) -> Option<SuperblockId> {
        let superblock = self.dies[die].free.pop()?;
        *self.block(superblock) = Block { state: State::Used, ..Block::default() };
        Some(superblock)
    }

    /// Discards a page at once.
    pub(super) fn discard(&mut self, lpn: Lpn) {
        let (lbn, offset) = self.split(lpn);
        if self.chain(lbn).any(|block| offset < self.blocks[block.index()].next) {
            self.holes.insert(lbn, offset);
        }
    }
}
