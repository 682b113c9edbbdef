//! A map entry in a translation page: a word of four bytes. Only this file knows its encoding.

use base::units::Psn;

/// Bytes of a map entry.
pub(crate) const ENTRY: u64 = 4;

/// The word of a mapping unit without a place. No slot has this number, because no drive has so many slots.
const NOWHERE: u32 = u32::MAX;

/// The word of a place, or of none.
#[must_use]
#[inline]
pub const fn encode(place: Option<Psn>) -> u32 {
    match place {
        Some(psn) => psn.get(),
        None => NOWHERE,
    }
}

/// The place of a word.
#[must_use]
#[inline]
pub const fn decode(word: u32) -> Option<Psn> {
    if word == NOWHERE { None } else { Some(Psn::new(word)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_encodes_a_place_or_none() {
        for place in [None, Some(Psn::new(0)), Some(Psn::new(u32::MAX - 1))] {
            assert_eq!(decode(encode(place)), place);
        }
    }
}
