//! The chains of the MLC flash: logical blocks, their blocks, and the spare blocks (Chang, Sec. 3.5).
//!
//! L2P maps a logical block to its data block, and LB maps each block to the next one of its chain. The log block at
//! the end of a chain takes updates; when it is full the chain gets another one.
//!
//! A block in SLC mode (see [density](super::density)) has half the pages. So a logical block in SLC mode has two data
//! blocks, one for each half.

use std::collections::VecDeque;

use base::nonmax::NonMaxU32;
use base::prefetch::prefetch;
use flash::nand::Mode;

use super::blocks::{Blocks, PhysicalBlock};
use super::place::PagePlace;
use super::recency::Recency;

/// The chain of a logical block.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    /// The data block (the paper's L2P table).
    data: Option<NonMaxU32>,
    /// The second data block, in SLC mode.
    second_data: Option<NonMaxU32>,
    last: Option<NonMaxU32>,
}

impl Chain {
    fn last_data(&self) -> Option<NonMaxU32> {
        self.second_data.or(self.data)
    }
}

/// The chains of all logical blocks.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pages: u32,
    /// The chain of each logical block.
    chains: Vec<Chain>,
    /// For each logical block, the mode of its new blocks.
    modes: Vec<Mode>,
    pub(super) blocks: Blocks,
    /// Logical blocks with log blocks, by their last update.
    updated: Recency,
    /// Logical blocks whose last log block is full; those with that log block in order come first.
    full: VecDeque<u32>,
}

/// Bytes of the chains of `logical` logical blocks.
pub(super) const fn memory(logical: u64) -> u64 {
    logical * (size_of::<Chain>() + size_of::<Mode>()) as u64 + Recency::memory(logical)
}

impl Chains {
    pub(super) fn new(logical: u32, pages: u32, blocks: Blocks) -> Self {
        Self {
            pages,
            chains: vec![Chain::default(); logical as usize],
            modes: vec![Mode::Full; logical as usize],
            blocks,
            updated: Recency::new(logical),
            full: VecDeque::new(),
        }
    }

    /// Prefetches the chain of a logical block.
    #[inline]
    pub(super) fn prefetch(&self, lba: usize) {
        prefetch(self.chains.get(lba));
    }

    /// Pages of a block in its mode.
    pub(super) fn room(&self, block: u32) -> u32 {
        self.blocks[block].mode.pages(self.pages, 2)
    }

    /// The mode of a logical block's new blocks.
    pub(super) fn mode(&self, lba: u32) -> Mode {
        self.modes[lba as usize]
    }

    /// True if a logical block's new blocks are in SLC mode.
    pub(super) fn is_slc(&self, lba: u32) -> bool {
        self.mode(lba) == Mode::Slc
    }

    pub(super) fn set_mode(&mut self, lba: u32, mode: Mode) {
        self.modes[lba as usize] = mode;
    }

    /// True if a logical block has log blocks.
    pub(super) fn has_log(&self, lba: u32) -> bool {
        let chain = self.chains[lba as usize];
        chain.last_data() != chain.last
    }

    /// True if a logical block in SLC mode has no log block and only the data block of its other half. `base` is the
    /// first page of the half in question.
    pub(super) fn lacks_half(&self, lba: u32, base: u32) -> bool {
        let Chain { data: Some(data), second_data: None, .. } = self.chains[lba as usize] else { return false };
        let PhysicalBlock { mode, base: its, .. } = self.blocks[data.get()];
        mode == Mode::Slc && its != base && !self.has_log(lba)
    }

    pub(super) fn logs(&self, lba: u32) -> impl Iterator<Item = u32> + '_ {
        self.chain(lba).skip(1 + usize::from(self.chains[lba as usize].second_data.is_some()))
    }

    /// The blocks of a chain, the data block first.
    pub(super) fn chain(&self, lba: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.chains[lba as usize].data, |block| self.blocks[block.get()].next).map(NonMaxU32::get)
    }

    /// Adds a block at the end of a chain.
    pub(super) fn append(&mut self, lba: u32, block: u32) {
        let (chain, this) = (&mut self.chains[lba as usize], Some(NonMaxU32::new(block)));
        match chain.last {
            None => chain.data = this,
            Some(last) => self.blocks[last.get()].next = this,
        }
        chain.last = this;
        self.blocks[block].lba = Some(NonMaxU32::new(lba));
        if self.has_log(lba) {
            self.updated.touch(lba);
        }
    }

    /// Adds the data block of the second half to the chain.
    pub(super) fn append_slc(&mut self, lba: u32, block: u32) {
        debug_assert!(self.lacks_half(lba, self.blocks[block].base));
        let (chain, this) = (&mut self.chains[lba as usize], Some(NonMaxU32::new(block)));
        self.blocks[chain.data.expect("the first half").get()].next = this;
        (chain.second_data, chain.last) = (this, this);
        self.blocks[block].lba = Some(NonMaxU32::new(lba));
    }

    /// Dissolves a chain and appends its blocks to `old`. If `data` is one of them, `data` becomes the data block of
    /// the new chain instead.
    pub(super) fn replace(&mut self, lba: u32, data: Option<u32>, old: &mut Vec<u32>) {
        old.extend(self.chain(lba));
        if let Some(data) = data {
            old.retain(|block| *block != data);
        }
        self.updated.remove(lba);
        self.chains[lba as usize] = Chain::default();
        if let Some(data) = data {
            self.blocks[data].next = None;
            self.append(lba, data);
        }
    }

    /// Takes a page for the data of `offset` in a logical block: the page at that offset of the data block if nothing
    /// at or behind it has been programmed, otherwise the next page of the log block. Takes a spare block if needed and
    /// if more than `reserve` blocks are spare.
    pub(super) fn place(&mut self, lba: u32, offset: u32, reserve: u32) -> PagePlace {
        let Chain { data, second_data, last } = self.chains[lba as usize];
        for data in [data, second_data].into_iter().flatten().map(NonMaxU32::get) {
            let room = self.room(data);
            let block = &mut self.blocks[data];
            let Some(page) = offset.checked_sub(block.base) else { continue };
            if !block.failing && (block.programmed..room).contains(&page) {
                block.in_order &= page == block.programmed;
                block.programmed = page + 1;
                return PagePlace::At(data, page);
            }
        }
        let takes_more = |log: &u32| {
            let PhysicalBlock { failing, programmed, .. } = self.blocks[*log];
            !failing && programmed < self.room(*log)
        };
        let log = last.map(NonMaxU32::get).filter(|_| self.has_log(lba)).filter(takes_more);
        let Some(log) = log else {
            if self.blocks.spare() <= reserve {
                return PagePlace::NoBlock;
            }
            let Some(block) = self.blocks.take() else { return PagePlace::NoBlock };
            self.blocks[block].mode = self.mode(lba);
            self.append(lba, block);
            return self.place(lba, offset, reserve);
        };
        self.updated.touch(lba);
        let room = self.room(log);
        let block = &mut self.blocks[log];
        let page = block.programmed;
        block.in_order &= offset == page;
        block.programmed += 1;
        if block.programmed >= room {
            if block.in_order {
                self.full.push_front(lba);
            } else {
                self.full.push_back(lba);
            }
        }
        PagePlace::At(log, page)
    }

    /// The block that can become the data block without a copy: the last log block, if all its pages are in order and
    /// valid.
    pub(super) fn switch_of(&self, lba: u32) -> Option<u32> {
        let last = self.chains[lba as usize].last.filter(|_| self.has_log(lba))?.get();
        let block = &self.blocks[last];
        (block.in_order && block.valid == self.pages && !block.failing).then_some(last)
    }

    /// The logical block whose chain is folded next: one that can be switched, then the one whose log block has been
    /// full longest, then the one with the oldest update. Full log blocks come first because their fold wastes no free
    /// page, and because a logical block under constant update would otherwise keep all its log blocks.
    pub(super) fn victim(&mut self) -> Option<u32> {
        while let Some(lba) = self.full.pop_front() {
            if self.has_full_log(lba) {
                return Some(lba);
            }
        }
        self.updated.oldest()
    }

    fn has_full_log(&self, lba: u32) -> bool {
        self.logs(lba).any(|log| self.blocks[log].programmed >= self.room(log))
    }

    /// Logical blocks with log blocks, the one with the oldest update first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = u32> + '_ {
        self.updated.by_age()
    }
}

#[cfg(test)]
mod tests {
    use super::super::free_list::FreeOrder;
    use super::*;

    fn chains() -> Chains {
        let mut chains = Chains::new(3, 4, Blocks::new(8, 1, FreeOrder::Age));
        (0..8).for_each(|block| chains.blocks.put(block, 0));
        chains
    }

    fn fill(chains: &mut Chains, lba: u32) {
        for offset in 0..4 {
            let PagePlace::At(block, page) = chains.place(lba, offset, 0) else { panic!("a place") };
            assert_eq!(page, offset);
            chains.blocks[block].valid += 1;
        }
    }

    #[test]
    fn the_first_update_opens_a_log_block_and_a_full_log_block_opens_another() {
        let mut chains = chains();
        fill(&mut chains, 0);
        assert!(!chains.has_log(0));
        for (update, expected) in [(3, (1, 0)), (1, (1, 1)), (1, (1, 2)), (0, (1, 3)), (2, (2, 0))] {
            assert_eq!(chains.place(0, update, 0), PagePlace::At(expected.0, expected.1));
        }
        assert_eq!(chains.chain(0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_log_block_takes_no_reserved_block() {
        let mut chains = chains();
        for _ in 0..6 {
            chains.blocks.take();
        }
        assert_eq!(chains.place(0, 0, 2), PagePlace::NoBlock);
        assert_eq!(chains.place(0, 0, 1), PagePlace::At(6, 0));
    }

    #[test]
    fn a_full_log_block_in_order_is_switched_first() {
        let mut chains = chains();
        (0..3).for_each(|lba| fill(&mut chains, lba));
        chains.place(0, 2, 0);
        chains.place(2, 1, 0);
        for offset in 0..4 {
            let PagePlace::At(block, _) = chains.place(1, offset, 0) else { panic!("a place") };
            chains.blocks[block].valid += 1;
            chains.blocks[1].valid -= 1;
        }
        assert_eq!(chains.victim(), Some(1));
        let (mut old, log) = (Vec::new(), chains.switch_of(1));
        chains.replace(1, log, &mut old);
        assert_eq!((old.as_slice(), chains.has_log(1)), ([1].as_slice(), false));
        // The chain with the oldest update is next.
        assert_eq!(chains.by_age().collect::<Vec<_>>(), [0, 2]);
        chains.place(0, 2, 0);
        assert_eq!(chains.victim(), Some(2));
    }

    /// The test updates logical block 0 constantly, so it always has the latest update.
    #[test]
    fn a_constantly_updated_block_gives_its_full_log_blocks_back() {
        let mut chains = chains();
        (0..3).for_each(|lba| fill(&mut chains, lba));
        for lba in [1, 2, 0, 0, 0, 0] {
            assert!(matches!(chains.place(lba, 2, 0), PagePlace::At(..)));
        }
        let mut old = Vec::new();
        assert_eq!(chains.victim(), Some(0));
        chains.replace(0, None, &mut old);
        assert_eq!(old.len(), 2);
        // The log blocks of the other logical blocks are not full.
        assert_eq!(chains.victim(), Some(1));
    }

    #[test]
    fn in_slc_mode_each_half_has_a_data_block_and_a_log_block_half_the_pages() {
        let mut chains = chains();
        chains.set_mode(0, Mode::Slc);
        for base in [0, 2] {
            let block = chains.blocks.take().expect("a spare block");
            (chains.blocks[block].mode, chains.blocks[block].base) = (Mode::Slc, base);
            if base == 0 {
                chains.append(0, block);
            } else {
                assert!(chains.lacks_half(0, 2) && !chains.lacks_half(0, 0));
                chains.append_slc(0, block);
            }
        }
        for (offset, expected) in [(3, (1, 1)), (0, (0, 0)), (1, (0, 1))] {
            assert_eq!(chains.place(0, offset, 0), PagePlace::At(expected.0, expected.1), "{offset}");
        }
        assert!(!chains.has_log(0));
        for (offset, expected) in [(2, (2, 0)), (3, (2, 1)), (3, (3, 0))] {
            assert_eq!(chains.place(0, offset, 0), PagePlace::At(expected.0, expected.1), "{offset}");
        }
        assert_eq!(chains.logs(0).collect::<Vec<_>>(), [2, 3]);
        let mut old = Vec::new();
        chains.replace(0, None, &mut old);
        assert_eq!((old.as_slice(), chains.has_log(0)), ([0, 1, 2, 3].as_slice(), false));
    }

    #[test]
    fn a_data_block_without_log_blocks_is_no_switch_candidate() {
        let mut chains = chains();
        fill(&mut chains, 0);
        assert_eq!(chains.switch_of(0), None);
        chains.place(0, 0, 0);
        let mut old = Vec::new();
        chains.replace(0, None, &mut old);
        assert_eq!((old.as_slice(), chains.chain(0).count(), chains.victim()), ([0, 1].as_slice(), 0, None));
    }
}
