//! The content of a sector: nothing, a stamp or bytes. The FTL moves it and never looks inside.

use std::fmt::Debug;

use base::units::Lba;

/// The content of one 512-byte sector.
pub trait Sector: Copy + Default + Eq + Debug + 'static {
    /// False if a sector has no content: then the simulator spends no memory and no time on it.
    const PRESENT: bool = size_of::<Self>() > 0;

    /// Bytes of a sector in a snapshot.
    const BYTES: u32 = size_of::<Self>() as u32;

    /// True if the first sector of a mapping unit mostly determines the others ([`Sector::following`]). The media then
    /// store only the first one.
    const FOLLOWS: bool = false;

    /// Appends the bytes of the sector.
    fn encode(&self, to: &mut Vec<u8>);

    /// Decodes the bytes that [`Sector::encode`] appended; exactly [`Sector::BYTES`] bytes.
    fn decode(bytes: &[u8]) -> Self;

    /// The content that preconditioning writes to a sector: a function of its address and of the version in the spare
    /// area of its mapping unit, so that the media need not keep it.
    #[must_use]
    fn preconditioned(_sector: Lba, _version: u32) -> Self {
        Self::default()
    }

    /// The content `count` sectors behind this one, if one write wrote both. Empty sectors follow an empty one.
    #[must_use]
    fn following(self, _count: u32) -> Self {
        self
    }

    /// Fills a slot with this sector and those that follow it.
    #[inline]
    fn fill_run(self, into: &mut [Self]) {
        (0..).zip(into).for_each(|(i, sector)| *sector = self.following(i));
    }

    /// True if the first of these sectors determines the others.
    #[must_use]
    #[inline]
    fn is_run(content: &[Self]) -> bool {
        let mut all = (0..).zip(content);
        content.first().is_some_and(|first| all.all(|(i, sector)| *sector == first.following(i)))
    }
}

/// No content: timing only.
impl Sector for () {
    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Self {}
}

/// The write that a sector's content came from; zero if the sector was never written. The integrity oracle uses it as
/// payload. The highest bit is clear in stamps of a host and set in stamps of preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

/// Bits of a preconditioned sector's stamp that hold its address: 2^32 mapping units of up to 64 sectors.
const ADDRESS_BITS: u32 = 38;
/// Bits between the address and the highest bit: the low bits of the version.
const VERSION_BITS: u32 = 63 - ADDRESS_BITS;

impl Stamp {
    /// The sector that preconditioning wrote this stamp to, and the low bits of the write's version; `None` for a
    /// host's stamp.
    #[must_use]
    pub const fn as_preconditioned(self) -> Option<(Lba, u32)> {
        if self.0 >> 63 == 0 {
            return None;
        }
        let version = (self.0 >> ADDRESS_BITS) as u32 & ((1 << VERSION_BITS) - 1);
        Some((Lba::new(self.0 & ((1 << ADDRESS_BITS) - 1)), version))
    }
}

impl Sector for Stamp {
    const FOLLOWS: bool = true;

    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Self {
        Self(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    #[inline]
    fn preconditioned(sector: Lba, version: u32) -> Self {
        let version = u64::from(version) & ((1 << VERSION_BITS) - 1);
        Self(1 << 63 | version << ADDRESS_BITS | sector.get())
    }

    #[inline]
    fn following(self, count: u32) -> Self {
        Self(if self.0 == 0 { 0 } else { self.0.wrapping_add(u64::from(count)) })
    }

    /// Differences are gathered without an early exit, so that several sectors are compared at once.
    #[inline]
    fn is_run(content: &[Self]) -> bool {
        let Some(Self(first)) = content.first().copied() else { return false };
        let step = u64::from(first != 0);
        let mut expected = first;
        let differ = content.iter().fold(0, |differ, Self(held)| {
            let here = held ^ expected;
            expected = expected.wrapping_add(step);
            differ | here
        });
        differ == 0
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
        let run = |first: u64| (0..9).map(move |i| Stamp(first).following(i)).collect::<Vec<_>>();
        for first in [0, 1, 1 << 24, u64::MAX - 3] {
            assert!((1..=9).all(|count| Stamp::is_run(&run(first)[..count])), "{first}");
            for changed in 1..9 {
                let mut other = run(first);
                other[changed].0 ^= 1 << (7 * changed);
                assert!(!Stamp::is_run(&other), "sector {changed} of {other:?}");
            }
        }
        assert!(!Stamp::is_run(&[]));
        let bytes = |byte| Bytes512([byte; 512]);
        assert!(Bytes512::is_run(&[bytes(1), bytes(1)]) && !Bytes512::is_run(&[bytes(1), bytes(2)]));
    }
}
