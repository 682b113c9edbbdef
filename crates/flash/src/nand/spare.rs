//! The spare area of one slot: what recovery reads after a power cut, and nothing else.

use base::units::Lpn;

/// What the spare area says about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Erased, or programmed as padding.
    Empty,
    /// The program that was to fill it did not end well: neither data nor spare can be read.
    Torn,
    /// Holds a mapping unit.
    Data {
        /// The unit.
        lpn: Lpn,
        /// Which write of the unit: of two copies of a unit, the one with the higher version is newer.
        /// A copy keeps the version of its original.
        version: u32,
    },
}

impl Spare {
    /// Eight bytes: zero for empty, so that a new drive is memory the system has not touched yet.
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
        fn packing_is_exact(lpn in 0..u32::MAX - 1, version in any::<u32>()) {
            let spare = Spare::Data { lpn: Lpn::new(lpn), version };
            prop_assert_eq!(Spare::unpack(spare.pack()), spare);
        }
    }

    #[test]
    fn the_two_special_states_are_exact() {
        assert_eq!(Spare::unpack(Spare::Empty.pack()), Spare::Empty);
        assert_eq!(Spare::unpack(Spare::Torn.pack()), Spare::Torn);
    }
}
