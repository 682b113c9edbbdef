//! The journal: a drive of its own gets the new content of stripes before the stripes are changed. After a power cut
//! the records are written to their places again, so no stripe contradicts its parity, even if a drive is missing.
//!
//! The journal works as that of Linux in write-through mode (`Documentation/driver-api/md/raid5-cache.rst`): a record
//! of data and parity is written and flushed, then the drives are written, and then the write is acknowledged. One
//! flush serves all records that have been written when it begins. The records form a ring. A checkpoint has three
//! steps: it flushes the drives, writes the new tail of the ring to the first unit of the journal, and frees the
//! records at the front that were applied before the flush.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::Lba;

use crate::operation::Operation;
use crate::plan::Range;

type OperationId<S> = Handle<Operation<S>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Writing,
    Written,
    Flushing,
    /// The record is on flash, but an earlier record may not be, so that a mount would not find this record.
    Flushed,
    /// The record is on flash, and so are all records before it.
    Durable,
    /// The drives have written the content of the record to its places.
    Applied,
}

/// The changes of one write, or of a part of one.
#[derive(Clone, Debug)]
struct JournalRecord<S> {
    operation: OperationId<S>,
    /// The first sector of the record, counted through all rounds of the ring.
    start: u64,
    end: u64,
    /// The ranges that the record writes, in the order of its data; without data, the ranges that it discards.
    ranges: Vec<Range>,
    progress: Progress,
}

/// A record to be read back.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// The position of the record's data on the journal's drive.
    pub(crate) at: Lba,
    pub(crate) ranges: Vec<Range>,
    /// The number of sectors of data; zero for a discard.
    pub(crate) sectors: u64,
}

/// The ring of records.
#[derive(Clone, Debug)]
pub(crate) struct Journal<S> {
    pub(crate) drive: u32,
    /// The number of sectors of a mapping unit. Each record begins with a unit for its header and ends with a whole
    /// unit, so no two records share a unit.
    unit: u64,
    /// The number of sectors of the ring.
    size: u64,
    /// The position of the next record.
    head: u64,
    tail: u64,
    records: VecDeque<JournalRecord<S>>,
    /// Operations that wait for room, in order.
    waiting: VecDeque<OperationId<S>>,
    is_flushing: bool,
    /// The checkpoint under way, the number of records that it frees, and the progress of its new tail; `None` there
    /// until the drives are flushed.
    checkpoint: Option<(OperationId<S>, usize, Option<Progress>)>,
    /// The number of records that have been replayed; `None` if no replay is under way.
    replayed: Option<usize>,
    pub(crate) has_failed: bool,
}

impl<S> Journal<S> {
    /// Creates an empty journal on a drive of `sectors` sectors with mapping units of `unit` sectors.
    pub(crate) const fn new(drive: u32, sectors: u64, unit: u64) -> Self {
        Self {
            drive,
            unit,
            size: sectors / unit * unit,
            head: 0,
            tail: 0,
            records: VecDeque::new(),
            waiting: VecDeque::new(),
            is_flushing: false,
            checkpoint: None,
            replayed: None,
            has_failed: false,
        }
    }

    /// The most sectors of data of a record, so that the ring has room for several. Assumed.
    pub(crate) const fn most_data(&self) -> u64 {
        self.size / 4 - 2 * self.unit
    }

    /// The address of a position in the ring, which begins after the unit with the tail.
    const fn lba(&self, position: u64) -> Lba {
        Lba::new(self.unit + position % self.size)
    }

    /// Enters a record with `sectors` sectors of data. Returns its address and its length in sectors; `None` if it has
    /// to wait for room.
    pub(crate) fn enter(&mut self, operation: OperationId<S>, ranges: Vec<Range>, sectors: u64) -> Option<(Lba, u64)> {
        let length = self.unit + sectors.next_multiple_of(self.unit);
        let left = self.size - self.head % self.size;
        // A record must not wrap around the end of the ring.
        let start = if length > left { self.head + left } else { self.head };
        if !self.waiting.is_empty() || start + length > self.tail + self.size {
            self.waiting.push_back(operation);
            return None;
        }
        self.head = start + length;
        self.records.push_back(JournalRecord { operation, start, end: self.head, ranges, progress: Progress::Writing });
        Some((self.lba(start), length))
    }

    /// The number of sectors of the header of a record.
    pub(crate) const fn header(&self) -> u64 {
        self.unit
    }

    fn newest_mut(&mut self, operation: OperationId<S>) -> &mut JournalRecord<S> {
        let newest = self.records.iter_mut().rev().find(|record| record.operation == operation);
        newest.expect("the operation has a record")
    }

    /// Notes that the drive has acknowledged a record, or the tail of a checkpoint.
    pub(crate) fn written(&mut self, operation: OperationId<S>) {
        match &mut self.checkpoint {
            Some((checkpoint, _, tail)) if *checkpoint == operation => *tail = Some(Progress::Written),
            _ => self.newest_mut(operation).progress = Progress::Written,
        }
    }

    /// Begins a flush of the drive if one is needed. Returns true if so.
    pub(crate) fn begin_flush(&mut self) -> bool {
        let tail = self.checkpoint.iter_mut().filter_map(|(_, _, tail)| tail.as_mut());
        let written = self.records.iter_mut().map(|record| &mut record.progress).chain(tail);
        let written: Vec<&mut Progress> = written.filter(|progress| **progress == Progress::Written).collect();
        if self.is_flushing || written.is_empty() {
            return false;
        }
        written.into_iter().for_each(|progress| *progress = Progress::Flushing);
        self.is_flushing = true;
        true
    }

    /// Ends the flush. Returns the operations whose record, or whose tail, is durable now.
    pub(crate) fn flushed(&mut self) -> Vec<OperationId<S>> {
        self.is_flushing = false;
        let mut ready = Vec::new();
        for record in &mut self.records {
            if record.progress == Progress::Flushing {
                record.progress = Progress::Flushed;
            }
        }
        for record in &mut self.records {
            match record.progress {
                Progress::Durable | Progress::Applied => {}
                Progress::Flushed => {
                    record.progress = Progress::Durable;
                    ready.push(record.operation);
                }
                // A mount stops at the first record that is missing.
                Progress::Writing | Progress::Written | Progress::Flushing => break,
            }
        }
        if let Some((checkpoint, _, Some(Progress::Flushing))) = self.checkpoint {
            ready.push(checkpoint);
        }
        ready
    }

    /// Notes that the drives have written the content of an operation's newest record.
    pub(crate) fn applied(&mut self, operation: OperationId<S>) {
        self.newest_mut(operation).progress = Progress::Applied;
    }

    fn applied_in_front(&self) -> usize {
        self.records.iter().take_while(|record| record.progress == Progress::Applied).count()
    }

    /// True if a checkpoint is needed (half of the ring is in use, or an operation waits for room) and would free a
    /// record. The half is assumed.
    pub(crate) fn needs_checkpoint(&self) -> bool {
        let is_short = !self.waiting.is_empty() || self.head - self.tail > self.size / 2;
        !self.has_failed && self.checkpoint.is_none() && is_short && self.applied_in_front() > 0
    }

    /// Begins a checkpoint, which frees the records that have been applied until now.
    pub(crate) fn begin_checkpoint(&mut self, operation: OperationId<S>) {
        self.checkpoint = Some((operation, self.applied_in_front(), None));
    }

    /// Begins to write the new tail after the flush of the drives. Returns its address and its length in sectors.
    pub(crate) fn begin_tail(&mut self) -> (Lba, u64) {
        let (.., tail) = self.checkpoint.as_mut().expect("a checkpoint is under way");
        *tail = Some(Progress::Writing);
        (Lba::new(0), self.unit)
    }

    /// Ends the checkpoint under way. Returns the operations that waited for room.
    pub(crate) fn end_checkpoint(&mut self) -> VecDeque<OperationId<S>> {
        let (_, freed, _) = self.checkpoint.take().expect("a checkpoint is under way");
        self.records.drain(..freed);
        self.tail = self.records.front().map_or(self.head, |record| record.start);
        std::mem::take(&mut self.waiting)
    }

    /// Handles a failure of the drive. Returns the operations that wait for it.
    pub(crate) fn fail(&mut self) -> Vec<OperationId<S>> {
        self.has_failed = true;
        let records = self.records.iter().filter(|record| record.progress < Progress::Durable);
        let waiting = records.map(|record| record.operation).chain(self.waiting.drain(..));
        let mut waiting: Vec<_> = waiting.collect();
        // A checkpoint that still flushes the drives notices the failure after its flush.
        if let Some((checkpoint, _, Some(_))) = self.checkpoint.take() {
            waiting.push(checkpoint);
        }
        waiting
    }

    /// Handles a power loss: records that are not durable are dropped.
    pub(crate) fn lose_power(&mut self) {
        self.records.retain(|record| record.progress >= Progress::Durable);
        self.head = self.records.back().map_or(self.tail, |record| record.end);
        self.waiting.clear();
        (self.is_flushing, self.checkpoint, self.replayed) = (false, None, None);
    }

    /// Begins a replay of all records. Returns false if there is no record.
    pub(crate) fn begin_replay(&mut self) -> bool {
        let has_records = !self.records.is_empty() && !self.has_failed;
        self.replayed = has_records.then_some(0);
        has_records
    }

    /// True while records are replayed.
    pub(crate) const fn is_replaying(&self) -> bool {
        self.replayed.is_some()
    }

    /// The next record of the replay; `None` at its end.
    pub(crate) fn next_replay(&mut self) -> Option<Replay> {
        let next = self.replayed.filter(|_| !self.has_failed)?;
        let record = self.records.get_mut(next)?;
        record.progress = Progress::Applied;
        let (at, ranges) = (record.start + self.unit, record.ranges.clone());
        let has_data = record.end > at;
        self.replayed = Some(next + 1);
        let sectors = if has_data { ranges.iter().map(|range| range.to - range.from).sum() } else { 0 };
        Some(Replay { at: self.lba(at), ranges, sectors })
    }

    pub(crate) const fn end_replay(&mut self) {
        self.replayed = None;
    }
}

/// Divides writes into records: whole stripes, as many as fit into each record.
pub(crate) fn rounds<S>(writes: Vec<(Range, Vec<S>)>, chunk: u64, most: u64) -> VecDeque<Vec<(Range, Vec<S>)>> {
    let mut stripes: Vec<Vec<(Range, Vec<S>)>> = Vec::new();
    for write in writes {
        let stripe = |range: &Range| range.from / chunk;
        match stripes.last_mut() {
            Some(last) if stripe(&last[0].0) == stripe(&write.0) => last.push(write),
            _ => stripes.push(vec![write]),
        }
    }
    let (mut rounds, mut sectors) = (VecDeque::<Vec<_>>::new(), 0);
    for stripe in stripes {
        let more: u64 = stripe.iter().map(|(_, data)| data.len() as u64).sum();
        match rounds.back_mut() {
            Some(round) if sectors + more <= most => {
                sectors += more;
                round.extend(stripe);
            }
            _ => {
                sectors = more;
                rounds.push_back(stripe);
            }
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const UNIT: u64 = 8;

    fn operation(number: u32) -> OperationId<()> {
        Handle::from_number(NonZeroU32::new(number).expect("not zero"))
    }

    fn journal() -> Journal<()> {
        Journal::new(4, 16 * UNIT, UNIT)
    }

    fn apply(journal: &mut Journal<()>, number: u32, sectors: u64) -> Option<(Lba, u64)> {
        let placed = journal.enter(operation(number), Vec::new(), sectors)?;
        journal.written(operation(number));
        assert!(journal.begin_flush());
        assert_eq!(journal.flushed(), [operation(number)]);
        journal.applied(operation(number));
        Some(placed)
    }

    #[test]
    fn a_record_is_durable_only_with_all_before_it() {
        let mut journal = journal();
        (1..=3).for_each(|number| assert!(journal.enter(operation(number), Vec::new(), 3).is_some()));
        journal.written(operation(2));
        assert!(journal.begin_flush() && !journal.begin_flush(), "one flush at a time");
        journal.written(operation(1));
        assert_eq!(journal.flushed(), [], "the first record is not there yet");
        assert!(journal.begin_flush());
        assert_eq!(journal.flushed(), [operation(1), operation(2)]);
        journal.lose_power();
        assert!(journal.begin_replay());
        let replayed = std::iter::from_fn(|| journal.next_replay()).map(|replay| replay.at.get()).collect::<Vec<_>>();
        assert_eq!(replayed, [2 * UNIT, 4 * UNIT], "behind the tail and a header each");
    }

    #[test]
    fn a_checkpoint_frees_what_was_applied_when_it_began() {
        let mut journal = journal();
        assert_eq!(apply(&mut journal, 1, 7 * UNIT), Some((Lba::new(UNIT), 8 * UNIT)));
        assert!(!journal.needs_checkpoint(), "half is in use, and no more");
        assert_eq!(apply(&mut journal, 2, 3), Some((Lba::new(9 * UNIT), 2 * UNIT)));
        assert!(journal.needs_checkpoint());
        journal.begin_checkpoint(operation(9));
        apply(&mut journal, 3, 2 * UNIT);
        assert_eq!(journal.enter(operation(4), Vec::new(), 4 * UNIT), None, "it waits");
        journal.begin_tail();
        journal.written(operation(9));
        assert!(journal.begin_flush());
        assert_eq!(journal.flushed(), [operation(9)]);
        assert_eq!(journal.end_checkpoint(), [operation(4)]);
        let again = journal.enter(operation(4), Vec::new(), 4 * UNIT);
        assert_eq!(again, Some((Lba::new(UNIT), 5 * UNIT)), "it begins at the beginning of the ring, in one piece");
        journal.lose_power();
        journal.begin_replay();
        assert_eq!(std::iter::from_fn(|| journal.next_replay()).count(), 1, "only the third one is left");
    }
}
