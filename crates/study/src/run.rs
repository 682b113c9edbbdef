//! Drives a disk with a workload and keeps what comes of it.

use std::fmt;
use std::io;

use flash::backend::CauseSet;
use flash::io::{Io, IoKind};
use flash::units::{Sectors, Span, Time};
use ssd::{Completion, Counters, Drive, Request, Status, Tag};
use workload::{Pacing, Source, SourceError};

use crate::oracle::{Mismatch, Payload};
use crate::series::Series;

mod result;

pub use result::{Delay, KindResult, RunResult, since};
pub(crate) use result::{rate, write_amplification, write_amplification_by};

/// Points of the time series that are kept at most; at least half as many of a long run are.
const SERIES_POINTS: usize = 400;

/// Distance of the points before the first doubling: below any run that is worth a time series.
const SERIES_INTERVAL: Span = Span::from_us(10);

/// Requests that complete between two calls of a progress callback.
const PROGRESS_EVERY: u64 = 1 << 14;

/// No command of any flash takes an hour: a request that waits longer has been lost.
const LOST_AFTER: Span = Span::from_secs(3600);

/// The index of a kind in tables by kind.
pub(crate) const fn index(kind: IoKind) -> usize {
    kind as usize
}

/// A finished request, as a request log takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request's number, counted from zero in the order of submission.
    pub tag: Tag,
    /// What was asked.
    pub io: Io,
    /// How it ended.
    pub status: Status,
    /// When it was submitted.
    pub arrival: Time,
    /// When it left the host queue.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Flash commands issued on its behalf before it was acknowledged.
    pub commands: u32,
    /// The longest that any of them waited for a unit or a die.
    pub flash_wait: Span,
    /// The causes of the commands it waited behind.
    pub waited_for: CauseSet,
}

/// Takes a record of every request, in the order of their completion.
pub trait RequestLog {
    /// Takes one record.
    ///
    /// # Errors
    /// If it cannot be kept; the run ends.
    fn record(&mut self, record: &Record) -> io::Result<()>;
}

impl RequestLog for Vec<Record> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.push(*record);
        Ok(())
    }
}

/// How far a run has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests completed.
    pub completed: u64,
    /// Simulated time since the run started.
    pub simulated: Span,
}

/// Why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// The workload cannot be read.
    Source(SourceError),
    /// The workload yielded no request.
    Empty,
    /// A closed loop without a request outstanding never starts.
    NoDepth,
    /// A request of the workload ends beyond the device.
    BeyondCapacity {
        /// Its number.
        tag: Tag,
        /// The request.
        io: Io,
        /// What the device offers.
        capacity: Sectors,
    },
    /// The request log cannot be written.
    Log(io::Error),
    /// The device returned wrong data: a bug of the device.
    Mismatch(Mismatch),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Empty => f.write_str("the workload yields no request; check its file, --skip and --limit"),
            Self::NoDepth => f.write_str("a closed loop of depth 0 never issues a request; use --depth 1 or more"),
            Self::BeyondCapacity { tag, io, capacity } => write!(
                f,
                "request {tag} ({} of {} from {}) ends beyond the device's {} ({}); \
                 use a larger device, or --extent wrap or compact to fit the addresses into it",
                io.kind.name(),
                io.sectors,
                io.start,
                capacity,
                capacity.bytes()
            ),
            Self::Log(error) => write!(f, "the request log cannot be written: {error}"),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<SourceError> for RunError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// Everything about a run but the device and the workload. Its defaults: as the workload says, to its
/// end, at the speed of its timestamps.
#[derive(Default)]
pub struct Runner<'a> {
    pacing: Option<Pacing>,
    limit: Option<u64>,
    first_tag: Tag,
    time_scale: Option<f64>,
    settle: Option<Span>,
    log: Option<&'a mut dyn RequestLog>,
    progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl<'a> Runner<'a> {
    /// A run with all defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Issues the requests like this, whatever the workload says.
    #[must_use]
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = Some(pacing);
        self
    }

    /// Stops submitting after this many requests.
    #[must_use]
    pub fn limit(mut self, requests: u64) -> Self {
        self.limit = Some(requests);
        self
    }

    /// Numbers the requests from here on, so that those of several runs on one device, one after another,
    /// can be told apart. Zero by default.
    #[must_use]
    pub fn first_tag(mut self, tag: Tag) -> Self {
        self.first_tag = tag;
        self
    }

    /// Multiplies all times of arrival: 0.5 plays a trace twice as fast.
    ///
    /// # Panics
    /// If the factor is not a positive number.
    #[must_use]
    pub fn time_scale(mut self, factor: f64) -> Self {
        assert!(factor > 0.0 && factor.is_finite(), "{factor} does not scale time");
        self.time_scale = Some(factor);
        self
    }

    /// After the last completion, lets the device finish what it does in the background, for at most
    /// this long, so that its counters can be reconciled exactly. None of it counts as part of the run.
    #[must_use]
    pub fn settle(mut self, at_most: Span) -> Self {
        self.settle = Some(at_most);
        self
    }

    /// Keeps a record of every request.
    #[must_use]
    pub fn log(mut self, log: &'a mut dyn RequestLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Is told now and then how far the run has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(Progress)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Runs to the end of the workload and to the completion of its last request.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If the device loses a request or completes one twice.
    pub fn run<S, D, W, P>(self, drive: &mut D, source: &mut W, payload: &mut P) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        W: Source + ?Sized,
        P: Payload<S>,
    {
        let pacing = self.pacing.unwrap_or_else(|| source.pacing());
        if pacing == (Pacing::Closed { depth: 0 }) {
            return Err(RunError::NoDepth);
        }
        let before = drive.counters();
        let until = source.duration().map_or(Time::MAX, |duration| before.at + duration);
        let mut flight = Flight {
            capacity: drive.capacity(),
            drive,
            source,
            payload,
            left: self.limit.unwrap_or(u64::MAX),
            first_tag: self.first_tag,
            until,
            scale: self.time_scale,
            log: self.log,
            progress: self.progress,
            completions: Vec::new(),
            ledger: 0,
            outstanding: 0,
            now: before.at,
            last_sign: before.at,
            series: Series::new(before.clone(), SERIES_INTERVAL, SERIES_POINTS),
            result: result::Collected::default(),
        };
        match pacing {
            Pacing::Closed { depth } => flight.closed(depth)?,
            Pacing::Open => flight.open(before.at)?,
        }
        if flight.result.submitted == 0 {
            return Err(RunError::Empty);
        }
        Ok(flight.finish(before, pacing, self.settle))
    }
}

/// A run under way.
struct Flight<'a, 'l, S, D, W: ?Sized, P> {
    drive: &'a mut D,
    source: &'a mut W,
    payload: &'a mut P,
    capacity: Sectors,
    /// Requests that may still be submitted.
    left: u64,
    first_tag: Tag,
    /// When a closed loop ends.
    until: Time,
    scale: Option<f64>,
    log: Option<&'l mut dyn RequestLog>,
    progress: Option<&'l mut dyn FnMut(Progress)>,
    completions: Vec<Completion<S>>,
    /// A sum over the tags under way: zero again if each came back exactly once.
    ledger: u64,
    outstanding: u64,
    now: Time,
    /// When a request was last submitted or completed.
    last_sign: Time,
    series: Series,
    result: result::Collected,
}

/// What a tag adds to the ledger: scattered, so that two wrong tags do not cancel.
fn entry(tag: Tag) -> u64 {
    let x = (tag + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 31)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

impl<S, D: Drive<S>, W: Source + ?Sized, P: Payload<S>> Flight<'_, '_, S, D, W, P> {
    /// As many at once as `depth`, the next at the instant at which one completes.
    fn closed(&mut self, depth: u32) -> Result<(), RunError> {
        let mut more = true;
        while more && self.outstanding < u64::from(depth) {
            more = self.submit_next()?;
        }
        while self.outstanding > 0 {
            let finished = self.advance(Time::MAX)?;
            for _ in 0..finished {
                more = more && self.submit_next()?;
            }
        }
        Ok(())
    }

    /// Each at its time of arrival, counted from `start`.
    fn open(&mut self, start: Time) -> Result<(), RunError> {
        while self.left > 0 {
            let Some(arrival) = self.source.next()? else { break };
            let ps = match self.scale {
                None => arrival.at.as_ps(),
                Some(factor) => (arrival.at.as_ps() as f64 * factor) as u64,
            };
            let at = start + Span::from_ps(ps);
            self.result.inversions += u64::from(at < self.now);
            while self.now < at {
                self.advance(at)?;
            }
            self.submit(arrival.io)?;
        }
        while self.outstanding > 0 {
            self.advance(Time::MAX)?;
        }
        Ok(())
    }

    /// Submits the next request of the source; false if there is none.
    #[inline]
    fn submit_next(&mut self) -> Result<bool, RunError> {
        if self.left == 0 || self.now >= self.until {
            return Ok(false);
        }
        let Some(arrival) = self.source.next()? else { return Ok(false) };
        self.submit(arrival.io)?;
        Ok(true)
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Result<(), RunError> {
        let tag = self.first_tag + self.result.submitted;
        if io.end().get() > self.capacity.get() {
            return Err(RunError::BeyondCapacity { tag, io, capacity: self.capacity });
        }
        let data = self.payload.content(tag, &io);
        self.drive.submit(self.now, Request { tag, io, data });
        self.result.submitted += 1;
        self.left -= 1;
        self.outstanding += 1;
        self.ledger = self.ledger.wrapping_add(entry(tag));
        self.last_sign = self.now;
        Ok(())
    }

    /// Lets the device work up to `to`, the next point of the series or the first completion,
    /// whichever comes first; the number of requests that completed.
    #[inline]
    fn advance(&mut self, to: Time) -> Result<u64, RunError> {
        let due = self.series.due();
        let to = due.map_or(to, |due| due.min(to));
        self.now = self.drive.advance(to, &mut self.completions);
        let finished = self.completions.len() as u64;
        if finished > 0 {
            self.last_sign = self.now;
            // Taken out while they are looked at, and put back for its memory.
            let mut completions = std::mem::take(&mut self.completions);
            for completion in completions.drain(..) {
                self.complete(&completion)?;
            }
            self.completions = completions;
        } else if self.outstanding > 0 {
            self.look_for_lost();
        }
        if due.is_some_and(|due| self.now >= due) {
            self.series.close(self.drive.counters());
        }
        Ok(finished)
    }

    #[inline]
    fn complete(&mut self, completion: &Completion<S>) -> Result<(), RunError> {
        self.payload.completed(completion).map_err(RunError::Mismatch)?;
        self.outstanding = self.outstanding.checked_sub(1).expect("a request completed that was not under way");
        self.ledger = self.ledger.wrapping_sub(entry(completion.tag));
        self.result.complete(completion);
        self.series.record(completion.io.kind, completion.latency());
        if let Some(log) = &mut self.log {
            let Completion { tag, io, status, arrival, start, end, commands, flash_wait, waited_for, .. } = *completion;
            let record = Record { tag, io, status, arrival, start, end, commands, flash_wait, waited_for };
            log.record(&record).map_err(RunError::Log)?;
        }
        if self.result.completed.is_multiple_of(PROGRESS_EVERY)
            && let Some(progress) = &mut self.progress
        {
            let simulated = self.now.saturating_since(self.result.first_arrival());
            progress(Progress { completed: self.result.completed, simulated });
        }
        Ok(())
    }

    fn look_for_lost(&self) {
        let Self { outstanding, now, .. } = self;
        assert!(self.drive.next_event().is_some(), "{outstanding} requests are under way, but nothing is ({now})");
        assert!(
            now.saturating_since(self.last_sign) < LOST_AFTER,
            "{outstanding} requests are under way, but none was submitted or completed for {LOST_AFTER} ({now})"
        );
    }

    fn finish(mut self, before: Counters, pacing: Pacing, settle: Option<Span>) -> RunResult {
        assert!(self.ledger == 0, "the tags that came back are not those that were handed in");
        let after = self.drive.counters();
        self.series.finish(after.clone());
        let settled = settle.and_then(|at_most| self.settle(at_most));
        RunResult::new(self.result, pacing, before, after, settled, self.series)
    }

    /// Lets background work finish; the counters then, or `None` if it does not finish in time.
    fn settle(&mut self, at_most: Span) -> Option<Counters> {
        let deadline = self.now + at_most;
        while let Some(next) = self.drive.next_event() {
            if next > deadline {
                return None;
            }
            self.drive.advance(next, &mut self.completions);
            assert!(self.completions.is_empty(), "a request completed that was not under way");
        }
        Some(self.drive.counters())
    }
}

#[cfg(test)]
mod tests;
