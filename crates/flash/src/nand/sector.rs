//! The content of a sector: nothing, a stamp or bytes.
//!
//! Inside the flash, content is bytes of a kind that is chosen when the drive is built; the FTL never sees them. The
//! host side has typed sectors.

use std::fmt::Debug;

use base::units::Lba;

/// The kind of content that the sectors of a drive hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorKind {
    /// No content: the simulator spends no memory and no time on it.
    Nothing,
    /// A [`Stamp`] of 8 bytes.
    Stamp,
    /// The 512 bytes of a sector are kept, so that reads return them.
    Bytes,
}

impl SectorKind {
    /// The memory in bytes that the simulator takes for a sector of this kind.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Stamp => size_of::<Stamp>(),
            Self::Bytes => 512,
        }
    }

    /// True if sectors have content.
    #[must_use]
    #[inline]
    pub const fn is_present(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// True if the other sectors of a mapping unit mostly follow from the first ([`Stamp::following`]). The media then
    /// store only the first sector.
    #[must_use]
    #[inline]
    pub const fn is_stamp(self) -> bool {
        matches!(self, Self::Stamp)
    }

    /// The first of these sectors, if the others follow from it.
    #[must_use]
    #[inline]
    pub fn run(self, content: &[u8]) -> Option<Stamp> {
        if !self.is_stamp() {
            return None;
        }
        Stamp::first_of(content.chunks_exact(size_of::<Stamp>()).map(Stamp::decode))
    }
}

/// The content of one 512-byte sector, as the host side has it.
pub trait Sector: Copy + Default + Eq + Debug + 'static {
    /// The kind of the content.
    const KIND: SectorKind;

    /// Writes the bytes of the sector, as many as [`SectorKind::bytes`].
    fn encode(&self, into: &mut [u8]);

    /// The sector that [`Self::encode`] has written as these bytes.
    fn decode(bytes: &[u8]) -> Self;

    /// The content that preconditioning writes to a sector: a function of its address and of the version in the spare
    /// area of its mapping unit, so that the media need not keep it.
    #[must_use]
    fn preconditioned(_sector: Lba, _version: u32) -> Self {
        Self::default()
    }

    /// The first of these sectors, if the others follow from it.
    #[must_use]
    fn run(_content: &[Self]) -> Option<Stamp> {
        None
    }
}

/// Writes sectors as bytes.
#[inline]
pub fn encode<S: Sector>(sectors: &[S], into: &mut [u8]) {
    if S::KIND.is_present() {
        sectors.iter().zip(into.chunks_exact_mut(S::KIND.bytes())).for_each(|(sector, into)| sector.encode(into));
    }
}

/// Reads sectors from bytes.
#[inline]
pub fn decode<S: Sector>(bytes: &[u8], into: &mut [S]) {
    if S::KIND.is_present() {
        into.iter_mut().zip(bytes.chunks_exact(S::KIND.bytes())).for_each(|(into, bytes)| *into = S::decode(bytes));
    }
}

/// A sector without content, for runs that only simulate time.
impl Sector for () {
    const KIND: SectorKind = SectorKind::Nothing;

    fn encode(&self, _: &mut [u8]) {}

    fn decode(_: &[u8]) -> Self {}
}

/// A number that identifies the write from which a sector's content came; zero if the sector was never written. The
/// integrity oracle uses stamps as payload. The highest bit is clear in stamps of a host and set in stamps of
/// preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// Bits of a preconditioned sector's stamp that hold its address: 2^32 mapping units of up to 128 sectors.
const ADDRESS_BITS: u32 = 39;
/// Bits between the address and the highest bit: the low bits of the version.
const VERSION_BITS: u32 = 63 - ADDRESS_BITS;

impl Stamp {
    /// The sector to which preconditioning wrote this stamp, and the low bits of the write's version; `None` for a
    /// host's stamp.
    #[must_use]
    pub const fn as_preconditioned(self) -> Option<(Lba, u32)> {
        if self.0 >> 63 == 0 {
            return None;
        }
        let version = (self.0 >> ADDRESS_BITS) as u32 & ((1 << VERSION_BITS) - 1);
        Some((Lba::new(self.0 & ((1 << ADDRESS_BITS) - 1)), version))
    }

    /// The stamp of the sector `count` sectors behind this one, if one write wrote both. Empty sectors follow an empty
    /// sector.
    #[must_use]
    #[inline]
    pub const fn following(self, count: u32) -> Self {
        Self(if self.0 == 0 { 0 } else { self.0.wrapping_add(count as u64) })
    }

    /// The first of these stamps, if the others follow from it. Differences are gathered without an early exit, so that
    /// the compiler compares several at once.
    #[inline]
    fn first_of(mut stamps: impl Iterator<Item = Self>) -> Option<Self> {
        let first = stamps.next()?;
        let step = u64::from(first.0 != 0);
        let mut expected = first.0;
        let differ = stamps.fold(0, |differ, Self(held)| {
            expected = expected.wrapping_add(step);
            differ | held ^ expected
        });
        (differ == 0).then_some(first)
    }

    /// Fills a slot with the bytes of this stamp and those that follow it.
    #[inline]
    pub fn fill_run(self, into: &mut [u8]) {
        (0..).zip(into.chunks_exact_mut(size_of::<Self>())).for_each(|(i, into)| self.following(i).encode(into));
    }
}

impl Sector for Stamp {
    const KIND: SectorKind = SectorKind::Stamp;

    #[inline]
    fn encode(&self, into: &mut [u8]) {
        into.copy_from_slice(&self.0.to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        Self(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    #[inline]
    fn preconditioned(sector: Lba, version: u32) -> Self {
        let version = u64::from(version) & ((1 << VERSION_BITS) - 1);
        Self(1 << 63 | version << ADDRESS_BITS | sector.get())
    }

    #[inline]
    fn run(content: &[Self]) -> Option<Stamp> {
        Self::first_of(content.iter().copied())
    }
}

/// The 512 bytes of a sector, for a served device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes512(pub [u8; 512]);

impl Default for Bytes512 {
    fn default() -> Self {
        Self([0; 512])
    }
}

impl Sector for Bytes512 {
    const KIND: SectorKind = SectorKind::Bytes;

    #[inline]
    fn encode(&self, into: &mut [u8]) {
        into.copy_from_slice(&self.0);
    }

    fn decode(bytes: &[u8]) -> Self {
        Self(bytes.try_into().expect("512 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preconditioned_sector_holds_its_address_and_version() {
        for (sector, version) in [(0, 1), (7, 2), ((1 << ADDRESS_BITS) - 1, (1 << VERSION_BITS) - 1)] {
            let stamp = Stamp::preconditioned(Lba::new(sector), version);
            assert_eq!(stamp.as_preconditioned(), Some((Lba::new(sector), version)));
        }
        assert_eq!(Stamp(1 << 24).as_preconditioned(), None, "the stamp of a host");
        assert_eq!(Bytes512::preconditioned(Lba::new(3), 4), Bytes512::default(), "a served drive begins with zeros");
    }

    #[test]
    fn the_stamps_of_a_write_follow_each_other() {
        let of = |sector| Stamp::preconditioned(Lba::new(sector), 5);
        assert_eq!((of(40).following(0), of(40).following(7)), (of(40), of(47)));
        assert_eq!(Stamp(1 << 24).following(3), Stamp(1 << 24 | 3));
        assert_eq!(Stamp::default().following(3), Stamp::default());
    }

    #[test]
    fn a_run_is_what_one_write_wrote() {
        let bytes = |stamps: &[Stamp]| {
            let mut bytes = vec![0; stamps.len() * 8];
            encode(stamps, &mut bytes);
            bytes
        };
        let run = |first: u64| (0..9).map(move |i| Stamp(first).following(i)).collect::<Vec<_>>();
        for first in [0, 1, 1 << 24, u64::MAX - 3] {
            let of = |count| SectorKind::Stamp.run(&bytes(&run(first)[..count]));
            assert!((1..=9).all(|count| of(count) == Some(Stamp(first))), "{first}");
            for changed in 1..9 {
                let mut other = run(first);
                other[changed].0 ^= 1 << (7 * changed);
                assert_eq!(SectorKind::Stamp.run(&bytes(&other)), None, "sector {changed} of {other:?}");
            }
        }
        assert_eq!(SectorKind::Stamp.run(&[]), None);
        assert_eq!(SectorKind::Bytes.run(&[0; 1024]), None, "bytes follow from nothing");
    }

    #[test]
    fn sectors_come_back_from_their_bytes() {
        let (stamps, bytes) = ([Stamp(7), Stamp(1 << 40)], [Bytes512([3; 512]), Bytes512([9; 512])]);
        let (mut to, mut back) = ([0; 1024], ([Stamp(0); 2], [Bytes512::default(); 2]));
        encode(&stamps, &mut to);
        decode(&to, &mut back.0);
        encode(&bytes, &mut to);
        decode(&to, &mut back.1);
        assert_eq!(back, (stamps, bytes));
    }
}
