//! The state machine of a zone (NVM Express Zoned Namespace Command Set Specification 1.1, "Zone State Machine"; random write
//! areas: TP 4076).
//!
//! A command names a zone and an action. [`ZoneState::after`] is the table: the state that an action leads to, or the status
//! with which the drive refuses it. Two more events change a state without a command: the last logical block of a zone is
//! written (the zone is full), and flash fails (the zone is read only or offline).
//!
//! The table knows no other zones. What the zones of a drive share, the numbers of open and of active zones, is in
//! `zns::states`.

use std::fmt;

/// The shape of the zones, in mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape {
    /// The number of zones of the drive.
    pub zones: u32,
    /// Mapping units from the beginning of a zone to the beginning of the next.
    pub size: u32,
    /// Mapping units of a zone that can be written.
    pub capacity: u32,
    /// The most zones that may be active at the same time.
    pub max_active: u32,
    /// The most zones that may be open at the same time.
    pub max_open: u32,
    /// The zone random write areas; `None` if the drive has none.
    pub zrwa: Option<ZrwaShape>,
}

/// The zone random write areas (ZRWA) of a drive, in mapping units. A zone that has one is written at any place of the window
/// behind its write pointer, in any order and repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZrwaShape {
    /// The window of a zone (ZRWASZ).
    pub size: u32,
    /// The granule by whose multiples the write pointer moves (ZRWAFG).
    pub granularity: u32,
    /// The most zones that may have a window at the same time (NUMZRWA).
    pub zones: u32,
}

impl ZrwaShape {
    /// The write pointer after a write that ends at `end`. A write that ends behind the window flushes as many units as
    /// lie behind it, in whole granules (implicit flush).
    #[must_use]
    #[inline]
    pub const fn pointer_after(&self, pointer: u32, end: u32) -> u32 {
        let behind = end.saturating_sub(pointer).saturating_sub(self.size);
        pointer + behind.div_ceil(self.granularity) * self.granularity
    }
}

/// The state of a zone, as the NVMe ZNS command set defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ZoneState {
    /// Nothing is written since the last reset, and no command has opened the zone.
    #[default]
    Empty,
    /// A write or an append has opened the zone.
    ImplicitlyOpen,
    /// The host has opened the zone.
    ExplicitlyOpen,
    /// The zone can be written and is not open.
    Closed,
    /// The zone takes no more data before a reset.
    Full,
    /// The zone can be read, and nothing else: a program has failed in it.
    ReadOnly,
    /// The zone can be neither read nor written: no flash is left for it.
    Offline,
}

/// A command to a zone, reduced to its effect on the zone's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneAction {
    /// Zone Management Send, Open Zone.
    Open,
    /// Zone Management Send, Close Zone.
    Close,
    /// Zone Management Send, Finish Zone.
    Finish,
    /// Zone Management Send, Reset Zone.
    Reset,
    /// Zone Management Send, Open Zone with the bit that asks for a random write area (ZRWAA).
    OpenZrwa,
    /// Zone Management Send, Flush Explicit ZRWA Range.
    FlushZrwa,
    /// A write at the write pointer, or into the random write area.
    Write,
    /// A Zone Append, for which the drive chooses the address.
    Append,
}

/// The reason for which a drive refuses a command to a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneError {
    /// A field of the command is wrong, e.g. an address that is not the beginning of a zone (status 02h of the generic
    /// ones).
    InvalidField,
    /// The command ends behind the zone's capacity (B8h of the command-specific statuses, as are those below).
    Boundary,
    /// The zone is full (B9h).
    Full,
    /// The zone is read only (BAh).
    ReadOnly,
    /// The zone is offline (BBh).
    Offline,
    /// A write does not begin at the write pointer (BCh).
    InvalidWrite,
    /// The drive has as many active zones as it can have (BDh).
    TooManyActive,
    /// The drive has as many open zones as it can have, and the host has opened all of them (BEh).
    TooManyOpen,
    /// The zone's state does not allow the action (BFh).
    InvalidTransition,
    /// A random write area is asked for a zone that is not empty, a flush names a range outside the zone's area, or an
    /// append goes to a zone with such an area (B6h).
    InvalidOperation,
    /// As many zones have random write areas as can have one (B7h).
    ZrwaUnavailable,
}

impl ZoneState {
    /// All states, for checks of the whole table.
    pub const ALL: [Self; 7] = [
        Self::Empty,
        Self::ImplicitlyOpen,
        Self::ExplicitlyOpen,
        Self::Closed,
        Self::Full,
        Self::ReadOnly,
        Self::Offline,
    ];

    /// The state after an action, if the limits on open and active zones allow the action. A write, an append or a
    /// flush that moves the write pointer to the zone's capacity makes the zone full afterwards. A flush needs a zone
    /// with a random write area.
    ///
    /// # Errors
    ///
    /// The status of a command that this state refuses.
    pub const fn after(self, action: ZoneAction) -> Result<Self, ZoneError> {
        use ZoneAction::{Append, Close, Finish, FlushZrwa, Open, OpenZrwa, Reset, Write};
        match (action, self) {
            (Write | Append, Self::Empty | Self::ImplicitlyOpen | Self::Closed) => Ok(Self::ImplicitlyOpen),
            (Write | Append, Self::ExplicitlyOpen) => Ok(Self::ExplicitlyOpen),
            (Write | Append, Self::Full) => Err(ZoneError::Full),
            (Write | Append, Self::ReadOnly) => Err(ZoneError::ReadOnly),
            (Write | Append, Self::Offline) => Err(ZoneError::Offline),
            (_, Self::ReadOnly | Self::Offline) => Err(ZoneError::InvalidTransition),
            (OpenZrwa, Self::Empty) => Ok(Self::ExplicitlyOpen),
            (FlushZrwa, Self::ImplicitlyOpen | Self::Closed) => Ok(Self::ImplicitlyOpen),
            (FlushZrwa, Self::ExplicitlyOpen) => Ok(Self::ExplicitlyOpen),
            (OpenZrwa | FlushZrwa, _) => Err(ZoneError::InvalidOperation),
            (Open, Self::Full) | (Close, Self::Empty | Self::Full) => Err(ZoneError::InvalidTransition),
            (Open, _) => Ok(Self::ExplicitlyOpen),
            (Close, _) => Ok(Self::Closed),
            (Finish, _) => Ok(Self::Full),
            (Reset, _) => Ok(Self::Empty),
        }
    }

    /// True if the zone counts towards the limit of open zones.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// True if the zone counts towards the limit of active zones: it is open or closed.
    #[must_use]
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, Self::Closed)
    }

    /// The name in the standard, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ImplicitlyOpen => "implicitly open",
            Self::ExplicitlyOpen => "explicitly open",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::ReadOnly => "read only",
            Self::Offline => "offline",
        }
    }
}

impl ZoneAction {
    /// All actions, for checks of the whole table.
    pub const ALL: [Self; 8] = [
        Self::Open,
        Self::Close,
        Self::Finish,
        Self::Reset,
        Self::Write,
        Self::Append,
        Self::OpenZrwa,
        Self::FlushZrwa,
    ];

    /// The action's name for messages, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Finish => "finish",
            Self::Reset => "reset",
            Self::Write => "write",
            Self::Append => "append",
            Self::OpenZrwa => "open with ZRWA",
            Self::FlushZrwa => "flush ZRWA",
        }
    }
}

impl ZoneError {
    /// All statuses, for checks of their codes.
    pub const ALL: [Self; 11] = [
        Self::InvalidField,
        Self::Boundary,
        Self::Full,
        Self::ReadOnly,
        Self::Offline,
        Self::InvalidWrite,
        Self::TooManyActive,
        Self::TooManyOpen,
        Self::InvalidTransition,
        Self::InvalidOperation,
        Self::ZrwaUnavailable,
    ];

    /// The status code of the standard. All but [`ZoneError::InvalidField`] are command-specific (status type 1).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::InvalidField => 0x02,
            Self::Boundary => 0xB8,
            Self::Full => 0xB9,
            Self::ReadOnly => 0xBA,
            Self::Offline => 0xBB,
            Self::InvalidWrite => 0xBC,
            Self::TooManyActive => 0xBD,
            Self::TooManyOpen => 0xBE,
            Self::InvalidTransition => 0xBF,
            Self::InvalidOperation => 0xB6,
            Self::ZrwaUnavailable => 0xB7,
        }
    }

    /// The name of the status in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidField => "Invalid Field in Command",
            Self::Boundary => "Zone Boundary Error",
            Self::Full => "Zone Is Full",
            Self::ReadOnly => "Zone Is Read Only",
            Self::Offline => "Zone Is Offline",
            Self::InvalidWrite => "Zone Invalid Write",
            Self::TooManyActive => "Too Many Active Zones",
            Self::TooManyOpen => "Too Many Open Zones",
            Self::InvalidTransition => "Invalid Zone State Transition",
            Self::InvalidOperation => "Invalid Zone Operation Request",
            Self::ZrwaUnavailable => "ZRWA Resources Unavailable",
        }
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard's rules, a row for each state and a column for each action: open, close, finish, reset, write, append,
    /// open with a random write area, flush of such an area.
    const RULES: [(ZoneState, [Result<ZoneState, ZoneError>; 8]); 7] = {
        const OPEN: Result<ZoneState, ZoneError> = Ok(ZoneState::ExplicitlyOpen);
        const WRITTEN: Result<ZoneState, ZoneError> = Ok(ZoneState::ImplicitlyOpen);
        const CLOSED: Result<ZoneState, ZoneError> = Ok(ZoneState::Closed);
        const FULL: Result<ZoneState, ZoneError> = Ok(ZoneState::Full);
        const EMPTY: Result<ZoneState, ZoneError> = Ok(ZoneState::Empty);
        const NO: Result<ZoneState, ZoneError> = Err(ZoneError::InvalidTransition);
        const OP: Result<ZoneState, ZoneError> = Err(ZoneError::InvalidOperation);
        [
            (ZoneState::Empty, [OPEN, NO, FULL, EMPTY, WRITTEN, WRITTEN, OPEN, OP]),
            (ZoneState::ImplicitlyOpen, [OPEN, CLOSED, FULL, EMPTY, WRITTEN, WRITTEN, OP, WRITTEN]),
            (ZoneState::ExplicitlyOpen, [OPEN, CLOSED, FULL, EMPTY, OPEN, OPEN, OP, OPEN]),
            (ZoneState::Closed, [OPEN, CLOSED, FULL, EMPTY, WRITTEN, WRITTEN, OP, WRITTEN]),
            (ZoneState::Full, [NO, NO, FULL, EMPTY, Err(ZoneError::Full), Err(ZoneError::Full), OP, OP]),
            (ZoneState::ReadOnly, [NO, NO, NO, NO, Err(ZoneError::ReadOnly), Err(ZoneError::ReadOnly), NO, NO]),
            (ZoneState::Offline, [NO, NO, NO, NO, Err(ZoneError::Offline), Err(ZoneError::Offline), NO, NO]),
        ]
    };

    #[test]
    fn every_cell_of_the_table_is_the_rule_of_the_standard() {
        assert_eq!(RULES.map(|(state, _)| state), ZoneState::ALL);
        for (state, row) in RULES {
            for (action, rule) in ZoneAction::ALL.into_iter().zip(row) {
                assert_eq!(state.after(action), rule, "{} of a zone that is {}", action.name(), state.name());
            }
        }
    }

    #[test]
    fn open_zones_are_active_and_closed_ones_are_active_only() {
        let open = ZoneState::ALL.into_iter().filter(|state| state.is_open());
        assert!(open.eq([ZoneState::ImplicitlyOpen, ZoneState::ExplicitlyOpen]));
        let active = ZoneState::ALL.into_iter().filter(|state| state.is_active());
        assert!(active.eq([ZoneState::ImplicitlyOpen, ZoneState::ExplicitlyOpen, ZoneState::Closed]));
    }

    #[test]
    fn a_write_behind_the_window_moves_the_pointer_by_whole_granules() {
        let zrwa = ZrwaShape { size: 8, granularity: 4, zones: 1 };
        for (end, wanted) in [(0, 16), (17, 16), (24, 16), (25, 20), (28, 20), (29, 24), (32, 24)] {
            assert_eq!(zrwa.pointer_after(16, end), wanted, "a write that ends at {end}");
        }
    }

    #[test]
    fn the_status_codes_are_those_of_the_standard() {
        let codes = ZoneError::ALL.map(ZoneError::code);
        assert_eq!(codes, [0x02, 0xB8, 0xB9, 0xBA, 0xBB, 0xBC, 0xBD, 0xBE, 0xBF, 0xB6, 0xB7]);
    }
}
