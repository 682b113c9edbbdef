//! The blocks of a set, as an eviction policy sees them.

use std::fmt;

use base::engine::Rng;

use super::super::block_state::CacheBlockState;

/// The history of a block, in accesses to its cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// The cache's count of accesses when the block was loaded, and at the block's latest use.
    pub(super) loaded: u64,
    pub(super) used: u64,
    /// Uses since the block was loaded.
    pub(super) uses: u32,
    /// Changes of the block that the next level lacks.
    pub(super) changes: u32,
}

/// The blocks of a set that may leave: an [`EvictionPolicy`](super::EvictionPolicy) chooses among them.
#[derive(Clone, Copy)]
pub struct CachedBlocks<'a> {
    pub(super) set: &'a [CacheBlockState],
    pub(super) histories: &'a [History],
    pub(super) accesses: u64,
    pub(super) may_go: &'a dyn Fn(&CacheBlockState) -> bool,
}

/// A block of map entries that may leave its cache.
#[derive(Clone, Copy)]
pub struct CachedBlock<'a> {
    all: &'a CachedBlocks<'a>,
    place: usize,
}

impl CachedBlocks<'_> {
    /// All blocks that may leave, in the order of their places in the set.
    pub fn each(&self) -> impl Iterator<Item = CachedBlock<'_>> {
        let may_go = |block: &CacheBlockState| !block.transient && (self.may_go)(block);
        let places = (0..self.set.len()).filter(move |place| may_go(&self.set[*place]));
        places.map(|place| CachedBlock { all: self, place })
    }

    /// The block with the highest score; of equal scores, the first in the set. A score that is not a number is lower
    /// than all others.
    pub fn best(&self, mut score: impl FnMut(&CachedBlock<'_>) -> f64) -> Option<CachedBlock<'_>> {
        let mut best: Option<(CachedBlock<'_>, f64)> = None;
        for block in self.each() {
            let score = score(&block);
            if best.is_none_or(|(_, highest)| score > highest || (highest.is_nan() && !score.is_nan())) {
                best = Some((block, score));
            }
        }
        best.map(|(block, _)| block)
    }

    /// A random block, with equal chances.
    pub fn random(&self, rng: &mut Rng) -> Option<CachedBlock<'_>> {
        let count = self.each().count() as u64;
        (count > 0).then(|| self.each().nth(rng.below(count) as usize)).flatten()
    }
}

impl CachedBlock<'_> {
    const fn history(&self) -> &History {
        &self.all.histories[self.place]
    }

    /// The number of the block in its set, from 0.
    #[must_use]
    pub const fn place(&self) -> usize {
        self.place
    }

    /// Accesses to the cache since the block was loaded. A load of a block is an access, and so is each use.
    #[must_use]
    pub const fn age(&self) -> u64 {
        self.all.accesses - self.history().loaded
    }

    /// Accesses to the cache since the latest use of the block.
    #[must_use]
    pub const fn recency(&self) -> u64 {
        self.all.accesses - self.history().used
    }

    /// Uses of the block since it was loaded.
    #[must_use]
    pub const fn uses(&self) -> u32 {
        self.history().uses
    }

    /// True if the next level lacks changes of the block: the flash, or the second level of a cache that has two.
    #[must_use]
    pub const fn is_dirty(&self) -> bool {
        self.all.set[self.place].dirty
    }

    /// Changes of the block that the next level lacks.
    #[must_use]
    pub const fn changes(&self) -> u32 {
        self.history().changes
    }
}

impl fmt::Debug for CachedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} of its set, last used {} accesses ago", self.place, self.recency())
    }
}

impl fmt::Debug for CachedBlocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.each()).finish()
    }
}
