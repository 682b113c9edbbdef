//! Counts of the jobs of a served drive, by kind.

use base::units::{Sectors, Span, Time};
use ssd::{Counters, Recovery, ResolvedDevice};
use study::histogram::Histogram;

use super::coarse::CoarseHistogram;
use crate::{Job, JobFailure, Operation};

/// The kinds of jobs, in the order of [`kind`].
pub(super) const KINDS: [&str; 8] =
    ["read", "write", "flush", "discard", "write-zeroes", "append", "manage-zone", "update-handles"];

/// Indices of kinds in [`KINDS`].
pub(crate) const READ: usize = 0;
pub(crate) const WRITE: usize = 1;
pub(crate) const APPEND: usize = 5;

/// The number of kinds that every drive has, which come first.
const COMMON: usize = 5;
/// The index of the updates of reclaim unit handles.
const UPDATE_HANDLES: usize = 7;

/// True if a drive with this description has jobs of a kind.
pub(super) fn has_kind(drive: &ResolvedDevice, kind: usize) -> bool {
    match kind {
        UPDATE_HANDLES => drive.spec.ftl.fdp.is_some(),
        _ => kind < COMMON || drive.zones.is_some(),
    }
}

/// The kinds that move data: only these count for the rate of requests.
const MOVE_DATA: [&str; 4] = ["read", "write", "write-zeroes", "append"];

const fn kind(operation: &Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write { .. } => 1,
        Operation::Flush => 2,
        Operation::Discard => 3,
        Operation::WriteZeroes { .. } => 4,
        Operation::Append { .. } => 5,
        Operation::ManageZone(_) | Operation::ManageZones(_) => 6,
        Operation::UpdateHandles(_) => UPDATE_HANDLES,
    }
}

/// A second of simulated time, for the present rate.
const SECOND: u64 = Span::from_secs(1).as_ps();

/// Simulated times from submission to answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) reads: CoarseHistogram,
    pub(crate) writes: CoarseHistogram,
}

#[derive(Clone, Debug, Default)]
pub(super) struct JobTally {
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) sectors: Sectors,
    /// Simulated times from submission to answer of the successful jobs.
    pub(super) latency: Histogram,
}

/// The counts of a served drive.
pub(super) struct Tally {
    pub(super) kinds: [JobTally; 8],
    /// Jobs that failed because a sector could not be read from flash.
    pub(super) uncorrectable: u64,
    /// Jobs that were refused because the drive was read-only.
    pub(super) refused: u64,
    /// True if the last write was refused because the drive is worn out.
    pub(super) is_read_only: bool,
    pub(super) cuts: u64,
    /// The number of times that the power came on, the first one included.
    pub(super) power_ons: u64,
    /// Operations of the flash that commands planned to fail.
    pub(super) faults: u64,
    pub(super) recovery: Option<Recovery>,
    /// The drive's counters when it was first switched on.
    pub(super) start: Counters,
    /// The latencies since the last observation; none before the first observation that asks for them.
    pub(super) recent: Option<Recent>,
    /// The present second of simulated time with the number of jobs carried out in it; `before` is the last such second
    /// before.
    second: (u64, u64),
    before: (u64, u64),
}

impl Tally {
    /// `start` has the counters of the drive when it is first switched on.
    pub(super) fn new(start: Counters) -> Self {
        Self {
            kinds: Default::default(),
            uncorrectable: 0,
            refused: 0,
            is_read_only: false,
            cuts: 0,
            power_ons: 1,
            faults: 0,
            recovery: None,
            start,
            recent: None,
            second: (0, 0),
            before: (0, 0),
        }
    }

    pub(super) fn ended(&mut self, job: &Job, at: Time, latency: Span, failed: Option<JobFailure>) {
        let of = &mut self.kinds[kind(&job.operation)];
        if job.operation.stores() && !job.sectors.is_zero() {
            self.is_read_only = failed == Some(JobFailure::Drive(ssd::Status::ReadOnly));
        }
        if let Some(failed) = failed {
            of.failed += 1;
            self.uncorrectable += u64::from(failed == JobFailure::Drive(ssd::Status::Uncorrectable));
            self.refused += u64::from(failed == JobFailure::Drive(ssd::Status::ReadOnly));
            return;
        }
        of.done += 1;
        of.sectors = Sectors::new(of.sectors.get() + job.sectors.get());
        of.latency.record(latency);
        match (&mut self.recent, &job.operation) {
            (Some(recent), Operation::Read) => recent.reads.record(latency),
            (Some(recent), Operation::Write { .. } | Operation::Append { .. }) => recent.writes.record(latency),
            _ => {}
        }
        if !MOVE_DATA.contains(&KINDS[kind(&job.operation)]) {
            return;
        }
        let second = at.as_ps() / SECOND;
        if second != self.second.0 {
            self.before = std::mem::replace(&mut self.second, (second, 0));
        }
        self.second.1 += 1;
    }

    /// Jobs carried out in the last whole second of simulated time.
    pub(super) fn rate(&self, now: Time) -> u64 {
        let last = (now.as_ps() / SECOND).checked_sub(1);
        [self.second, self.before].into_iter().find(|(second, _)| Some(*second) == last).map_or(0, |(_, jobs)| jobs)
    }

    /// Jobs carried out that moved data.
    pub(super) fn moved(&self) -> u64 {
        KINDS.iter().zip(&self.kinds).filter(|(name, _)| MOVE_DATA.contains(name)).map(|(_, kind)| kind.done).sum()
    }
}
