//! The commands of clients that the verifier knows, and the extent to which a drive has carried them out.

use ssd::{Completeness, Status, ZoneAction};

/// A command of a client, without its range and the content that it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCommand {
    /// Reads the range.
    Read,
    /// Makes durable every write that was answered before.
    Flush,
    /// Discards the range.
    Discard,
    /// Writes the range.
    Write {
        /// Forced unit access: the answer comes once the data is durable.
        fua: bool,
    },
    /// Makes the range read as zeros.
    WriteZeroes {
        /// Forced unit access: the answer comes once the zeros are durable.
        fua: bool,
    },
    /// Writes to the zone at an address that the drive chooses.
    Append {
        /// Forced unit access: the answer comes once the data is durable.
        fua: bool,
    },
    /// An action on one zone. An action on all zones is verified zone by zone.
    Zone(ZoneAction),
}

impl ClientCommand {
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

    /// True if the command brings a content for each sector.
    pub(crate) const fn has_data(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Append { .. })
    }

    /// The number of the command in the log.
    pub(crate) fn code(self) -> u64 {
        Self::ALL.iter().position(|of| *of == self).expect("all kinds are listed") as u64
    }

    pub(crate) fn of_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

/// The extent to which a command was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    /// An unknown part of the command was carried out.
    Partial,
    Done,
    Nothing,
}

impl CommandOutcome {
    const ALL: [Self; 3] = [Self::Partial, Self::Done, Self::Nothing];

    pub(crate) fn of<T>(command: ClientCommand, result: &Result<T, Status>) -> Self {
        match result {
            Ok(_) => Self::Done,
            // Write Zeroes may be several requests of the drive, of which some have succeeded.
            Err(_) if matches!(command, ClientCommand::WriteZeroes { .. }) => Self::Partial,
            Err(status) if status.completeness() == Completeness::Nothing => Self::Nothing,
            Err(_) => Self::Partial,
        }
    }

    /// The number of the outcome in the log.
    pub(crate) const fn code(self) -> u64 {
        self as u64
    }

    pub(crate) fn of_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}
