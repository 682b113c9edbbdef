//! The spare area of one slot: the only part of flash that recovery reads after a power cut.

use base::units::Lpn;

/// The content of a slot's spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// The slot is erased, or was programmed as padding.
    Empty,
    /// The program of the slot failed: neither data nor spare area can be read.
    Torn,
    /// The slot holds a mapping unit.
    Data {
        /// The mapping unit, or for slots of parity the XOR of several with a mark.
        lpn: Lpn,
        /// The number of the write. Of two copies of a mapping unit, the copy with the higher version is newer. A copy
        /// of collection keeps the version of its original.
        version: u32,
    },
}

impl Spare {
    /// The bit that marks the logical number of a slot of parity: no mapping unit has so high a number.
    pub const PARITY: u32 = 1 << 31;

    /// Packs the spare area into eight bytes. Empty is zero, so that a new drive is memory that the system has not
    /// touched yet.
    pub(crate) const fn pack(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Torn => u64::MAX,
            Self::Data { lpn, version } => ((lpn.get() as u64 + 1) << 32) | version as u64,
        }
    }

    #[inline]
    pub(crate) const fn unpack(word: u64) -> Self {
        match word {
            0 => Self::Empty,
            u64::MAX => Self::Torn,
            _ => Self::Data { lpn: Lpn::new((word >> 32) as u32 - 1), version: word as u32 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_spare_area_unpacks_to_the_same(lpn in 0..u32::MAX - 1, version in any::<u32>()) {
            let spare = Spare::Data { lpn: Lpn::new(lpn), version };
            prop_assert_eq!(Spare::unpack(spare.pack()), spare);
        }
    }

    #[test]
    fn empty_and_torn_spare_areas_unpack_to_the_same() {
        assert_eq!(Spare::unpack(Spare::Empty.pack()), Spare::Empty);
        assert_eq!(Spare::unpack(Spare::Torn.pack()), Spare::Torn);
    }
}
