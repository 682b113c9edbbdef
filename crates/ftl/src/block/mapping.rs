//! The chain of a logical block: its data block, and the replacement blocks behind it.
//!
//! Each block links to the next older one. A page goes to a younger block only if an older one already has it, so the
//! copy in the youngest block is the newest. A lookup goes from the youngest block to the oldest.

use base::units::{Divisor, Lpn, Psn, SuperblockId};
use flash::nand::Media;

use super::block_manager::BlockManager;
use super::{BlockConfig, FAILURES, Lbn, RESERVE};
use crate::toolkit::{Holes, Versions};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    pub(super) newest: Option<SuperblockId>,
    pub(super) length: u32,
    /// Programs under way.
    pub(super) programs: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pages: Divisor,
    pub(super) units: u32,
    /// Replacement blocks behind a data block, at most.
    pub(super) replacements: u32,
    /// The chain of each logical block.
    pub(super) chains: Vec<Chain>,
    pub(super) holes: Holes,
    pub(super) versions: Versions,
    /// Mapping units that recovery found.
    pub(super) found: u32,
}

impl Mapping {
    /// The map of an array without data.
    pub(super) fn new(config: &BlockConfig) -> Self {
        let pages = config.geometry.superblock_slots();
        Self {
            pages: Divisor::new(pages),
            units: config.units,
            replacements: config.spec.replacements,
            chains: vec![Chain::default(); config.logical() as usize],
            holes: Holes::new(config.logical(), pages),
            versions: Versions::default(),
            found: 0,
        }
    }

    /// Bytes of the map.
    pub(super) fn memory(config: &BlockConfig) -> u64 {
        let logical = u64::from(config.logical());
        logical * size_of::<Chain>() as u64 + Holes::memory(logical, config.geometry.superblock_slots())
    }

    /// The logical block of a page, and the page's offset there.
    #[inline]
    pub(super) const fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        self.pages.split(lpn.get())
    }

    /// The blocks of a logical block, the youngest first.
    #[inline]
    pub(super) fn chain<'a>(&self, blocks: &'a BlockManager, lbn: Lbn) -> impl Iterator<Item = SuperblockId> + 'a {
        let newest = self.chains[lbn as usize].newest;
        std::iter::successors(newest, |block| blocks[*block].older)
    }

    /// The place of a page's newest copy, if the page has not been discarded.
    #[inline]
    pub(super) fn place_of(&self, blocks: &BlockManager, media: &Media, lbn: Lbn, offset: u32) -> Option<Psn> {
        let mut places = self.chain(blocks, lbn).map(|block| blocks.geometry.slot(block, offset));
        let place = places.find(|psn| media.holds_data(*psn))?;
        (!self.holes.contains(lbn, offset)).then_some(place)
    }

    /// Adds a block at the young end of a chain.
    pub(super) fn link(&mut self, blocks: &mut BlockManager, lbn: Lbn, superblock: SuperblockId) {
        let die = blocks.home(lbn);
        let chain = &mut self.chains[lbn as usize];
        blocks[superblock].older = chain.newest.replace(superblock);
        chain.length += 1;
        if chain.length == 2 {
            blocks.dies[die].replaced.push_back(lbn);
        }
    }

    /// Opens the data block, or a replacement block if no block of the chain can take the page. Returns none if the
    /// chain has reached its limit, or if merges need the free blocks.
    pub(super) fn open(&mut self, blocks: &mut BlockManager, lbn: Lbn) -> Option<SuperblockId> {
        let (die, length) = (blocks.home(lbn), self.chains[lbn as usize].length);
        // Merges of chains with replacement blocks make room: only without them a data block may use the reserve.
        let is_last = length == 0 && blocks.dies[die].replaced.is_empty();
        let kept = if is_last { RESERVE - FAILURES } else { RESERVE };
        if length > self.replacements || blocks.dies[die].free.len() <= kept {
            return None;
        }
        let superblock = blocks.take_free(die)?;
        self.link(blocks, lbn, superblock);
        Some(superblock)
    }

    /// Discards a page at once.
    pub(super) fn discard(&mut self, blocks: &BlockManager, lpn: Lpn) {
        let (lbn, offset) = self.split(lpn);
        if self.chain(blocks, lbn).any(|block| offset < blocks[block].next) {
            self.holes.insert(lbn, offset);
        }
    }
}
