//! Fast division by a number that is fixed when a device is built.

/// A divisor turned into a multiplication: exact for every 32-bit dividend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u32,
    /// ceil(2^64 / by); zero stands for division by one.
    reciprocal: u64,
}

impl Divisor {
    /// Prepares division by `by`.
    ///
    /// # Panics
    ///
    /// If `by` is zero.
    #[must_use]
    pub const fn new(by: u32) -> Self {
        assert!(by > 0, "division by zero");
        Self { by, reciprocal: if by == 1 { 0 } else { u64::MAX / by as u64 + 1 } }
    }

    /// The divisor as a plain number.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u32 {
        self.by
    }

    /// The quotient of `n`, rounded down.
    #[must_use]
    #[inline]
    pub const fn quotient(self, n: u32) -> u32 {
        if self.reciprocal == 0 { n } else { ((self.reciprocal as u128 * n as u128) >> 64) as u32 }
    }

    /// The quotient of a number of more than 32 bits, rounded down: exact if `n * by` is below 2^64.
    #[must_use]
    #[inline]
    pub const fn wide_quotient(self, n: u64) -> u64 {
        // The reciprocal is less than by / 2^64 too large, so the product is less than n * by / 2^64 too large.
        if self.reciprocal == 0 { n } else { ((self.reciprocal as u128 * n as u128) >> 64) as u64 }
    }

    /// The quotient and the remainder of `n`.
    #[must_use]
    #[inline]
    pub const fn split(self, n: u32) -> (u32, u32) {
        let q = self.quotient(n);
        (q, n - q * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_divisor_divides_exactly(n in any::<u32>(), by in 1..=u32::MAX) {
            prop_assert_eq!(Divisor::new(by).split(n), (n / by, n % by));
        }

        #[test]
        fn a_small_divisor_divides_exactly(n in any::<u32>(), by in 1..5000u32) {
            prop_assert_eq!(Divisor::new(by).split(n), (n / by, n % by));
        }
    }

    proptest! {
        #[test]
        fn wide_numbers_are_divided_exactly(n in any::<u64>(), by in 1..5000u32) {
            let n = n / u64::from(by);
            prop_assert_eq!(Divisor::new(by).wide_quotient(n), n / u64::from(by));
        }
    }

    #[test]
    fn wide_numbers_are_divided_exactly_at_the_end() {
        for by in [1, 2, 3, 7, 8, 63, 64, u32::MAX] {
            let last = u64::MAX / u64::from(by);
            for n in
                [0, 1, last / 2, last - last % u64::from(by), (last - last % u64::from(by)).saturating_sub(1), last]
            {
                assert_eq!(Divisor::new(by).wide_quotient(n), n / u64::from(by), "{n} / {by}");
            }
        }
    }

    #[test]
    fn the_smallest_and_largest_numbers_are_divided_exactly() {
        for by in [1, 2, 3, 7, 255, 256, 1 << 31, u32::MAX] {
            for n in [0, 1, by - 1, by, u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(by).split(n), (n / by, n % by), "{n} / {by}");
            }
        }
    }
}
