//! The mapping cache: logical blocks whose pages the controller knows (Chang, Sec. 3.5, second-level mapping).
//!
//! The simulator always knows them; the cache says when the controller would have to look at the spare areas of a chain
//! first. The block that was looked up longest ago goes.

use super::recency::Recency;

/// Logical blocks in the order of their use.
#[derive(Clone, Debug)]
pub(super) struct MapCache {
    known: Recency,
    count: u32,
    room: u32,
}

impl MapCache {
    /// Bytes of the order of so many logical blocks.
    pub(super) const fn memory(logical: u64) -> u64 {
        Recency::memory(logical)
    }

    pub(super) fn new(blocks: u32, room: u32) -> Self {
        Self { known: Recency::new(blocks), count: 0, room }
    }

    /// Looks a logical block up, and takes it in. True if it was there.
    pub(super) fn look_up(&mut self, lba: u32) -> bool {
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
        fn it_keeps_what_was_used_last(steps in prop::collection::vec(0..12u32, 1..200), room in 1..6u32) {
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
