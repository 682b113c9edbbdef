//! Wear levelling of the MLC flash: the dual-pool algorithm (Chang, Sec. 5.1 and 5.5, TH = 16).
//!
//! Blocks with cold data are in one pool, the others in the other. When a hot block has been erased more than a threshold
//! more often than the least worn cold one, the cold data moves to it, and both change pools. A cold block that is erased
//! again, and a hot one that lags too far behind, were in the wrong pool.

use std::collections::BTreeSet;

/// Blocks ordered by a count of erases.
type Ordered = BTreeSet<(u32, u32)>;

/// The two pools.
#[derive(Clone, Debug)]
pub(super) struct DualPool {
    threshold: u32,
    /// Erases between two looks, and since the last.
    every: u32,
    since: u32,
    erases: Vec<u32>,
    /// Erases since a block came to its pool.
    effective: Vec<u32>,
    is_cold: Vec<bool>,
    hot: Ordered,
    cold: Ordered,
    /// The cold ones by their effective erases.
    active: Ordered,
}

/// Bytes of the pools of so many blocks: a block is in one of two sets, and if it is cold in a third.
pub(super) const fn memory(blocks: u64) -> u64 {
    blocks * (2 * size_of::<u32>() + size_of::<bool>() + 3 * size_of::<(u32, u32)>()) as u64
}

impl DualPool {
    /// All blocks that can be used, by their erases; they begin in the hot pool.
    pub(super) fn new(threshold: u32, every: u32, blocks: u32, usable: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut erases = vec![0; blocks as usize];
        let mut hot = Ordered::new();
        for (block, count) in usable {
            erases[block as usize] = count;
            hot.insert((count, block));
        }
        let (effective, is_cold) = (vec![0; blocks as usize], vec![false; blocks as usize]);
        let (cold, active) = (Ordered::new(), Ordered::new());
        Self { threshold, every, since: 0, erases, effective, is_cold, hot, cold, active }
    }

    fn take_out(&mut self, block: u32) {
        let count = self.erases[block as usize];
        if self.is_cold[block as usize] {
            self.cold.remove(&(count, block));
            self.active.remove(&(self.effective[block as usize], block));
        } else {
            self.hot.remove(&(count, block));
        }
    }

    fn put_in(&mut self, block: u32, cold: bool) {
        let count = self.erases[block as usize];
        self.is_cold[block as usize] = cold;
        if cold {
            self.cold.insert((count, block));
            self.active.insert((self.effective[block as usize], block));
        } else {
            self.hot.insert((count, block));
        }
    }

    fn change_pool(&mut self, block: u32) {
        self.take_out(block);
        self.effective[block as usize] = 0;
        self.put_in(block, !self.is_cold[block as usize]);
    }

    /// A block has been erased.
    pub(super) fn erased(&mut self, block: u32) {
        self.take_out(block);
        self.erases[block as usize] += 1;
        self.effective[block as usize] += 1;
        self.put_in(block, self.is_cold[block as usize]);
        self.since += 1;
    }

    /// A block is bad.
    pub(super) fn lost(&mut self, block: u32) {
        self.take_out(block);
    }

    /// The block whose data is to move, if it is time to look and `spare`, a spare block, is worn enough to take it. Both
    /// change pools.
    pub(super) fn look(&mut self, spare: impl Fn(u32) -> bool) -> Option<(u32, u32)> {
        if self.since < self.every {
            return None;
        }
        self.since = 0;
        let (most, _) = self.hot.last().copied()?;
        // Too active for the cold pool.
        if let Some((2.., block)) = self.active.last().copied() {
            self.change_pool(block);
        }
        // Too idle for the hot one.
        if let Some((least, block)) = self.hot.first().copied().filter(|(least, _)| most - least > self.threshold) {
            debug_assert!(least < most);
            self.change_pool(block);
        }
        let (least, from) = self.cold.first().copied()?;
        let worn = self.hot.iter().rev().take_while(|(count, _)| *count > least + self.threshold);
        let (_, to) = worn.copied().find(|(_, block)| spare(*block))?;
        self.change_pool(from);
        self.change_pool(to);
        Some((from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four blocks, of which the last holds what is never written again.
    #[test]
    fn cold_data_goes_to_a_worn_block() {
        let mut pool = DualPool::new(16, 1, 4, (0..4).map(|block| (block, 0)));
        for round in 0..17 {
            (0..3).for_each(|block| pool.erased(block));
            assert_eq!(pool.look(|_| true).is_some(), round == 16, "{round}");
        }
        // It has changed places with a worn one, and is used from now on.
        assert!(!pool.is_cold[3]);
        let cold: Vec<_> = pool.cold.iter().copied().collect();
        assert_eq!(cold.len(), 1);
        assert_eq!(cold[0].0, 17);
    }

    #[test]
    fn a_block_that_is_not_spare_takes_nothing() {
        let mut pool = DualPool::new(2, 1, 3, (0..3).map(|block| (block, 0)));
        for _ in 0..8 {
            pool.erased(0);
            assert_eq!(pool.look(|block| block == 2), None);
        }
        pool.erased(0);
        assert!(matches!(pool.look(|block| block == 0), Some((1 | 2, 0))));
    }

    #[test]
    fn it_looks_no_more_often_than_it_is_told() {
        let mut pool = DualPool::new(1, 8, 2, (0..2).map(|block| (block, 0)));
        for _ in 0..7 {
            pool.erased(0);
            assert_eq!(pool.look(|_| true), None);
        }
        pool.erased(0);
        assert_eq!(pool.look(|_| true), Some((1, 0)));
    }
}
