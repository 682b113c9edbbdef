//! Runs a workload on a drive and collects the results.

use base::units::{Sectors, Span};
use ssd::{Counters, Drive, Memory, Purpose, QueueId, ResolvedDevice, ZoneShape};
use workload::{Pacing, Source};

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
pub use rules::{Rules, Steady, Stop, WarmUp};
pub(crate) use wear::Hooks;
pub(crate) use window::Window;
pub use workload::measure::{Amount, ParseAmountError};

/// The memory that a run needs: for the drive, the time series, and the oracle if the run verifies.
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

impl<'a> Rules<'a> {
    /// Runs one workload on a drive, in its first queue, until the workload ends and its last request completes.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If the device loses a request or completes one twice.
    pub fn run<S, D, P>(self, drive: &mut D, source: &mut dyn Source, payload: &mut P) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        self.run_flow(drive, Flow::of(source), payload, Hooks::none())
    }

    /// Runs several flows at once, each with its own pacing, queue and results, until all end.
    ///
    /// # Errors
    /// See [`RunError`].
    ///
    /// # Panics
    /// If there is no flow, or the device loses a request or completes one twice.
    pub fn run_several<S, D, P>(
        self,
        drive: &mut D,
        flows: Vec<Flow<'_>>,
        payload: &mut P,
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        self.run_flows(drive, flows, payload, Hooks::none())
    }

    /// Runs one flow as [`Rules::run`] does, with its own pacing and queue and the hooks of the drive's owner.
    pub(crate) fn run_flow<S, D, P>(
        self,
        drive: &mut D,
        flow: Flow<'_>,
        payload: &mut P,
        hooks: Hooks<'a, D>,
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        let pacing = checked(flow.pacing(), flow.queue, drive.queues())?;
        let Flow { source, queue, .. } = flow;
        if pacing != Pacing::Open && (source.think().is_some() || !source.start().is_zero()) {
            // A closed loop that begins late or pauses runs as the only one of several flows: only these can pause.
            let flow = Flow { name: String::new(), source, pacing: Some(pacing), queue };
            let mut several = FlowSet::new(vec![flow], drive.counters().at, &self);
            let mut flight = Flight::new(self, drive, payload, hooks, 0);
            flight.several(&mut several)?;
            return flight.finish(pacing, Vec::new());
        }
        let until = time::until(drive.counters().at, source.duration());
        let mut flight = Flight::new(self, drive, payload, hooks, 0);
        match pacing {
            Pacing::Closed { depth } => flight.closed(source, queue, depth, until)?,
            Pacing::Replay { depth } => flight.open(source, queue, Some(depth))?,
            Pacing::Open => flight.open(source, queue, None)?,
        }
        flight.finish(pacing, Vec::new())
    }

    /// Runs as [`Rules::run_several`] does, with the hooks of the drive's owner.
    pub(crate) fn run_flows<S, D, P>(
        self,
        drive: &mut D,
        flows: Vec<Flow<'_>>,
        payload: &mut P,
        hooks: Hooks<'a, D>,
    ) -> Result<RunResult, RunError>
    where
        D: Drive<S>,
        P: Payload<S>,
    {
        assert!(!flows.is_empty(), "a run of nothing");
        for flow in &flows {
            checked(flow.pacing(), flow.queue, drive.queues())?;
        }
        let (pacing, count) = (flows[0].pacing(), flows.len());
        let mut several = FlowSet::new(flows, drive.counters().at, &self);
        let mut flight = Flight::new(self, drive, payload, hooks, count);
        flight.several(&mut several)?;
        let flows = several.results(flight.measured_from());
        flight.finish(pacing, flows)
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
