//! The journal of a RAID: a record for each change of the host, checkpoints, and the replay after a power cut.

use std::collections::VecDeque;

use base::engine::{Handle, Interval};
use base::io::{Io, IoKind};
use base::units::Sectors;
use flash::nand::Sector;
use ssd::{Completion, QueueId, RaidJournalCounters, Request, Sabotage, Status};

use super::Raid;
use crate::assembly::joined;
use crate::journal::Journal;
use crate::operation::{Operation, OperationPhase, Purpose, operation_of};

impl<S: Sector> Raid<S> {
    /// Writes the next record of an operation, or makes it wait for room.
    pub(super) fn enter_record(&mut self, handle: Handle<Operation<S>>) {
        let (Some(journal), Some(counts)) = (&mut self.journal, &mut self.raid_counts.journal) else { return };
        if journal.has_failed {
            return self.end(handle, Status::ReadOnly);
        }
        let operation = &mut self.operations[handle];
        (operation.phase, operation.pieces, operation.under_way) = (OperationPhase::Journaling, Vec::new(), 0);
        operation.phase_from = self.now;
        let round = operation.rounds.front().expect("something is left to write");
        let ranges = round.iter().map(|(range, _)| *range).collect();
        let data: u64 = round.iter().map(|(_, data)| data.len() as u64).sum();
        match journal.enter(handle, ranges, data) {
            Some((at, sectors)) => {
                let mut record = vec![S::default(); journal.header() as usize];
                round.iter().for_each(|(_, data)| record.extend_from_slice(data));
                record.resize(sectors as usize, S::default());
                (counts.records, counts.sectors) = (counts.records + 1, counts.sectors + sectors);
                self.ask_journal(handle, Io::new(IoKind::Write, at, Sectors::new(sectors)), record);
            }
            None => counts.waits += 1,
        }
        self.checkpoint();
    }

    fn ask_journal(&mut self, handle: Handle<Operation<S>>, io: Io, data: Vec<S>) {
        let Some(journal) = &self.journal else { return };
        let operation = &mut self.operations[handle];
        operation.under_way = 1;
        let tag = u64::from(handle.number().get()) << u32::BITS;
        let queue = operation.completion.queue;
        self.members.submit_to(journal.drive, self.now, Request { tag, queue, io, data });
    }

    /// Begins a checkpoint if one is due.
    pub(super) fn checkpoint(&mut self) {
        let Some(journal) = self.journal.as_mut().filter(|journal| journal.needs_checkpoint()) else { return };
        let (handle, _) = self.operations.enter(Operation::own(Purpose::Checkpoint, 0..0, self.now), Interval::NONE);
        journal.begin_checkpoint(handle);
        self.begin(handle);
    }

    /// Handles a completion of the journal's drive.
    pub(super) fn journal_reported(&mut self, completion: Completion<S>) {
        let Some(journal) = &mut self.journal else { return };
        let (is_done, drive) = (completion.status == Status::Done, journal.drive);
        let Some(handle) = operation_of(&completion) else {
            // The flush, which belongs to no operation.
            if !is_done {
                return self.fail(drive);
            }
            let durable = journal.flushed();
            durable.into_iter().for_each(|handle| self.journaled(handle));
            return self.flush_journal();
        };
        let operation = &mut self.operations[handle];
        operation.under_way = 0;
        operation.completion.add_costs(&completion);
        match operation.purpose {
            Purpose::Replay if is_done => {
                let mut data = completion.data.into_iter();
                let mut writes = operation.rounds.pop_front().expect("the record that was read");
                writes.iter_mut().for_each(|(range, part)| part.extend(data.by_ref().take(range.sectors())));
                self.issue(handle, OperationPhase::Writing, IoKind::Write, writes);
            }
            Purpose::Replay => {
                self.count_journal(|counts| counts.unreadable += 1);
                self.background.doubt();
                self.replay(handle);
            }
            _ if !is_done => self.fail(drive),
            _ => {
                journal.written(handle);
                if self.has_planted(Sabotage::JournalUnflushed) && self.operations[handle].is_of_host() {
                    return self.journaled(handle);
                }
                self.flush_journal();
            }
        }
    }

    pub(super) fn flush_journal(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        if journal.begin_flush() {
            let flush = Request { tag: 0, queue: QueueId::default(), io: Io::FLUSH, data: Vec::new() };
            self.members.submit_to(journal.drive, self.now, flush);
        }
    }

    /// Continues an operation when its record, or the tail of a checkpoint, is durable.
    pub(super) fn journaled(&mut self, handle: Handle<Operation<S>>) {
        let Some(drive) = self.journal.as_ref().map(|journal| journal.drive) else { return };
        let operation = &mut self.operations[handle];
        operation.note_step(&self.notes, drive, u64::from(handle.number().get()) << u32::BITS, self.now);
        let kind = operation.completion.io.kind;
        match operation.rounds.pop_front() {
            Some(writes) => {
                operation.has_record = true;
                self.issue(handle, OperationPhase::Writing, kind, joined(writes));
            }
            None => self.end(handle, Status::Done),
        }
    }

    /// Begins the next record of an operation after the drives have written the last record. Returns false if there is
    /// no further record.
    pub(super) fn next_record(&mut self, handle: Handle<Operation<S>>) -> bool {
        let Some(journal) = &mut self.journal else { return false };
        let operation = &mut self.operations[handle];
        if std::mem::take(&mut operation.has_record) {
            journal.applied(handle);
        }
        let has_more = !operation.rounds.is_empty();
        if has_more {
            self.enter_record(handle);
        }
        self.checkpoint();
        has_more
    }

    /// Writes the new tail after the drives have been flushed for a checkpoint.
    pub(super) fn write_tail(&mut self, handle: Handle<Operation<S>>) {
        // The drive of the journal may have failed meanwhile.
        let Some(journal) = self.journal.as_mut().filter(|journal| !journal.has_failed) else {
            return self.end(handle, Status::ReadOnly);
        };
        let (at, sectors) = journal.begin_tail();
        self.operations[handle].phase = OperationPhase::Journaling;
        self.count_journal(|counts| counts.sectors += sectors);
        self.ask_journal(
            handle,
            Io::new(IoKind::Write, at, Sectors::new(sectors)),
            vec![S::default(); sectors as usize],
        );
    }

    /// Continues the operations that waited for room after a checkpoint has ended.
    pub(super) fn checkpointed(&mut self) {
        let Some(journal) = self.journal.as_mut().filter(|journal| !journal.has_failed) else { return };
        let waiting = journal.end_checkpoint();
        self.count_journal(|counts| counts.checkpoints += 1);
        waiting.into_iter().for_each(|handle| self.enter_record(handle));
    }

    pub(super) fn is_replaying(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::is_replaying)
    }

    /// True if there is a journal whose drive works.
    pub(super) fn has_journal(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| !journal.has_failed)
    }

    /// Replays the journal after a power cut.
    pub(super) fn begin_replay(&mut self) {
        let is_forgotten = self.has_planted(Sabotage::ReplayForgotten);
        if self.journal.as_mut().is_some_and(|journal| !is_forgotten && journal.begin_replay()) {
            let (handle, _) = self.operations.enter(Operation::own(Purpose::Replay, 0..0, self.now), Interval::NONE);
            self.begin(handle);
        }
    }

    /// Continues the operations that waited for the replay after it has ended.
    pub(super) fn replayed(&mut self) {
        self.journal.iter_mut().for_each(Journal::end_replay);
        std::mem::take(&mut self.held).into_iter().for_each(|handle| self.begin(handle));
        self.wake_background();
        self.checkpoint();
    }

    /// Reads the next record that is to be replayed, or ends the replay.
    pub(super) fn replay(&mut self, handle: Handle<Operation<S>>) {
        let Some(replay) = self.journal.as_mut().and_then(Journal::next_replay) else {
            return self.end(handle, Status::Done);
        };
        self.count_journal(|counts| counts.replayed += 1);
        let parts = replay.ranges.into_iter().map(|range| (range, Vec::new())).collect();
        if replay.sectors == 0 {
            return self.issue(handle, OperationPhase::Writing, IoKind::Discard, parts);
        }
        let operation = &mut self.operations[handle];
        (operation.phase, operation.pieces) = (OperationPhase::Reading, Vec::new());
        operation.rounds = VecDeque::from([parts]);
        self.ask_journal(handle, Io::new(IoKind::Read, replay.at, Sectors::new(replay.sectors)), Vec::new());
    }

    fn count_journal(&mut self, count: impl FnMut(&mut RaidJournalCounters)) {
        self.raid_counts.journal.as_mut().into_iter().for_each(count);
    }

    /// Handles a failure of the journal's drive: changes that wait for it fail, and so do all later changes, as in
    /// Linux. Writes of the drives that are under way continue.
    pub(super) fn fail_journal(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let waiting = journal.fail();
        let replay = self.operations.handles().find(|handle| self.operations[*handle].purpose == Purpose::Replay);
        waiting.into_iter().for_each(|handle| self.end(handle, Status::ReadOnly));
        if let Some(handle) = replay {
            self.background.doubt();
            if self.operations[handle].phase == OperationPhase::Reading {
                self.replay(handle);
            }
        }
    }
}
