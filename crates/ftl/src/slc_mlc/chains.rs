//! The MLC flash: logical blocks, their block chains, and the blocks that are spare (Chang, Sec. 3.5).
//!
//! L2P leads from a logical block to its data block, LB from each block to the next of its chain. The log block at the end
//! of a chain takes updates; when it is full another is chained to it.
//!
//! A block in SLC mode (see [density](super::density)) has half the pages: there the data block is two, one for each half of
//! the logical block.

use std::collections::VecDeque;

use flash::nand::Mode;

use super::blocks::{Block, Blocks, NONE};
use super::mapping::Place;

/// All chains.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pages: u32,
    /// L2P.
    data: Vec<u32>,
    /// The second data block of those in SLC mode.
    second: Vec<u32>,
    /// Logical blocks in SLC mode.
    slc: Vec<bool>,
    /// The end of each chain.
    last: Vec<u32>,
    pub(super) blocks: Blocks,
    /// Logical blocks with log blocks, in the order of their last update.
    links: Vec<[u32; 2]>,
    newest: u32,
    oldest: u32,
    /// Logical blocks whose last log block has become full, those first where it was in order.
    full: VecDeque<u32>,
}

const NEWER: usize = 0;
const OLDER: usize = 1;

/// Bytes of the chains of so many logical blocks.
pub(super) const fn memory(logical: u64) -> u64 {
    logical * (3 * size_of::<u32>() + size_of::<bool>() + size_of::<[u32; 2]>()) as u64
}

impl Chains {
    pub(super) fn new(logical: u32, pages: u32, blocks: Blocks) -> Self {
        Self {
            pages,
            data: vec![NONE; logical as usize],
            second: vec![NONE; logical as usize],
            slc: vec![false; logical as usize],
            last: vec![NONE; logical as usize],
            blocks,
            links: vec![[NONE; 2]; logical as usize],
            newest: NONE,
            oldest: NONE,
            full: VecDeque::new(),
        }
    }

    /// Pages of a block, in the mode that it is in.
    pub(super) fn room(&self, block: u32) -> u32 {
        if self.blocks[block].slc { Mode::Slc.pages(self.pages) } else { self.pages }
    }

    /// True if the blocks of a logical block are opened in SLC mode.
    pub(super) fn is_slc(&self, lba: u32) -> bool {
        self.slc[lba as usize]
    }

    pub(super) fn set_slc(&mut self, lba: u32, slc: bool) {
        self.slc[lba as usize] = slc;
    }

    /// The last block of a chain that is no log block.
    fn last_data(&self, lba: u32) -> u32 {
        match self.second[lba as usize] {
            NONE => self.data[lba as usize],
            second => second,
        }
    }

    /// True if a logical block has log blocks.
    pub(super) fn has_log(&self, lba: u32) -> bool {
        self.last_data(lba) != self.last[lba as usize]
    }

    /// Whether a logical block whose chain has no log block yet lacks the data block of one of its halves: that from
    /// page `base` on.
    pub(super) fn lacks_half(&self, lba: u32, base: u32) -> bool {
        let data = self.data[lba as usize];
        if data == NONE || self.second[lba as usize] != NONE || self.has_log(lba) {
            return false;
        }
        let Block { slc, base: its, .. } = self.blocks[data];
        slc && its != base
    }

    /// The log blocks of a chain.
    pub(super) fn logs(&self, lba: u32) -> impl Iterator<Item = u32> + '_ {
        self.chain(lba).skip(1 + usize::from(self.second[lba as usize] != NONE))
    }

    /// The blocks of a chain, the data block first.
    pub(super) fn chain(&self, lba: u32) -> impl Iterator<Item = u32> + '_ {
        let first = Some(self.data[lba as usize]).filter(|block| *block != NONE);
        std::iter::successors(first, |block| {
            let next = self.blocks[*block].next;
            (next != NONE).then_some(next)
        })
    }

    /// Puts a block at the end of a chain.
    pub(super) fn append(&mut self, lba: u32, block: u32) {
        match self.last[lba as usize] {
            NONE => self.data[lba as usize] = block,
            last => self.blocks[last].next = block,
        }
        self.last[lba as usize] = block;
        self.blocks[block].lba = lba;
        if self.has_log(lba) {
            self.touch(lba);
        }
    }

    /// Chains the data block of the other half to that of the first.
    pub(super) fn append_second(&mut self, lba: u32, block: u32) {
        debug_assert!(self.lacks_half(lba, self.blocks[block].base));
        self.second[lba as usize] = block;
        self.blocks[self.data[lba as usize]].next = block;
        self.last[lba as usize] = block;
        self.blocks[block].lba = lba;
    }

    /// Takes a chain apart. A block of it may become the data block of a new one.
    pub(super) fn replace(&mut self, lba: u32, data: Option<u32>, old: &mut Vec<u32>) {
        old.extend(self.chain(lba));
        if let Some(data) = data {
            old.retain(|block| *block != data);
        }
        if self.has_log(lba) {
            self.unlink(lba);
        }
        (self.data[lba as usize], self.last[lba as usize]) = (NONE, NONE);
        self.second[lba as usize] = NONE;
        if let Some(data) = data {
            self.blocks[data].next = NONE;
            self.append(lba, data);
        }
    }

    /// Finds a page for the one at `offset` of a logical block, and takes it: its own in the data block, as long as nothing
    /// behind it has been programmed there, or the next of the log block. A spare block is taken if there are more than
    /// `reserve`.
    pub(super) fn place(&mut self, lba: u32, offset: u32, reserve: u32) -> Place {
        for data in [self.data[lba as usize], self.second[lba as usize]] {
            if data == NONE {
                continue;
            }
            let room = self.room(data);
            let block = &mut self.blocks[data];
            let Some(page) = offset.checked_sub(block.base) else { continue };
            if !block.failing && (block.programmed..room).contains(&page) {
                block.in_order &= page == block.programmed;
                block.programmed = page + 1;
                return Place::At(data, page);
            }
        }
        let last = self.last[lba as usize];
        let full = |block: u32| {
            let Block { failing, programmed, .. } = self.blocks[block];
            failing || programmed >= self.room(block)
        };
        if !self.has_log(lba) || full(last) {
            if self.blocks.spare() <= reserve {
                return Place::NoBlock;
            }
            let Some(block) = self.blocks.take() else { return Place::NoBlock };
            self.blocks[block].slc = self.slc[lba as usize];
            self.append(lba, block);
            return self.place(lba, offset, reserve);
        }
        self.touch(lba);
        let room = self.room(last);
        let block = &mut self.blocks[last];
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
        Place::At(last, page)
    }

    /// The block that can become the data block of a logical block without a copy: its last log block, if all of it is in
    /// order and valid.
    pub(super) fn switch_of(&self, lba: u32) -> Option<u32> {
        let last = self.last[lba as usize];
        if !self.has_log(lba) || last == NONE {
            return None;
        }
        let block = &self.blocks[last];
        (block.in_order && block.valid == self.pages && !block.failing).then_some(last)
    }

    /// The logical block whose chain is reclaimed next: one that can be switched, the one whose log block has been full for
    /// longest, or the one whose last update is longest ago. Full ones come first because a fold of theirs wastes no free
    /// page, and because a logical block that is always being updated would otherwise keep all its log blocks.
    pub(super) fn victim(&mut self) -> Option<u32> {
        while let Some(lba) = self.full.pop_front() {
            if self.has_full_log(lba) {
                return Some(lba);
            }
        }
        (self.oldest != NONE).then_some(self.oldest)
    }

    fn has_full_log(&self, lba: u32) -> bool {
        let logs = self.chain(lba).skip(1).filter(|block| *block != self.second[lba as usize]);
        let mut logs = logs.map(|log| self.blocks[log].programmed >= self.room(log));
        logs.any(|full| full)
    }

    /// A logical block with log blocks is updated.
    fn touch(&mut self, lba: u32) {
        if self.newest == lba {
            return;
        }
        if self.links[lba as usize] != [NONE; 2] {
            self.unlink(lba);
        }
        self.links[lba as usize] = [NONE, self.newest];
        match self.newest {
            NONE => self.oldest = lba,
            newest => self.links[newest as usize][NEWER] = lba,
        }
        self.newest = lba;
    }

    fn unlink(&mut self, lba: u32) {
        let [newer, older] = std::mem::replace(&mut self.links[lba as usize], [NONE; 2]);
        match newer {
            NONE if self.newest == lba => self.newest = older,
            NONE => return,
            newer => self.links[newer as usize][OLDER] = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize][NEWER] = newer,
        }
    }

    /// Logical blocks with log blocks, from the one that was updated longest ago on.
    pub(super) fn by_age(&self) -> impl Iterator<Item = u32> + '_ {
        let next = |lba: u32| (lba != NONE).then_some(lba);
        std::iter::successors(next(self.oldest), move |lba| next(self.links[*lba as usize][NEWER]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains() -> Chains {
        let mut chains = Chains::new(3, 4, Blocks::new(8, 1, false));
        (0..8).for_each(|block| chains.blocks.put(block, 0));
        chains
    }

    fn fill(chains: &mut Chains, lba: u32) {
        for offset in 0..4 {
            let Place::At(block, page) = chains.place(lba, offset, 0) else { panic!("a place") };
            assert_eq!(page, offset);
            chains.blocks[block].valid += 1;
        }
    }

    #[test]
    fn the_first_update_gets_a_log_block_and_a_full_one_another() {
        let mut chains = chains();
        fill(&mut chains, 0);
        assert!(!chains.has_log(0));
        for (update, expected) in [(3, (1, 0)), (1, (1, 1)), (1, (1, 2)), (0, (1, 3)), (2, (2, 0))] {
            assert_eq!(chains.place(0, update, 0), Place::At(expected.0, expected.1));
        }
        assert_eq!(chains.chain(0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn the_reserve_is_left_alone() {
        let mut chains = chains();
        for _ in 0..6 {
            chains.blocks.take();
        }
        assert_eq!(chains.place(0, 0, 2), Place::NoBlock);
        assert_eq!(chains.place(0, 0, 1), Place::At(6, 0));
    }

    #[test]
    fn a_full_log_block_in_order_is_switched_first() {
        let mut chains = chains();
        (0..3).for_each(|lba| fill(&mut chains, lba));
        chains.place(0, 2, 0);
        chains.place(2, 1, 0);
        for offset in 0..4 {
            let Place::At(block, _) = chains.place(1, offset, 0) else { panic!("a place") };
            chains.blocks[block].valid += 1;
            chains.blocks[1].valid -= 1;
        }
        assert_eq!(chains.victim(), Some(1));
        let (mut old, log) = (Vec::new(), chains.switch_of(1));
        chains.replace(1, log, &mut old);
        assert_eq!((old.as_slice(), chains.has_log(1)), ([1].as_slice(), false));
        // Then the chain whose last update is longest ago.
        assert_eq!(chains.by_age().collect::<Vec<_>>(), [0, 2]);
        chains.place(0, 2, 0);
        assert_eq!(chains.victim(), Some(2));
    }

    /// It is the last one updated at any time.
    #[test]
    fn one_that_is_always_updated_gives_its_full_log_blocks_back() {
        let mut chains = chains();
        (0..3).for_each(|lba| fill(&mut chains, lba));
        for lba in [1, 2, 0, 0, 0, 0] {
            assert!(matches!(chains.place(lba, 2, 0), Place::At(..)));
        }
        let mut old = Vec::new();
        assert_eq!(chains.victim(), Some(0));
        chains.replace(0, None, &mut old);
        assert_eq!(old.len(), 2);
        // The others' are not full.
        assert_eq!(chains.victim(), Some(1));
    }

    #[test]
    fn in_slc_mode_each_half_has_a_data_block_and_a_log_block_half_the_pages() {
        let mut chains = chains();
        chains.set_slc(0, true);
        for base in [0, 2] {
            let block = chains.blocks.take().expect("a spare block");
            (chains.blocks[block].slc, chains.blocks[block].base) = (true, base);
            if base == 0 {
                chains.append(0, block);
            } else {
                assert!(chains.lacks_half(0, 2) && !chains.lacks_half(0, 0));
                chains.append_second(0, block);
            }
        }
        for (offset, expected) in [(3, (1, 1)), (0, (0, 0)), (1, (0, 1))] {
            assert_eq!(chains.place(0, offset, 0), Place::At(expected.0, expected.1), "{offset}");
        }
        assert!(!chains.has_log(0));
        for (offset, expected) in [(2, (2, 0)), (3, (2, 1)), (3, (3, 0))] {
            assert_eq!(chains.place(0, offset, 0), Place::At(expected.0, expected.1), "{offset}");
        }
        assert_eq!(chains.logs(0).collect::<Vec<_>>(), [2, 3]);
        let mut old = Vec::new();
        chains.replace(0, None, &mut old);
        assert_eq!((old.as_slice(), chains.has_log(0)), ([0, 1, 2, 3].as_slice(), false));
    }

    #[test]
    fn the_log_block_of_one_that_is_alone_is_no_data_block() {
        let mut chains = chains();
        fill(&mut chains, 0);
        assert_eq!(chains.switch_of(0), None);
        chains.place(0, 0, 0);
        let mut old = Vec::new();
        chains.replace(0, None, &mut old);
        assert_eq!((old.as_slice(), chains.chain(0).count(), chains.victim()), ([0, 1].as_slice(), 0, None));
    }
}
