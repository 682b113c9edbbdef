//! The cheapest useful histogram: 32 bins per power of two.

/// Counts of times in picoseconds.
#[derive(Debug)]
pub struct Bins(Vec<u64>);

impl Default for Bins {
    fn default() -> Self {
        Self(vec![0; 64 * 32])
    }
}

impl Bins {
    /// Adds one time, in picoseconds.
    #[inline]
    pub fn count(&mut self, ps: u64) {
        let Self(bins) = self;
        let log = (ps | 1).ilog2();
        let within = ps >> log.saturating_sub(5) & 31;
        bins[(log * 32) as usize + within as usize] += 1;
    }

    /// The number of times counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self(bins) = self;
        bins.iter().sum()
    }
}
