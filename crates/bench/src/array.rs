//! The state of all pages for the bare loops that write: a page map, the valid pages of each block, and in each chip
//! free blocks and two logs, one for writes and one for copies.

use std::collections::VecDeque;

use crate::simulator::ALL_CHIPS;

/// Superblocks of a chip, each of two blocks; the next constant counts a superblock's pages of 4 KiB.
const BLOCKS: u32 = 64;
pub(crate) const PAGES: u32 = 512;
const CHIP_PAGES: u32 = BLOCKS * PAGES;
/// The number of mapping units: a multiple of a program of 16, so that 28 % of the pages are spare.
pub(crate) const UNITS: u32 = (ALL_CHIPS as u64 * CHIP_PAGES as u64 * 72 / 100) as u32 / 16 * 16;
/// The number of free blocks below which a chip collects.
const LOW: usize = 2;
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The blocks of a chip that are free, open or under collection.
#[derive(Clone, Debug)]
struct ChipBlocks {
    free: VecDeque<u32>,
    /// The next page of the log of writes, and of the log of copies; [`NOWHERE`] without an open block.
    open: [u32; 2],
    /// The block under collection, and the page from which its next valid page is sought.
    victim: Option<(u32, u32)>,
}

/// The pages of all chips, which mapping units they hold, and the free blocks.
#[derive(Clone, Debug)]
pub(crate) struct PageArray {
    /// The page of each mapping unit (`map`), and the mapping unit of each page (`units`).
    map: Vec<u32>,
    units: Vec<u32>,
    /// A bit for each page, set if it is valid; for each block, the numbers of its valid and of its programmed pages.
    bits: Vec<u64>,
    valid: Vec<u32>,
    filled: Vec<u32>,
    chips: Vec<ChipBlocks>,
}

impl PageArray {
    /// Creates a full drive on which `stripe` consecutive units lie on one chip before the next chip follows.
    pub(crate) fn full(stripe: u32) -> Self {
        let blocks = |chip: u32| ChipBlocks {
            free: (chip * BLOCKS..(chip + 1) * BLOCKS).collect(),
            open: [NOWHERE; 2],
            victim: None,
        };
        let pages = (ALL_CHIPS * CHIP_PAGES) as usize;
        let mut array = Self {
            map: vec![NOWHERE; UNITS as usize],
            units: vec![NOWHERE; pages],
            bits: vec![0; pages / 64],
            valid: vec![0; (ALL_CHIPS * BLOCKS) as usize],
            filled: vec![0; (ALL_CHIPS * BLOCKS) as usize],
            chips: (0..ALL_CHIPS).map(blocks).collect(),
        };
        for unit in 0..UNITS {
            let to = array.take_pages(unit / stripe % ALL_CHIPS, 0, 1).expect("a new drive has space");
            array.enter(unit, to);
        }
        array
    }

    /// Takes the next `count` pages of a log, which lie in one block; `None` without space. The last free block is
    /// reserved for copies.
    #[inline]
    pub(crate) fn take_pages(&mut self, chip: u32, log: usize, count: u32) -> Option<u32> {
        let chip = &mut self.chips[chip as usize];
        if chip.open[log] == NOWHERE {
            if chip.free.len() < LOW - log {
                return None;
            }
            chip.open[log] = chip.free.pop_front()? * PAGES;
        }
        let page = chip.open[log];
        chip.open[log] = if (page + count).is_multiple_of(PAGES) { NOWHERE } else { page + count };
        Some(page)
    }

    /// Maps a mapping unit to a page that has been programmed.
    #[inline]
    pub(crate) fn enter(&mut self, unit: u32, to: u32) {
        let old = std::mem::replace(&mut self.map[unit as usize], to);
        self.units[to as usize] = unit;
        self.bits[to as usize / 64] |= 1 << (to % 64);
        self.valid[(to / PAGES) as usize] += 1;
        self.filled[(to / PAGES) as usize] += 1;
        if old != NOWHERE {
            self.bits[old as usize / 64] &= !(1 << (old % 64));
            self.valid[(old / PAGES) as usize] -= 1;
        }
    }

    /// Maps a mapping unit to the programmed copy of its page, unless the unit has been written since.
    #[inline]
    pub(crate) fn enter_copy(&mut self, unit: u32, from: u32, to: u32) {
        if self.map[unit as usize] == from {
            self.enter(unit, to);
        } else {
            self.filled[(to / PAGES) as usize] += 1;
        }
    }

    /// Counts pages that have been programmed with padding.
    #[inline]
    pub(crate) fn pad(&mut self, to: u32, count: u32) {
        self.filled[(to / PAGES) as usize] += count;
    }

    #[inline]
    pub(crate) fn unit(&self, page: u32) -> u32 {
        self.units[page as usize]
    }

    /// Begins the collection of the closed block with the fewest valid pages, if the chip needs a free block and collects
    /// none. Returns true if a collection begins.
    #[inline]
    pub(crate) fn begin_collection(&mut self, chip: u32) -> bool {
        let ChipBlocks { free, victim, .. } = &self.chips[chip as usize];
        if victim.is_some() || free.len() >= LOW {
            return false;
        }
        let closed = (chip * BLOCKS..(chip + 1) * BLOCKS).filter(|block| self.filled[*block as usize] == PAGES);
        let victim = closed.min_by_key(|block| self.valid[*block as usize]);
        self.chips[chip as usize].victim = victim.map(|block| (block, block * PAGES));
        victim.is_some()
    }

    /// Takes the next valid page of the block under collection; `None` if there is no further one.
    ///
    /// # Panics
    /// If the chip collects no block.
    #[inline]
    pub(crate) fn take_valid(&mut self, chip: u32) -> Option<u32> {
        let (block, from) = self.chips[chip as usize].victim.as_mut().expect("a block is under collection");
        let end = (*block + 1) * PAGES;
        while *from < end {
            let rest = self.bits[*from as usize / 64] >> (*from % 64);
            if rest != 0 {
                let page = *from + rest.trailing_zeros();
                *from = page + 1;
                return Some(page);
            }
            *from = (*from / 64 + 1) * 64;
        }
        None
    }

    /// Ends a collection: the block under collection, which has been erased, is free.
    #[inline]
    pub(crate) fn end_collection(&mut self, chip: u32) {
        let chip = &mut self.chips[chip as usize];
        let (block, _) = chip.victim.take().expect("a block is under collection");
        chip.free.push_back(block);
        self.filled[block as usize] = 0;
    }

    /// Checks the map.
    ///
    /// # Panics
    /// Unless every mapping unit has one valid page.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        assert!(self.map.iter().zip(0..).all(|(page, unit)| self.units[*page as usize] == unit));
        assert_eq!(self.valid.iter().sum::<u32>(), UNITS);
        assert_eq!(self.bits.iter().map(|bits| bits.count_ones()).sum::<u32>(), UNITS);
    }
}
