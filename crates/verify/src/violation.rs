//! A violation: a read returned a content that its sectors cannot hold, or a write pointer is before durable sectors.

use std::fmt;

use base::units::{Lba, Sectors, Time};

use crate::settled::WriteTime;

/// The content that a drive returned for a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundContent {
    Zeros,
    /// A content that a later write has replaced.
    Older(WriteTime),
    /// The content of another sector.
    Other(Lba),
    /// A content that no remembered write has.
    Unknown,
    /// No content: the zone's write pointer is before durable sectors.
    WritePointer,
}

/// A content that a sector may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorVersion {
    /// The content is zeros.
    pub(crate) is_zeros: bool,
    /// The time at which it was written.
    pub(crate) when: WriteTime,
    /// True if the client has the answer of the write.
    pub(crate) is_answered: bool,
    /// True if no power cut can undo the write.
    pub(crate) is_durable: bool,
}

/// Consecutive sectors that a read returned with a content that they cannot hold, for the same reason; or durable
/// sectors behind the write pointer of their zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The first sector of the row.
    pub start: Lba,
    /// The number of sectors.
    pub sectors: Sectors,
    /// The simulated time of the answer.
    pub at: Time,
    pub(crate) found: FoundContent,
    /// All contents that the first sector may hold.
    pub(crate) expected: Vec<SectorVersion>,
    /// True if the power was cut or switched off before.
    pub(crate) is_after_cut: bool,
}

impl Violation {
    /// Extends the violation by the next sector, if that one is wrong for the same reason.
    pub(crate) fn extend(&mut self, other: &Self) -> bool {
        let next = match (self.found, other.found) {
            (FoundContent::Other(first), FoundContent::Other(of)) => first + self.sectors == of,
            (of, other) => of == other,
        };
        let is_next = next && self.start + self.sectors == other.start && self.at == other.at;
        let same = is_next && (&self.expected, self.is_after_cut) == (&other.expected, other.is_after_cut);
        if same {
            self.sectors += other.sectors;
        }
        same
    }
}

/// Seconds of simulated time.
struct Seconds(u32);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Display for SectorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_zeros { "zeros" } else { "data" };
        match self.when.ms() {
            None => write!(f, "the {what} that it held before it was verified"),
            Some(ms) => {
                let state = match (self.is_answered, self.is_durable) {
                    (false, _) => "not answered",
                    (true, false) => "not flushed",
                    (true, true) => "durable",
                };
                write!(f, "{what} written at {} ({state})", Seconds(ms))
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.start.get(), self.start.get() + self.sectors.get() - 1);
        let s = if first == last {
            write!(f, "sector {first}")?;
            "s"
        } else {
            write!(f, "sectors {first} to {last}")?;
            ""
        };
        match self.found {
            FoundContent::Zeros => write!(f, " read{s} as zeros")?,
            FoundContent::Older(when) => match when.ms() {
                Some(ms) => write!(f, " hold{s} older data, written at {}", Seconds(ms))?,
                None => write!(f, " hold{s} older data")?,
            },
            FoundContent::Other(sector) => write!(f, " hold{s} the data of sector {}", sector.get())?,
            FoundContent::Unknown => write!(f, " hold{s} data that no known write brought")?,
            FoundContent::WritePointer => write!(f, " lie{s} behind the write pointer of the zone")?,
        }
        write!(f, " at {}", Seconds(WriteTime::new(self.at).ms().unwrap_or(0)))?;
        if self.is_after_cut {
            f.write_str(", after a power cut")?;
        }
        if self.found == FoundContent::WritePointer {
            return f.write_str("; expected a write pointer behind all that is durable");
        }
        let (known, more) = self.expected.split_at(self.expected.len().min(4));
        let texts: Vec<_> = known.iter().map(ToString::to_string).collect();
        write!(f, "; expected {}", texts.join(" or "))?;
        if !more.is_empty() {
            write!(f, " or {} others", more.len())?;
        }
        Ok(())
    }
}
