//! Why a drive does not do what it is asked.

use std::fmt;

use ssd::Status;

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
    /// The drive does not know the operation: one of zones without zones, or a discard with zones.
    InvalidOpcode,
    /// A write to a zone is not of whole mapping units, or an address is not that of a zone.
    InvalidField,
    /// A write or an append ends behind the zone's capacity.
    ZoneBoundary,
    /// The zone is full.
    ZoneFull,
    /// The zone is read only, because a program has failed in it.
    ZoneReadOnly,
    /// The zone is offline, because no flash is left for it.
    ZoneOffline,
    /// A write does not begin at the write pointer, or does not lie in the zone's random write area.
    ZoneInvalidWrite,
    /// The drive has as many active zones as it can have.
    TooManyActiveZones,
    /// The drive has as many open zones as it can have.
    TooManyOpenZones,
    /// The state of the zone does not allow the action.
    InvalidZoneTransition,
    /// The zone or its random write area does not take the operation.
    InvalidZoneOperation,
    /// No zone random write area is free.
    ZrwaUnavailable,
}

impl Failed {
    /// The failure that a status of the drive is; `None` for a success.
    pub(crate) const fn of(status: Status) -> Option<Self> {
        Some(match status {
            Status::Done => return None,
            Status::Uncorrectable => Self::Uncorrectable,
            Status::ReadOnly => Self::ReadOnly,
            Status::OutOfRange => Self::OutOfRange,
            Status::InvalidOpcode => Self::InvalidOpcode,
            Status::InvalidField => Self::InvalidField,
            Status::ZoneBoundary => Self::ZoneBoundary,
            Status::ZoneFull => Self::ZoneFull,
            Status::ZoneReadOnly => Self::ZoneReadOnly,
            Status::ZoneOffline => Self::ZoneOffline,
            Status::ZoneInvalidWrite => Self::ZoneInvalidWrite,
            Status::TooManyActiveZones => Self::TooManyActiveZones,
            Status::TooManyOpenZones => Self::TooManyOpenZones,
            Status::InvalidZoneTransition => Self::InvalidZoneTransition,
            Status::InvalidZoneOperation => Self::InvalidZoneOperation,
            Status::ZrwaUnavailable => Self::ZrwaUnavailable,
        })
    }
}

impl Failed {
    /// True if the drive refuses what fails so before it changes anything.
    pub(crate) const fn changes_nothing(self) -> bool {
        match self {
            Self::Uncorrectable | Self::ReadOnly | Self::NoPower | Self::ZoneReadOnly => false,
            Self::OutOfRange
            | Self::InvalidOpcode
            | Self::InvalidField
            | Self::ZoneBoundary
            | Self::ZoneFull
            | Self::ZoneOffline
            | Self::ZoneInvalidWrite
            | Self::TooManyActiveZones
            | Self::TooManyOpenZones
            | Self::InvalidZoneTransition
            | Self::InvalidZoneOperation
            | Self::ZrwaUnavailable => true,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncorrectable => "the data cannot be read",
            Self::ReadOnly => "the drive is worn out and takes no more writes",
            Self::OutOfRange => "the extent ends behind the drive",
            Self::NoPower => "the drive has no power",
            Self::InvalidOpcode => "the drive does not know the operation",
            Self::InvalidField => "the address or the length does not fit the zones",
            Self::ZoneBoundary => "the write ends behind the zone's capacity",
            Self::ZoneFull => "the zone is full",
            Self::ZoneReadOnly => "the zone is read only",
            Self::ZoneOffline => "the zone is offline",
            Self::ZoneInvalidWrite => "the write is not at the zone's write pointer",
            Self::TooManyActiveZones => "too many zones are active",
            Self::TooManyOpenZones => "too many zones are open",
            Self::InvalidZoneTransition => "the state of the zone does not allow the action",
            Self::InvalidZoneOperation => "the zone does not take the operation",
            Self::ZrwaUnavailable => "no zone random write area is free",
        })
    }
}

impl std::error::Error for Failed {}
