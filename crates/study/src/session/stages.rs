//! Runs the stages of the first workload one after another, each beside the other workloads, and applies the stop rule of the
//! session to them.

use base::units::Bytes;
use ssd::{Drive, Tag};

use super::flow::{self, Flow};
use super::{Measurement, Outcome, Progress, Session, SessionError};
use crate::inspect::Inspect;
use crate::life::Life;
use crate::oracle::Payload;
use crate::reconcile::reconcile;
use crate::run::{self, Hooks, Rules, RunResult, Stop, WarmUp};
use crate::summary::Provenance;

impl Session<'_> {
    /// Runs the workloads to their end.
    pub(super) fn run_stages<S, D, P>(&mut self, drive: &mut D, payload: &mut P) -> Result<Outcome, SessionError>
    where
        D: Drive<S> + Inspect,
        P: Payload<S>,
    {
        if self.flows.is_empty() {
            return Err(SessionError::NoFlow);
        }
        let session = self.about();
        let mut others = std::mem::take(&mut self.flows);
        let first = others.remove(0);
        if let Some(name) = flow::of_several_stages(&first, &others) {
            return Err(SessionError::SeveralStages { workload: name.to_owned() });
        }
        payload.begin(drive.history());
        drive.begin(drive.counters().at);
        let several = first.parts.len() > 1;
        let asked = self.settings.window;
        self.settings.window = first.window(asked);
        // Several stages share the end of the session; a single stage may have an end of its own.
        let stop = if several { asked.stop } else { self.settings.window.stop };
        let mut measurements: Vec<Measurement> = Vec::new();
        let (mut progress, mut first_tag) = (self.progress.take(), 0);
        for mut part in first.parts {
            if !measurements.is_empty() {
                // A stage after the first has a warm-up of its own, and an end of its own unless the session has one.
                self.settings.window = asked.next(self.settings.window.stop, &part.measured);
                if self.is_over() {
                    break;
                }
            }
            let mut about = session.clone();
            if several {
                about.workload.clone_from(&part.name);
            }
            let stage = measurements.len() + self.alone.unwrap_or(0);
            let is_single = others.is_empty() && self.alone.is_none() && part.beside.is_none();
            let mut flows = part.running(&about.workload, None, first.pacing, first.queue);
            flows.extend(others.iter_mut().flat_map(Flow::running));
            let requests = requests(&flows, self.settings.window.stop);
            let mut report = |run| {
                if let Some(progress) = &mut progress {
                    progress(Progress::Running { stage, run, requests });
                }
            };
            let (rules, life) = self.rules(first_tag, &mut report);
            let result = match flows.pop() {
                Some(flow) if is_single => rules.run_flow(drive, flow, payload, Hooks::new(life)),
                last => rules.run_flows(drive, flows.into_iter().chain(last).collect(), payload, Hooks::new(life)),
            };
            let workload = || about.workload.clone();
            let result = result.map_err(|error| SessionError::Run { error: Box::new(error), workload: workload() })?;
            reconcile(&result).map_err(|error| SessionError::Books { error, workload: workload() })?;
            first_tag += result.warmed_up + result.submitted;
            self.use_up(&result);
            let long = result.detailed.as_ref().and_then(|(course, series)| course.note(series));
            let notes = part.source.notes().into_iter().chain(others.iter().flat_map(Flow::notes)).chain(long);
            let notes = notes.collect();
            measurements.push(measurement(drive, payload, about, result, notes));
        }
        if let (Stop::Requests(limit), Stop::Requests(left @ 1..)) = (stop, self.settings.window.stop)
            && let Some(last) = measurements.last_mut()
        {
            let ran = limit.saturating_sub(left);
            let note = format!("the workload ended after {ran} requests: the limit of {limit} was not reached");
            last.notes.push(note);
        }
        if self.settings.check_drive {
            drive.check();
        }
        Ok(Outcome { measurements, watch: drive.take_watch() })
    }

    /// The rules of the next run, and the life of which the run is a round.
    fn rules<'r>(
        &'r mut self,
        first_tag: Tag,
        progress: &'r mut dyn FnMut(run::Progress),
    ) -> (Rules<'r>, Option<&'r mut Life>) {
        let rules = Rules {
            warm_up: self.settings.window.warm_up,
            stop: self.settings.window.stop,
            settle: Some(self.settings.settle),
            first_tag,
            time_scale: self.settings.time_scale,
            course: self.settings.course,
            interrupt: self.interrupt,
            log: self.log.as_mut().map(|log| &mut **log as _),
            progress: Some(progress),
        };
        (rules, self.life.as_mut())
    }

    /// True if the stop rule leaves nothing for another stage.
    pub(super) fn is_over(&self) -> bool {
        match self.settings.window.stop {
            Stop::AtEnd | Stop::Worn(_) => false,
            Stop::Requests(requests) => requests == 0,
            Stop::Time(span) => span.is_zero(),
            Stop::Bytes(bytes) => bytes.get() == 0,
            Stop::Capacities(times) => times <= 0.0,
        }
    }

    /// Subtracts a finished stage from the stop rule, and drops the warm-up.
    pub(super) fn use_up(&mut self, result: &RunResult) {
        self.settings.window.warm_up = WarmUp::None;
        self.settings.window.stop = match self.settings.window.stop {
            end @ (Stop::AtEnd | Stop::Worn(_)) => end,
            Stop::Requests(requests) => Stop::Requests(requests.saturating_sub(result.submitted)),
            Stop::Time(span) => Stop::Time(span.saturating_sub(result.after.at - result.before.at)),
            Stop::Bytes(bytes) => {
                let asked: u64 = result.asked.iter().map(|sectors| sectors.bytes().get()).sum();
                Stop::Bytes(Bytes::new(bytes.get().saturating_sub(asked)))
            }
            Stop::Capacities(times) => Stop::Capacities(times - result.capacities_asked()),
        };
    }
}

/// The number of requests that the flows have before the stop rule ends them; `None` if it is not known.
fn requests(flows: &[run::Flow<'_>], stop: Stop) -> Option<u64> {
    let all: Option<u64> = flows.iter().map(|flow| flow.source.len_hint()).sum();
    match (all, stop) {
        (Some(all), Stop::Requests(limit)) => Some(all.min(limit)),
        (None, Stop::Requests(limit)) => Some(limit),
        (all, _) => all,
    }
}

/// The measurement of a stage that has just ended.
fn measurement<S, D: Drive<S> + Inspect, P: Payload<S>>(
    drive: &mut D,
    payload: &P,
    about: Provenance,
    result: RunResult,
    notes: Vec<String>,
) -> Measurement {
    Measurement {
        energy: drive.energy(&result.counters()),
        explained: drive.explained(),
        erase_counts: drive.erase_counts(),
        slc_erase_counts: drive.slc_erase_counts(),
        geometry: drive.geometry(),
        power_draw: drive.power_draw(),
        mount: drive.mount_time(),
        verified: payload.verified(),
        about,
        result,
        alone: Vec::new(),
        life: None,
        notes,
    }
}
