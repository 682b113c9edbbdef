//! A number whose `Option` takes four bytes.

use std::fmt;
use std::num::NonZeroU32;

/// Any `u32` except the largest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NonMaxU32(NonZeroU32);

impl NonMaxU32 {
    /// Takes a number.
    ///
    /// # Panics
    ///
    /// If it is the largest `u32`.
    #[must_use]
    #[inline]
    pub const fn new(number: u32) -> Self {
        match NonZeroU32::new(!number) {
            Some(inverse) => Self(inverse),
            None => panic!("no block and no slot has the number 2^32 - 1"),
        }
    }

    /// Returns the number as a plain `u32`.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u32 {
        !self.0.get()
    }

    /// Encodes an optional number as a word: `u32::MAX` stands for `None`.
    #[must_use]
    #[inline]
    pub fn to_word(number: Option<Self>) -> u32 {
        number.map_or(u32::MAX, Self::get)
    }

    /// Decodes the word of an optional number.
    #[must_use]
    #[inline]
    pub fn from_word(word: u32) -> Option<Self> {
        NonZeroU32::new(!word).map(Self)
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
    fn an_optional_number_takes_four_bytes() {
        assert_eq!(size_of::<Option<NonMaxU32>>(), size_of::<u32>());
        for number in [0, 1, 77, u32::MAX - 1] {
            assert_eq!(NonMaxU32::new(number).get(), number);
        }
    }

    #[test]
    fn a_word_holds_a_number_or_none() {
        for number in [None, Some(0), Some(77), Some(u32::MAX - 1)] {
            let word = NonMaxU32::to_word(number.map(NonMaxU32::new));
            assert_eq!(word, number.unwrap_or(u32::MAX));
            assert_eq!(NonMaxU32::from_word(word).map(NonMaxU32::get), number);
        }
    }
}
