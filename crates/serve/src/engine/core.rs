//! The drive and the jobs on it, without a clock, a thread or a socket.
//!
//! The caller passes the simulated time in. [`Core::submit`] takes a job, [`Core::next_event`] says when to call again, and
//! [`Core::advance`] returns the answers that are due. So tests run it with a clock of their own.
//!
//! * A job arrives when it was submitted ([`inbox`](super::inbox) notes the time), not when the thread of the drive takes it.
//! * Simulated time begins with the first job, because a replay of the recording begins there.
//! * A recording replays rows of one time without an event between them. A request that would come at the time of an earlier one, after the
//!   drive has handled an event, therefore comes a picosecond later.
//! * Requests that follow a completion, such as the flush behind a write with forced unit access, are requests of the recording.
//! * An allocation query is no request: [`ServedDrive::may_hold`] looks into the buffer and the map at the drive's present time.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use base::io::{Io, IoKind};
use base::units::{Sectors, Span, Time};
use flash::nand::Bytes512;
use ssd::{Completion, Request};
use verify::{ClientCommand, Promise, Verifier, Violation};

use super::jobs::{Extent, Jobs, kind_of, tag, untag};
use super::pace::END;
use super::served::ServedDrive;
use super::tally::Tally;
use crate::record::RequestCollector;
use crate::{Allocation, AllocationQuery, Job, JobFailure, JobResult, Operation, ResultCallback, ZoneQuery};

/// The sectors of a request that writes zeros: a client may ask for gigabytes of them without sending any.
const ZEROS: u64 = 1024;
/// The most requests with zeros of one job that are outstanding at a time.
const ZEROS_AT_ONCE: u32 = 4;

/// The fate of requests that the drive has not answered when its power goes, and of those that come before it is back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CutPolicy {
    /// Requests without an answer fail.
    #[default]
    End,
    /// The requests wait, and begin anew when the power is back.
    Hold,
}

/// A job with its result, whose answer is due at a simulated time.
pub struct AnsweredJob {
    /// The simulated time of the answer.
    pub due: Time,
    /// The simulated time that the job took.
    pub latency: Span,
    /// Takes the result of the job.
    pub answer: ResultCallback,
    /// The data of a read or the report of a query; an error if the drive or its files refused the job.
    pub result: Result<JobResult, JobFailure>,
    /// True if the answer promises durability: of a flush, or of a write with forced unit access.
    pub is_promise: bool,
}

impl AnsweredJob {
    pub(super) const fn failed(due: Time, latency: Span, answer: ResultCallback, failed: JobFailure) -> Self {
        Self { due, latency, answer, result: Err(failed), is_promise: false }
    }

    /// Passes the result to the job's owner.
    pub fn give(self) {
        (self.answer)(self.result);
    }
}

/// A drive that takes jobs, with the simulated time passed in by the caller.
pub struct Core {
    pub(super) drive: Box<dyn ServedDrive>,
    capacity: Sectors,
    granularity: Sectors,
    /// Discards are durable, and read as zeros.
    zeros_by_discard: bool,
    /// Acknowledged writes are lost with the power unless they were flushed.
    pub(super) is_volatile: bool,
    pub(super) on_cut: CutPolicy,
    pub(super) is_on: bool,
    pub(super) jobs: Jobs,
    /// Jobs that wait for the power.
    pub(super) held: Vec<Job>,
    /// Allocation queries that wait for the power.
    pub(super) asked: Vec<AllocationQuery>,
    /// Zone queries that wait for the power.
    pub(super) asked_zones: Vec<ZoneQuery>,
    /// Jobs whose next request follows a completion: the rest of a write of zeros, or the flush behind a write.
    pub(super) next: VecDeque<u32>,
    /// Answers of an orderly power-off, which are not due yet.
    pub(super) later: VecDeque<AnsweredJob>,
    done: Vec<Completion<Bytes512>>,
    /// Requests submitted to the drive.
    requests: u64,
    /// The time of the latest submitted request, and the steps that the drive had taken at the submission.
    submitted: (Time, u64),
    /// The time of the latest completion, and the steps that the drive had taken when it first reported a completion of that time.
    reported: (Time, u64),
    /// The number of writes answered, and of those known to be durable.
    pub(super) written: u64,
    pub(super) durable: u64,
    /// True if a cut lost writes without a failure to their clients. Every flush then fails until the power is switched off in
    /// order.
    pub(super) lost_writes: bool,
    pub(super) tally: Tally,
    pub(super) record: Option<RequestCollector>,
    pub(super) verifier: Option<Box<Verifier>>,
}

impl Core {
    /// A core for a drive that is switched on.
    #[must_use]
    pub fn new(drive: Box<dyn ServedDrive>, on_cut: CutPolicy) -> Self {
        Self {
            capacity: drive.capacity(),
            granularity: drive.discard_granularity(),
            zeros_by_discard: drive.discards_durably() && drive.description().zones.is_none(),
            is_volatile: drive.drives().iter().any(|drive| drive.resolved().buffer.is_some()),
            on_cut,
            is_on: true,
            jobs: Jobs::default(),
            held: Vec::new(),
            asked: Vec::new(),
            asked_zones: Vec::new(),
            next: VecDeque::new(),
            later: VecDeque::new(),
            done: Vec::new(),
            requests: 0,
            submitted: (Time::ZERO, 0),
            reported: (Time::ZERO, 0),
            written: 0,
            durable: 0,
            lost_writes: false,
            tally: Tally::new(drive.counters()),
            record: None,
            verifier: None,
            drive,
        }
    }

    /// Records every request of the drive from now on.
    pub fn record(&mut self, record: RequestCollector) {
        self.record = Some(record);
    }

    /// Verifies the content of every read from now on. Called before the first job. `is_known`: all sectors read as zeros.
    pub fn verify(&mut self, is_known: bool) {
        let (discards_durably, granularity) = (self.zeros_by_discard, self.granularity);
        let zones = self.zone_sectors();
        let promise = Promise { is_volatile: self.is_volatile, discards_durably, granularity, zones };
        self.verifier = Some(Box::new(Verifier::new(promise, is_known)));
    }

    /// Keeps the verifier's state in the directory of the drive's flash, where the next process finds it. If the flash `is_used`,
    /// the verifier continues with the state of an earlier process; returns false if there is no valid state.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn keep_verification(&mut self, dir: &Path, is_used: bool) -> io::Result<bool> {
        let capacity = self.capacity;
        let is_known = self.verifier.as_mut().map_or(Ok(true), |verifier| verifier.keep_in(dir, is_used, capacity));
        self.check_pointers();
        is_known
    }

    /// The violations that were found since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        self.verifier.as_mut().map(|verifier| verifier.take_violations()).unwrap_or_default()
    }

    /// Sectors that a client can address.
    #[must_use]
    pub const fn capacity(&self) -> Sectors {
        self.capacity
    }

    /// The mapping unit in sectors.
    #[must_use]
    pub fn unit(&self) -> Sectors {
        self.drive.unit()
    }

    /// The drive, to read its counters and its description.
    #[must_use]
    pub fn drive(&self) -> &dyn ServedDrive {
        &*self.drive
    }

    /// The simulated time that the drive has reached.
    #[must_use]
    pub fn now(&self) -> Time {
        self.drive.now()
    }

    /// Jobs that have no answer yet.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.jobs.len() + self.held.len()
    }

    /// Takes a job at the simulated time `now`, or at the drive's own time if that is later. Answers that are due by then come
    /// first.
    ///
    /// # Panics
    /// If a write does not bring 512 bytes for each of its sectors, or if the drive has no such queue.
    pub fn submit(&mut self, now: Time, job: Job, answers: &mut Vec<AnsweredJob>) {
        assert!(job.queue.index() < self.drive.queues(), "the drive has no {}", job.queue);
        if let Some(data) = job.operation.data() {
            assert_eq!(data.len() as u64, job.sectors.bytes().get(), "a write brings the bytes of its sectors");
        }
        let end = job.start.get().checked_add(job.sectors.get());
        if end.is_none_or(|end| end > self.capacity.get()) {
            return self.refuse(now, job, JobFailure::Drive(ssd::Status::OutOfRange), answers);
        }
        if job.operation.is_of_zones() && self.drive.description().zones.is_none() {
            return self.refuse(now, job, JobFailure::Drive(ssd::Status::InvalidOpcode), answers);
        }
        if !self.is_on {
            match self.on_cut {
                CutPolicy::End => self.refuse(now, job, JobFailure::NoPower, answers),
                CutPolicy::Hold => self.held.push(job),
            }
            return;
        }
        if now >= END {
            return self.refuse(now, job, JobFailure::NoPower, answers);
        }
        let at = self.reach(now, answers);
        self.begin(at, job, answers);
    }

    /// Answers an allocation query at the present time of the drive, which does not advance: the query is no request of the drive,
    /// and no recording has it.
    pub fn allocation(&mut self, query: AllocationQuery) {
        let end = query.start.get().checked_add(query.sectors.get());
        if end.is_none_or(|end| end > self.capacity.get()) {
            return (query.answer)(Err(JobFailure::Drive(ssd::Status::OutOfRange)));
        }
        match (self.is_on, self.on_cut) {
            (true, _) => query.answer_by(self.unit(), |unit| match self.drive.may_hold(unit) {
                true => Allocation::Mapped,
                false => Allocation::Deallocated,
            }),
            (false, CutPolicy::End) => (query.answer)(Err(JobFailure::NoPower)),
            (false, CutPolicy::Hold) => self.asked.push(query),
        }
    }

    /// Begins a job at the present time of the drive.
    pub(super) fn begin(&mut self, at: Time, job: Job, answers: &mut Vec<AnsweredJob>) {
        let is_flush = job.operation == Operation::Flush;
        if is_flush && self.lost_writes {
            return self.refuse(at, job, JobFailure::NoPower, answers);
        }
        if job.sectors.is_zero() && !job.operation.is_bare() {
            self.tally.ended(&job, at, Span::ZERO, None);
            answers.push(AnsweredJob {
                due: at,
                latency: Span::ZERO,
                answer: job.answer,
                result: Ok(JobResult::default()),
                is_promise: false,
            });
            return;
        }
        let extent = Extent { start: job.start.get(), end: job.start.get() + job.sectors.get() };
        let place = self.jobs.insert(job, at);
        let (open, keeps) = (self.jobs.at(place), self.on_cut == CutPolicy::Hold);
        if let Some(verifier) = self.verifier.as_mut().filter(|_| open.is_verified()) {
            let data = open.job.operation.data().map_or(&[][..], Vec::as_slice);
            open.ticket = verifier.begin(at, open.command(), open.range(), data);
        }
        let whole = |kind| Io::new(kind, extent.lba(), extent.sectors());
        match &mut open.job.operation {
            &mut Operation::ManageZone(action) => self.request(place, whole(kind_of(action)), Vec::new()),
            &mut Operation::ManageZones(action) => self.manage_zones(place, action, answers),
            Operation::Read => self.request(place, whole(IoKind::Read), Vec::new()),
            Operation::Write { data, .. } => {
                let sectors = sectors_of(data, keeps);
                self.request(place, whole(IoKind::Write), sectors);
            }
            Operation::Append { data, .. } => {
                let sectors = sectors_of(data, keeps);
                self.request(place, whole(IoKind::Append), sectors);
            }
            Operation::Flush => {
                open.covers = self.written;
                self.request(place, Io::FLUSH, Vec::new());
            }
            Operation::Discard => self.request(place, whole(IoKind::Discard), Vec::new()),
            Operation::WriteZeroes { .. } => self.zero(place, extent),
            Operation::UpdateHandles(handles) => {
                let update = Io::new(IoKind::HandleUpdate, extent.lba(), extent.sectors());
                let handles = handles.clone();
                for placement in handles.iter().copied() {
                    self.request(place, Io { placement, ..update }, Vec::new());
                }
                if handles.is_empty() {
                    answers.push(self.finish(place, at));
                }
            }
        }
    }

    /// Begins to make an extent read as zeros: whole mapping units by a discard, if discarded units durably read as zeros.
    fn zero(&mut self, place: u32, extent: Extent) {
        let inner = extent.inward(self.granularity.get());
        if !self.zeros_by_discard || inner.is_empty() {
            self.jobs.at(place).rest = extent;
            return self.zeros(place);
        }
        let edges = [Extent { end: inner.start, ..extent }, Extent { start: inner.end, ..extent }];
        for edge in edges.into_iter().filter(|edge| !edge.is_empty()) {
            self.write_zeros(place, edge);
        }
        self.request(place, Io::new(IoKind::Discard, inner.lba(), inner.sectors()), Vec::new());
    }

    /// Continues to write zeros.
    fn zeros(&mut self, place: u32) {
        loop {
            let open = self.jobs.at(place);
            if open.rest.is_empty() || open.requests >= ZEROS_AT_ONCE {
                return;
            }
            let part = open.rest.take(ZEROS);
            self.write_zeros(place, part);
        }
    }

    fn write_zeros(&mut self, place: u32, part: Extent) {
        let io = Io::new(IoKind::Write, part.lba(), part.sectors());
        self.request(place, io, vec![Bytes512::default(); part.sectors().get() as usize]);
    }

    /// Submits a request of the job at `place`, now.
    pub(super) fn request(&mut self, place: u32, io: Io, data: Vec<Bytes512>) {
        let (now, number) = (self.drive.now(), self.requests);
        self.requests += 1;
        let open = self.jobs.at(place);
        open.requests += 1;
        let queue = open.job.queue;
        // Only writes have placement identifiers.
        let io = Io { placement: if io.kind == IoKind::Write { open.job.placement } else { io.placement }, ..io };
        if let Some(record) = &mut self.record {
            record.submitted(number, now, io, queue);
        }
        self.drive.submit(now, Request { tag: tag(number, place), queue, io, data });
        self.submitted = (now, self.drive.steps());
    }

    fn refuse(&mut self, now: Time, job: Job, failed: JobFailure, answers: &mut Vec<AnsweredJob>) {
        let due = now.max(self.drive.now());
        self.tally.ended(&job, due, Span::ZERO, Some(failed));
        answers.push(AnsweredJob::failed(due, Span::ZERO, job.answer, failed));
    }

    /// The earliest time at which a request may be submitted. A recording cannot express that an event lies between two requests of
    /// one time. So the time is a picosecond after the present if the drive has handled an event since another request arrived at
    /// the present, or since a completion was reported.
    fn arrival(&self) -> Time {
        let now = self.drive.now();
        let has_moved = |(at, steps): (Time, u64)| at == now && steps != self.drive.steps();
        if has_moved(self.submitted) || has_moved(self.reported) { now + Span::from_ps(1) } else { now }
    }

    /// Advances to `to`, or to the earliest time at which a request may come. Returns the time reached.
    fn reach(&mut self, to: Time, answers: &mut Vec<AnsweredJob>) -> Time {
        loop {
            let to = to.max(self.arrival());
            if self.drive.now() >= to {
                return to;
            }
            self.step(to, answers);
        }
    }

    /// Advances to `to`, or to the next completion or the next request of a job.
    fn step(&mut self, to: Time, answers: &mut Vec<AnsweredJob>) {
        if let Some(place) = self.next.front().copied() {
            let at = self.arrival();
            if at <= self.drive.now() {
                self.next.pop_front();
                return self.follow(place, answers);
            }
            self.drive.advance(at.min(to), &mut self.done);
        } else {
            self.drive.advance(to, &mut self.done);
        }
        self.complete(answers);
    }

    /// Submits the next request of a job after a completion.
    fn follow(&mut self, place: u32, answers: &mut Vec<AnsweredJob>) {
        let open = self.jobs.at(place);
        open.is_next = false;
        if open.wants_zeros() {
            self.zeros(place);
        } else if open.wants_flush() {
            open.is_flushing = true;
            open.covers = self.written;
            self.request(place, Io::FLUSH, Vec::new());
        } else if open.requests == 0 {
            answers.push(self.finish(place, self.drive.now()));
        }
    }

    /// The time of the next event; `None` if nothing is under way.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let next = self.next.front().map(|_| self.arrival());
        let later = self.later.front().map(|answered| answered.due);
        [self.drive.next_event(), next, later].into_iter().flatten().min()
    }

    /// Lets time pass up to `to`, and appends the answers that are due. Nothing happens if the drive's time is later.
    pub fn advance(&mut self, to: Time, answers: &mut Vec<AnsweredJob>) {
        while self.later.front().is_some_and(|answered| answered.due <= to) {
            answers.extend(self.later.pop_front());
        }
        let to = to.min(END);
        while self.drive.now() < to || self.next_event().is_some_and(|at| at <= to) && self.is_on {
            self.step(to, answers);
        }
    }

    /// Handles the requests that the drive has completed.
    fn complete(&mut self, answers: &mut Vec<AnsweredJob>) {
        let mut done = std::mem::take(&mut self.done);
        if !done.is_empty() && self.reported.0 != self.drive.now() {
            self.reported = (self.drive.now(), self.drive.steps());
        }
        for completion in done.drain(..) {
            if let Some(answered) = self.completed(completion) {
                answers.push(answered);
            }
        }
        self.done = done;
    }

    /// Handles one completion; returns the answer if it was the last of its job.
    pub(super) fn completed(&mut self, completion: Completion<Bytes512>) -> Option<AnsweredJob> {
        let (number, place) = untag(completion.tag);
        if let Some(record) = &mut self.record {
            record.completed(number, completion.end, completion.status);
        }
        let end = completion.end;
        let open = self.jobs.at(place);
        open.requests -= 1;
        let failed = JobFailure::of(completion.status);
        if let (Some(verifier), &Operation::ManageZones(action)) = (&mut self.verifier, &open.job.operation) {
            let (start, ticket) = (completion.io.start.get(), open.ticket_of(completion.io.start));
            let result = if failed.is_none() { Ok(&[][..]) } else { Err(completion.status) };
            verifier.end(end, ticket, ClientCommand::Zone(action), start..start, result);
        }
        let failed = failed.filter(|failed| !open.is_overtaken(*failed));
        open.failed = open.failed.or(failed);
        match completion.io.kind {
            IoKind::Read => open.data = bytes(completion.data),
            IoKind::Append => open.address = Some(completion.io.start),
            IoKind::Flush if open.failed.is_none() => self.durable = self.durable.max(open.covers),
            _ => {}
        }
        if open.is_next || open.wants_zeros() || open.wants_flush() {
            if !std::mem::replace(&mut open.is_next, true) {
                self.next.push_back(place);
            }
            return None;
        }
        (open.requests == 0).then(|| self.finish(place, end))
    }

    pub(super) fn finish(&mut self, place: u32, due: Time) -> AnsweredJob {
        let open = self.jobs.remove(place);
        let latency = due - open.arrival;
        self.tally.ended(&open.job, due, latency, open.failed);
        if let Some(verifier) = self.verifier.as_mut().filter(|_| open.is_verified()) {
            verifier.end(due, open.ticket, open.command(), open.range(), open.result());
        }
        if open.job.operation.stores() {
            let all_durable = self.durable == self.written;
            self.written += 1;
            if all_durable && open.is_fua() && open.failed.is_none() {
                self.durable = self.written;
            }
        }
        let is_promise = open.is_fua() || open.job.operation == Operation::Flush;
        let (answer, result) = open.into_answer();
        AnsweredJob { due, latency, answer, result, is_promise }
    }
}

/// The sectors of a write. The bytes stay in `data` if the write may have to begin anew (`keeps`).
fn sectors_of(data: &mut Vec<u8>, keeps: bool) -> Vec<Bytes512> {
    let sectors = data.as_chunks::<512>().0.iter().copied().map(Bytes512).collect();
    if !keeps {
        *data = Vec::new();
    }
    sectors
}

/// The bytes of sectors, in the same memory.
fn bytes(sectors: Vec<Bytes512>) -> Vec<u8> {
    sectors.into_iter().map(|sector| sector.0).collect::<Vec<_>>().into_flattened()
}
