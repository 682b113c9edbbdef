//! A number that leaves room for none: an `Option` of it is four bytes.

use std::fmt;
use std::num::NonZeroU32;

/// Any `u32` but the largest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NonMaxU32(NonZeroU32);

impl NonMaxU32 {
    /// The number.
    ///
    /// # Panics
    /// If it is the largest `u32`.
    #[inline]
    pub(super) const fn new(number: u32) -> Self {
        match NonZeroU32::new(!number) {
            Some(inverse) => Self(inverse),
            None => panic!("no block and no slot has the number 2^32 - 1"),
        }
    }

    #[inline]
    pub(super) const fn get(self) -> u32 {
        !self.0.get()
    }
}

impl fmt::Debug for NonMaxU32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::NonMaxU32;

    #[test]
    fn it_takes_no_more_room_than_the_number() {
        assert_eq!(size_of::<Option<NonMaxU32>>(), size_of::<u32>());
        for number in [0, 1, 77, u32::MAX - 1] {
            assert_eq!(NonMaxU32::new(number).get(), number);
        }
    }
}
