//! What a session comes to.

use base::units::Energy;

use crate::oracle::Verified;
use crate::run::RunResult;
use crate::summary::{About, Report, Summary};
use crate::watch::Watch;
use crate::watch::explain::Explained;
use crate::watch::timeline::Timeline;

/// What was measured of a workload, or of one of its stages: everything that tables, files and pages are made from.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Where it comes from: program, seed, and the resolved device, workloads and session.
    pub about: About,
    /// Latencies, counters, flows and the course of it.
    pub result: RunResult,
    /// Where the time of the requests went, if that was watched.
    pub explained: Vec<Explained>,
    /// Erase count of every block at the end; empty if the device has none.
    pub erase_counts: Vec<u32>,
    /// Energy spent, by name; empty if it is not known.
    pub energy: Vec<(String, Energy)>,
    /// What the oracle compared since the session began, if it was asked to.
    pub verified: Option<Verified>,
    /// What a reader should know besides, one sentence each.
    pub notes: Vec<String>,
}

impl Measurement {
    /// The hash of all events since the device was made.
    #[must_use]
    pub const fn event_hash(&self) -> u64 {
        self.result.after.event_hash
    }

    /// The numbers of it under stable keys.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary::new(&self.report(None))
    }

    /// What reports are made from.
    #[must_use]
    pub fn report<'a>(&'a self, timeline: Option<&'a Timeline>) -> Report<'a> {
        let Self { about, result, explained, erase_counts, energy, verified, notes } = self;
        Report { about, result, timeline, explained, erase_counts, energy, verified: *verified, notes }
    }
}

/// What a session comes to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One for each stage of the workload that was run, in their order: at least one.
    pub measurements: Vec<Measurement>,
    /// What was seen, if somebody watched.
    pub watch: Option<Watch>,
}

impl Outcome {
    /// What was measured of the first stage: all there is, unless the workload has several.
    ///
    /// # Panics
    /// If it has been taken out.
    #[must_use]
    pub fn first(&self) -> &Measurement {
        self.measurements.first().expect("a session ends with a measurement or with an error")
    }

    /// What happened in a window, if that was to be kept.
    #[must_use]
    pub fn timeline(&self) -> Option<&Timeline> {
        self.watch.as_ref().and_then(Watch::seen)
    }

    /// What reports are made from, in the order of the stages. The timeline is with the first stage: its window counts
    /// from there.
    #[must_use]
    pub fn reports(&self) -> Vec<Report<'_>> {
        let timelines = std::iter::once(self.timeline()).chain(std::iter::repeat(None));
        self.measurements.iter().zip(timelines).map(|(measured, timeline)| measured.report(timeline)).collect()
    }

    /// The numbers of all stages.
    #[must_use]
    pub fn summaries(&self) -> Vec<Summary> {
        self.measurements.iter().map(Measurement::summary).collect()
    }
}
