//! A host that checks its drive: it submits requests, compares every answer with the oracle, and cuts the power of the
//! drive or of a copy of it.

use std::collections::{BTreeMap, BTreeSet};

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::nand::Stamp;
use ssd::{Completeness, Completion, DiscardSpec, Drive, FlushPolicy, QueueId, Request, Ssd, Status};

use crate::Oracle;
use crate::sabotaged::SabotagedDrive;

/// The number of events in which a drive without new requests must complete one of those under way, or become idle. A
/// drive may need many: with an uncached map on flash, pools of a dozen superblocks erase one for each mapping unit
/// that they copy, and polling takes a hundred events per erase.
const REST: u32 = 1_000_000;

/// A submitted request that has not completed.
#[derive(Clone, Debug)]
struct OutstandingRequest {
    io: Io,
    /// The contents of a write; empty for other requests.
    stamps: Vec<Stamp>,
    order: u64,
    /// The number of writes that had completed before a flush was submitted: the flush covers them.
    covered: u64,
}

/// A drive, its oracle, and the requests under way.
#[derive(Clone, Debug)]
pub struct Host {
    drive: SabotagedDrive,
    oracle: Oracle,
    next_tag: u64,
    under_way: BTreeMap<u64, OutstandingRequest>,
    /// For each write in the order of submission, its position in the order of completion, from 1 on; 0 while it is
    /// under way.
    completed_writes: Vec<u64>,
    completed: u64,
    completions: Vec<Completion<Stamp>>,
    /// The number of completed requests, and the number of sectors of those that succeeded, by kind.
    requests: [u64; IoKind::COUNT],
    sectors: [u64; IoKind::COUNT],
    /// True if the drive has refused a request because it has lost too many blocks.
    worn_out: bool,
    may_wear_out: bool,
    may_lose: bool,
}

impl Host {
    /// Creates a host of a drive that only preconditioning has written.
    #[must_use]
    pub fn new(ssd: Ssd<Stamp>) -> Self {
        let resolved = ssd.resolved();
        Self {
            oracle: Oracle::new(resolved.buffer.is_none(), u64::from(resolved.geometry.sectors))
                .with_durable_discards(resolved.ftl.discard == DiscardSpec::Durable)
                .after(ssd.history().cloned()),
            drive: SabotagedDrive::new(ssd),
            next_tag: 0,
            under_way: BTreeMap::new(),
            completed_writes: Vec::new(),
            completed: 0,
            completions: Vec::new(),
            requests: [0; IoKind::COUNT],
            sectors: [0; IoKind::COUNT],
            worn_out: false,
            may_wear_out: false,
            may_lose: false,
        }
    }

    /// Allows the drive to become read-only, for drives with many faults.
    #[must_use]
    pub const fn that_may_wear_out(mut self, may: bool) -> Self {
        self.may_wear_out = may;
        self
    }

    /// Allows the drive to report uncorrectable reads.
    #[must_use]
    pub const fn that_may_lose(mut self, may: bool) -> Self {
        self.may_lose = may;
        self
    }

    /// The drive under test.
    #[must_use]
    pub const fn ssd(&self) -> &Ssd<Stamp> {
        &self.drive.ssd
    }

    /// The drive, for planting faults.
    pub const fn ssd_mut(&mut self) -> &mut Ssd<Stamp> {
        &mut self.drive.ssd
    }

    /// Returns true if the drive has become read-only.
    #[must_use]
    pub const fn worn_out(&self) -> bool {
        self.worn_out
    }

    /// The number of requests completed, by kind.
    #[must_use]
    pub const fn requests(&self) -> [u64; IoKind::COUNT] {
        self.requests
    }

    /// The number of sectors of the requests that succeeded, by kind.
    #[must_use]
    pub const fn sectors(&self) -> [u64; IoKind::COUNT] {
        self.sectors
    }

    /// Submits a request at the current time through the first queue.
    pub fn submit(&mut self, io: Io) {
        self.submit_to(QueueId::default(), io);
    }

    /// Submits a request at the current time through this queue.
    pub fn submit_to(&mut self, queue: QueueId, io: Io) {
        self.next_tag += 1;
        let stamps = if io.kind == IoKind::Write { self.oracle.submit_write(&io) } else { Vec::new() };
        if io.kind == IoKind::Discard {
            self.oracle.submit_discard(&io);
        }
        let (order, covered) = (self.oracle.writes(), self.completed);
        self.under_way.insert(self.next_tag, OutstandingRequest { io, stamps: stamps.clone(), order, covered });
        self.drive.submit(Request { tag: self.next_tag, queue, io, data: stamps });
    }

    /// Advances to the next event. Returns false if nothing is under way.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.drive.next_event() else { return false };
        self.advance(at);
        true
    }

    /// Advances like [`Host::step`], for a drive whose process may die meanwhile: then the host gets no answer, and the
    /// function returns false.
    pub fn step_unless(&mut self, has_died: impl Fn() -> bool) -> bool {
        let Some(at) = self.drive.next_event() else { return false };
        let mut completions = std::mem::take(&mut self.completions);
        self.drive.advance(at, &mut completions);
        let died = has_died();
        for completion in completions.drain(..).filter(|_| !died) {
            self.complete(&completion);
        }
        self.completions = completions;
        !died
    }

    /// Advances by `events` events, or to the last event.
    pub fn steps(&mut self, events: u64) {
        for _ in 0..events {
            self.step();
        }
    }

    /// Advances the time to `to` and checks the completions.
    pub fn advance(&mut self, to: Time) {
        let mut completions = std::mem::take(&mut self.completions);
        self.drive.advance(to, &mut completions);
        for completion in completions.drain(..) {
            self.complete(&completion);
        }
        self.completions = completions;
    }

    /// The middle between the current time and the time of the next event; `None` if there is no time between.
    #[must_use]
    pub fn middle(&self) -> Option<Time> {
        let now = self.drive.ssd.now().as_ps();
        let span = self.drive.next_event()?.as_ps() - now;
        (span > 1).then(|| Time::from_ps(now + span / 2))
    }

    /// Advances until the drive is idle.
    ///
    /// # Panics
    /// If the drive does not become idle, or a request stays incomplete.
    pub fn run_until_idle(&mut self) {
        let (mut steps, mut under_way) = (0, self.under_way.len());
        while self.step() {
            steps = if self.under_way.len() < under_way { 0 } else { steps + 1 };
            under_way = self.under_way.len();
            assert!(steps < REST, "the device never becomes idle");
        }
        assert!(self.under_way.is_empty(), "requests that never complete: {:?}", self.under_way.keys());
    }

    fn complete(&mut self, completion: &Completion<Stamp>) {
        let OutstandingRequest { io, stamps, order, covered } =
            self.under_way.remove(&completion.tag).expect("a request completes once");
        assert_eq!(io, completion.io);
        self.requests[io.kind as usize] += 1;
        if completion.status == Status::Done {
            self.sectors[io.kind as usize] += io.sectors.get();
        }
        if completion.status == Status::ReadOnly {
            assert!(self.may_wear_out, "a device without faults became read-only");
            self.worn_out = true;
        }
        if self.may_lose && (io.kind, completion.status) == (IoKind::Read, Status::Uncorrectable) {
            return;
        }
        match (io.kind, completion.status.completeness()) {
            (IoKind::Read, Completeness::Whole) => self.oracle.check_read(&io, &completion.data),
            (IoKind::Write, Completeness::Partial) => self.oracle.refuse_write(&io, &stamps),
            (IoKind::Discard, Completeness::Partial) => self.oracle.refuse_discard(&io),
            (IoKind::Flush, Completeness::Partial) => {}
            (IoKind::Write, Completeness::Whole) => {
                self.oracle.complete_write(&io, &stamps);
                self.completed += 1;
                self.completed_writes.resize(self.completed_writes.len().max(order as usize + 1), 0);
                self.completed_writes[order as usize] = self.completed;
            }
            (IoKind::Flush, Completeness::Whole) if self.flushes_are_ignored() => {}
            (IoKind::Flush, Completeness::Whole) => {
                let at = |order| self.completed_writes.get(order as usize).copied().unwrap_or(0);
                self.oracle.complete_flush(|order| (1..=covered).contains(&at(order)));
            }
            (IoKind::Discard, Completeness::Whole) => self.oracle.complete_discard(&io),
            _ => panic!("a {:?} ended as {:?}", io.kind, completion.status),
        }
    }

    /// Returns true if the drive acknowledges flushes without doing anything.
    fn flushes_are_ignored(&self) -> bool {
        self.drive.ssd.resolved().buffer.is_some_and(|buffer| buffer.flush == FlushPolicy::Ignore)
    }

    /// Cuts the drive's power, switches it on again and checks all contents.
    pub fn cut(&mut self) {
        let lost = self.drive.cut_power();
        assert_eq!(lost.iter().copied().collect::<BTreeSet<_>>(), self.under_way.keys().copied().collect());
        self.drive.ssd.power_on(self.drive.ssd.now());
        self.forget();
        self.recovered();
    }

    /// Copies the drive as a power cut at the current time would leave it: a new drive made from nothing but the torn
    /// media of the copy. `torn` decides how far the operations under way came.
    #[must_use]
    pub fn crashed(&self, torn: u64) -> Self {
        let mut copy = self.clone();
        copy.drive.ssd.media_mut().faults_mut().restart(torn);
        if let Some(second) = copy.drive.ssd.slc_media_mut() {
            second.faults_mut().restart(!torn);
        }
        copy.drive.cut_power();
        let second = copy.drive.ssd.slc_media().cloned();
        let ssd = Ssd::with_media(copy.drive.ssd.resolved(), torn, copy.drive.ssd.media().clone(), second);
        copy.drive.replace(ssd);
        copy.forget();
        copy.recovered();
        copy
    }

    /// Takes a drive that another process has recovered from the state that the first process left, and checks its
    /// contents.
    #[must_use]
    pub fn restarted(mut self, ssd: Ssd<Stamp>) -> Self {
        self.drive.replace(ssd);
        self.forget();
        self.recovered();
        self
    }

    fn forget(&mut self) {
        self.under_way.clear();
        self.completed_writes.clear();
        self.completed = 0;
    }

    /// Checks after a recovery that every content is possible, and expects it from now on.
    fn recovered(&mut self) {
        self.drive.ssd.check();
        for (first, data) in self.contents() {
            for (sector, got) in (first..).zip(data) {
                self.oracle.check_recovered(sector, got);
            }
        }
    }

    /// Reads the whole idle drive and checks every sector.
    pub fn audit(&mut self) {
        self.drive.ssd.check();
        for (first, data) in self.contents() {
            let io = Io::new(IoKind::Read, Lba::new(first), Sectors::new(data.len() as u64));
            self.oracle.check_read(&io, &data);
        }
    }

    /// Reads all contents of the drive in pieces, each with its first sector; sectors that cannot be read are left out.
    /// These reads are not counted.
    fn contents(&mut self) -> Vec<(u64, Vec<Stamp>)> {
        let capacity = self.drive.ssd.capacity().get();
        let unit = self.drive.ssd.discard_granularity().get();
        let mut pieces = Vec::new();
        for start in (0..capacity).step_by(64) {
            let end = (start + 64).min(capacity);
            if let Some(data) = self.read_sectors(start, end - start) {
                pieces.push((start, data));
                continue;
            }
            // The host reads a piece with an unreadable sector again, one mapping unit at a time.
            for start in (start..end).step_by(unit as usize) {
                pieces.extend(self.read_sectors(start, unit.min(end - start)).map(|data| (start, data)));
            }
        }
        pieces
    }

    /// Reads some sectors; `None` if one of them cannot be read.
    fn read_sectors(&mut self, start: u64, sectors: u64) -> Option<Vec<Stamp>> {
        let io = Io::new(IoKind::Read, Lba::new(start), Sectors::new(sectors));
        self.drive.submit(Request { tag: 0, queue: QueueId::default(), io, data: Vec::new() });
        let mut completions = Vec::new();
        while completions.is_empty() {
            let at = self.drive.next_event().expect("a read completes");
            self.drive.advance(at, &mut completions);
        }
        assert_eq!((completions.len(), completions[0].tag), (1, 0), "only the read is under way");
        let Completion { status, data, .. } = completions.remove(0);
        if self.may_lose && status == Status::Uncorrectable {
            return None;
        }
        assert_eq!(status, Status::Done);
        Some(data)
    }
}
