//! Runs a workload on a drive and collects the results.

use std::sync::atomic::AtomicBool;

use base::units::{Sectors, Span};
use ssd::{Counters, Drive, Memory, Purpose, QueueId, ResolvedDevice, Tag, ZoneShape};
use workload::{Pacing, Source};

use crate::life::Life;
use crate::oracle::{Oracle, Payload};

mod backlog;
mod coming;
mod course;
mod error;
mod flight;
mod flows;
mod kind_result;
mod record;
mod result;
mod rounds;
mod rules;
mod target;
mod time;
mod wear;
mod window;

use course::SERIES_POINTS;
use flight::Flight;
use flows::FlowSet;
use rules::Rules;

pub use backlog::Level;
pub use course::{Course, MOST_INTERVALS};
pub use error::RunError;
pub use flows::Flow;
pub use kind_result::{Delay, KindResult};
pub use record::{Progress, Record, RequestLog};
pub(crate) use result::programmed_units;
pub use result::{
    Arrivals, FlowResult, RunResult, array_time_by, programmed_by, rate, since, write_amplification,
    write_amplification_by,
};
pub(crate) use rounds::part;
pub use rules::{Steady, Stop, WarmUp};
pub(crate) use wear::Hooks;
pub(crate) use window::Window;
pub use workload::measure::{Amount, ParseAmountError};

/// The memory that a run needs: that of the drive, of the time series, and of the oracle if it verifies.
#[must_use]
pub fn memory(drive: &ResolvedDevice, purpose: Purpose) -> Memory {
    let mut memory = drive.memory(purpose);
    memory.add("the time series", (SERIES_POINTS as u64 + 3) * point_memory(drive));
    if purpose.verify {
        let unit = Sectors::new(u64::from(drive.geometry.sectors));
        let oracle = match drive.zones {
            None => Oracle::memory(drive.capacity(), unit, purpose.units),
            Some(ZoneShape { zones, capacity, .. }) => {
                let writable = Sectors::new(u64::from(capacity) * unit.get());
                Oracle::memory_with_zones(zones, writable, unit, purpose.units)
            }
        };
        memory.add("what reads must return", oracle);
    }
    memory
}

/// The memory of a detailed time series.
pub(crate) fn course_memory(drive: &ResolvedDevice, course: Course) -> u64 {
    course.points() as u64 * (point_memory(drive) + DETAIL)
}

/// The memory of the counters at a point of a time series.
fn point_memory(drive: &ResolvedDevice) -> u64 {
    let parts = 2 * u64::from(drive.geometry.die_count()) + u64::from(drive.geometry.channels);
    size_of::<Counters>() as u64 + parts * size_of::<Span>() as u64
}

/// Bytes of the distributions of an interval: some hundred bins of eight bytes for each kind of request and each flow.
const DETAIL: u64 = 8 << 10;

/// The options of a run. The defaults follow the workload's own pacing, run to its end, and leave its times unscaled.
#[derive(Default)]
pub struct Runner<'a> {
    pacing: Option<Pacing>,
    queue: QueueId,
    settle: Option<Span>,
    rules: Rules<'a>,
}

impl<'a> Runner<'a> {
    /// Creates a runner with all defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Issues the requests with this pacing in place of the workload's.
    #[must_use]
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = Some(pacing);
        self
    }

    /// Submits the requests to this queue; the default is the first.
    #[must_use]
    pub fn queue(mut self, queue: QueueId) -> Self {
        self.queue = queue;
        self
    }

    /// Runs the workload for a while before the measurement. Submission does not pause when the warm-up ends: requests
    /// in flight at that moment are measured, earlier ones are not.
    #[must_use]
    pub fn warm_up(mut self, warm_up: WarmUp) -> Self {
        self.rules.warm_up = warm_up;
        self
    }

    /// Stops submitting by this rule; the default is the end of the workload.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.rules.stop = stop;
        self
    }

    /// Stops submitting after this many requests of all flows together.
    #[must_use]
    pub fn limit(self, requests: u64) -> Self {
        self.stop(Stop::Requests(requests))
    }

    /// Ends the run with [`RunError::Interrupted`] soon after this becomes true.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a AtomicBool) -> Self {
        self.rules.interrupt = Some(interrupt);
        self
    }

    /// Numbers the requests from this tag, so that consecutive runs on one device have distinct tags. Zero by default.
    #[must_use]
    pub fn first_tag(mut self, tag: Tag) -> Self {
        self.rules.first_tag = tag;
        self
    }

    /// Multiplies all times of arrival: 0.5 plays a trace twice as fast.
    ///
    /// # Panics
    /// If `factor` is not a positive number.
    #[must_use]
    pub fn time_scale(mut self, factor: f64) -> Self {
        assert!(factor > 0.0 && factor.is_finite(), "{factor} cannot scale time");
        self.rules.time_scale = Some(factor);
        self
    }

    /// Records a detailed time series. Results do not change otherwise.
    #[must_use]
    pub fn course(mut self, course: Course) -> Self {
        self.rules.course = Some(course);
        self
    }

    /// Lets the device finish its background work after the last completion, for at most this long, so that its
    /// counters can be reconciled exactly. None of it counts as part of the run.
    #[must_use]
    pub fn settle(mut self, at_most: Span) -> Self {
        self.settle = Some(at_most);
        self
    }

    /// Makes the run a round of a life, which records the drive's wear.
    #[must_use]
    pub(crate) fn life(mut self, life: Option<&'a mut Life>) -> Self {
        self.rules.life = life;
        self
    }

    /// Logs every measured request.
    #[must_use]
    pub fn log(mut self, log: &'a mut dyn RequestLog) -> Self {
        self.rules.log = Some(log);
        self
    }

    /// Calls `progress` after every few thousand requests.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(Progress)) -> Self {
        self.rules.progress = Some(progress);
        self
    }

    /// Runs until the workload ends and its last request completes.
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
        self.run_observed(drive, source, payload, Hooks::none())
    }

    /// Runs as [`Runner::run`] does, and calls hooks of the owner of the drive at the begin of the run and of the
    /// measurement.
    pub(crate) fn run_observed<S, D, W, P>(
        self,
        drive: &mut D,
        source: &mut W,
        payload: &mut P,
        hooks: Hooks<D>,
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        W: Source + ?Sized,
        P: Payload<S>,
    {
        let pacing = checked(self.pacing.unwrap_or_else(|| source.pacing()), self.queue, drive.queues())?;
        if pacing != Pacing::Open && (source.think().is_some() || !source.start().is_zero()) {
            return self.run_pausing(pacing, drive, source, payload, hooks);
        }
        let until = time::until(drive.counters().at, source.duration());
        let (queue, settle) = (self.queue, self.settle);
        let mut flight = Flight::new(self.rules, drive, payload, hooks, 0);
        match pacing {
            Pacing::Closed { depth } => flight.closed(source, queue, depth, until)?,
            Pacing::Replay { depth } => flight.open(source, queue, Some(depth))?,
            Pacing::Open => flight.open(source, queue, None)?,
        }
        flight.finish(pacing, settle, Vec::new())
    }

    /// Runs a closed loop that begins late or pauses, as the only one of several flows, because only flows can pause.
    fn run_pausing<S, D, W, P>(
        self,
        pacing: Pacing,
        drive: &mut D,
        mut source: &mut W,
        payload: &mut P,
        hooks: Hooks<D>,
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        W: Source + ?Sized,
        P: Payload<S>,
    {
        let (queue, settle) = (self.queue, self.settle);
        let flows = vec![Flow { name: String::new(), source: &mut source, pacing: Some(pacing), queue }];
        let mut several = FlowSet::new(flows, drive.counters().at, self.rules.first_tag, self.rules.time_scale);
        let mut flight = Flight::new(self.rules, drive, payload, hooks, 0);
        flight.several(&mut several)?;
        flight.finish(pacing, settle, Vec::new())
    }

    /// Runs several flows at once, each with its own pacing, queue and results, until all end. The runner's own pacing
    /// and queue are ignored.
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
        self.run_flows_observed(drive, flows, payload, Hooks::none())
    }

    /// Runs as [`Runner::run_flows`] does, and calls hooks of the owner of the drive at the begin of the run and of the
    /// measurement.
    pub(crate) fn run_flows_observed<S, D, P>(
        self,
        drive: &mut D,
        flows: Vec<Flow<'_>>,
        payload: &mut P,
        hooks: Hooks<D>,
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
        let count = flows.len();
        let mut several = FlowSet::new(flows, drive.counters().at, self.rules.first_tag, self.rules.time_scale);
        let mut flight = Flight::new(self.rules, drive, payload, hooks, count);
        flight.several(&mut several)?;
        let flows = several.results(flight.measured_from());
        flight.finish(pacing, settle, flows)
    }
}

/// Returns the pacing, if it has a depth above zero and the drive has the queue.
fn checked(pacing: Pacing, queue: QueueId, queues: usize) -> Result<Pacing, RunError> {
    if matches!(pacing, Pacing::Closed { depth: 0 } | Pacing::Replay { depth: 0 }) {
        return Err(RunError::NoDepth);
    }
    if queue.index() >= queues {
        return Err(RunError::NoQueue { queue, queues });
    }
    Ok(pacing)
}

#[cfg(test)]
mod tests;
