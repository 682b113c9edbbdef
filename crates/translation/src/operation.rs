//! A request of the user, or a step of the translation's own work, and its requests to the drive.

use base::io::Io;
use base::units::Time;
use ssd::{Completion, LayerStep, QueueId, Request, Tag};

use crate::log::UnitMetadata;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A read, write, discard or flush of the user.
    User,
    /// Copies adjacent units, from this place on.
    Copy { from: u32 },
    /// Writes the summary into the last units of a zone.
    Summary { zone: u32 },
    /// Makes the copies of a zone durable.
    Barrier { zone: u32 },
    /// Resets an emptied zone.
    Reset { zone: u32 },
    /// Reads the summary or the data of a zone for a mount.
    Mount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationPhase {
    /// Waits for earlier overlapping operations, or for a mount.
    Waiting,
    Reading,
    Writing,
}

/// A request to the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The zone that the request reads or writes.
    pub(crate) zone: u32,
    /// The first sector of the operation's data that the request reads or writes.
    pub(crate) at: usize,
    pub(crate) sectors: u64,
}

/// A request of the user, or a step of the translation's own work.
#[derive(Clone, Debug)]
pub(crate) struct Operation<S> {
    pub(crate) purpose: Purpose,
    /// The completion for the user. Its data are whole units, from the first sector of the first unit on; for a read,
    /// the sectors that were asked for.
    pub(crate) completion: Completion<S>,
    pub(crate) records: Vec<UnitMetadata>,
    pub(crate) phase: OperationPhase,
    /// The operation's requests to the drive, each with the time of its submission.
    pub(crate) pieces: Vec<(Time, Piece)>,
    /// The requests to the drive that the operation waited for; recorded only if an observer needs them.
    pub(crate) steps: Vec<LayerStep>,
    /// The number of requests that have not ended.
    pub(crate) under_way: u32,
    /// The number of units that wait for a zone.
    pub(crate) unplaced: u32,
    /// True if the operation has waited for a zone.
    pub(crate) has_stalled: bool,
}

impl<S> Operation<S> {
    /// Creates an operation that has not begun.
    pub(crate) fn new(purpose: Purpose, request: Request<S>, now: Time) -> Self {
        Self {
            purpose,
            completion: Completion::of(request, now),
            records: Vec::new(),
            phase: OperationPhase::Waiting,
            pieces: Vec::new(),
            steps: Vec::new(),
            under_way: 0,
            unplaced: 0,
            has_stalled: false,
        }
    }

    /// Creates an operation of the translation's own; `io` is the read of a mount.
    pub(crate) fn own(purpose: Purpose, io: Io, now: Time) -> Self {
        Self::new(purpose, Request { tag: Tag::MAX, queue: QueueId::default(), io, data: Vec::new() }, now)
    }

    pub(crate) const fn is_of_user(&self) -> bool {
        matches!(self.purpose, Purpose::User)
    }
}
