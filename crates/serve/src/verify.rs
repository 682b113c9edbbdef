//! Verifies a drive while it is served: each read must return what its sectors may hold.
//!
//! The verifier sees what clients see: requests and their answers. It applies these rules:
//!
//! * A write that was answered before a read arrived overwrites everything that was answered before the write arrived.
//! * Of concurrent requests either may win. The first read that tells them apart settles which.
//! * After a power cut a sector holds the newest durable write, or a write that arrived later than that or concurrently with it;
//!   nothing older, and no mixture within a sector.
//! * A write is durable by a flush that arrived after the write's answer, by forced unit access, or at once if the drive has no
//!   volatile buffer.
//! * After a discard that is not durable, each power cut may bring back anything that the sector ever held, until the sector is
//!   durably written.
//! * After a failed request each sector has the old content or the new one ([`ssd::Completeness::Partial`]).
//!
//! Zones add write pointers, appends and resets (`zones`).
//!
//! The verifier keeps a digest of each sector and not its content, see `settled` and `runs`. For a drive whose flash is in files,
//! the verifier's state is in files, too (`kept`).

mod bytes;
mod digest;
mod dump;
mod kept;
mod kind;
mod runs;
mod settled;
mod status;
mod violation;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::Path;

use base::units::{Lba, SECTOR, Sectors, Time};

use crate::{JobFailure, Operation};
use digest::{UNKNOWN, ZEROS, digests};
pub(crate) use kept::forget;
use kept::{Kept, Record};
use kind::{Kind, Outcome};
use runs::{Content, Moment, Runs, Write};
use settled::{Settled, When};
pub use status::VerifyStatus;
pub use violation::Violation;
use violation::{Found, Version};
pub(crate) use zones::ZoneSectors;
use zones::Zones;

/// The most violations that the status lists.
const NAMED: usize = 16;

/// The guarantees that a drive gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// True if answered and unflushed writes are lost in a power cut.
    pub(crate) is_volatile: bool,
    /// True if a discard is durable.
    pub(crate) discards_durably: bool,
    /// Discards act on whole multiples of this size.
    pub(crate) granularity: Sectors,
    /// The zones of the drive, if it has any.
    pub(crate) zones: Option<ZoneSectors>,
}

/// The verifier's name of an outstanding request.
pub(crate) type Ticket = Moment;

/// The content that each sector of a drive may have.
#[derive(Debug)]
pub(crate) struct Verifier {
    promise: Promise,
    now: Moment,
    /// The moment of the last power cut.
    cut: Moment,
    settled: Settled,
    runs: Runs,
    zones: Option<Zones>,
    /// The reads under way, by the moments at which they began.
    reads: BTreeSet<Moment>,
    /// Ranges to settle again as soon as all reads that began before a moment are over.
    later: BTreeMap<Moment, Vec<Range<u64>>>,
    reads_compared: u64,
    compared: u64,
    adopted: u64,
    violations: u64,
    named: Vec<String>,
    /// Violations found since the last [`Self::take_violations`].
    found: Vec<Violation>,
    kept: Option<Kept>,
}

impl Verifier {
    /// A verifier of a drive that reads as zeros (`is_known`), or whose content is not known.
    pub(crate) fn new(promise: Promise, is_known: bool) -> Self {
        Self {
            promise,
            now: 0,
            cut: 0,
            settled: Settled::all(if is_known { ZEROS } else { UNKNOWN }),
            runs: Runs::default(),
            zones: promise.zones.map(Zones::new),
            reads: BTreeSet::new(),
            later: BTreeMap::new(),
            reads_compared: 0,
            compared: 0,
            adopted: 0,
            violations: 0,
            named: Vec::new(),
            found: Vec::new(),
            kept: None,
        }
    }

    /// Bytes of memory for a drive of this capacity once all sectors were written and flushed.
    pub(crate) const fn memory_of(capacity: Sectors) -> u64 {
        Settled::memory_of(capacity.get())
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// The moment at which the oldest read under way began.
    fn oldest(&self) -> Moment {
        self.reads.first().copied().unwrap_or(Moment::MAX)
    }

    /// Notes that a request begins, at the simulated time `at`.
    pub(crate) fn begin(&mut self, at: Time, operation: &Operation, sectors: Range<u64>) -> Ticket {
        let kind = Kind::of(operation);
        let digests = match operation {
            Operation::Write { data, .. } | Operation::Append { data, .. } => digests(data),
            _ => Box::default(),
        };
        if self.kept.is_some() && kind != Kind::Read {
            let (now, at_ps, digests) = (self.now, at.as_ps(), digests.to_vec());
            self.keep(&Record::Begin { now, at_ps, kind, range: sectors.clone(), digests });
        }
        self.begin_kind(at, kind, sectors, digests)
    }

    fn begin_kind(&mut self, at: Time, kind: Kind, sectors: Range<u64>, digests: Box<[u64]>) -> Ticket {
        let number = self.tick();
        let mut range = sectors;
        let content = match kind {
            Kind::Read => {
                self.reads.insert(number);
                return number;
            }
            Kind::Flush => return number,
            Kind::Append { .. } => {
                self.begin_append(number, When::new(at), range.start, digests);
                return number;
            }
            Kind::Zone(action) => {
                self.begin_action(number, When::new(at), action, range.start);
                return number;
            }
            Kind::Write { .. } => Content::Each(digests),
            Kind::WriteZeroes { .. } => Content::Same(ZEROS),
            Kind::Discard => {
                range = self.discarded(range);
                Content::Same(ZEROS)
            }
        };
        if !range.is_empty() {
            let mut write = Write::new(range.start, content, number, When::new(at));
            write.is_loose = kind == Kind::Discard && !self.promise.discards_durably;
            self.runs.add(number, range.clone(), write);
            let (oldest, now) = (self.oldest(), self.now);
            self.runs.bound(&range, oldest, now, &mut self.settled);
        }
        number
    }

    /// The sectors that a discard of a range acts on.
    fn discarded(&self, range: Range<u64>) -> Range<u64> {
        let unit = self.promise.granularity.get();
        range.start.next_multiple_of(unit)..range.end / unit * unit
    }

    /// Notes that a request is answered, at the simulated time `at`: a read with `data`, a completed append with its sectors.
    pub(crate) fn end(
        &mut self,
        at: Time,
        ticket: Ticket,
        operation: &Operation,
        sectors: Range<u64>,
        result: Result<&[u8], JobFailure>,
    ) {
        let kind = Kind::of(operation);
        if kind == Kind::Read {
            self.tick();
            match result {
                Ok(data) => self.compare(at, ticket, sectors.start, data),
                Err(JobFailure::Drive(ssd::Status::Uncorrectable)) => {
                    if self.kept.is_some() {
                        self.keep(&Record::Lose { now: self.now, range: sectors.clone() });
                    }
                    self.lose(sectors);
                }
                Err(_) => {}
            }
            self.reads.remove(&ticket);
            return self.settle_later();
        }
        let (now, outcome) = (self.now, Outcome::of(kind, &result));
        if self.kept.is_some() {
            self.keep(&Record::End { now, ticket, kind, range: sectors.clone(), outcome });
        }
        self.end_kind(ticket, kind, sectors, outcome);
        if self.kept.as_ref().is_some_and(|kept| kept.is_long(self.settled.memory())) {
            self.renew(false);
        }
    }

    fn end_kind(&mut self, ticket: Ticket, kind: Kind, sectors: Range<u64>, outcome: Outcome) {
        let (now, is_done) = (self.tick(), outcome == Outcome::Done);
        match kind {
            Kind::Write { .. } if outcome == Outcome::Nothing => self.exclude(ticket, &sectors),
            Kind::Append { fua } => {
                let is_durable = fua || !self.promise.is_volatile;
                self.end_append((ticket, now), sectors, (outcome, is_durable));
            }
            Kind::Zone(action) => self.end_action((ticket, now), action, sectors.start, outcome),
            Kind::Flush if is_done => {
                let covered = self.runs.writes.values_mut().filter(|of| of.is_over(ticket));
                covered.for_each(|of| of.is_durable = true);
                self.settle_all();
            }
            Kind::Flush | Kind::Read => {}
            Kind::Write { fua } | Kind::WriteZeroes { fua } => {
                self.written(now, ticket, sectors, (is_done, fua || !self.promise.is_volatile));
            }
            Kind::Discard => {
                let range = self.discarded(sectors);
                let is_durable = self.promise.discards_durably || !self.promise.is_volatile;
                self.written(now, ticket, range, (is_done, is_durable));
            }
        }
    }

    /// Notes that a write of a range is answered, which may be a write to a zone.
    fn written(&mut self, now: Moment, ticket: Ticket, range: Range<u64>, (is_certain, is_durable): (bool, bool)) {
        if is_certain && !range.is_empty() {
            self.note_written(ticket, &range, is_durable);
        }
        self.overwritten(now, ticket, range, (is_certain, is_durable));
    }

    fn overwritten(&mut self, now: Moment, ticket: Ticket, range: Range<u64>, (is_certain, is_durable): (bool, bool)) {
        // A discard may be too small to act on anything.
        if range.is_empty() {
            return;
        }
        if let Some(write) = self.runs.writes.get_mut(&ticket) {
            (write.ended, write.is_certain, write.is_durable) = (Some(now), is_certain, is_certain && is_durable);
        }
        if is_certain {
            self.settled.note_readable(range.clone(), true);
        }
        if is_certain && is_durable {
            self.settle(&range);
        }
    }

    /// Settles the runs of a range as far as the reads under way allow it.
    fn settle(&mut self, range: &Range<u64>) {
        let oldest = self.oldest();
        for start in self.runs.within(range) {
            let end = self.runs.runs[&start].end;
            if let Some(waits) = self.runs.settle(start, oldest, &mut self.settled) {
                self.later.entry(waits).or_default().push(start..end);
            }
        }
    }

    fn settle_all(&mut self) {
        self.settle(&(0..u64::MAX));
    }

    /// Settles the runs that waited for reads that are over now.
    fn settle_later(&mut self) {
        let oldest = self.oldest();
        while let Some(entry) = self.later.first_entry().filter(|entry| *entry.key() < oldest) {
            entry.remove().iter().for_each(|range| self.settle(range));
        }
    }

    /// Compares the data of a read that began at `began` with what its sectors may hold.
    fn compare(&mut self, at: Time, began: Moment, start: u64, data: &[u8]) {
        let end = start + data.len() as u64 / SECTOR.get();
        let found = digests(data);
        self.reads_compared += 1;
        self.settled.note_readable(start..end, true);
        self.tell_resets(start, &found);
        let mut sector = start;
        for first in self.runs.within(&(start..end)) {
            let until = self.runs.runs[&first].end.min(end);
            let from = first.max(start);
            self.compare_settled(at, sector, &found[(sector - start) as usize..(from - start) as usize]);
            self.compare_run(at, began, (first, from), &found[(from - start) as usize..(until - start) as usize]);
            sector = until;
        }
        self.compare_settled(at, sector, &found[(sector - start) as usize..]);
    }

    /// Compares sectors whose content is settled.
    fn compare_settled(&mut self, at: Time, start: u64, found: &[u64]) {
        // Written sectors never have the digest of unknown content.
        if self.settled.holds(start, found) {
            self.compared += found.len() as u64;
            return;
        }
        for (sector, found) in (start..).zip(found) {
            match self.settled.get(sector) {
                expected if expected == *found => self.compared += 1,
                UNKNOWN => self.adopt(sector, *found),
                _ => self.violate(at, sector, *found, (&[], true)),
            }
        }
    }

    fn adopt(&mut self, sector: u64, found: u64) {
        self.settled.adopt(sector, found);
        self.adopted += 1;
    }

    /// Compares sectors of the run that begins at `first`, those from `from` on.
    fn compare_run(&mut self, at: Time, began: Moment, (first, from): (u64, u64), found: &[u64]) {
        let run = self.runs.runs[&first].clone();
        let over = self.runs.newest_over(&run, began);
        let possible: Vec<Moment> =
            run.writes.iter().copied().filter(|of| self.runs.writes[of].ended.is_none_or(|at| at >= over)).collect();
        let settled = run.settled.filter(|at| *at >= over);
        let mut is_open = false;
        // The read excludes what was over when it began, and which it did not find.
        let (mut excludes, mut is_durable, mut is_loose, mut wrong) = (false, true, false, Vec::new());
        for (sector, found) in (from..).zip(found) {
            let expected = self.settled.get(sector);
            let (mut is_right, mut is_volatile) = (false, false);
            is_loose |= settled.is_some() && self.settled.is_loose(sector);
            for write in possible.iter().map(|of| &self.runs.writes[of]) {
                if write.matches(sector, *found) {
                    is_right = true;
                    is_volatile |= !write.is_durable;
                    is_loose |= write.is_loose;
                    // A write covers the others only once it is answered.
                    is_open |= write.ended.is_none();
                } else {
                    excludes |= write.ended.is_some_and(|ended| ended < began);
                }
            }
            if let Some(at) = settled {
                if expected == *found {
                    is_right = true;
                } else if expected == UNKNOWN && !is_right {
                    self.adopt(sector, *found);
                    is_right = true;
                } else {
                    excludes |= at < began;
                }
            }
            is_durable &= !is_volatile;
            match is_right {
                true => self.compared += 1,
                false => wrong.push((sector, *found)),
            }
        }
        for (sector, found) in wrong.iter().copied() {
            self.violate(at, sector, found, (&possible, settled.is_some()));
        }
        if excludes && !is_open && wrong.is_empty() {
            let number = self.tick();
            let range = from..from + found.len() as u64;
            let mut seen = Write::new(from, Content::Each(found.into()), began, self.newest(&possible));
            (seen.ended, seen.is_durable, seen.is_loose) = (Some(number), is_durable, is_loose);
            self.runs.add(number, range.clone(), seen);
            self.reads.remove(&began);
            self.settle(&range);
        }
    }

    /// The time at which the newest of these writes began.
    fn newest(&self, writes: &[Moment]) -> When {
        let all = writes.iter().map(|of| &self.runs.writes[of]);
        all.max_by_key(|of| of.began).map(|of| of.when).unwrap_or_default()
    }

    /// Reports that a sector cannot hold the content `found`. The sector may hold the content of the `possible` writes, and the
    /// settled content if that `is_possible`.
    fn violate(&mut self, at: Time, sector: u64, found: u64, (possible, is_possible): (&[Moment], bool)) {
        let first = self.runs.within(&(sector..sector + 1)).first().copied();
        let write_of = |of: &Moment| &self.runs.writes[of];
        let known = first.map(|first| &self.runs.runs[&first].writes);
        let older = known.and_then(|all| all.iter().map(write_of).find(|of| of.matches(sector, found)));
        let held = (self.settled.get(sector), self.settled.when(sector));
        let what = match (found, older) {
            (ZEROS, _) => Found::Zeros,
            (_, Some(write)) => Found::Older(write.when),
            _ if held.0 == found => Found::Older(held.1),
            _ => self.settled.find(found).map_or(Found::Unknown, |other| Found::Other(Lba::new(other))),
        };
        let version = |of: &Write| {
            let (is_answered, is_durable) = of.state();
            Version { is_zeros: of.digest(sector) == Some(ZEROS), when: of.when, is_answered, is_durable }
        };
        let is_zeros = held.0 == ZEROS;
        let settled = Version { is_zeros, when: held.1, is_answered: true, is_durable: true };
        let expected = possible.iter().map(write_of).map(version).chain(is_possible.then_some(settled)).collect();
        let violation = Violation {
            start: Lba::new(sector),
            sectors: Sectors::new(1),
            at,
            found: what,
            expected,
            is_after_cut: self.cut > 0,
        };
        self.violations += 1;
        if self.found.last_mut().is_none_or(|last| !last.extend(&violation)) {
            self.found.push(violation);
        }
        let now = self.tick();
        self.runs.correct(sector, now);
        self.settled.adopt(sector, found);
        // A violation is reported once, and not again after each power cut.
        self.settled.loosen(sector..sector + 1);
    }

    /// A read failed. The content that it should have found is lost; after a power cut any content may come instead.
    fn lose(&mut self, range: Range<u64>) {
        let now = self.tick();
        for first in self.runs.within(&range) {
            self.runs.runs.get_mut(&first).expect("it is there").loose = Some(now);
        }
        self.settled.loosen(range.clone());
        self.settled.note_readable(range, false);
    }

    /// The power was cut: outstanding requests never get an answer, or begin anew.
    pub(crate) fn power_cut(&mut self) {
        if self.kept.is_some() {
            self.keep(&Record::Cut { now: self.now });
        }
        self.forget_volatile();
    }

    fn forget_volatile(&mut self) {
        self.reads.clear();
        self.later.clear();
        self.settle_all();
        let (began, ended) = (self.tick(), self.tick());
        self.runs.cut(began, ended, &mut self.settled);
        self.cut_zones();
        self.settled.cut();
        self.cut = ended;
    }

    /// The power was switched off in order, after all answers: no answered write is lost.
    pub(crate) fn power_off(&mut self) {
        let answered = self.runs.writes.values_mut().filter(|of| of.is_over(Moment::MAX));
        answered.for_each(|of| of.is_durable = true);
        self.forget_volatile();
        if self.kept.is_some() {
            self.renew(true);
        }
    }

    /// Keeps the verifier's state in the directory of the drive, and continues with the state of an earlier process. False if the
    /// drive `is_used` and no earlier process has kept a valid state.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub(crate) fn keep_in(&mut self, dir: &Path, is_used: bool, capacity: Sectors) -> io::Result<bool> {
        let (mut generation, mut is_known) = (0, !is_used);
        // Damaged files count as no state.
        if is_used && let Ok(Some((known, of))) = kept::read(dir, self.promise, capacity.get()) {
            (*self, generation, is_known) = (known, of, true);
            self.forget_volatile();
        }
        self.kept = Some(Kept::begin(dir, self, generation + 1, false)?);
        Ok(is_known)
    }

    /// The drive's files have failed, and their content is unknown.
    pub(crate) fn abandon(&mut self) {
        if let Some(kept) = self.kept.take() {
            kept.remove();
        }
    }

    fn keep(&mut self, record: &Record) {
        let Some(kept) = &mut self.kept else { return };
        if kept.append(record).is_err() {
            self.abandon();
        }
    }

    fn renew(&mut self, is_orderly: bool) {
        let Some(mut kept) = self.kept.take() else { return };
        match kept.renew(self, is_orderly) {
            Ok(()) => self.kept = Some(kept),
            Err(_) => kept.remove(),
        }
    }

    /// Repeats a record of the log; none if the record does not fit the state.
    fn replay(&mut self, record: Record) -> Option<()> {
        match record {
            Record::Begin { now, at_ps, kind, range, digests } => {
                let is_sound = now >= self.now && range.start <= range.end;
                let has_data = matches!(kind, Kind::Write { .. } | Kind::Append { .. });
                let is_whole = !has_data || digests.len() as u64 == range.end - range.start;
                (is_sound && is_whole).then_some(())?;
                self.now = now;
                self.begin_kind(Time::from_ps(at_ps), kind, range, digests.into());
            }
            Record::End { now, ticket, kind, range, outcome } => {
                (now >= self.now && range.start <= range.end).then_some(())?;
                self.now = now;
                self.end_kind(ticket, kind, range, outcome);
            }
            Record::Lose { now, range } => {
                (now >= self.now && range.start <= range.end).then_some(())?;
                self.now = now;
                self.lose(range);
            }
            Record::Cut { now } => {
                (now >= self.now).then_some(())?;
                self.now = now;
                self.forget_volatile();
            }
        }
        Some(())
    }

    /// The violations since the last call.
    pub(crate) fn take_violations(&mut self) -> Vec<Violation> {
        let found = std::mem::take(&mut self.found);
        let free = NAMED.saturating_sub(self.named.len());
        self.named.extend(found.iter().take(free).map(ToString::to_string));
        found
    }

    /// The counts of what was compared and found so far.
    pub(crate) fn status(&self) -> VerifyStatus {
        VerifyStatus {
            reads: self.reads_compared,
            sectors: self.compared,
            adopted: self.adopted,
            unreadable: self.settled.unreadable(),
            violations: self.violations,
            first_violations: self.named.clone(),
            memory_bytes: self.settled.memory() + self.runs.memory() + self.zones.as_ref().map_or(0, Zones::memory),
        }
    }
}

#[cfg(test)]
mod tests;
