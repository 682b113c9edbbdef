//! Units of the times, addresses and sizes in a trace.
//!
//! Text formats with bare numbers have conventional units, and some files use others: DiskSim's layout occurs with
//! milliseconds, microseconds and nanoseconds, and with sizes in sectors and in pages. A user can therefore name each
//! unit.

use std::fmt;
use std::str::FromStr;

use super::field::{Extent, FieldFault, bytes_extent, sectors_extent, ticks};
use crate::SourceError;

/// The unit of times. All are powers of ten of a picosecond, so that decimals stay exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeUnit {
    /// Seconds, with any number of decimals.
    Second,
    /// Milliseconds, with any number of decimals.
    Millisecond,
    /// Microseconds, with any number of decimals.
    Microsecond,
    /// Hundreds of nanoseconds, as in Windows file times.
    FileTime,
    /// Nanoseconds, with any number of decimals.
    Nanosecond,
    /// Picoseconds, the unit of simulated time.
    Picosecond,
}

impl TimeUnit {
    /// All units, longest first.
    pub const ALL: [Self; 6] =
        [Self::Second, Self::Millisecond, Self::Microsecond, Self::FileTime, Self::Nanosecond, Self::Picosecond];

    /// The name by which a user selects the unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::FileTime => "100ns",
            Self::Nanosecond => "ns",
            Self::Picosecond => "ps",
        }
    }

    /// The exponent of the unit: it is 10^this picoseconds.
    pub(crate) const fn digits(self) -> u32 {
        match self {
            Self::Second => 12,
            Self::Millisecond => 9,
            Self::Microsecond => 6,
            Self::FileTime => 5,
            Self::Nanosecond => 3,
            Self::Picosecond => 0,
        }
    }

    /// The unit in picoseconds.
    #[must_use]
    pub const fn ps(self) -> u64 {
        10_u64.pow(self.digits())
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let known = Self::ALL.into_iter().find(|unit| unit.name() == text);
        known.or_else(|| matches!(text, "\u{b5}s" | "\u{3bc}s").then_some(Self::Microsecond)).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            SourceError::new(format!("`{text}` is not a unit of time"), format!("choose one of {names}"))
        })
    }
}

/// The unit of addresses or sizes: a power of two in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeUnit(u64);

impl SizeUnit {
    /// Single bytes.
    pub const BYTE: Self = Self(1);
    /// A sector of 512 bytes.
    pub const SECTOR: Self = Self(512);
    /// A page of 4 KiB.
    pub const PAGE: Self = Self(4096);
    /// The largest valid unit.
    const MOST: u64 = 1 << 30;

    /// The length of one unit in bytes, at most 1 GiB.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SizeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match steps.into_iter().find(|(step, _)| self.0.is_multiple_of(*step)) {
            Some((step, name)) => write!(f, "{}{name}", self.0 / step),
            None if self.0 == 1 => f.write_str("B"),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl FromStr for SizeUnit {
    type Err = SourceError;

    /// Parses `B`, `512B`, `4KiB` and other powers of two up to 1 GiB; also `bytes`, `sectors` (512 bytes), `pages` (4
    /// KiB).
    fn from_str(text: &str) -> Result<Self, SourceError> {
        let refuse = || {
            SourceError::new(
                format!("`{text}` is not a unit of size"),
                "write B, 512B (a sector), 4KiB (a page) or another power of two of bytes up to 1GiB, e.g. 4KiB",
            )
        };
        let bytes = match text {
            "B" | "byte" | "bytes" => 1,
            "sector" | "sectors" => 512,
            "page" | "pages" => 4096,
            _ => {
                let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
                let count: u64 = if at == 0 { 1 } else { text[..at].parse().map_err(|_| refuse())? };
                let step = match &text[at..] {
                    "B" => 1,
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    "GiB" => 1 << 30,
                    _ => return Err(refuse()),
                };
                count.checked_mul(step).ok_or_else(refuse)?
            }
        };
        (bytes.is_power_of_two() && bytes <= Self::MOST).then_some(Self(bytes)).ok_or_else(refuse)
    }
}

/// The units of the numbers of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Units {
    /// Unit of the times of arrival.
    pub time: TimeUnit,
    /// The unit of addresses.
    pub address: SizeUnit,
    /// Unit of the sizes of requests.
    pub size: SizeUnit,
}

impl Units {
    pub(crate) const fn new(time: TimeUnit, address: SizeUnit, size: SizeUnit) -> Self {
        Self { time, address, size }
    }

    /// Parses a time and returns picoseconds.
    #[inline]
    pub(crate) fn time(self, field: Option<&[u8]>, what: &str) -> Result<i128, FieldFault> {
        ticks(field, self.time.digits(), what)
    }

    /// The sectors that contain an extent.
    #[inline]
    pub(crate) fn extent(self, address: u64, size: u64) -> Result<Extent, FieldFault> {
        if self.address == SizeUnit::SECTOR && self.size == SizeUnit::SECTOR {
            return sectors_extent(address, size);
        }
        let bytes = |count: u64, unit: SizeUnit, what: &str| {
            count
                .checked_mul(unit.0)
                .ok_or_else(|| FieldFault::new(format!("the {what} is too large: {count} times {unit}")))
        };
        bytes_extent(bytes(address, self.address, "address")?, bytes(size, self.size, "size")?)
    }
}

/// The units that a user names; `None` stands for the unit of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedUnits {
    /// Unit of the times of arrival.
    pub time: Option<TimeUnit>,
    /// The unit of addresses.
    pub address: Option<SizeUnit>,
    /// Unit of the sizes of requests.
    pub size: Option<SizeUnit>,
}

impl NamedUnits {
    /// The named units; units of the format where none is named.
    pub(crate) fn over(self, own: Units) -> Units {
        Units {
            time: self.time.unwrap_or(own.time),
            address: self.address.unwrap_or(own.address),
            size: self.size.unwrap_or(own.size),
        }
    }

    /// The command-line option of the first named unit, if any.
    pub(crate) fn option(self) -> Option<&'static str> {
        let all = [
            (self.time.is_some(), "--time-unit"),
            (self.address.is_some(), "--address-unit"),
            (self.size.is_some(), "--size-unit"),
        ];
        all.into_iter().find_map(|(named, option)| named.then_some(option))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_print_as_they_parse() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.to_string().parse(), Ok(unit));
        }
        assert_eq!("\u{b5}s".parse(), Ok(TimeUnit::Microsecond));
        for (text, bytes) in
            [("B", 1), ("512B", 512), ("sectors", 512), ("4KiB", 4096), ("pages", 4096), ("1MiB", 1 << 20)]
        {
            let unit: SizeUnit = text.parse().unwrap();
            assert_eq!((unit.bytes(), unit.to_string().parse()), (bytes, Ok(unit)), "{text}");
        }
        for bad in ["", "min", "S", "1s", "1000ns"] {
            assert!(bad.parse::<TimeUnit>().unwrap_err().remedy().contains("100ns"), "{bad}");
        }
        for bad in ["", "512", "0B", "3KiB", "2GiB", "4KB", "-1B", "99999999999999999999B", "16777216TiB"] {
            assert!(bad.parse::<SizeUnit>().unwrap_err().remedy().contains("512B"), "{bad}");
        }
    }

    #[test]
    fn extents_scale_by_their_units() {
        let units = |address, size| Units::new(TimeUnit::Second, address, size);
        let extent = |start, sectors, widened| Ok(Extent { start, sectors, widened });
        assert_eq!(units(SizeUnit::SECTOR, SizeUnit::PAGE).extent(10, 2), extent(10, 16, false));
        assert_eq!(units(SizeUnit::PAGE, SizeUnit::PAGE).extent(10, 2), extent(80, 16, false));
        assert_eq!(units(SizeUnit::BYTE, SizeUnit::BYTE).extent(1000, 100), extent(1, 2, true));
        assert!(units(SizeUnit::PAGE, SizeUnit::PAGE).extent(u64::MAX, 1).is_err());
        assert!(units(SizeUnit::BYTE, SizeUnit::PAGE).extent(0, u64::MAX).is_err());
    }
}
