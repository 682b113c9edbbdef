//! Drives a disk with a workload and keeps what comes of it.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

use base::io::{Io, IoKind};
use base::units::{Sectors, Span, Time};
use flash::backend::CauseSet;
use ssd::{Counters, Drive, Memory, Purpose, QueueId, Resolved, Status, Tag};
use workload::{Pacing, Source, SourceError};

use crate::oracle::{Mismatch, Oracle, Payload};

mod flight;
mod flows;
mod phase;
mod result;

use flight::Flight;
use flows::Several;

pub use flows::Flow;
pub use phase::{Stop, WarmUp};
pub(crate) use result::write_amplification_by;
pub use result::{Delay, FlowResult, KindResult, RunResult, rate, since, write_amplification};

/// Points of the time series that are kept at most; at least half as many of a long run are.
const SERIES_POINTS: usize = 400;

/// Distance of the points before the first doubling: below any run that is worth a time series.
const SERIES_INTERVAL: Span = Span::from_us(10);

/// Requests that complete between two calls of a progress callback.
const PROGRESS_EVERY: u64 = 1 << 14;

/// Events for each mapping unit of a drive after which a request has been lost, if none was submitted or completed
/// meanwhile. The longest request is about every unit, each of them takes some dozens of events, and garbage collection
/// copies some hundred units for each that is written; simulated time says nothing, because a drive may be slow.
const LOST_AFTER: u64 = 1 << 14;

/// The memory that a run on this drive takes: that of the drive, and of what is kept of it.
#[must_use]
pub fn memory(drive: &Resolved, purpose: Purpose) -> Memory {
    let mut memory = drive.memory(purpose);
    let geometry = &drive.geometry;
    let parts = 2 * u64::from(geometry.die_count()) + u64::from(geometry.channels);
    let point = size_of::<Counters>() as u64 + parts * size_of::<Span>() as u64;
    memory.add("the time series", (SERIES_POINTS as u64 + 3) * point);
    if purpose.verify {
        memory.add("what reads must return", Oracle::memory(drive.capacity()));
    }
    memory
}

/// The index of a kind in tables by kind.
pub(crate) const fn index(kind: IoKind) -> usize {
    kind as usize
}

/// A finished request, as a request log takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request's number, counted from zero in the order of submission.
    pub tag: Tag,
    /// Its flow, in the order in which they were given.
    pub flow: u16,
    /// The queue it was submitted to.
    pub queue: QueueId,
    /// What was asked.
    pub io: Io,
    /// How it ended.
    pub status: Status,
    /// When it was submitted.
    pub arrival: Time,
    /// When it left its queue.
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

impl<L: RequestLog + ?Sized> RequestLog for &mut L {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        (**self).record(record)
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
    /// The workload ended before the warm-up did, so that nothing was measured.
    OnlyWarmUp {
        /// Requests of it that completed.
        requests: u64,
    },
    /// Somebody asked the run to stop.
    Interrupted,
    /// A closed loop without a request outstanding never starts.
    NoDepth,
    /// A flow is submitted to a queue that the device does not have.
    NoQueue {
        /// The queue.
        queue: QueueId,
        /// How many the device has.
        queues: usize,
    },
    /// A request of the workload ends beyond the device.
    BeyondCapacity {
        /// Its number.
        tag: Tag,
        /// The request.
        io: Io,
        /// What the device offers.
        capacity: Sectors,
    },
    /// Simulated time is over, and the device has not finished.
    EndOfTime {
        /// Requests under way.
        outstanding: u64,
        /// When a request was last submitted or completed.
        last_sign: Time,
    },
    /// The busy times of its parts add up to more than can be told.
    BusyTime,
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
            Self::OnlyWarmUp { requests } => write!(
                f,
                "the workload ends after {requests} requests, before the warm-up does, and nothing is measured; make the \
                 workload longer or the warm-up shorter"
            ),
            Self::Interrupted => f.write_str("the run was interrupted; nothing of it is kept"),
            Self::NoDepth => f.write_str("a closed loop of depth 0 never issues a request; use --depth 1 or more"),
            Self::NoQueue { queue, queues } => write!(
                f,
                "a workload is submitted to {queue}, but the device has {queues}, counted from 0; choose another, or give \
                 it more with host.queues or [[host.queue]]"
            ),
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
            Self::EndOfTime { outstanding, last_sign } => write!(
                f,
                "simulated time ends after {:.0} days, and the device still works on {outstanding} requests and its own \
                 tasks (the last request came or was completed at {last_sign}); make the device faster (its data rates, array \
                 times, software-units or the map's service), or run fewer requests with --limit",
                flight::END.as_secs_f64() / 86_400.0
            ),
            Self::BusyTime => f.write_str(
                "the busy times of all dies or channels add up to more than the 213 days that can be told; run fewer \
                 requests with --limit, or on fewer dies",
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
    queue: QueueId,
    warm_up: WarmUp,
    stop: Stop,
    first_tag: Tag,
    time_scale: Option<f64>,
    settle: Option<Span>,
    interrupt: Option<&'a AtomicBool>,
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

    /// Submits the requests to this queue; to the first by default.
    #[must_use]
    pub fn queue(mut self, queue: QueueId) -> Self {
        self.queue = queue;
        self
    }

    /// Runs the workload for a while before anything is measured. Nothing pauses when that is over: requests that are
    /// under way then are measured, and nothing that came before them is.
    #[must_use]
    pub fn warm_up(mut self, warm_up: WarmUp) -> Self {
        self.warm_up = warm_up;
        self
    }

    /// Stops submitting by this rule; with the end of the workload by default.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Stops submitting after this many requests, those of all flows together.
    #[must_use]
    pub fn limit(self, requests: u64) -> Self {
        self.stop(Stop::Requests(requests))
    }

    /// Ends the run with [`RunError::Interrupted`] soon after this has become true.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a AtomicBool) -> Self {
        self.interrupt = Some(interrupt);
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
        self.run_and_tell(drive, source, payload, |_, _| {})
    }

    /// The same; `measure` hears when the warm-up is over, if there is one.
    pub(crate) fn run_and_tell<S, D, W, P>(
        self,
        drive: &mut D,
        source: &mut W,
        payload: &mut P,
        measure: fn(&mut D, Time),
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        W: Source + ?Sized,
        P: Payload<S>,
    {
        let pacing = checked(self.pacing.unwrap_or_else(|| source.pacing()), self.queue, drive.queues())?;
        let until = flight::until(drive.counters().at, source.duration());
        let (queue, settle) = (self.queue, self.settle);
        let mut flight = Flight::new(self, drive, payload, measure);
        match pacing {
            Pacing::Closed { depth } => flight.closed(source, queue, depth, until)?,
            Pacing::Open => flight.open(source, queue)?,
        }
        flight.finish(pacing, settle, Vec::new())
    }

    /// Runs several flows at once, each with a pacing, a queue and results of its own, to the end of them all. The
    /// pacing and the queue of the runner count for nothing.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If there is no flow, or the device loses a request or completes one twice.
    pub fn run_flows<S, D, P>(self, drive: &mut D, flows: Vec<Flow<'_>>, payload: &mut P) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        self.run_flows_and_tell(drive, flows, payload, |_, _| {})
    }

    /// The same; `measure` hears when the warm-up is over, if there is one.
    pub(crate) fn run_flows_and_tell<S, D, P>(
        self,
        drive: &mut D,
        flows: Vec<Flow<'_>>,
        payload: &mut P,
        measure: fn(&mut D, Time),
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        assert!(!flows.is_empty(), "a run of nothing");
        for flow in &flows {
            checked(flow.pacing(), flow.queue, drive.queues())?;
        }
        let (pacing, settle) = (flows[0].pacing(), self.settle);
        let mut several = Several::new(flows, drive.counters().at, self.first_tag, self.time_scale);
        let mut flight = Flight::new(self, drive, payload, measure);
        flight.several(&mut several)?;
        let flows = several.results(flight.measured_from());
        flight.finish(pacing, settle, flows)
    }
}

/// A pacing, if a drive with so many queues can be run like that.
fn checked(pacing: Pacing, queue: QueueId, queues: usize) -> Result<Pacing, RunError> {
    if pacing == (Pacing::Closed { depth: 0 }) {
        return Err(RunError::NoDepth);
    }
    if queue.index() >= queues {
        return Err(RunError::NoQueue { queue, queues });
    }
    Ok(pacing)
}

#[cfg(test)]
mod tests;
