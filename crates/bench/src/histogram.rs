//! The cheapest useful histogram: 32 bins for every power of two.

/// Counts of picoseconds.
#[derive(Debug)]
pub struct Bins(Vec<u64>);

impl Default for Bins {
    fn default() -> Self {
        Self(vec![0; 64 * 32])
    }
}

impl Bins {
    /// Counts a time.
    #[inline]
    pub fn count(&mut self, ps: u64) {
        let Self(bins) = self;
        let log = (ps | 1).ilog2();
        let within = ps >> log.saturating_sub(5) & 31;
        bins[(log * 32) as usize + within as usize] += 1;
    }

    /// All counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self(bins) = self;
        bins.iter().sum()
    }
}
