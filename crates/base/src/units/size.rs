//! Sizes and rates.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Deserializer};

use super::Span;

/// The bytes of a sector, the host's unit of address.
pub const SECTOR: Bytes = Bytes(512);

/// A number of bytes: a size, an offset or a count. Parses and prints `"4KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A number of 512-byte sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sectors(u64);

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Cycles per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

macro_rules! count {
    ($name:ident, $unit:literal) => {
        impl $name {
            #[doc = concat!("That many ", $unit, ".")]
            #[must_use]
            pub const fn new(count: u64) -> Self {
                Self(count)
            }

            #[doc = concat!("The number of ", $unit, ".")]
            #[must_use]
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// True for zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, rhs: Self) -> Self {
                Self(self.0 + rhs.0)
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, rhs: Self) {
                self.0 += rhs.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, rhs: Self) -> Self {
                Self(self.0.checked_sub(rhs.0).expect(concat!("a negative number of ", $unit)))
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, rhs: u64) -> Self {
                Self(self.0 * rhs)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), Add::add)
            }
        }
    };
}

count!(Bytes, "bytes");
count!(Sectors, "sectors");

impl Bytes {
    /// The number of sectors; `None` if the size is not a multiple of a sector.
    #[must_use]
    pub const fn sectors(self) -> Option<Sectors> {
        if self.0.is_multiple_of(SECTOR.0) { Some(Sectors(self.0 / SECTOR.0)) } else { None }
    }
}

impl Sectors {
    /// Converts to bytes: 512 for each sector.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * SECTOR.0)
    }
}

impl Rate {
    /// Creates a rate of `bytes_per_second`.
    ///
    /// # Panics
    ///
    /// If it is zero: no transfer would ever end.
    #[must_use]
    pub const fn new(bytes_per_second: u64) -> Self {
        assert!(bytes_per_second > 0, "a rate of zero");
        Self(bytes_per_second)
    }

    /// Bytes per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time that a transfer of `bytes` takes, rounded up to the next picosecond; [`Span::MAX`] if it is more than
    /// 213 days.
    #[must_use]
    pub const fn time(self, bytes: Bytes) -> Span {
        let ps = (bytes.0 as u128 * 1_000_000_000_000).div_ceil(self.0 as u128);
        if ps > u64::MAX as u128 { Span::MAX } else { Span::from_ps(ps as u64) }
    }
}

/// A [`Rate`] of one 8-bit lane, as text in bytes or in transfers per second: a transfer moves one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRate(pub(super) Rate);

impl LaneRate {
    /// Reads the rate of a lane.
    ///
    /// # Errors
    ///
    /// If the text is not a rate.
    pub fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        Self::deserialize(deserializer).map(|lane| lane.0)
    }

    /// Reads the optional rate of a lane.
    ///
    /// # Errors
    ///
    /// If the text is not a rate.
    pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
        Option::<Self>::deserialize(deserializer).map(|lane| lane.map(|lane| lane.0))
    }
}

impl Frequency {
    /// Creates a frequency in hertz.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub const fn new(hertz: u64) -> Self {
        assert!(hertz > 0, "a frequency of zero");
        Self(hertz)
    }

    /// Hertz.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (size, name) = units.iter().copied().find(|(size, _)| value >= *size).unwrap_or(units[units.len() - 1]);
    let text = format!("{:.3}", value as f64 / size as f64);
    write!(f, "{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")])
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sectors", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1_000, "kB/s"), (1, "B/s")])
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1_000_000_000, "GHz"), (1_000_000, "MHz"), (1_000, "kHz"), (1, "Hz")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_times_keep_picoseconds() {
        // fmmu.md A1: 4,096 B of data and a quarter of the 1.5 KB OOB at 667 MB/s.
        assert_eq!(Rate::new(667_000_000).time(Bytes::new(4_480)).as_ps(), 6_716_642);
        assert_ne!(Rate::new(667_000_000).time(Bytes::new(1)), Rate::new(1_000_000_000).time(Bytes::new(1)));
        assert_ne!(Rate::new(1_600_000_000).time(Bytes::new(1)), Span::ZERO);
        assert_eq!(Rate::new(1).time(Bytes::new(1 << 40)), Span::MAX, "35,000 years");
    }

    #[test]
    fn sizes_print_in_binary_and_rates_in_decimal() {
        assert_eq!(Bytes::new(4096).to_string(), "4KiB");
        assert_eq!(Bytes::new(1536).to_string(), "1.5KiB");
        assert_eq!(Rate::new(667_000_000).to_string(), "667MB/s");
    }
}
