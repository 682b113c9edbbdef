//! Runs each of several flows alone: the same requests on a new drive with the same seed and preconditioning.

use super::flow::Flow;
use super::settings::Settings;
use super::{Outcome, Session, SessionError, Stop, WarmUp};
use crate::run::{FlowResult, Window};

impl Session<'_> {
    /// Opens every flow a second time, if the session compares each flow with its run alone.
    pub(super) fn open_again(&self) -> Result<Vec<Flow<'static>>, SessionError> {
        if !self.settings.fairness {
            return Ok(Vec::new());
        }
        if self.flows.len() < 2 {
            return Err(SessionError::NoNeighbour);
        }
        if let Some(flow) = self.flows.iter().find(|flow| flow.has_jobs_beside()) {
            return Err(SessionError::JobsBeside { workload: flow.name.clone() });
        }
        self.flows.iter().map(Flow::again).collect()
    }

    /// Runs each of these flows alone, with as many requests as it completed in `outcome`, both in the warm-up and
    /// after it.
    pub(super) fn run_alone(&mut self, outcome: &mut Outcome, flows: Vec<Flow<'static>>) -> Result<(), SessionError> {
        let Some(measured) = outcome.measurements.first_mut() else { return Ok(()) };
        for (number, (flow, beside)) in (1..).zip(flows.into_iter().zip(&measured.result.flows)) {
            if beside.submitted > 0 {
                measured.alone.push(self.one_alone(flow, beside, number)?);
            }
        }
        Ok(())
    }

    fn one_alone(
        &mut self,
        flow: Flow<'static>,
        beside: &FlowResult,
        number: usize,
    ) -> Result<FlowResult, SessionError> {
        let warm_up = if beside.warmed_up > 0 { WarmUp::Requests(beside.warmed_up) } else { WarmUp::None };
        let window = Window::default().warmed_up_by(warm_up).stopped_by(Stop::Requests(beside.submitted));
        let settings = Settings { window, fairness: false, course: None, check_drive: false, ..self.settings.clone() };
        let mut session = Session { settings, ..Session::new(self.device) };
        session.flows = vec![flow];
        session.interrupt = self.interrupt;
        session.alone = Some(number);
        // The callback is lent for this run, so that the caller sees the progress of each.
        session.progress = self.progress.take();
        let outcome = session.run_once();
        self.progress = session.progress.take();
        let alone = outcome?.measurements.pop().and_then(|mut measured| measured.result.flows.pop());
        Ok(alone.expect("a flow alone has results of its own"))
    }
}
