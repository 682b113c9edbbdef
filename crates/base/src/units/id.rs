//! Identifiers: dense indices, each of a type of its own, so that they cannot be mixed up.

use std::fmt;
use std::ops::{Add, Sub};

use super::Sectors;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The identifier with this index.
            #[must_use]
            #[inline]
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The index as a number.
            #[must_use]
            #[inline]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The index into a table.
            #[must_use]
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", stringify!($name), self.0)
            }
        }
    };
}

id! {
    /// A logical page number: the index of a mapping unit in the host's address space.
    Lpn
}
id! {
    /// A physical page number; the geometry of an array defines its digits.
    Ppn
}
id! {
    /// A physical slot number: the place of one mapping unit in flash, a page or a part of it.
    Psn
}
id! {
    /// A superblock: the blocks that multi-plane commands program and erase together.
    SuperblockId
}
id! {
    /// A physical block of one plane.
    BlockId
}
id! {
    /// A die: the part of a chip that works on one array operation at a time.
    DieId
}
id! {
    /// A channel: one separately arbitrated bus.
    ChannelId
}

/// A logical block address: the index of a 512-byte sector in the host's address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lba(u64);

impl Lba {
    /// The address of sector `index`.
    #[must_use]
    pub const fn new(index: u64) -> Self {
        Self(index)
    }

    /// The sector's index.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add<Sectors> for Lba {
    type Output = Self;
    fn add(self, rhs: Sectors) -> Self {
        Self(self.0 + rhs.get())
    }
}

impl Sub for Lba {
    type Output = Sectors;
    fn sub(self, rhs: Self) -> Sectors {
        Sectors::new(self.0.checked_sub(rhs.0).expect("a negative distance between sectors"))
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sector {}", self.0)
    }
}
