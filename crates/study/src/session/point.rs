//! The workloads of a study's point.

use base::io::PlacementId;
use ssd::QueueId;

use super::Session;
use crate::catalogue::WorkloadError;
use crate::plan::{ConcurrentWorkload, Point, pacing};

impl Session<'_> {
    /// Opens all workloads of a study's point: its first one, and those that run at the same time.
    ///
    /// # Errors
    ///
    /// All faults of a description, or the fault of a trace.
    ///
    /// # Panics
    ///
    /// Never: a plan checks the names of its rules.
    pub fn open_all(mut self, point: &Point) -> Result<Self, WorkloadError> {
        let run = &point.run;
        let mut first = self.open(&point.workload, &run.reading.options().expect("it was checked"))?;
        if let Some(name) = &run.name {
            first = first.named(name);
        }
        first = first.pacing(pacing(run.depth, run.open)).queue(QueueId::new(run.queue));
        first = first.placement_id(PlacementId::new(run.placement_id));
        self = self.flow(first);
        for ConcurrentWorkload { name, workload } in &point.beside {
            let spec = &run.flows[name];
            let flow = self.open(workload, &spec.trace_options(run).expect("it was checked"))?;
            let flow = flow.named(name).pacing(spec.pacing()).queue(QueueId::new(spec.queue));
            self = self.flow(flow.placement_id(PlacementId::new(spec.placement_id)));
        }
        Ok(self)
    }
}
