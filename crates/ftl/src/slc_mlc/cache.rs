//! The mapping cache: logical blocks whose page map is in the controller's RAM (Chang, Sec. 3.5, second-level mapping).
//!
//! The simulator always has the page map. The cache decides when the controller would first have to scan the spare
//! areas of a chain. It evicts the logical block with the oldest lookup.

use super::recency::Recency;

/// The cached logical blocks, by their last lookup.
#[derive(Clone, Debug)]
pub(super) struct MapCache {
    known: Recency,
    count: u32,
    room: u32,
}

impl MapCache {
    /// Bytes for `logical` logical blocks.
    pub(super) const fn memory(logical: u64) -> u64 {
        Recency::memory(logical)
    }

    pub(super) fn new(blocks: u32, room: u32) -> Self {
        Self { known: Recency::new(blocks), count: 0, room }
    }

    /// Prefetches the state that a lookup of the logical block reads.
    #[inline]
    pub(super) fn prefetch(&self, lba: usize) {
        self.known.prefetch(lba);
    }

    /// Looks up a logical block and caches it. Returns true for a hit.
    #[inline]
    pub(super) fn look_up(&mut self, lba: u32) -> bool {
        // The pages of a request are neighbours, so mostly the newest logical block is looked up again.
        self.known.newest() == Some(lba) || self.look_up_another(lba)
    }

    fn look_up_another(&mut self, lba: u32) -> bool {
        let hit = self.known.contains(lba);
        if !hit {
            match self.known.oldest() {
                Some(oldest) if self.count == self.room => self.known.remove(oldest),
                _ => self.count += 1,
            }
        }
        self.known.touch(lba);
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_map_cache_keeps_the_most_recently_used_entries(steps in prop::collection::vec(0..12u32, 1..200), room in 1..6u32) {
            let mut cache = MapCache::new(12, room);
            let mut model: Vec<u32> = Vec::new();
            for lba in steps {
                let at = model.iter().position(|held| *held == lba);
                prop_assert_eq!(cache.look_up(lba), at.is_some());
                if let Some(at) = at {
                    model.remove(at);
                } else if model.len() == room as usize {
                    model.remove(0);
                }
                model.push(lba);
            }
        }
    }
}
