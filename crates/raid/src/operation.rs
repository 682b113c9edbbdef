//! A request of the host, or a step of the RAID's own work, and its requests to drives.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use base::engine::Handle;
use base::io::{Io, IoKind};
use base::units::Time;
use ssd::{Completion, LayerNotes, LayerStep, QueueId, Request, Tag};

use crate::layout::Band;
use crate::plan::{Range, Update};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A read, write, discard or flush of the host.
    Host,
    /// Writes the recovered data of other places to the spare that stands at a place.
    Rebuild { place: u32, spare: u32 },
    /// Computes parity, or the copies after the first, and writes them.
    Repair,
    /// Makes the writes of a rebuild durable.
    Flush,
    /// Frees records of the journal.
    Checkpoint,
    /// Writes the content of the journal's records to their places.
    Replay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationPhase {
    /// Waits for earlier overlapping operations.
    Waiting,
    Reading,
    /// Waits until the journal has taken a record, or has room for it.
    Journaling,
    Writing,
}

/// A request to the drive of a place.
#[derive(Clone, Debug)]
pub(crate) struct Piece<S> {
    pub(crate) range: Range,
    /// True if a read has succeeded.
    pub(crate) has_read: bool,
    /// The data that the read returned; empty if sectors have no content.
    pub(crate) data: Vec<S>,
    /// The drive, while the request is under way.
    pub(crate) drive: Option<u32>,
}

/// A request of the host, or a step of the RAID's own work.
#[derive(Clone, Debug)]
pub(crate) struct Operation<S> {
    pub(crate) purpose: Purpose,
    /// The completion for the host. Its data are the data of a write of the host, or the data that a read returns.
    pub(crate) completion: Completion<S>,
    /// The number of writes that had ended when the operation began.
    pub(crate) writes_before: u64,
    pub(crate) phase: OperationPhase,
    pub(crate) phase_from: Time,
    /// The requests to drives that the operation waited for; recorded only if an observer needs them.
    pub(crate) steps: Vec<LayerStep>,
    /// The bands of stripes, each with the way in which its parity is updated.
    pub(crate) bands: Vec<(Band, Update)>,
    /// The writes to do, divided into records of the journal.
    pub(crate) rounds: VecDeque<Vec<(Range, Vec<S>)>>,
    /// True while the drives write the content of the operation's record.
    pub(crate) has_record: bool,
    pub(crate) pieces: Vec<Piece<S>>,
    pub(crate) under_way: u32,
    /// Ranges of several bands that drives could not read with one request.
    pub(crate) damaged: Vec<Range>,
    /// True if every band is read with a request of its own, because of damage.
    pub(crate) reads_apart: bool,
    /// Ranges that drives could not read.
    pub(crate) unreadable: Vec<Range>,
    /// The stripes of the RAID's own work.
    pub(crate) stripes: std::ops::Range<u64>,
    /// Rows of which too many chunks are missing.
    pub(crate) lost: Vec<u64>,
    /// True if a place was lost while the operation read, so that it must be planned again.
    pub(crate) starts_over: bool,
}

impl<S> Operation<S> {
    /// Creates an operation that has not begun.
    pub(crate) fn new(purpose: Purpose, request: Request<S>, now: Time) -> Self {
        Self {
            purpose,
            completion: Completion::of(request, now),
            writes_before: 0,
            phase: OperationPhase::Waiting,
            phase_from: now,
            steps: Vec::new(),
            bands: Vec::new(),
            rounds: VecDeque::new(),
            has_record: false,
            pieces: Vec::new(),
            under_way: 0,
            damaged: Vec::new(),
            reads_apart: false,
            unreadable: Vec::new(),
            stripes: 0..0,
            lost: Vec::new(),
            starts_over: false,
        }
    }

    /// Creates an operation of the RAID's own on stripes.
    pub(crate) fn own(purpose: Purpose, stripes: std::ops::Range<u64>, now: Time) -> Self {
        let request = Request { tag: Tag::MAX, queue: QueueId::default(), io: Io::FLUSH, data: Vec::new() };
        Self { stripes, ..Self::new(purpose, request, now) }
    }

    pub(crate) const fn is_of_host(&self) -> bool {
        matches!(self.purpose, Purpose::Host)
    }

    /// True if the operation changes data on the drives.
    pub(crate) const fn changes_data(&self) -> bool {
        match self.purpose {
            Purpose::Host => matches!(self.completion.io.kind, IoKind::Write | IoKind::Discard),
            Purpose::Rebuild { .. } | Purpose::Repair => true,
            Purpose::Flush | Purpose::Checkpoint | Purpose::Replay => false,
        }
    }

    /// True if the operation changes data of the host.
    pub(crate) const fn is_change_of_host(&self) -> bool {
        self.is_of_host() && self.changes_data()
    }

    /// True if the operation makes earlier writes durable.
    pub(crate) const fn is_flush(&self) -> bool {
        matches!((self.purpose, self.completion.io.kind), (Purpose::Flush, _) | (Purpose::Host, IoKind::Flush))
    }

    /// Notes that the present phase has ended with a request to a drive.
    pub(crate) fn note_step(&mut self, notes: &LayerNotes, drive: u32, tag: Tag, until: Time) {
        let is_journal = self.phase == OperationPhase::Journaling;
        notes.step(&mut self.steps, LayerStep { from: self.phase_from, until, drive, tag, is_journal });
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

    /// The sectors that were read from a place, from `from` on; `None` if they were not read.
    ///
    /// # Panics
    ///
    /// If sectors have no content.
    pub(crate) fn read_from(&self, place: u32, from: u64, count: u64) -> Option<&[S]> {
        let piece = self.read(place, from, count)?;
        let skipped = (from - piece.range.from) as usize;
        Some(&piece.data[skipped..skipped + count as usize])
    }
}

/// The operation to which a request to a drive belongs; `None` for a flush of the journal.
pub(crate) fn operation_of<S>(completion: &Completion<S>) -> Option<Handle<Operation<S>>> {
    NonZeroU32::new((completion.tag >> u32::BITS) as u32).map(Handle::from_number)
}
