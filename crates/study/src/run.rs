//! Drives a disk with a workload and keeps what comes of it.

use std::sync::atomic::AtomicBool;

use base::units::{Span, Time};
use ssd::{Counters, Drive, Memory, Purpose, QueueId, Resolved, Tag};
use workload::{Pacing, Source};

use crate::oracle::{Oracle, Payload};

mod error;
mod flight;
mod flows;
mod record;
mod result;
mod rules;
mod time;

use flight::{Flight, SERIES_POINTS};
use flows::Several;
use rules::Rules;

pub use error::RunError;
pub use flows::Flow;
pub use record::{Progress, Record, RequestLog};
pub(crate) use result::write_amplification_by;
pub use result::{Delay, FlowResult, KindResult, RunResult, rate, since, write_amplification};
pub use rules::{Stop, WarmUp};

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

/// Everything about a run but the device and the workload. Its defaults: as the workload says, to its
/// end, at the speed of its timestamps.
#[derive(Default)]
pub struct Runner<'a> {
    pacing: Option<Pacing>,
    queue: QueueId,
    settle: Option<Span>,
    rules: Rules<'a>,
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
        self.rules.warm_up = warm_up;
        self
    }

    /// Stops submitting by this rule; with the end of the workload by default.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.rules.stop = stop;
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
        self.rules.interrupt = Some(interrupt);
        self
    }

    /// Numbers the requests from here on, so that those of several runs on one device, one after another,
    /// can be told apart. Zero by default.
    #[must_use]
    pub fn first_tag(mut self, tag: Tag) -> Self {
        self.rules.first_tag = tag;
        self
    }

    /// Multiplies all times of arrival: 0.5 plays a trace twice as fast.
    ///
    /// # Panics
    /// If the factor is not a positive number.
    #[must_use]
    pub fn time_scale(mut self, factor: f64) -> Self {
        assert!(factor > 0.0 && factor.is_finite(), "{factor} does not scale time");
        self.rules.time_scale = Some(factor);
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
        self.rules.log = Some(log);
        self
    }

    /// Is told now and then how far the run has got.
    #[must_use]
    pub fn progress(mut self, progress: &'a mut dyn FnMut(Progress)) -> Self {
        self.rules.progress = Some(progress);
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
        self.run_observed(drive, source, payload, |_, _| {})
    }

    /// The same; `measure` hears when the warm-up is over, if there is one.
    pub(crate) fn run_observed<S, D, W, P>(
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
        let until = time::until(drive.counters().at, source.duration());
        let (queue, settle) = (self.queue, self.settle);
        let mut flight = Flight::new(self.rules, drive, payload, measure);
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
        self.run_flows_observed(drive, flows, payload, |_, _| {})
    }

    /// The same; `measure` hears when the warm-up is over, if there is one.
    pub(crate) fn run_flows_observed<S, D, P>(
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
        let mut several = Several::new(flows, drive.counters().at, self.rules.first_tag, self.rules.time_scale);
        let mut flight = Flight::new(self.rules, drive, payload, measure);
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
