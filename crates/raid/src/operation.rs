//! A request of the host, or a step of the RAID's own work, and its requests to drives.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use base::engine::Handle;
use base::io::{Io, IoKind};
use base::units::Time;
use ssd::{Completion, LayerNotes, LayerStep, QueueId, Request, Tag};

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
    /// Makes what a rebuild has written durable.
    Flush,
    /// Frees records of the journal.
    Checkpoint,
    /// Writes to their places what the records of the journal say.
    Replay,
}

/// The step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Earlier operations that overlap go first.
    Waiting,
    Reading,
    /// The journal takes a record, or there is no room for it yet.
    Journaling,
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
    /// What the host will be told; its data are those that a write of the host brings, or that a read returns.
    pub(crate) completion: Completion<S>,
    /// Writes that had ended when it began.
    pub(crate) writes_before: u64,
    pub(crate) phase: Phase,
    /// When the phase began.
    pub(crate) phase_from: Time,
    /// What it waited for, if somebody asks for it.
    pub(crate) steps: Vec<LayerStep>,
    /// The bands of stripes, each with the way to its parity.
    pub(crate) bands: Vec<(Band, Update)>,
    /// What is to be written, one record of the journal after the other.
    pub(crate) rounds: VecDeque<Vec<(Range, Vec<S>)>>,
    /// The drives are taking what its record says.
    pub(crate) has_record: bool,
    pub(crate) pieces: Vec<Piece<S>>,
    pub(crate) under_way: u32,
    /// Reads of several bands in one request that drives could not carry out.
    pub(crate) damaged: Vec<Range>,
    /// Every band is read with a request of its own, because of damage.
    pub(crate) reads_apart: bool,
    /// What drives could not read.
    pub(crate) unreadable: Vec<Range>,
    /// The stripes of the RAID's own work.
    pub(crate) stripes: std::ops::Range<u64>,
    /// Rows of which too little is there.
    pub(crate) lost: Vec<u64>,
    /// A place was lost while the operation read: it is planned again.
    pub(crate) starts_over: bool,
}

impl<S> Operation<S> {
    /// An operation that has not begun.
    pub(crate) fn new(purpose: Purpose, request: Request<S>, now: Time) -> Self {
        Self {
            purpose,
            completion: Completion::of(request, now),
            writes_before: 0,
            phase: Phase::Waiting,
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

    /// The RAID's own work on stripes.
    pub(crate) fn own(purpose: Purpose, stripes: std::ops::Range<u64>, now: Time) -> Self {
        let request = Request { tag: Tag::MAX, queue: QueueId::default(), io: Io::FLUSH, data: Vec::new() };
        Self { stripes, ..Self::new(purpose, request, now) }
    }

    pub(crate) const fn is_of_host(&self) -> bool {
        matches!(self.purpose, Purpose::Host)
    }

    /// True if it changes what is on the drives.
    pub(crate) const fn changes_data(&self) -> bool {
        match self.purpose {
            Purpose::Host => matches!(self.completion.io.kind, IoKind::Write | IoKind::Discard),
            Purpose::Rebuild { .. } | Purpose::Repair => true,
            Purpose::Flush | Purpose::Checkpoint | Purpose::Replay => false,
        }
    }

    /// True if it changes what the host has on the drives.
    pub(crate) const fn is_change_of_host(&self) -> bool {
        self.is_of_host() && self.changes_data()
    }

    /// True if it makes durable what has been written.
    pub(crate) const fn is_flush(&self) -> bool {
        matches!((self.purpose, self.completion.io.kind), (Purpose::Flush, _) | (Purpose::Host, IoKind::Flush))
    }

    /// Notes that the phase under way has ended with a request to a drive.
    pub(crate) fn note_step(&mut self, notes: &LayerNotes, drive: u32, tag: Tag, until: Time) {
        let is_journal = self.phase == Phase::Journaling;
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

/// The operation to which a request to a drive belongs; none for a flush of the journal.
pub(crate) fn operation_of<S>(completion: &Completion<S>) -> Option<Handle<Operation<S>>> {
    NonZeroU32::new((completion.tag >> u32::BITS) as u32).map(Handle::from_number)
}
