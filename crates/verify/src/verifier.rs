//! The verifier of a drive.
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
//! the verifier's state is in files, too (`files`).

mod dump;
mod files;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::Path;

use base::units::{Lba, SECTOR, Sectors, Time};

use ssd::Status;

use crate::command::{ClientCommand, CommandOutcome};
use crate::digest::{UNKNOWN, ZEROS, digests};
use crate::runs::{Moment, SectorWrite, WriteContent, WriteRuns};
use crate::settled::{SettledSectors, WriteTime};
use crate::status::VerifyStatus;
use crate::violation::{FoundContent, SectorVersion, Violation};
pub use files::forget;
use files::{LogRecord, VerifierFiles};
use zones::ZonePromises;
pub use zones::ZoneSectors;

/// The most violations that the status lists.
const NAMED: usize = 16;

/// The guarantees that a drive gives.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// True if answered and unflushed writes are lost in a power cut.
    pub is_volatile: bool,
    /// True if a discard is durable.
    pub discards_durably: bool,
    /// Discards act on whole multiples of this size.
    pub granularity: Sectors,
    /// The zones of the drive, if it has any.
    pub zones: Option<ZoneSectors>,
}

/// The verifier's name of an outstanding request.
pub type Ticket = Moment;

/// The content that each sector of a drive may have.
#[derive(Debug)]
pub struct Verifier {
    promise: Promise,
    now: Moment,
    /// The moment of the last power cut.
    cut: Moment,
    settled: SettledSectors,
    runs: WriteRuns,
    zones: Option<ZonePromises>,
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
    files: Option<VerifierFiles>,
}

impl Verifier {
    /// A verifier of a drive that reads as zeros (`is_known`), or whose content is not known.
    pub fn new(promise: Promise, is_known: bool) -> Self {
        Self {
            promise,
            now: 0,
            cut: 0,
            settled: SettledSectors::all(if is_known { ZEROS } else { UNKNOWN }),
            runs: WriteRuns::default(),
            zones: promise.zones.map(ZonePromises::new),
            reads: BTreeSet::new(),
            later: BTreeMap::new(),
            reads_compared: 0,
            compared: 0,
            adopted: 0,
            violations: 0,
            named: Vec::new(),
            found: Vec::new(),
            files: None,
        }
    }

    /// Bytes of memory for a drive of this capacity once all sectors were written and flushed.
    pub const fn memory_of(capacity: Sectors) -> u64 {
        SettledSectors::memory_of(capacity.get())
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// The moment at which the oldest read under way began.
    fn oldest(&self) -> Moment {
        self.reads.first().copied().unwrap_or(Moment::MAX)
    }

    /// Notes that a request begins, at the simulated time `at`. A write or an append brings `data`.
    pub fn begin(&mut self, at: Time, command: ClientCommand, sectors: Range<u64>, data: &[u8]) -> Ticket {
        let digests = if command.has_data() { digests(data) } else { Box::default() };
        if self.files.is_some() && command != ClientCommand::Read {
            let (now, at_ps, digests) = (self.now, at.as_ps(), digests.to_vec());
            self.keep(&LogRecord::Begin { now, at_ps, command, range: sectors.clone(), digests });
        }
        self.begin_digested(at, command, sectors, digests)
    }

    fn begin_digested(&mut self, at: Time, command: ClientCommand, sectors: Range<u64>, digests: Box<[u64]>) -> Ticket {
        let number = self.tick();
        let mut range = sectors;
        let content = match command {
            ClientCommand::Read => {
                self.reads.insert(number);
                return number;
            }
            ClientCommand::Flush => return number,
            ClientCommand::Append { .. } => {
                self.begin_append(number, WriteTime::new(at), range.start, digests);
                return number;
            }
            ClientCommand::Zone(action) => {
                self.begin_action(number, WriteTime::new(at), action, range.start);
                return number;
            }
            ClientCommand::Write { .. } => WriteContent::Each(digests),
            ClientCommand::WriteZeroes { .. } => WriteContent::Same(ZEROS),
            ClientCommand::Discard => {
                range = self.discarded(range);
                WriteContent::Same(ZEROS)
            }
        };
        if !range.is_empty() {
            let mut write = SectorWrite::new(range.start, content, number, WriteTime::new(at));
            write.is_loose = command == ClientCommand::Discard && !self.promise.discards_durably;
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
    pub fn end(
        &mut self,
        at: Time,
        ticket: Ticket,
        command: ClientCommand,
        sectors: Range<u64>,
        result: Result<&[u8], Status>,
    ) {
        if command == ClientCommand::Read {
            self.tick();
            match result {
                Ok(data) => self.compare(at, ticket, sectors.start, data),
                Err(Status::Uncorrectable) => {
                    if self.files.is_some() {
                        self.keep(&LogRecord::Lose { now: self.now, range: sectors.clone() });
                    }
                    self.lose(sectors);
                }
                Err(_) => {}
            }
            self.reads.remove(&ticket);
            return self.settle_later();
        }
        let (now, outcome) = (self.now, CommandOutcome::of(command, &result));
        if self.files.is_some() {
            self.keep(&LogRecord::End { now, ticket, command, range: sectors.clone(), outcome });
        }
        self.end_decided(ticket, command, sectors, outcome);
        if self.files.as_ref().is_some_and(|files| files.is_long(self.settled.memory())) {
            self.renew(false);
        }
    }

    fn end_decided(&mut self, ticket: Ticket, command: ClientCommand, sectors: Range<u64>, outcome: CommandOutcome) {
        let (now, is_done) = (self.tick(), outcome == CommandOutcome::Done);
        match command {
            ClientCommand::Write { .. } if outcome == CommandOutcome::Nothing => self.exclude(ticket, &sectors),
            ClientCommand::Append { fua } => {
                let is_durable = fua || !self.promise.is_volatile;
                self.end_append((ticket, now), sectors, (outcome, is_durable));
            }
            ClientCommand::Zone(action) => self.end_action((ticket, now), action, sectors.start, outcome),
            ClientCommand::Flush if is_done => {
                let covered = self.runs.writes.values_mut().filter(|of| of.is_over(ticket));
                covered.for_each(|of| of.is_durable = true);
                self.settle_all();
            }
            ClientCommand::Flush | ClientCommand::Read => {}
            ClientCommand::Write { fua } | ClientCommand::WriteZeroes { fua } => {
                self.written(now, ticket, sectors, (is_done, fua || !self.promise.is_volatile));
            }
            ClientCommand::Discard => {
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
            let mut seen = SectorWrite::new(from, WriteContent::Each(found.into()), began, self.newest(&possible));
            (seen.ended, seen.is_durable, seen.is_loose) = (Some(number), is_durable, is_loose);
            self.runs.add(number, range.clone(), seen);
            self.reads.remove(&began);
            self.settle(&range);
        }
    }

    /// The time at which the newest of these writes began.
    fn newest(&self, writes: &[Moment]) -> WriteTime {
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
            (ZEROS, _) => FoundContent::Zeros,
            (_, Some(write)) => FoundContent::Older(write.when),
            _ if held.0 == found => FoundContent::Older(held.1),
            _ => self.settled.find(found).map_or(FoundContent::Unknown, |other| FoundContent::Other(Lba::new(other))),
        };
        let version = |of: &SectorWrite| {
            let (is_answered, is_durable) = of.state();
            SectorVersion { is_zeros: of.digest(sector) == Some(ZEROS), when: of.when, is_answered, is_durable }
        };
        let is_zeros = held.0 == ZEROS;
        let settled = SectorVersion { is_zeros, when: held.1, is_answered: true, is_durable: true };
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
    pub fn power_cut(&mut self) {
        if self.files.is_some() {
            self.keep(&LogRecord::Cut { now: self.now });
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
    pub fn power_off(&mut self) {
        let answered = self.runs.writes.values_mut().filter(|of| of.is_over(Moment::MAX));
        answered.for_each(|of| of.is_durable = true);
        self.forget_volatile();
        if self.files.is_some() {
            self.renew(true);
        }
    }

    /// Keeps the verifier's state in the directory of the drive, and continues with the state of an earlier process. False if the
    /// drive `is_used` and no earlier process has kept a valid state.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn keep_in(&mut self, dir: &Path, is_used: bool, capacity: Sectors) -> io::Result<bool> {
        let (mut generation, mut is_known) = (0, !is_used);
        // Damaged files count as no state.
        if is_used && let Ok(Some((known, of))) = files::read(dir, self.promise, capacity.get()) {
            (*self, generation, is_known) = (known, of, true);
            self.forget_volatile();
        }
        self.files = Some(VerifierFiles::begin(dir, self, generation + 1, false)?);
        Ok(is_known)
    }

    /// The drive's files have failed, and their content is unknown.
    pub fn abandon(&mut self) {
        if let Some(files) = self.files.take() {
            files.remove();
        }
    }

    fn keep(&mut self, record: &LogRecord) {
        let Some(files) = &mut self.files else { return };
        if files.append(record).is_err() {
            self.abandon();
        }
    }

    fn renew(&mut self, is_orderly: bool) {
        let Some(mut files) = self.files.take() else { return };
        match files.renew(self, is_orderly) {
            Ok(()) => self.files = Some(files),
            Err(_) => files.remove(),
        }
    }

    /// Repeats a record of the log; none if the record does not fit the state.
    fn replay(&mut self, record: LogRecord) -> Option<()> {
        match record {
            LogRecord::Begin { now, at_ps, command, range, digests } => {
                let is_sound = now >= self.now && range.start <= range.end;
                let is_whole = !command.has_data() || digests.len() as u64 == range.end - range.start;
                (is_sound && is_whole).then_some(())?;
                self.now = now;
                self.begin_digested(Time::from_ps(at_ps), command, range, digests.into());
            }
            LogRecord::End { now, ticket, command, range, outcome } => {
                (now >= self.now && range.start <= range.end).then_some(())?;
                self.now = now;
                self.end_decided(ticket, command, range, outcome);
            }
            LogRecord::Lose { now, range } => {
                (now >= self.now && range.start <= range.end).then_some(())?;
                self.now = now;
                self.lose(range);
            }
            LogRecord::Cut { now } => {
                (now >= self.now).then_some(())?;
                self.now = now;
                self.forget_volatile();
            }
        }
        Some(())
    }

    /// The violations since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        let found = std::mem::take(&mut self.found);
        let free = NAMED.saturating_sub(self.named.len());
        self.named.extend(found.iter().take(free).map(ToString::to_string));
        found
    }

    /// The counts of what was compared and found so far.
    pub fn status(&self) -> VerifyStatus {
        VerifyStatus {
            reads: self.reads_compared,
            sectors: self.compared,
            adopted: self.adopted,
            unreadable: self.settled.unreadable(),
            violations: self.violations,
            first_violations: self.named.clone(),
            memory_bytes: self.settled.memory()
                + self.runs.memory()
                + self.zones.as_ref().map_or(0, ZonePromises::memory),
        }
    }
}

#[cfg(test)]
mod tests;
