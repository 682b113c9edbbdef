//! A request of the user, or a step of the translation's own work, and its requests to the drive.

use base::engine::{Handle, Interval};
use base::io::{Io, IoKind};
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ssd::{Completion, QueueId, Status, Tag};

use crate::log::Record;

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request of the user.
    User,
    /// Copies units that lie one behind the other from this place on.
    Copy { from: u32 },
    /// Writes the summary of a zone.
    Summary { zone: u32 },
    /// Makes the copies of a zone durable.
    Barrier { zone: u32 },
    /// Resets a zone.
    Reset { zone: u32 },
    /// Reads what a mount needs of a zone.
    Mount,
}

/// The step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Earlier operations that overlap go first, or a mount.
    Waiting,
    Reading,
    Writing,
}

/// A request to the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The zone that it reads or writes.
    pub(crate) zone: u32,
    /// The first sector of the operation's data that it carries.
    pub(crate) at: usize,
    pub(crate) sectors: u64,
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation<S> {
    pub(crate) purpose: Purpose,
    pub(crate) tag: Tag,
    pub(crate) queue: QueueId,
    pub(crate) io: Io,
    pub(crate) arrival: Time,
    pub(crate) start: Time,
    /// Whole units, from the first sector of the first unit on; of a read, the sectors that were asked for.
    pub(crate) data: Vec<S>,
    /// The units that it writes.
    pub(crate) records: Vec<Record>,
    /// What others must wait for.
    pub(crate) interval: Interval,
    /// Where it stands among the active ones.
    pub(crate) position: usize,
    /// Operations that go first.
    pub(crate) blockers: u32,
    /// Operations that wait for this one.
    pub(crate) waiters: Vec<Handle<Self>>,
    pub(crate) phase: Phase,
    pub(crate) pieces: Vec<Piece>,
    /// Pieces that have not ended.
    pub(crate) under_way: u32,
    /// Units that wait for a zone.
    pub(crate) unplaced: u32,
    /// It has waited for a zone.
    pub(crate) has_stalled: bool,
    pub(crate) status: Status,
    pub(crate) commands: u32,
    pub(crate) flash_wait: Span,
    pub(crate) start_wait: Span,
    pub(crate) waited_for: CauseSet,
}

impl<S> Operation<S> {
    /// An operation that has not begun.
    pub(crate) fn new(purpose: Purpose, (tag, queue, io): (Tag, QueueId, Io), arrival: Time, data: Vec<S>) -> Self {
        Self {
            purpose,
            tag,
            queue,
            io,
            arrival,
            start: arrival,
            data,
            records: Vec::new(),
            interval: Interval { first: 0, end: 0, changes: false },
            position: 0,
            blockers: 0,
            waiters: Vec::new(),
            phase: Phase::Waiting,
            pieces: Vec::new(),
            under_way: 0,
            unplaced: 0,
            has_stalled: false,
            status: Status::Done,
            commands: 0,
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::default(),
        }
    }

    /// The translation's own work.
    pub(crate) fn own(purpose: Purpose, now: Time) -> Self {
        Self::new(purpose, (Tag::MAX, QueueId::default(), Io::FLUSH), now, Vec::new())
    }

    pub(crate) const fn is_of_user(&self) -> bool {
        matches!(self.purpose, Purpose::User)
    }

    /// What the user is told.
    pub(crate) fn into_completion(self, end: Time) -> Completion<S> {
        let has_data = self.io.kind == IoKind::Read && matches!(self.status, Status::Done);
        Completion {
            tag: self.tag,
            queue: self.queue,
            io: self.io,
            status: self.status,
            arrival: self.arrival,
            start: self.start,
            end,
            commands: self.commands,
            flash_wait: self.flash_wait,
            start_wait: self.start_wait,
            waited_for: self.waited_for,
            data: if has_data { self.data } else { Vec::new() },
        }
    }

    /// Takes over what a request to the drive cost.
    pub(crate) fn add_costs<T>(&mut self, completion: &Completion<T>) {
        self.commands += completion.commands;
        self.flash_wait = self.flash_wait.max(completion.flash_wait);
        self.start_wait = self.start_wait.max(completion.start_wait);
        self.waited_for.extend(completion.waited_for);
    }
}
