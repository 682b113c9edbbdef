//! Why a drive does not do what it is asked.

use std::fmt;

/// Why a request was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A sector could not be read from flash.
    Uncorrectable,
    /// The drive takes no more writes.
    ReadOnly,
    /// The extent ends behind the last sector.
    OutOfRange,
    /// The power was cut before the request completed, or is off.
    NoPower,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncorrectable => "the data cannot be read",
            Self::ReadOnly => "the drive is worn out and takes no more writes",
            Self::OutOfRange => "the extent ends behind the drive",
            Self::NoPower => "the drive has no power",
        })
    }
}

impl std::error::Error for Failed {}
