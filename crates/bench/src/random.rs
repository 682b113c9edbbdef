//! A cheap random number generator for measurements.

/// Marsaglia's xorshift with 64 bits: the cheapest generator that is good enough.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator; the seed must not be 0.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        assert!(seed != 0, "it would stay at 0");
        Self(seed)
    }

    /// Draws the next 64 random bits (xorshift).
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
