//! The minimum of many counts that only fall.
//!
//! Valid counts of closed superblocks only fall, so one comparison keeps the minimum of a chunk up to date. A search
//! for the minimum scans the chunks of its pool and then one chunk.

use base::prefetch::prefetch;

const CHUNK: u32 = 64;
/// The count that stands for a superblock that is not a candidate.
const ABSENT: u32 = u32::MAX;

/// The valid counts of all closed superblocks, with the minimum of each chunk.
#[derive(Clone, Debug)]
pub(crate) struct Minima {
    counts: Vec<u32>,
    /// The minimum of each chunk. No chunk has superblocks of two pools.
    least: Vec<u32>,
    blocks: u32,
    chunks: u32,
}

impl Minima {
    pub(crate) fn new(pools: u32, blocks: u32) -> Self {
        let chunks = blocks.div_ceil(CHUNK);
        Self {
            counts: vec![ABSENT; (pools * blocks) as usize],
            least: vec![ABSENT; (pools * chunks) as usize],
            blocks,
            chunks,
        }
    }

    /// Bytes of memory of the counts of `pools` pools.
    pub(crate) const fn memory(pools: u64, blocks: u64) -> u64 {
        (pools * blocks + pools * blocks.div_ceil(CHUNK as u64)) * size_of::<u32>() as u64
    }

    #[inline]
    fn chunk(&self, superblock: u32) -> usize {
        (superblock / self.blocks * self.chunks + superblock % self.blocks / CHUNK) as usize
    }

    pub(crate) fn valid(&self, superblock: u32) -> Option<u32> {
        Some(self.counts[superblock as usize]).filter(|count| *count != ABSENT)
    }

    pub(crate) fn insert(&mut self, superblock: u32, valid: u32) {
        self.counts[superblock as usize] = valid;
        let chunk = self.chunk(superblock);
        self.least[chunk] = self.least[chunk].min(valid);
    }

    pub(crate) fn remove(&mut self, superblock: u32) {
        self.counts[superblock as usize] = ABSENT;
        let first = superblock / self.blocks * self.blocks;
        let start = first + (superblock - first) / CHUNK * CHUNK;
        let end = (start + CHUNK).min(first + self.blocks);
        let chunk = self.chunk(superblock);
        self.least[chunk] = self.counts[start as usize..end as usize].iter().copied().min().unwrap_or(ABSENT);
    }

    #[inline]
    pub(crate) fn prefetch(&self, superblock: u32) {
        prefetch(self.counts.get(superblock as usize));
    }

    #[inline]
    pub(crate) fn decrement(&mut self, superblock: u32) {
        self.decrement_in(superblock / self.blocks, superblock);
    }

    /// Lowers the count of a superblock. The caller knows the superblock's pool, which saves a division.
    #[inline]
    pub(crate) fn decrement_in(&mut self, pool: u32, superblock: u32) {
        let count = &mut self.counts[superblock as usize];
        *count -= 1;
        let count = *count;
        let chunk = pool * self.chunks + (superblock - pool * self.blocks) / CHUNK;
        let least = &mut self.least[chunk as usize];
        *least = (*least).min(count);
    }

    /// The superblock of a pool with the least count, and the count; of several, the one with the lowest number.
    pub(crate) fn least(&self, first: u32, blocks: u32) -> Option<(u32, u32)> {
        let chunks = (first / self.blocks * self.chunks) as usize..;
        let chunks = &self.least[chunks][..self.chunks as usize];
        let (chunk, least) = chunks.iter().enumerate().min_by_key(|(_, least)| **least)?;
        if *least == ABSENT {
            return None;
        }
        let start = first + chunk as u32 * CHUNK;
        let end = (start + CHUNK).min(first + blocks);
        (start..end).find(|sb| self.counts[*sb as usize] == *least).map(|sb| (sb, *least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn minima_take_the_memory_they_predict() {
        let minima = Minima::new(3, 130);
        let taken = size_of_val(&*minima.counts) + size_of_val(&*minima.least);
        assert_eq!(Minima::memory(3, 130), taken as u64);
    }

    proptest! {
        #[test]
        fn the_minimum_of_each_pool_equals_that_of_an_ordered_map(steps in prop::collection::vec((0u32..300, 0u32..3, 1u32..50), 1..400)) {
            let (pools, blocks) = (2, 150);
            let mut minima = Minima::new(pools, blocks);
            let mut model = std::collections::BTreeMap::new();
            for (sb, action, valid) in steps {
                match (action, model.get(&sb).copied()) {
                    (0, None) => {
                        minima.insert(sb, valid);
                        model.insert(sb, valid);
                    }
                    (1, Some(_)) => {
                        minima.remove(sb);
                        model.remove(&sb);
                    }
                    (2, Some(count)) if count > 0 => {
                        minima.decrement(sb);
                        model.insert(sb, count - 1);
                    }
                    _ => {}
                }
                for pool in 0..pools {
                    let range = pool * blocks..(pool + 1) * blocks;
                    let expected = model.range(range).map(|(sb, count)| (*count, *sb)).min();
                    prop_assert_eq!(minima.least(pool * blocks, blocks), expected.map(|(count, sb)| (sb, count)));
                }
            }
        }
    }
}
