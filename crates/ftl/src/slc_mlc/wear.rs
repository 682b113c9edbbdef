//! Wear levelling of the MLC flash: the dual-pool algorithm (Chang, Sec. 5.1 and 5.5, TH = 16).
//!
//! Blocks with cold data are in the cold pool, the others in the hot pool. When the most erased hot block has more than
//! a threshold of erases more than the least erased cold one, the cold data moves to the hot block, and both change
//! pools. A cold block that is erased again was in the wrong pool, and so was a hot block that lags too far behind.

use std::collections::BTreeSet;

use crate::toolkit::PeriodicTrigger;

/// Blocks ordered by an erase count: pairs of count and block.
type BlocksByErases = BTreeSet<(u32, u32)>;

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
pub(super) struct ColdDataMove {
    pub(super) from: u32,
    pub(super) onto: u32,
}

/// The hot and the cold pool.
#[derive(Clone, Debug)]
pub(super) struct DualPool {
    threshold: u32,
    /// Erases between two checks.
    every: PeriodicTrigger,
    erases: Vec<u32>,
    /// For each block, the erases since it entered its pool.
    effective: Vec<u32>,
    pools: Vec<Pool>,
    hot: BlocksByErases,
    cold: BlocksByErases,
    /// The cold blocks by their erases since they entered the pool.
    active: BlocksByErases,
}

/// Bytes of the pools of `blocks` blocks: each block is in one of two sets, and a cold block also in a third.
pub(super) const fn memory(blocks: u64) -> u64 {
    blocks * (2 * size_of::<u32>() + size_of::<Pool>() + 3 * size_of::<(u32, u32)>()) as u64
}

impl DualPool {
    /// The pools of all usable blocks, given with their erase counts. All blocks start in the hot pool.
    pub(super) fn new(threshold: u32, every: u32, blocks: u32, usable: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut erases = vec![0; blocks as usize];
        let mut hot = BlocksByErases::new();
        for (block, count) in usable {
            erases[block as usize] = count;
            hot.insert((count, block));
        }
        let (effective, pools) = (vec![0; blocks as usize], vec![Pool::Hot; blocks as usize]);
        let (cold, active) = (BlocksByErases::new(), BlocksByErases::new());
        Self { threshold, every: PeriodicTrigger::new(every), erases, effective, pools, hot, cold, active }
    }

    fn take_out(&mut self, block: u32) {
        let count = self.erases[block as usize];
        match self.pools[block as usize] {
            Pool::Hot => {
                self.hot.remove(&(count, block));
            }
            Pool::Cold => {
                self.cold.remove(&(count, block));
                self.active.remove(&(self.effective[block as usize], block));
            }
        }
    }

    fn put_in(&mut self, block: u32, pool: Pool) {
        let count = self.erases[block as usize];
        self.pools[block as usize] = pool;
        match pool {
            Pool::Hot => {
                self.hot.insert((count, block));
            }
            Pool::Cold => {
                self.cold.insert((count, block));
                self.active.insert((self.effective[block as usize], block));
            }
        }
    }

    fn change_pool(&mut self, block: u32) {
        self.take_out(block);
        self.effective[block as usize] = 0;
        self.put_in(block, self.pools[block as usize].other());
    }

    pub(super) fn erased(&mut self, block: u32) {
        self.take_out(block);
        self.erases[block as usize] += 1;
        self.effective[block as usize] += 1;
        self.put_in(block, self.pools[block as usize]);
        self.every.count();
    }

    /// Removes a block that has become bad.
    pub(super) fn lost(&mut self, block: u32) {
        self.take_out(block);
    }

    /// The next move of cold data, if a check is due and the worn block is `spare`. Both blocks change pools.
    pub(super) fn scan(&mut self, spare: impl Fn(u32) -> bool) -> Option<ColdDataMove> {
        if !self.every.take_due() {
            return None;
        }
        let (most, _) = self.hot.last().copied()?;
        // This cold block is erased too often for the cold pool.
        if let Some((2.., block)) = self.active.last().copied() {
            self.change_pool(block);
        }
        // This hot block is erased too rarely for the hot pool.
        if let Some((least, block)) = self.hot.first().copied().filter(|(least, _)| most - least > self.threshold) {
            debug_assert!(least < most);
            self.change_pool(block);
        }
        let (least, from) = self.cold.first().copied()?;
        let worn = self.hot.iter().rev().take_while(|(count, _)| *count > least + self.threshold);
        let (_, onto) = worn.copied().find(|(_, block)| spare(*block))?;
        self.change_pool(from);
        self.change_pool(onto);
        Some(ColdDataMove { from, onto })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last of the four blocks holds data that is never written again.
    #[test]
    fn wear_levelling_moves_cold_data_onto_a_worn_block() {
        let mut pool = DualPool::new(16, 1, 4, (0..4).map(|block| (block, 0)));
        for round in 0..17 {
            (0..3).for_each(|block| pool.erased(block));
            assert_eq!(pool.scan(|_| true).is_some(), round == 16, "{round}");
        }
        // The block has changed places with a worn one, and takes writes from now on.
        assert_eq!(pool.pools[3], Pool::Hot);
        let cold: Vec<_> = pool.cold.iter().copied().collect();
        assert_eq!(cold.len(), 1);
        assert_eq!(cold[0].0, 17);
    }

    #[test]
    fn wear_levelling_copies_only_onto_a_spare_block() {
        let mut pool = DualPool::new(2, 1, 3, (0..3).map(|block| (block, 0)));
        for _ in 0..8 {
            pool.erased(0);
            assert_eq!(pool.scan(|block| block == 2), None);
        }
        pool.erased(0);
        assert!(matches!(pool.scan(|block| block == 0), Some(ColdDataMove { from: 1 | 2, onto: 0 })));
    }

    #[test]
    fn wear_levelling_scans_once_per_period() {
        let mut pool = DualPool::new(1, 8, 2, (0..2).map(|block| (block, 0)));
        for _ in 0..7 {
            pool.erased(0);
            assert_eq!(pool.scan(|_| true), None);
        }
        pool.erased(0);
        assert_eq!(pool.scan(|_| true), Some(ColdDataMove { from: 1, onto: 0 }));
    }
}
