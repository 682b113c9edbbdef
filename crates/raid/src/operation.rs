//! A request of the host, or a step of the RAID's own work, and its requests to drives.

use base::engine::{Handle, Interval};
use base::io::{Io, IoKind};
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ssd::{Completion, QueueId, Status, Tag};

use crate::layout::Band;
use crate::plan::{Range, Update};

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request of the host.
    Host,
    /// Writes what the drives of other places say to the spare that stands at a place.
    Rebuild { place: u32, spare: u32 },
    /// Makes parity, or the copies behind the first, anew.
    Repair,
}

/// The step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Earlier operations that overlap go first.
    Waiting,
    Reading,
    Writing,
}

/// A request to the drive of a place.
#[derive(Clone, Debug)]
pub(crate) struct Piece<S> {
    pub(crate) range: Range,
    /// True if a read has succeeded.
    pub(crate) has_read: bool,
    /// The data that the read returned; none if sectors have no content.
    pub(crate) data: Vec<S>,
    /// The drive, while the request is under way.
    pub(crate) drive: Option<u32>,
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
    /// The data that a write of the host brings, or that a read returns.
    pub(crate) data: Vec<S>,
    /// What others must wait for.
    pub(crate) interval: Interval,
    /// Where it stands among the active ones.
    pub(crate) position: usize,
    /// Writes of the host that had ended when it began.
    pub(crate) writes_before: u64,
    /// Operations that go first.
    pub(crate) blockers: u32,
    /// Operations that wait for this one.
    pub(crate) waiters: Vec<Handle<Self>>,
    pub(crate) phase: Phase,
    /// The bands of stripes, each with the way to its parity.
    pub(crate) bands: Vec<(Band, Update)>,
    pub(crate) pieces: Vec<Piece<S>>,
    pub(crate) under_way: u32,
    /// A drive could not read: reads are no longer joined over several bands, so that what is unreadable is known exactly.
    pub(crate) reads_apart: bool,
    /// What drives could not read.
    pub(crate) unreadable: Vec<Range>,
    /// The stripes of the RAID's own work.
    pub(crate) stripes: std::ops::Range<u64>,
    /// Rows of which too little is there.
    pub(crate) lost: Vec<u64>,
    /// A place was lost while the operation read: it is planned again.
    pub(crate) starts_over: bool,
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
            interval: Interval { first: 0, end: 0, changes: false },
            position: 0,
            writes_before: 0,
            blockers: 0,
            waiters: Vec::new(),
            phase: Phase::Waiting,
            bands: Vec::new(),
            pieces: Vec::new(),
            under_way: 0,
            reads_apart: false,
            unreadable: Vec::new(),
            stripes: 0..0,
            lost: Vec::new(),
            starts_over: false,
            status: Status::Done,
            commands: 0,
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::default(),
        }
    }

    pub(crate) const fn is_of_host(&self) -> bool {
        matches!(self.purpose, Purpose::Host)
    }

    /// The operation in a free place of the slab.
    pub(crate) fn none() -> Self {
        Self::new(Purpose::Host, (0, QueueId::default(), Io::FLUSH), Time::ZERO, Vec::new())
    }

    /// True if the host changes data by it.
    pub(crate) const fn changes_data(&self) -> bool {
        self.is_of_host() && matches!(self.io.kind, IoKind::Write | IoKind::Discard)
    }

    /// What the host is told.
    pub(crate) fn into_completion(self, status: Status, end: Time) -> Completion<S> {
        let has_data = self.io.kind == IoKind::Read && status == Status::Done;
        Completion {
            tag: self.tag,
            queue: self.queue,
            io: self.io,
            status,
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

    /// Takes over what a request to a drive cost.
    pub(crate) fn add_costs<T>(&mut self, completion: &Completion<T>) {
        self.commands += completion.commands;
        self.flash_wait = self.flash_wait.max(completion.flash_wait);
        self.start_wait = self.start_wait.max(completion.start_wait);
        self.waited_for.extend(completion.waited_for);
    }

    /// The request that has read these sectors; `None` if none has.
    fn read(&self, place: u32, from: u64, count: u64) -> Option<&Piece<S>> {
        let covers = |piece: &&Piece<S>| {
            let Range { place: at, from: first, to } = piece.range;
            piece.has_read && at == place && first <= from && from + count <= to
        };
        self.pieces.iter().find(covers)
    }

    /// True if these sectors were read.
    pub(crate) fn has_read(&self, place: u32, from: u64, count: u64) -> bool {
        self.read(place, from, count).is_some()
    }

    /// The sectors that were read from a place, from `from` on; `None` if they were not.
    ///
    /// # Panics
    /// If sectors have no content.
    pub(crate) fn read_from(&self, place: u32, from: u64, count: u64) -> Option<&[S]> {
        let piece = self.read(place, from, count)?;
        let skipped = (from - piece.range.from) as usize;
        Some(&piece.data[skipped..skipped + count as usize])
    }
}
