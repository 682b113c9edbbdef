//! Why a snapshot of an array cannot be loaded.

use std::{fmt, io};

/// The version of the format, raised whenever the meaning of a byte changes.
pub(super) const VERSION: u32 = 5;

/// The reason why a snapshot cannot be loaded.
#[derive(Debug)]
pub enum SnapshotError {
    /// The input cannot be read.
    Io(io::Error),
    /// The input is no snapshot.
    Foreign,
    /// Another version of this program wrote the snapshot; its number.
    Version(u32),
    /// The snapshot is of an array of another shape.
    Geometry {
        /// The shape of the snapshot's array.
        found: String,
        /// The shape of this array.
        expected: String,
    },
    /// The sectors of the snapshot have another size.
    Sector {
        /// Bytes of a sector in the snapshot.
        found: u32,
        /// Bytes of a sector in this array.
        expected: u32,
    },
    /// The snapshot was cut short or changed.
    Damaged,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Foreign => f.write_str("is not a snapshot of a flash array"),
            Self::Version(found) => write!(f, "is a snapshot of version {found}, and this program knows {VERSION}"),
            Self::Geometry { found, expected } => {
                write!(f, "is a snapshot of another device: of {found}, and this device has {expected}")
            }
            Self::Sector { found, expected } => {
                write!(f, "is a snapshot with {found} bytes per sector, and this run needs {expected}")
            }
            Self::Damaged => f.write_str("is damaged: it was cut short or changed"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Damaged } else { Self::Io(error) }
    }
}
