//! What a sector holds: nothing, a stamp or bytes. The FTL moves it and never looks inside.

use std::fmt::Debug;

/// The content of one 512-byte sector.
pub trait Sector: Copy + Default + Eq + Debug + 'static {
    /// False if there is nothing to move: then no memory and no time is spent on it.
    const PRESENT: bool = size_of::<Self>() > 0;

    /// Bytes of it in a snapshot.
    const BYTES: u32 = size_of::<Self>() as u32;

    /// Appends its bytes.
    fn encode(&self, to: &mut Vec<u8>);

    /// What [`Sector::encode`] appended; exactly [`Sector::BYTES`] bytes.
    fn decode(bytes: &[u8]) -> Self;
}

/// Timing only.
impl Sector for () {
    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Self {}
}

/// Which write a sector's content came from; zero for never written. The integrity oracle's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Sector for Stamp {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Self {
        Self(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }
}

/// Real content, for a served device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes512(pub [u8; 512]);

impl Default for Bytes512 {
    fn default() -> Self {
        Self([0; 512])
    }
}

impl Sector for Bytes512 {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0);
    }

    fn decode(bytes: &[u8]) -> Self {
        Self(bytes.try_into().expect("512 bytes"))
    }
}
