//! Wear levelling of the MLC flash: the dual-pool algorithm (Chang, Sec. 5.1 and 5.5, TH = 16).
//!
//! Blocks with cold data are in the cold pool, the others in the hot pool. When a hot block has been erased more than a
//! threshold more often than the least worn cold one, the cold data moves to it, and both change pools. A cold block
//! that is erased again was in the wrong pool, and so was a hot one that lags too far behind.

use crate::toolkit::{Every, Maxima, Minima};

/// The pool of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    Hot,
    Cold,
}

impl Pool {
    const fn other(self) -> Self {
        match self {
            Self::Hot => Self::Cold,
            Self::Cold => Self::Hot,
        }
    }
}

/// A move of cold data from one block to another, which is spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levelling {
    pub(super) from: u32,
    pub(super) onto: u32,
}

/// The hot and the cold pool.
#[derive(Clone, Debug)]
pub(super) struct DualPool {
    threshold: u32,
    /// Erases between two checks.
    every: Every,
    erases: Vec<u32>,
    /// Erases since a block entered its pool.
    effective: Vec<u32>,
    pools: Vec<Pool>,
    /// The hot blocks by their erases, least and most, and the cold ones, least.
    idlest: Minima,
    busiest: Maxima,
    coldest: Minima,
    /// The cold blocks by their effective erases.
    active: Maxima,
    /// Worn blocks that a check looks past.
    passed: Vec<(u32, u32)>,
}

/// Bytes of the pools of `blocks` blocks.
pub(super) const fn memory(blocks: u64) -> u64 {
    blocks * (2 * size_of::<u32>() + size_of::<Pool>()) as u64 + 4 * Minima::memory(1, blocks)
}

impl DualPool {
    /// The pools of all usable blocks with their erase counts; all start in the hot pool.
    pub(super) fn new(threshold: u32, every: u32, blocks: u32, usable: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut pool = Self {
            threshold,
            every: Every::new(every),
            erases: vec![0; blocks as usize],
            effective: vec![0; blocks as usize],
            pools: vec![Pool::Hot; blocks as usize],
            idlest: Minima::new(1, blocks),
            busiest: Maxima::new(blocks),
            coldest: Minima::new(1, blocks),
            active: Maxima::new(blocks),
            passed: Vec::new(),
        };
        for (block, count) in usable {
            pool.erases[block as usize] = count;
            pool.put_in(block, Pool::Hot);
        }
        pool
    }

    fn take_out(&mut self, block: u32) {
        match self.pools[block as usize] {
            Pool::Hot => {
                self.idlest.remove(block);
                self.busiest.remove(block);
            }
            Pool::Cold => {
                self.coldest.remove(block);
                self.active.remove(block);
            }
        }
    }

    fn put_in(&mut self, block: u32, pool: Pool) {
        let count = self.erases[block as usize];
        self.pools[block as usize] = pool;
        match pool {
            Pool::Hot => {
                self.idlest.insert(block, count);
                self.busiest.insert(block, count);
            }
            Pool::Cold => {
                self.coldest.insert(block, count);
                self.active.insert(block, self.effective[block as usize]);
            }
        }
    }

    fn change_pool(&mut self, block: u32) {
        self.take_out(block);
        self.effective[block as usize] = 0;
        self.put_in(block, self.pools[block as usize].other());
    }

    /// Counts an erase of a block.
    pub(super) fn erased(&mut self, block: u32) {
        let count = &mut self.erases[block as usize];
        *count += 1;
        self.effective[block as usize] += 1;
        match self.pools[block as usize] {
            Pool::Hot => {
                self.idlest.raise(block, *count);
                self.busiest.increment(block);
            }
            Pool::Cold => {
                self.coldest.raise(block, *count);
                self.active.increment(block);
            }
        }
        self.every.count();
    }

    /// Removes a bad block.
    pub(super) fn lost(&mut self, block: u32) {
        self.take_out(block);
    }

    /// The next move of cold data, if a check is due and a worn block is `spare` for it. Both blocks change pools.
    pub(super) fn scan(&mut self, spare: impl Fn(u32) -> bool) -> Option<Levelling> {
        if !self.every.take_due() {
            return None;
        }
        let (_, most) = self.busiest.most()?;
        // Too active for the cold pool.
        if let Some((block, 2..)) = self.active.most() {
            self.change_pool(block);
        }
        // Too idle for the hot pool.
        if let Some((block, least)) = self.idlest.least_of_all().filter(|(_, least)| most - least > self.threshold) {
            debug_assert!(least < most);
            self.change_pool(block);
        }
        let (from, least) = self.coldest.least_of_all()?;
        let onto = self.most_worn(least + self.threshold, spare)?;
        self.change_pool(from);
        self.change_pool(onto);
        Some(Levelling { from, onto })
    }

    /// The most worn hot block with more than `least` erases that is `spare`.
    fn most_worn(&mut self, least: u32, spare: impl Fn(u32) -> bool) -> Option<u32> {
        let found = loop {
            match self.busiest.most().filter(|(_, count)| *count > least) {
                Some((block, count)) if !spare(block) => {
                    self.busiest.remove(block);
                    self.passed.push((block, count));
                }
                found => break found.map(|(block, _)| block),
            }
        };
        self.passed.drain(..).for_each(|(block, count)| self.busiest.insert(block, count));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four blocks, the last of which holds data that is never written again.
    #[test]
    fn wear_levelling_moves_cold_data_onto_a_worn_block() {
        let mut pool = DualPool::new(16, 1, 4, (0..4).map(|block| (block, 0)));
        for round in 0..17 {
            (0..3).for_each(|block| pool.erased(block));
            assert_eq!(pool.scan(|_| true).is_some(), round == 16, "{round}");
        }
        // The block has changed places with a worn one, and is used from now on.
        assert_eq!(pool.pools[3], Pool::Hot);
        let cold: Vec<_> = (0..4).filter(|block| pool.pools[*block] == Pool::Cold).collect();
        assert_eq!(cold.len(), 1);
        assert_eq!(pool.erases[cold[0]], 17);
    }

    #[test]
    fn wear_levelling_copies_only_onto_a_spare_block() {
        let mut pool = DualPool::new(2, 1, 3, (0..3).map(|block| (block, 0)));
        for _ in 0..8 {
            pool.erased(0);
            assert_eq!(pool.scan(|block| block == 2), None);
        }
        pool.erased(0);
        assert!(matches!(pool.scan(|block| block == 0), Some(Levelling { from: 1 | 2, onto: 0 })));
    }

    #[test]
    fn wear_levelling_scans_once_per_period() {
        let mut pool = DualPool::new(1, 8, 2, (0..2).map(|block| (block, 0)));
        for _ in 0..7 {
            pool.erased(0);
            assert_eq!(pool.scan(|_| true), None);
        }
        pool.erased(0);
        assert_eq!(pool.scan(|_| true), Some(Levelling { from: 1, onto: 0 }));
    }
}
