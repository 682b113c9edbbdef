//! Runs each of several flows alone: the same requests on a new drive with the same seed and preconditioning.

use super::flow::Flow;
use super::settings::Settings;
use super::{Outcome, Session, SessionError, Stop, WarmUp};
use crate::run::{FlowResult, Window};

impl Session<'_> {
    /// Runs all flows together, and then each of them alone.
    pub(super) fn run_with_fairness(&mut self) -> Result<Outcome, SessionError> {
        let again = self.open_again()?;
        let (settings, flows) = (self.settings.clone(), std::mem::take(&mut self.flows));
        let (watch, log, save, keep) = (self.watch.take(), self.log.take(), self.save.take(), self.keep.take());
        let together = Session { watch, log, save, keep, ..self.part(settings, flows) };
        let mut outcome = together.run()?;
        self.run_alone(&mut outcome, again)?;
        Ok(outcome)
    }

    /// Opens every flow a second time.
    fn open_again(&self) -> Result<Vec<Flow<'static>>, SessionError> {
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
    fn run_alone(&mut self, outcome: &mut Outcome, flows: Vec<Flow<'static>>) -> Result<(), SessionError> {
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
        let outcome = Session { alone: Some(number), ..self.part(settings, vec![flow]) }.run();
        let alone = outcome?.measurements.pop().and_then(|mut measured| measured.result.flows.pop());
        Ok(alone.expect("a flow alone has results of its own"))
    }
}
