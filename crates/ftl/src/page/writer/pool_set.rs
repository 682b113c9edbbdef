//! A set of pools. A search in ascending order skips pools that are not in the set.

/// A bit for each pool.
#[derive(Clone, Debug)]
pub(in crate::page) struct PoolSet {
    words: Vec<u64>,
}

impl PoolSet {
    /// An empty set of pools with numbers below `pools`.
    pub(in crate::page) fn new(pools: u32) -> Self {
        Self { words: vec![0; pools.div_ceil(64) as usize] }
    }

    #[inline]
    pub(in crate::page) fn insert(&mut self, pool: u32) {
        self.words[pool as usize / 64] |= 1 << (pool % 64);
    }

    #[inline]
    pub(in crate::page) fn remove(&mut self, pool: u32) {
        self.words[pool as usize / 64] &= !(1 << (pool % 64));
    }

    #[inline]
    pub(in crate::page) fn contains(&self, pool: u32) -> bool {
        self.words[pool as usize / 64] >> (pool % 64) & 1 != 0
    }

    #[inline]
    pub(in crate::page) fn first_from(&self, pool: u32) -> Option<u32> {
        let mut at = pool as usize / 64;
        let mut word = self.words.get(at)? & (u64::MAX << (pool % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the set with a `BTreeSet`.
        #[test]
        fn members_are_found_in_ascending_order(changes in prop::collection::vec((0..130u32, any::<bool>()), 0..100)) {
            let (mut set, mut model) = (PoolSet::new(130), std::collections::BTreeSet::new());
            for (pool, insert) in changes {
                if insert {
                    set.insert(pool);
                    model.insert(pool);
                } else {
                    set.remove(pool);
                    model.remove(&pool);
                }
            }
            prop_assert!((0..130).all(|pool| set.contains(pool) == model.contains(&pool)));
            for pool in 0..260 {
                prop_assert_eq!(set.first_from(pool), model.range(pool..).next().copied());
            }
        }
    }
}
