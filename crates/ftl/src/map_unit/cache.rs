//! A set-associative cache of blocks of map entries: the state of each block, and the choice of the block of a set that
//! leaves, by second chance (Sec. 4.4) or another policy. The entries of the blocks are in [`super::block_entries`].

use base::prefetch::prefetch;
use base::steps;
use base::units::Divisor;

use super::block_state::CacheBlockState;
use super::evict::{EvictSpec, Eviction};

/// The states of the blocks, and the state of victim selection.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    by_sets: Divisor,
    by_ways: Divisor,
    ways: u32,
    blocks: Vec<CacheBlockState>,
    /// For each set, the block that the search for a victim tests next.
    hands: Vec<u32>,
    dirty: u32,
    /// The policy that chooses victims; none for second chance.
    eviction: Option<Box<Eviction>>,
}

impl Cache {
    pub(super) fn new(blocks: u32, ways: u32, evict: EvictSpec) -> Self {
        assert!(ways > 0 && blocks >= ways && blocks.is_multiple_of(ways), "whole sets");
        Self {
            by_sets: Divisor::new(blocks / ways),
            by_ways: Divisor::new(ways),
            ways,
            blocks: vec![CacheBlockState::default(); blocks as usize],
            hands: vec![0; (blocks / ways) as usize],
            dirty: 0,
            eviction: Eviction::new(evict, blocks),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(super) fn ways(&self) -> u64 {
        u64::from(self.ways)
    }

    pub(super) fn dirty(&self) -> u32 {
        self.dirty
    }

    pub(super) fn block(&self, block: usize) -> &CacheBlockState {
        &self.blocks[block]
    }

    pub(super) fn key(&self, block: usize) -> u32 {
        self.blocks[block].key.expect("a block in use")
    }

    pub(super) fn sets(&self) -> u32 {
        self.by_sets.get()
    }

    #[inline]
    pub(super) fn set_number(&self, key: u32) -> u32 {
        self.by_sets.split(key).1
    }

    #[inline]
    pub(super) fn set_of(&self, block: usize) -> u32 {
        self.by_ways.quotient(block as u32)
    }

    pub(super) fn blocks_of(&self, set: u32) -> &[CacheBlockState] {
        &self.blocks[(set * self.ways) as usize..][..self.ways as usize]
    }

    /// The indices of the blocks of the set that `key` belongs to.
    #[inline]
    pub(super) fn set(&self, key: u32) -> std::ops::Range<usize> {
        let first = (self.set_number(key) * self.ways) as usize;
        first..first + self.ways as usize
    }

    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<usize> {
        let set = self.set(key);
        let place =
            self.blocks[set.clone()].iter().inspect(|_| steps::count()).position(|block| block.key == Some(key))?;
        Some(set.start + place)
    }

    /// Prefetches the blocks of the set of `key`, about a cache line, because a search of the set will follow.
    #[inline]
    pub(super) fn prefetch(&self, key: u32) {
        let set = self.set(key);
        prefetch(self.blocks.get(set.start));
        prefetch(self.blocks.get(set.end - 1));
    }

    /// Notes that a block was used.
    pub(super) fn touch(&mut self, block: usize) {
        self.blocks[block].referenced = true;
        if let Some(eviction) = &mut self.eviction {
            eviction.touch(block);
        }
    }

    /// A victim in the set of `key` among the loaded blocks that `may_go`, and the number of blocks tested. Under
    /// second chance the hand skips blocks that must stay, and blocks that were used since it last passed them.
    pub(super) fn victim(&mut self, key: u32, may_go: impl Fn(&CacheBlockState) -> bool) -> (Option<usize>, u64) {
        let number = self.set_number(key);
        let first = (number * self.ways) as usize;
        if let Some(eviction) = &mut self.eviction {
            let set = &self.blocks[first..][..self.ways as usize];
            return (eviction.victim(set, first, &may_go), u64::from(self.ways));
        }
        let hand = &mut self.hands[number as usize];
        for step in 1..=2 * u64::from(self.ways) {
            steps::count();
            let block = first + *hand as usize;
            *hand = if *hand + 1 == self.ways { 0 } else { *hand + 1 };
            let state = &mut self.blocks[block];
            if state.transient || !may_go(state) {
                continue;
            }
            if state.key.is_some() && std::mem::take(&mut state.referenced) {
                continue;
            }
            return (Some(block), step);
        }
        (None, 2 * u64::from(self.ways))
    }

    /// Gives a clean block to `key`, whose data are still to come.
    pub(super) fn allocate(&mut self, block: usize, key: u32) {
        let state = &mut self.blocks[block];
        assert!(!state.dirty && !state.transient, "what is dropped can be loaded again");
        *state = CacheBlockState { key: Some(key), transient: true, dirty: false, referenced: true };
        if let Some(eviction) = &mut self.eviction {
            eviction.load(block);
        }
    }

    /// The data of a block have arrived.
    pub(super) fn finish_load(&mut self, block: usize) {
        let state = &mut self.blocks[block];
        assert!(state.transient, "data arrive where they are expected");
        state.transient = false;
    }

    /// Makes a block dirty; returns true if it was clean before.
    pub(super) fn make_dirty(&mut self, block: usize) -> bool {
        let fresh = !std::mem::replace(&mut self.blocks[block].dirty, true);
        self.dirty += u32::from(fresh);
        if let Some(eviction) = &mut self.eviction {
            eviction.change(block);
        }
        fresh
    }

    pub(super) fn make_clean(&mut self, block: usize) {
        assert!(std::mem::take(&mut self.blocks[block].dirty), "a dirty block");
        self.dirty -= 1;
        if let Some(eviction) = &mut self.eviction {
            eviction.clean(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(cache: &mut Cache, key: u32) -> (Option<u32>, u64) {
        let (victim, steps) = cache.victim(key, |state| !state.dirty);
        let block = victim.expect("a victim");
        let old = cache.block(block).key;
        cache.allocate(block, key);
        cache.finish_load(block);
        (old, steps)
    }

    #[test]
    fn a_referenced_block_has_a_second_chance() {
        let mut cache = Cache::new(4, 4, EvictSpec::SecondChance);
        for key in 0..4 {
            assert_eq!(fill(&mut cache, key), (None, 1));
        }
        assert_eq!(fill(&mut cache, 4), (Some(0), 5), "all were referenced: one round, then the first");
        cache.touch(1);
        assert_eq!(fill(&mut cache, 5), (Some(2), 2), "1 was used again");
        assert_eq!(fill(&mut cache, 6), (Some(3), 1));
        assert_eq!(cache.find(1), Some(1));
        assert_eq!(cache.find(2), None);
    }

    #[test]
    fn a_miss_examines_two_blocks_on_average() {
        let mut cache = Cache::new(64, 4, EvictSpec::SecondChance);
        let steps: u64 = (0..64_000).map(|key| fill(&mut cache, key).1).sum();
        assert!((127_000..129_000).contains(&steps), "{steps}");
    }

    #[test]
    fn dirty_and_loading_blocks_are_no_victims() {
        let mut cache = Cache::new(4, 2, EvictSpec::SecondChance);
        fill(&mut cache, 0);
        fill(&mut cache, 2);
        assert!(cache.make_dirty(0) && !cache.make_dirty(0));
        assert_eq!(fill(&mut cache, 4).0, Some(2));
        let (victim, _) = cache.victim(6, |state| !state.dirty);
        cache.allocate(victim.expect("one is clean"), 6);
        assert_eq!(cache.victim(8, |state| !state.dirty).0, None, "one block is dirty, one is loading");
        assert_eq!(cache.victim(8, |_| true).0, Some(0));
        assert_eq!(cache.set(9), 2..4, "the other set is not concerned");
        cache.make_clean(0);
        assert_eq!(cache.dirty(), 0);
    }
}
