//! The spare areas of all slots, in as few bytes as possible.
//!
//! A spare area takes eight bytes, or seven if slots are large, as the rows of Hydra's gangs are (8 KiB): such a drive
//! takes less than two bytes for each page of 2 KiB. Small slots are read most often, and keep eight bytes, which one
//! load reads.

use std::ops::Range;

use base::prefetch::prefetch;

use crate::nand::{Geometry, Run, Spare};

/// Bytes of a narrow spare area: a version, and a logical number of 22 bits or a mark of parity.
const NARROW: usize = 7;
/// The bit of a packed spare area that marks parity, and the bit that marks parity in a narrow one.
const PARITY: u64 = (Spare::PARITY as u64) << 32;
const NARROW_PARITY: u64 = 1 << 55;
/// The number of sectors from which on a slot counts as large.
const LARGE: u32 = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spares {
    Wide(Vec<u64>),
    Narrow(Vec<u8>),
}

impl Spares {
    /// The spare areas of an array without programmed pages.
    pub(super) fn new(geometry: &Geometry) -> Self {
        let slots = geometry.slot_count() as usize;
        if Self::is_narrow(geometry) { Self::Narrow(vec![0; slots * NARROW]) } else { Self::Wide(vec![0; slots]) }
    }

    /// Bytes of the spare areas of an array.
    pub(super) fn memory(geometry: &Geometry) -> u64 {
        let slots = u64::from(geometry.slot_count());
        slots * if Self::is_narrow(geometry) { NARROW as u64 } else { 8 }
    }

    const fn is_narrow(geometry: &Geometry) -> bool {
        // A narrow spare area holds 22 bits of a logical number, which is below the number of slots.
        geometry.sectors >= LARGE && geometry.slot_count() < 1 << 22
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> Spare {
        Spare::unpack(self.word(slot))
    }

    #[inline]
    pub(super) fn prefetch(&self, slot: usize) {
        match self {
            Self::Wide(words) => prefetch(words.get(slot)),
            Self::Narrow(bytes) => prefetch(bytes.get(slot * NARROW)),
        }
    }

    #[inline]
    pub(super) fn word(&self, slot: usize) -> u64 {
        match self {
            Self::Wide(words) => words[slot],
            Self::Narrow(bytes) => {
                let mut word = [0; 8];
                word[..NARROW].copy_from_slice(&bytes[slot * NARROW..][..NARROW]);
                match u64::from_le_bytes(word) {
                    all if all == u64::MAX >> 8 => u64::MAX,
                    word if word & NARROW_PARITY != 0 => word ^ NARROW_PARITY | PARITY,
                    word => word,
                }
            }
        }
    }

    /// Stores the spare area of a slot.
    ///
    /// # Panics
    ///
    /// If the logical number is too large for the array.
    #[inline]
    pub(super) fn set(&mut self, slot: usize, spare: Spare) {
        assert!(self.set_word(slot, spare.pack()), "{spare:?} in an array of so few slots");
    }

    /// Stores a packed spare area. Returns false if the word is no valid spare area.
    #[inline]
    pub(super) fn set_word(&mut self, slot: usize, word: u64) -> bool {
        match self {
            Self::Wide(words) => words[slot] = word,
            Self::Narrow(bytes) => {
                let narrow = if word & PARITY != 0 && word != u64::MAX { word ^ PARITY | NARROW_PARITY } else { word };
                if (narrow & !NARROW_PARITY) >> 32 > 1 << 22 && word != u64::MAX {
                    return false;
                }
                let word = narrow;
                bytes[slot * NARROW..][..NARROW].copy_from_slice(&word.to_le_bytes()[..NARROW]);
            }
        }
        true
    }

    /// Stores a run of packed spare areas from a slot on, in an array without programmed pages. Returns false if one of
    /// them is no valid spare area.
    ///
    /// # Panics
    ///
    /// If the array has fewer slots.
    pub(super) fn set_run(&mut self, slot: usize, run: Run) -> bool {
        match self {
            // Empty spare areas are not written, so that memory that the system has not touched stays untouched.
            _ if (run.first, run.step) == (0, 0) => true,
            Self::Wide(words) => {
                words[slot..][..run.count as usize].iter_mut().zip(run.numbers()).for_each(|(word, new)| *word = new);
                true
            }
            Self::Narrow(_) => run.numbers().zip(slot..).all(|(word, slot)| self.set_word(slot, word)),
        }
    }

    /// The versions in a run of spare areas; a version may come several times.
    pub(super) fn versions(run: Run) -> impl Iterator<Item = u32> {
        // The lower half of a packed spare area of data is the version. Most runs have one version.
        let is_one = run.step as u32 == 0 && run.first as u32 != u32::MAX;
        let numbers = Run { count: if is_one { 1 } else { run.count }, ..run }.numbers();
        numbers.filter(|word| *word != u64::MAX).map(|word| word as u32)
    }

    pub(super) fn fill(&mut self, slots: Range<usize>, spare: Spare) {
        match self {
            Self::Wide(words) => words[slots].fill(spare.pack()),
            Self::Narrow(bytes) if spare == Spare::Empty => bytes[slots.start * NARROW..slots.end * NARROW].fill(0),
            Self::Narrow(_) => slots.for_each(|slot| self.set(slot, spare)),
        }
    }

    /// All spare areas, packed into words.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let slots = match self {
            Self::Wide(words) => words.len(),
            Self::Narrow(bytes) => bytes.len() / NARROW,
        };
        (0..slots).map(|slot| self.word(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Lpn;
    use proptest::prelude::*;

    fn spares(sectors: u32) -> Spares {
        Spares::new(&Geometry::new(1, 1, 1, 1, 1, 4, 8, 1, sectors).expect("a small array"))
    }

    proptest! {
        #[test]
        fn wide_and_narrow_spares_keep_what_is_stored(given in prop::collection::vec((0..32_usize, 0..1_u32 << 22, any::<bool>(), any::<u32>()), 0..60)) {
            let (mut wide, mut narrow) = (spares(4), spares(16));
            prop_assert!(matches!((&wide, &narrow), (Spares::Wide(_), Spares::Narrow(_))));
            for (slot, lpn, parity, version) in given {
                let lpn = if parity { lpn | Spare::PARITY } else { lpn };
                let spare = match version % 5 {
                    0 => Spare::Torn,
                    1 => Spare::Empty,
                    _ => Spare::Data { lpn: Lpn::new(lpn), version },
                };
                if version % 7 == 0 {
                    let range = slot..(slot + 5).min(32);
                    wide.fill(range.clone(), spare);
                    narrow.fill(range, spare);
                } else {
                    wide.set(slot, spare);
                    narrow.set(slot, spare);
                }
                prop_assert_eq!((wide.get(slot), narrow.get(slot)), (spare, spare));
                prop_assert!(wide.words().eq(narrow.words()));
            }
        }
    }

    #[test]
    fn a_number_too_large_for_narrow_spares_is_refused() {
        let mut narrow = spares(16);
        assert!(!narrow.set_word(0, Spare::Data { lpn: Lpn::new(1 << 22), version: u32::MAX }.pack()));
        assert!(narrow.set_word(0, Spare::Data { lpn: Lpn::new((1 << 22) - 1), version: u32::MAX }.pack()));
        assert_eq!(narrow.get(0), Spare::Data { lpn: Lpn::new((1 << 22) - 1), version: u32::MAX });
        assert_eq!(narrow.get(1), Spare::Empty);
    }
}
