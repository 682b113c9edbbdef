//! The memory that a session needs, from the blocks that its requests can touch.

use ssd::{Memory, Purpose};

use super::settings::Settings;
use super::{Flow, Session};
use crate::catalogue::WorkloadFile;
use crate::run::{self, Window};

impl<'a> Session<'a> {
    /// The memory that the simulation needs with the workloads added so far. Without workloads, no block is touched.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let origin = |flow: &'_ Flow<'a>| flow.origin().map(|origin| (origin.file.clone(), origin.window));
        let opened: Option<Vec<(WorkloadFile, Window)>> = self.flows.iter().map(origin).collect();
        let purpose = match &opened {
            Some(opened) => self.purpose_under(opened.iter().map(|(file, window)| (file, *window))),
            None => self.purpose(),
        };
        self.memory_for(purpose)
    }

    /// The memory that the simulation needs with these workloads. The call does not open them.
    #[must_use]
    pub fn memory_under<'b>(&self, workloads: impl IntoIterator<Item = &'b WorkloadFile>) -> Memory {
        let window = self.settings.window;
        self.memory_for(self.purpose_under(workloads.into_iter().map(|file| (file, window))))
    }

    fn memory_for(&self, purpose: Purpose) -> Memory {
        let mut memory = run::memory(&self.device.resolved, purpose);
        if let Some(course) = self.settings.course {
            memory.add("the detailed time series", run::course_memory(&self.device.resolved, course));
        }
        memory
    }

    /// The purpose of a drive under these workloads: the mapping units that their requests touch on a new drive. Each
    /// workload comes with the part of the run for which it is opened. A drive that has content may touch all units,
    /// because collection may copy them anywhere.
    fn purpose_under<'b>(&self, workloads: impl IntoIterator<Item = (&'b WorkloadFile, Window)>) -> Purpose {
        let Settings { steps, load, state, .. } = &self.settings;
        let resolved = &self.device.resolved;
        let is_new = steps.is_empty() && load.is_none() && state.is_none();
        let units = |(file, window): (&WorkloadFile, Window)| {
            let most = file.most(window)?;
            let each = most.largest.get().div_ceil(u64::from(resolved.geometry.sectors)) + 1;
            Some(most.requests.saturating_mul(each))
        };
        let units = workloads.into_iter().map(units).try_fold(0_u64, |sum, units| Some(sum.saturating_add(units?)));
        Purpose { units: units.filter(|_| is_new), ..self.purpose() }
    }
}
