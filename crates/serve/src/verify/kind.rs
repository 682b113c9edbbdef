//! The kind of a request, without its content.

use crate::Operation;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Flush,
    Discard,
    Write { fua: bool },
    WriteZeroes { fua: bool },
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Flush,
        Self::Discard,
        Self::Write { fua: false },
        Self::Write { fua: true },
        Self::WriteZeroes { fua: false },
        Self::WriteZeroes { fua: true },
    ];

    pub(super) const fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Flush => Self::Flush,
            Operation::Discard => Self::Discard,
            Operation::Write { fua, .. } => Self::Write { fua: *fua },
            Operation::WriteZeroes { fua } => Self::WriteZeroes { fua: *fua },
            Operation::Append { .. } | Operation::ManageZone(_) | Operation::ManageZones(_) => {
                panic!("a drive with zones is not verified")
            }
        }
    }

    /// Its number in the log.
    pub(super) fn code(self) -> u64 {
        Self::ALL.iter().position(|of| *of == self).expect("all kinds are listed") as u64
    }

    pub(super) fn of_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}
