//! A workload of a session, with its pacing, queue and stages.

use base::io::PlacementId;
use base::units::Sectors;
use ssd::QueueId;
use workload::measure::MeasureKeys;
use workload::trace::TraceOptions;
use workload::{Pacing, PlacementSource, Source};

use super::error::SessionError;
use crate::catalogue::{ConcurrentJobs, Stage, Workload, WorkloadError, WorkloadFile};
use crate::run::{self, Window};

/// A workload that runs on a drive, alone or beside others.
pub struct Flow<'a> {
    pub(super) name: String,
    pub(super) parts: Vec<FlowStage<'a>>,
    /// The resolved description, for the results.
    pub(super) config: toml::Table,
    /// Notes for a reader of the results that are known before the run.
    doubts: Vec<String>,
    pub(super) pacing: Option<Pacing>,
    pub(super) queue: QueueId,
    /// The placement identifier of the flow's writes that have none of their own.
    pub(super) placement: PlacementId,
    /// The description or trace from which the flow was opened; `None` if a caller made its source.
    origin: Option<Origin>,
    /// True if the flow's description asks for a check of all data.
    pub(super) verifies: bool,
}

/// All that is needed to open a flow, once more if necessary.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) file: WorkloadFile,
    pub(super) options: TraceOptions,
    pub(super) capacity: Sectors,
    pub(super) seed: u64,
    /// The part of the run that is measured, from the settings of the session and of the first workload.
    pub(super) window: Window,
}

/// A stage of a workload. It begins when all requests of the stage before it have completed.
pub(super) struct FlowStage<'a> {
    pub(super) name: String,
    pub(super) source: Box<dyn Source + 'a>,
    /// The measurement that the stage's description asks for.
    pub(super) measured: MeasureKeys,
    /// Other jobs that begin with the stage.
    pub(super) beside: Option<ConcurrentJobs>,
}

impl<'a> FlowStage<'a> {
    /// All requests of the stage, as flows of a run. A single workload has `name`; several have their own names,
    /// after `within` if that is given.
    pub(super) fn running(
        &mut self,
        name: &str,
        within: Option<&str>,
        pacing: Option<Pacing>,
        queue: QueueId,
    ) -> Vec<run::Flow<'_>> {
        let named = |own: &str| within.map_or_else(|| own.to_owned(), |within| format!("{within} {own}"));
        let Some(ConcurrentJobs { own, others }) = &mut self.beside else {
            return vec![run::Flow { name: name.to_owned(), source: &mut *self.source, pacing, queue }];
        };
        let mut all = vec![run::Flow { name: named(own), source: &mut *self.source, pacing, queue }];
        for (name, source) in others {
            all.push(run::Flow { name: named(name), source: &mut **source, pacing, queue });
        }
        all
    }

    /// Gives a placement identifier to the stage's writes that have none of their own.
    fn placed(mut self, placement: PlacementId) -> Self {
        self.source = Box::new(PlacementSource::new(self.source, placement));
        if let Some(ConcurrentJobs { others, .. }) = &mut self.beside {
            let others_placed = std::mem::take(others).into_iter().map(|(name, source)| {
                let source: Box<dyn Source> = Box::new(PlacementSource::new(source, placement));
                (name, source)
            });
            *others = others_placed.collect();
        }
        self
    }

    /// All sources of the stage's requests.
    pub(super) fn sources(&self) -> impl Iterator<Item = &dyn Source> {
        let others = self.beside.iter().flat_map(|beside| &beside.others).map(|(_, source)| &**source as &dyn Source);
        std::iter::once(&*self.source as &dyn Source).chain(others)
    }
}

impl<'a> Flow<'a> {
    /// Creates a flow of an opened workload, named after its first stage.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        let Workload { stages, config, notes, verifies } = workload;
        let name = stages.first().map(|stage| stage.name.clone()).unwrap_or_default();
        let part = |Stage { name, source, measured, beside }| FlowStage { name, source, measured, beside };
        let parts = stages.into_iter().map(part).collect();
        let (pacing, queue, origin) = (None, QueueId::default(), None);
        let placement = PlacementId::default();
        Self { name, parts, config, doubts: notes, pacing, queue, placement, origin, verifies }
    }

    pub(super) fn open(origin: Origin) -> Result<Self, WorkloadError> {
        let Origin { file, options, capacity, seed, window } = &origin;
        let flow = Self::new(file.open_for(options, *capacity, *seed, *window)?);
        Ok(Self { origin: Some(origin), ..flow })
    }

    /// The description or trace from which the flow was opened; `None` if a caller made its source.
    pub(super) const fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Opens the flow once more, with its name, pacing, queue and placement identifier. The part that is measured is
    /// left open.
    pub(super) fn again(&self) -> Result<Flow<'static>, SessionError> {
        let Some(origin) = self.origin.clone() else {
            return Err(SessionError::Once { workload: self.name.clone() });
        };
        let again = Flow::open(origin).map_err(|error| SessionError::Again { error, workload: self.name.clone() });
        let mut again = again?;
        // The caller decides how much of the second run is measured.
        again.parts.iter_mut().for_each(|part| part.measured = MeasureKeys::default());
        Ok(again.named(&self.name).pacing(self.pacing).queue(self.queue).placement_id(self.placement))
    }

    /// A copy without requests, from which a later round of a life opens the flow.
    pub(super) fn outline(&self) -> Self {
        let Self { name, config, doubts, pacing, queue, placement, origin, verifies, .. } = self;
        let (name, config, doubts) = (name.clone(), config.clone(), doubts.clone());
        let (pacing, queue, placement, origin, verifies) = (*pacing, *queue, *placement, origin.clone(), *verifies);
        Self { name, parts: Vec::new(), config, doubts, pacing, queue, placement, origin, verifies }
    }

    /// Opens the workload for a later round of a life: a described workload draws other requests in each round.
    pub(super) fn of_round(&self, number: u32) -> Result<Flow<'static>, SessionError> {
        let mut flow = self.outline();
        if let Some(origin) = &mut flow.origin {
            origin.seed = origin.seed.wrapping_add(u64::from(number) << 16);
        }
        flow.again()
    }

    /// True if the flow issues requests for as long as the run lasts.
    pub(super) fn is_endless(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.file.is_generator())
    }

    /// Opens the flow once more, with the same part measured.
    pub(super) fn repeated(&self) -> Result<Flow<'static>, SessionError> {
        let mut again = self.again()?;
        again.parts.iter_mut().zip(&self.parts).for_each(|(again, part)| again.measured = part.measured);
        Ok(again)
    }

    /// Creates a flow from any source. Results have no description of it.
    #[must_use]
    pub fn of(name: impl Into<String>, source: impl Source + 'a) -> Self {
        let name = name.into();
        let (source, measured, beside) = (Box::new(source), MeasureKeys::default(), None);
        let parts = vec![FlowStage { name: name.clone(), source, measured, beside }];
        let (config, doubts) = (toml::Table::new(), Vec::new());
        let (queue, placement) = (QueueId::default(), PlacementId::default());
        Self { name, parts, config, doubts, pacing: None, queue, placement, origin: None, verifies: false }
    }

    /// Sets the name that results use.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Issues the requests with this pacing in place of the workload's.
    #[must_use]
    pub fn pacing(mut self, pacing: impl Into<Option<Pacing>>) -> Self {
        self.pacing = pacing.into();
        self
    }

    /// Submits the requests to this queue; the default is the first.
    #[must_use]
    pub fn queue(mut self, queue: QueueId) -> Self {
        self.queue = queue;
        self
    }

    /// Gives this placement identifier to the writes of all stages that have none of their own.
    #[must_use]
    pub fn placement_id(mut self, placement: PlacementId) -> Self {
        self.placement = placement;
        if placement != PlacementId::default() {
            self.parts = self.parts.into_iter().map(|part| part.placed(placement)).collect();
        }
        self
    }

    /// Drops all stages but the first.
    #[must_use]
    pub fn first_stage(mut self) -> Self {
        self.parts.truncate(1);
        self
    }

    /// The name that results use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of stages, which run one after another.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.parts.len()
    }

    /// Notes for a reader of the results that are known before the run, one sentence each.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// True if the flow plays a trace.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.config.contains_key("trace")
    }

    /// True if each completion triggers the next request; false if requests have times of arrival.
    #[must_use]
    pub fn is_closed_loop(&self) -> bool {
        let pacing = |source: &dyn Source| self.pacing.unwrap_or_else(|| source.pacing());
        self.parts.iter().flat_map(FlowStage::sources).all(|source| matches!(pacing(source), Pacing::Closed { .. }))
    }

    /// The part that is measured in a run with this flow as the first: parts that the session leaves open come from the
    /// first stage.
    pub(super) fn window(&self, session: Window) -> Window {
        self.parts.first().map_or(session, |part| session.or(&part.measured))
    }

    /// Notes for a reader of the results of a flow that ran beside another.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let notes = self.parts.iter().flat_map(|part| part.source.notes());
        notes.map(|note| format!("{}: {note}", self.name))
    }

    /// True if a stage has several jobs that run at the same time, each at its own pace.
    pub(super) fn has_jobs_beside(&self) -> bool {
        self.parts.iter().any(|part| part.beside.is_some())
    }

    /// The flows of a run, one for each job of its first stage; empty if no stage is left.
    pub(super) fn running(&mut self) -> Vec<run::Flow<'_>> {
        let Self { name, pacing, queue, .. } = self;
        let part = self.parts.first_mut();
        part.map_or_else(Vec::new, |part| part.running(name, Some(&*name), *pacing, *queue))
    }
}

/// The name of the first workload with more than one stage, if there are several workloads.
pub(super) fn of_several_stages<'b>(first: &'b Flow<'_>, others: &'b [Flow<'_>]) -> Option<&'b str> {
    if others.is_empty() {
        return None;
    }
    std::iter::once(first).chain(others).find(|flow| flow.parts.len() != 1).map(Flow::name)
}
