//! The jobs of clients that a drive works on.

use std::ops::Range;

use base::io::IoKind;
use base::units::{Lba, Sectors, Time};
use ssd::{Status, Tag, ZoneAction};
use verify::{ClientCommand, Ticket};

use crate::{Job, JobFailure, JobResult, Operation, ResultCallback};

/// Bits of a tag that name the place of its job; the others number the requests of the drive.
const PLACE: u32 = 24;

/// A job under way.
pub(super) struct OpenJob {
    pub(super) job: Job,
    pub(super) arrival: Time,
    pub(super) number: u64,
    /// Requests of the drive that have not completed.
    pub(super) requests: u32,
    /// The sectors of a write of zeros that no request covers yet.
    pub(super) rest: Extent,
    /// True once the flush behind the write is submitted.
    pub(super) is_flushing: bool,
    /// True if the next request of the job is submitted as soon as one may be.
    pub(super) is_next: bool,
    /// For a flush: the number of answered writes that it makes durable.
    pub(super) covers: u64,
    pub(super) failed: Option<JobFailure>,
    /// The bytes of a read.
    pub(super) data: Vec<u8>,
    /// The first sector that an append wrote.
    pub(super) address: Option<Lba>,
    /// The verifier's name of the job.
    pub(super) ticket: Ticket,
    /// The verifier's names of the actions on each zone, of an action on all zones.
    pub(super) zone_tickets: Vec<(Lba, Ticket)>,
}

/// Sectors from `start` to `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Extent {
    pub(super) const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Takes at most `most` sectors from the front.
    pub(super) fn take(&mut self, most: u64) -> Self {
        let end = self.end.min(self.start + most);
        let taken = Self { start: self.start, end };
        self.start = end;
        taken
    }

    /// The multiples of `granularity` inside.
    pub(super) const fn inward(self, granularity: u64) -> Self {
        Self { start: self.start.next_multiple_of(granularity), end: self.end / granularity * granularity }
    }

    pub(super) const fn lba(self) -> Lba {
        Lba::new(self.start)
    }

    pub(super) const fn sectors(self) -> Sectors {
        Sectors::new(self.end - self.start)
    }
}

impl OpenJob {
    /// True if the operation asks that its data be durable at the answer.
    pub(super) const fn is_fua(&self) -> bool {
        self.job.operation.is_fua()
    }

    /// The sectors of the job; for a completed append, the sectors at which the drive wrote.
    pub(super) fn range(&self) -> Range<u64> {
        let address = self.address.filter(|_| self.failed.is_none());
        let start = address.unwrap_or(self.job.start).get();
        start..start + self.job.sectors.get()
    }

    /// The verifier's name of the action on `zone`, of an action on all zones.
    pub(super) fn ticket_of(&self, zone: Lba) -> Ticket {
        let mut of = self.zone_tickets.iter().filter(|(start, _)| *start == zone);
        of.next().expect("it was noted as the request began").1
    }

    /// True if the verifier knows the job as one request. An action on all zones counts as one request per zone, and the update of
    /// a handle changes no content.
    pub(super) const fn is_verified(&self) -> bool {
        !matches!(self.job.operation, Operation::ManageZones(_) | Operation::UpdateHandles(_))
    }

    /// The job as the verifier knows it.
    pub(super) fn command(&self) -> ClientCommand {
        match self.job.operation {
            Operation::Read => ClientCommand::Read,
            Operation::Flush => ClientCommand::Flush,
            Operation::Discard => ClientCommand::Discard,
            Operation::Write { fua, .. } => ClientCommand::Write { fua },
            Operation::WriteZeroes { fua } => ClientCommand::WriteZeroes { fua },
            Operation::Append { fua, .. } => ClientCommand::Append { fua },
            Operation::ManageZone(action) => ClientCommand::Zone(action),
            Operation::ManageZones(_) | Operation::UpdateHandles(_) => unreachable!("`is_verified` leaves it out"),
        }
    }

    /// The result of the job for the verifier. The job was finished, so not a power cut but the drive has failed it.
    pub(super) fn result(&self) -> Result<&[u8], Status> {
        match self.failed {
            None => Ok(&self.data),
            Some(JobFailure::Drive(status)) => Err(status),
            Some(JobFailure::NoPower) => unreachable!("a power cut takes the job away"),
        }
    }

    pub(super) const fn wants_zeros(&self) -> bool {
        self.failed.is_none() && !self.rest.is_empty()
    }

    pub(super) const fn wants_flush(&self) -> bool {
        self.failed.is_none() && self.requests == 0 && self.rest.is_empty() && self.is_fua() && !self.is_flushing
    }

    /// True if a zone has changed its state since an action on all zones began, so that the action does not concern the zone any
    /// more.
    pub(super) const fn is_overtaken(&self, failed: JobFailure) -> bool {
        matches!(
            (&self.job.operation, failed),
            (Operation::ManageZones(_), JobFailure::Drive(ssd::Status::InvalidZoneTransition))
        )
    }

    pub(super) fn into_answer(self) -> (ResultCallback, Result<JobResult, JobFailure>) {
        let returned = JobResult { data: self.data, address: self.address };
        (self.job.answer, self.failed.map_or(Ok(returned), Err))
    }
}

/// All jobs under way, each at its place.
#[derive(Default)]
pub(super) struct Jobs {
    places: Vec<Option<OpenJob>>,
    free: Vec<u32>,
    jobs: u64,
}

impl Jobs {
    pub(super) fn insert(&mut self, job: Job, arrival: Time) -> u32 {
        let number = self.jobs;
        self.jobs += 1;
        let open = OpenJob {
            job,
            arrival,
            number,
            requests: 0,
            rest: Extent::default(),
            is_flushing: false,
            is_next: false,
            covers: 0,
            failed: None,
            data: Vec::new(),
            address: None,
            ticket: Ticket::default(),
            zone_tickets: Vec::new(),
        };
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(open);
            return place;
        }
        let place = self.places.len() as u32;
        assert!(place >> PLACE == 0, "more than {} jobs under way", 1 << PLACE);
        self.places.push(Some(open));
        place
    }

    pub(super) fn at(&mut self, place: u32) -> &mut OpenJob {
        self.places[place as usize].as_mut().expect("a job under way")
    }

    pub(super) fn remove(&mut self, place: u32) -> OpenJob {
        self.free.push(place);
        self.places[place as usize].take().expect("a job under way")
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Takes all jobs, in the order of their arrival.
    pub(super) fn drain(&mut self) -> Vec<OpenJob> {
        let mut all: Vec<_> = self.places.drain(..).flatten().collect();
        self.free.clear();
        all.sort_by_key(|open| open.number);
        all
    }
}

/// The kind of a request for an action.
///
/// # Panics
/// If the action is a write, which has operations of its own.
pub(super) fn kind_of(action: ZoneAction) -> IoKind {
    match action {
        ZoneAction::Open => IoKind::ZoneOpen,
        ZoneAction::Close => IoKind::ZoneClose,
        ZoneAction::Finish => IoKind::ZoneFinish,
        ZoneAction::Reset => IoKind::ZoneReset,
        ZoneAction::OpenZrwa => IoKind::ZoneOpenZrwa,
        ZoneAction::FlushZrwa => IoKind::ZrwaFlush,
        ZoneAction::Write | ZoneAction::Append => panic!("a write manages no zone"),
    }
}

/// The tag of the drive's `number`th request, which belongs to the job at `place`.
pub(super) const fn tag(number: u64, place: u32) -> Tag {
    number << PLACE | place as u64
}

/// The number of the request and the place of its job.
pub(super) const fn untag(tag: Tag) -> (u64, u32) {
    (tag >> PLACE, (tag & ((1 << PLACE) - 1)) as u32)
}
