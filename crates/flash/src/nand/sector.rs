//! What a sector holds: nothing, a stamp or bytes. The FTL moves it and never looks inside.

use std::fmt::Debug;

/// The content of one 512-byte sector.
pub trait Sector: Copy + Default + Eq + Debug + 'static {
    /// False if there is nothing to move: then no memory and no time is spent on it.
    const PRESENT: bool = size_of::<Self>() > 0;
}

/// Timing only.
impl Sector for () {}

/// Which write a sector's content came from; zero for never written. The integrity oracle's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Sector for Stamp {}

/// Real content, for a served device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes512(pub [u8; 512]);

impl Default for Bytes512 {
    fn default() -> Self {
        Self([0; 512])
    }
}

impl Sector for Bytes512 {}
