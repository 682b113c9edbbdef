//! The stream by several Bloom filters (Park and Du: Hot Data Identification for Flash-based Storage Systems Using
//! Multiple Bloom Filters, MSST 2011).
//!
//! * Each write is noted in the filter whose turn it is, or in the next filter that does not have the mapping unit yet.
//! * After every `decay` writes the filter that was cleared longest ago is cleared again.
//! * The weight of a filter rises with the time of its clearing: of `n` filters the latest cleared weighs `n`, the
//!   earliest 1.
//! * A unit is hot if the filters that have it weigh at least `threshold` together. So both the number of writes and
//!   their recency count.

use super::{HostWrite, StreamPolicy, spread};

const HASHES: u32 = 2;

/// The policy with two streams, for hot and for other data.
#[derive(Clone, Debug)]
pub(super) struct BloomFilters {
    /// The bits of all filters, one filter after another.
    words: Vec<u64>,
    filters: u32,
    /// Bits of a filter: a power of two, and at least 64.
    bits: u32,
    decay: u32,
    threshold: u32,
    /// The filter that takes the next write.
    turn: u32,
    /// The filter that was cleared last.
    cleared: u32,
    /// Writes since the last clearing.
    writes: u32,
}

impl BloomFilters {
    pub(super) fn new(filters: u32, bits: u32, decay: u32, threshold: u32) -> Self {
        let words = vec![0; (filters * bits / u64::BITS) as usize];
        Self { words, filters, bits, decay, threshold, turn: 0, cleared: filters - 1, writes: 0 }
    }

    pub(super) fn memory(filters: u32, bits: u32) -> u64 {
        u64::from(filters) * u64::from(bits) / 8
    }

    /// The bits that a mapping unit sets in a filter, as word and mask.
    fn places(&self, filter: u32, lpn: u32) -> [(usize, u64); HASHES as usize] {
        let hash = spread(u64::from(lpn));
        let first = filter * (self.bits / u64::BITS);
        [hash as u32, (hash >> 32) as u32].map(|hash| {
            let bit = hash & (self.bits - 1);
            ((first + bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
        })
    }

    fn has(&self, filter: u32, lpn: u32) -> bool {
        self.places(filter, lpn).iter().all(|(word, mask)| self.words[*word] & mask != 0)
    }

    const fn weight(&self, filter: u32) -> u32 {
        // Filters are cleared in ascending order.
        self.filters - (self.cleared + self.filters - filter) % self.filters
    }

    fn note(&mut self, lpn: u32) {
        let from_turn = (0..self.filters).map(|i| (self.turn + i) % self.filters);
        if let Some(filter) = from_turn.into_iter().find(|filter| !self.has(*filter, lpn)) {
            for (word, mask) in self.places(filter, lpn) {
                self.words[word] |= mask;
            }
        }
        self.turn = (self.turn + 1) % self.filters;
        self.writes += 1;
        if self.writes == self.decay {
            self.writes = 0;
            self.cleared = (self.cleared + 1) % self.filters;
            let each = (self.bits / u64::BITS) as usize;
            let first = self.cleared as usize * each;
            self.words[first..first + each].fill(0);
        }
    }
}

impl StreamPolicy for BloomFilters {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        let lpn = write.lpn.get();
        self.note(lpn);
        let weight =
            (0..self.filters).filter(|filter| self.has(*filter, lpn)).map(|filter| self.weight(filter)).sum::<u32>();
        u8::from(weight < self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_of;
    use super::*;

    #[test]
    fn a_unit_is_hot_once_it_is_in_enough_filters_and_cold_when_they_are_cleared() {
        // The filters weigh 4, 3, 2 and 1: a unit is hot if the filters that lack it weigh 2 or less.
        let mut policy = BloomFilters::new(4, 2048, 8, 8);
        assert_eq!([0, 1, 2, 3].map(|filter| policy.weight(filter)), [1, 2, 3, 4]);
        let streams = [5; 5].map(|lpn| policy.stream(&write_of(lpn, 0)));
        assert_eq!(streams, [1, 1, 1, 0, 0], "1, 3, 6 and 10 of 10");
        for lpn in 100..103 {
            assert_eq!(policy.stream(&write_of(lpn, 0)), 1);
        }
        assert_eq!([0, 1, 2, 3].map(|filter| policy.weight(filter)), [4, 1, 2, 3], "filter 0 has been cleared");
        assert!(!policy.has(0, 5) && policy.has(1, 5));
        // Units that were written once do not become hot, in any number.
        let hot = (1000..1400).filter(|lpn| policy.stream(&write_of(*lpn, 0)) == 0).count();
        assert_eq!(hot, 0);
        assert_eq!(policy.stream(&write_of(5, 0)), 1, "it has been forgotten");
    }

    #[test]
    fn the_filters_take_the_memory_that_their_bits_need() {
        let policy = BloomFilters::new(4, 2048, 512, 8);
        assert_eq!(size_of_val(policy.words.as_slice()) as u64, BloomFilters::memory(4, 2048));
    }
}
