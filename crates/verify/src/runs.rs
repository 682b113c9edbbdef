//! The writes of sectors whose content is not settled: writes that are outstanding, not flushed, or concurrent with others.
//!
//! Consecutive sectors with the same writes are one run. A run ends, and its sectors are settled, when one of its writes is durable
//! and all others are older.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::digest::UNKNOWN;
use crate::settled::{SettledSectors, WriteTime};

/// A logical time: a counter of which no two events have the same value.
pub(crate) type Moment = u64;

/// The most writes that a run remembers.
const REMEMBERED: usize = 32;

/// The content that a write brings.
#[derive(Clone, Debug)]
pub(crate) enum WriteContent {
    /// A digest of each sector.
    Each(Box<[u64]>),
    /// One digest for all sectors.
    Same(u64),
    /// Digests of appended sectors, whose places are not known. Each append begins with a mapping unit of `unit` sectors.
    Appends { unit: u64, writes: BTreeMap<Moment, (WriteTime, Box<[u64]>)> },
}

/// A request that gave sectors a content, or a read that settled which of several contents they have.
#[derive(Clone, Debug)]
pub(crate) struct SectorWrite {
    pub(crate) start: u64,
    pub(crate) content: WriteContent,
    pub(crate) began: Moment,
    /// The moment of its answer; none while it is outstanding.
    pub(crate) ended: Option<Moment>,
    pub(crate) when: WriteTime,
    /// True if the write was carried out. Of a failed request it is not known.
    pub(crate) is_certain: bool,
    /// True if no power cut can undo the write.
    pub(crate) is_durable: bool,
    /// True for a discard that is not durable: after a power cut its sectors may hold anything that they ever held.
    pub(crate) is_loose: bool,
    /// Whether the client had the answer, and whether the write was durable, at the last power cut.
    pub(crate) at_cut: Option<(bool, bool)>,
    /// The number of runs that remember the write.
    pub(crate) runs: usize,
}

impl SectorWrite {
    pub(crate) const fn new(start: u64, content: WriteContent, began: Moment, when: WriteTime) -> Self {
        Self {
            start,
            content,
            began,
            ended: None,
            when,
            is_certain: true,
            is_durable: false,
            is_loose: false,
            at_cut: None,
            runs: 0,
        }
    }

    /// The digest that the write gives a sector; none if its place is not known.
    pub(crate) fn digest(&self, sector: u64) -> Option<u64> {
        match &self.content {
            WriteContent::Each(digests) => Some(digests[(sector - self.start) as usize]),
            WriteContent::Same(digest) => Some(*digest),
            WriteContent::Appends { .. } => None,
        }
    }

    /// True if the write may have given a sector this digest.
    pub(crate) fn matches(&self, sector: u64, found: u64) -> bool {
        match &self.content {
            WriteContent::Appends { unit, writes } => {
                let inside = (sector % unit) as usize;
                let is_among =
                    |digests: &[u64]| digests.iter().skip(inside).step_by(*unit as usize).any(|of| *of == found);
                writes.values().any(|(_, digests)| is_among(digests))
            }
            _ => self.digest(sector) == Some(found),
        }
    }

    /// Whether the client has the answer, and whether the write is durable; both as of the last power cut, if one has happened
    /// since the write began.
    pub(crate) fn state(&self) -> (bool, bool) {
        self.at_cut.unwrap_or((self.ended.is_some(), self.is_durable))
    }

    /// True if the write was carried out before this moment.
    pub(crate) fn is_over(&self, before: Moment) -> bool {
        self.is_certain && self.ended.is_some_and(|ended| ended < before)
    }
}

/// Consecutive sectors with the same writes, in the order in which the writes began.
#[derive(Clone, Debug)]
pub(crate) struct WriteRun {
    pub(crate) end: u64,
    pub(crate) writes: Vec<Moment>,
    /// The moment of the settled content, if that is still possible; none if a durable write has replaced it.
    pub(crate) settled: Option<Moment>,
    /// The moment since which a power cut may bring back any former content.
    pub(crate) loose: Option<Moment>,
}

/// All runs, by their first sectors, and their writes, by the moments at which they began.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteRuns {
    pub(crate) runs: BTreeMap<u64, WriteRun>,
    pub(crate) writes: BTreeMap<Moment, SectorWrite>,
}

impl WriteRuns {
    /// Splits the run across this sector, if there is one, so that a run begins at the sector.
    fn split(&mut self, at: u64) {
        let Some((_, run)) = self.runs.range_mut(..at).next_back() else { return };
        if run.end <= at {
            return;
        }
        let right = run.clone();
        run.end = at;
        for of in &right.writes {
            self.writes.get_mut(of).expect("it is remembered").runs += 1;
        }
        self.runs.insert(at, right);
    }

    /// The first sectors of the runs in a range. The first run may begin before the range.
    pub(crate) fn within(&self, range: &Range<u64>) -> Vec<u64> {
        let before = self.runs.range(..range.start).next_back();
        let across = before.filter(|(_, run)| run.end > range.start).map(|(start, _)| *start);
        across.into_iter().chain(self.runs.range(range.clone()).map(|(start, _)| *start)).collect()
    }

    /// Adds a write of a range, from its beginning on, or a read that has settled the content of a range.
    pub(crate) fn add(&mut self, number: Moment, range: Range<u64>, write: SectorWrite) {
        self.writes.insert(number, write);
        self.cover(number, &range);
    }

    /// Adds a write to the runs of a range.
    pub(crate) fn cover(&mut self, number: Moment, range: &Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        let (mut at, mut gaps, mut added) = (range.start, Vec::new(), 0);
        for start in self.within(range) {
            let run = self.runs.get_mut(&start).expect("it is there");
            if !run.writes.contains(&number) {
                run.writes.push(number);
                added += 1;
            }
            gaps.push(at..start);
            at = run.end;
        }
        gaps.push(at..range.end);
        for Range { start, end } in gaps.into_iter().filter(|gap| !gap.is_empty()) {
            self.runs.insert(start, WriteRun { end, writes: vec![number], settled: Some(0), loose: None });
            added += 1;
        }
        self.writes.get_mut(&number).expect("it is remembered").runs += added;
    }

    /// Removes a write from the runs of a range.
    pub(crate) fn exclude(&mut self, number: Moment, range: &Range<u64>, settled: &mut SettledSectors) {
        if !self.writes.contains_key(&number) {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        for start in self.within(range) {
            let run = self.runs.get_mut(&start).expect("it is there");
            let Some(place) = run.writes.iter().position(|of| *of == number) else { continue };
            run.writes.remove(place);
            let is_over = run.writes.is_empty() && run.settled.is_some();
            if let (true, WriteRun { end, loose: Some(_), .. }) = (is_over, &*run) {
                settled.loosen(start..*end);
            }
            if is_over {
                self.runs.remove(&start);
            }
            self.release(number);
        }
    }

    /// Makes a write the settled content, as of `at`, of the runs of a range that remember it.
    pub(crate) fn prefer(&mut self, number: Moment, range: &Range<u64>, at: Moment, settled: &mut SettledSectors) {
        for start in self.within(range) {
            let run = self.runs.get_mut(&start).expect("it is there");
            if run.writes.contains(&number) {
                let write = &self.writes[&number];
                settled.write(start..run.end, write.when, write.is_loose, |sector| {
                    write.digest(sector).unwrap_or(UNKNOWN)
                });
                run.settled = Some(at);
            }
        }
    }

    /// Counts one run less that remembers a write, and drops the write without runs.
    fn release(&mut self, number: Moment) {
        let write = self.writes.get_mut(&number).expect("it is remembered");
        write.runs -= 1;
        if write.runs == 0 {
            self.writes.remove(&number);
        }
    }

    /// Removes writes of a run that can no longer be its content, and settles the run if one write is left. `oldest` is the moment
    /// at which the oldest read under way began: this read may still find older contents. Returns the moment before which all reads
    /// must have ended so that more can be removed.
    pub(crate) fn settle(&mut self, start: u64, oldest: Moment, settled: &mut SettledSectors) -> Option<Moment> {
        let run = self.runs.get_mut(&start)?;
        let (mut floor, mut waits) = (0, None);
        for write in run.writes.iter().map(|of| &self.writes[of]).filter(|of| of.is_durable && of.is_certain) {
            match write.ended {
                Some(ended) if ended < oldest => floor = floor.max(write.began),
                Some(ended) => waits = waits.max(Some(ended)),
                None => {}
            }
        }
        let is_old = |of: &Moment| self.writes[of].ended.is_some_and(|ended| ended < floor);
        let gone: Vec<_> = run.writes.extract_if(.., |of| is_old(of)).collect();
        run.settled = run.settled.filter(|at| *at >= floor);
        let first = run.writes.iter().map(|of| (*of, &self.writes[of])).min_by_key(|(_, of)| of.began);
        if let (None, Some((number, first))) = (run.settled, first)
            && let (true, true, Some(ended)) = (first.is_durable, first.is_certain, first.ended)
            && !matches!(first.content, WriteContent::Appends { .. })
            && ended < oldest
            && run.writes.iter().all(|of| *of == number || self.writes[of].began > ended)
        {
            settled.write(start..run.end, first.when, first.is_loose, |sector| first.digest(sector).unwrap_or(UNKNOWN));
            run.loose = run.loose.filter(|at| *at > first.began);
            run.writes.retain(|of| *of != number);
            run.settled = Some(ended);
            self.release(number);
        }
        gone.into_iter().for_each(|of| self.release(of));
        let run = &self.runs[&start];
        if let (true, Some(_)) = (run.writes.is_empty(), run.settled) {
            if let Some(WriteRun { end, loose: Some(_), .. }) = self.runs.remove(&start) {
                settled.loosen(start..end);
            }
            return None;
        }
        waits
    }

    /// Removes the oldest writes of runs that remember too many. Overwritten writes go first: no read can find them, but after a
    /// power cut any content may come back. If that is not enough, the content counts as unknown.
    pub(crate) fn bound(&mut self, range: &Range<u64>, oldest: Moment, now: Moment, settled: &mut SettledSectors) {
        for start in self.within(range) {
            let run = &self.runs[&start];
            if run.writes.len() <= REMEMBERED {
                continue;
            }
            let over = self.newest_over(run, oldest);
            let is_covered = |of: &&Moment| self.writes[*of].ended.is_some_and(|ended| ended < over);
            let mut gone: Vec<Moment> = run.writes.iter().filter(is_covered).copied().collect();
            let is_unknown = run.writes.len() - gone.len() > REMEMBERED;
            if is_unknown {
                gone = run.writes.iter().copied().filter(|of| self.writes[of].ended.is_some()).collect();
                settled.forget(start..run.end);
            }
            let run = self.runs.get_mut(&start).expect("it is there");
            run.writes.retain(|of| !gone.contains(of));
            run.loose = Some(now);
            run.settled = if is_unknown { Some(now) } else { run.settled };
            gone.into_iter().for_each(|of| self.release(of));
        }
    }

    /// The beginning of the newest write that has replaced all contents that ended before it, for a read that began at `read`.
    pub(crate) fn newest_over(&self, run: &WriteRun, read: Moment) -> Moment {
        let over = run.writes.iter().map(|of| &self.writes[of]).filter(|of| of.is_over(read));
        over.map(|of| of.began).max().unwrap_or(0)
    }

    /// Makes the content that was found in violation the settled content of a sector, so that it is reported once.
    pub(crate) fn correct(&mut self, sector: u64, now: Moment) {
        self.split(sector);
        self.split(sector + 1);
        let Some(run) = self.runs.get(&sector) else { return };
        let gone: Vec<_> = run.writes.iter().copied().filter(|of| self.writes[of].ended.is_some()).collect();
        let run = self.runs.get_mut(&sector).expect("it is there");
        run.writes.retain(|of| !gone.contains(of));
        run.settled = Some(now);
        if run.writes.is_empty() {
            self.runs.remove(&sector);
        }
        gone.into_iter().for_each(|of| self.release(of));
    }

    /// Applies a power cut: any write that a run remembers may be its content, and the surviving content stays.
    pub(crate) fn cut(&mut self, began: Moment, ended: Moment, settled: &mut SettledSectors) {
        for start in self.runs.keys().copied().collect::<Vec<_>>() {
            let Some(run) = self.runs.get_mut(&start) else { continue };
            run.settled = run.settled.map(|_| ended);
            if run.loose.is_some() || run.writes.iter().any(|of| self.writes[of].is_loose) {
                settled.forget(start..run.end);
                let run = self.runs.remove(&start).expect("it is there");
                run.writes.into_iter().for_each(|of| self.release(of));
            }
        }
        for write in self.writes.values_mut() {
            write.at_cut = Some(write.state());
            (write.began, write.ended) = (began, Some(ended));
            (write.is_certain, write.is_durable) = (true, true);
        }
        // A run with one possible write is settled.
        for start in self.runs.keys().copied().collect::<Vec<_>>() {
            self.settle(start, Moment::MAX, settled);
        }
    }

    /// Bytes of memory, without what the allocator adds.
    pub(crate) fn memory(&self) -> u64 {
        let run = (size_of::<(u64, WriteRun)>() + 2 * size_of::<Moment>()) * self.runs.len();
        let digests = |of: &SectorWrite| match &of.content {
            WriteContent::Each(digests) => digests.len() * size_of::<u64>(),
            WriteContent::Same(_) => 0,
            WriteContent::Appends { writes, .. } => {
                let of = |(_, digests): &(WriteTime, Box<[u64]>)| {
                    size_of::<(Moment, WriteTime)>() + digests.len() * size_of::<u64>()
                };
                writes.values().map(of).sum()
            }
        };
        let writes: usize = self.writes.values().map(|of| size_of::<(Moment, SectorWrite)>() + digests(of)).sum();
        (run + writes) as u64
    }
}
