//! The reasons for which a job fails.

use std::fmt;

use ssd::Status;

/// The reason for which a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// The drive has ended the request with this status, which is never [`Status::Done`].
    Drive(Status),
    /// The power was cut before the request completed, or is off.
    NoPower,
}

impl JobFailure {
    /// The failure for a status of the drive; `None` for success.
    pub(crate) fn of(status: Status) -> Option<Self> {
        (status != Status::Done).then_some(Self::Drive(status))
    }
}

impl fmt::Display for JobFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Drive(status) = self else { return f.write_str("the drive has no power") };
        f.write_str(match status {
            Status::Done => "nothing has failed",
            Status::Uncorrectable => "the data cannot be read",
            Status::ReadOnly => "the drive is worn out and takes no more writes",
            Status::OutOfRange => "the extent ends behind the drive",
            Status::InvalidOpcode => "the drive does not know the operation",
            Status::InvalidField => "the address or the length does not fit the zones",
            Status::ZoneBoundary => "the write ends behind the zone's capacity",
            Status::ZoneFull => "the zone is full",
            Status::ZoneReadOnly => "the zone is read only",
            Status::ZoneOffline => "the zone is offline",
            Status::ZoneInvalidWrite => "the write is not at the zone's write pointer",
            Status::TooManyActiveZones => "too many zones are active",
            Status::TooManyOpenZones => "too many zones are open",
            Status::InvalidZoneTransition => "the state of the zone does not allow the action",
            Status::InvalidZoneOperation => "the zone does not take the operation",
            Status::ZrwaUnavailable => "no zone random write area is free",
        })
    }
}

impl std::error::Error for JobFailure {}
