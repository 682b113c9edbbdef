//! The kind of a request, without its content.

use ssd::ZoneAction;

use crate::{JobFailure, Operation};

/// The kind of a request, without the content that it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Flush,
    Discard,
    Write {
        fua: bool,
    },
    WriteZeroes {
        fua: bool,
    },
    Append {
        fua: bool,
    },
    /// An action on one zone. An action on all zones is verified zone by zone.
    Zone(ZoneAction),
}

impl Kind {
    const ALL: [Self; 15] = [
        Self::Read,
        Self::Flush,
        Self::Discard,
        Self::Write { fua: false },
        Self::Write { fua: true },
        Self::WriteZeroes { fua: false },
        Self::WriteZeroes { fua: true },
        Self::Append { fua: false },
        Self::Append { fua: true },
        Self::Zone(ZoneAction::Open),
        Self::Zone(ZoneAction::Close),
        Self::Zone(ZoneAction::Finish),
        Self::Zone(ZoneAction::Reset),
        Self::Zone(ZoneAction::OpenZrwa),
        Self::Zone(ZoneAction::FlushZrwa),
    ];

    pub(super) const fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Flush => Self::Flush,
            Operation::Discard => Self::Discard,
            Operation::Write { fua, .. } => Self::Write { fua: *fua },
            Operation::WriteZeroes { fua } => Self::WriteZeroes { fua: *fua },
            Operation::Append { fua, .. } => Self::Append { fua: *fua },
            Operation::ManageZone(action) => Self::Zone(*action),
            Operation::ManageZones(_) => panic!("an action on all zones is verified zone by zone"),
            Operation::UpdateHandles(_) => panic!("the update of a handle changes no content"),
        }
    }

    /// The number of the kind in the log.
    pub(super) fn code(self) -> u64 {
        Self::ALL.iter().position(|of| *of == self).expect("all kinds are listed") as u64
    }

    pub(super) fn of_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// The extent to which a request was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// An unknown part of the request was carried out.
    Partial,
    Done,
    Nothing,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Partial, Self::Done, Self::Nothing];

    pub(super) fn of<T>(kind: Kind, result: &Result<T, JobFailure>) -> Self {
        match result {
            Ok(_) => Self::Done,
            // Write Zeroes may be several requests of the drive, of which some have succeeded.
            Err(_) if matches!(kind, Kind::WriteZeroes { .. }) => Self::Partial,
            Err(failed) if failed.changes_nothing() => Self::Nothing,
            Err(_) => Self::Partial,
        }
    }

    /// The number of the outcome in the log.
    pub(super) const fn code(self) -> u64 {
        self as u64
    }

    pub(super) fn of_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}
