//! The outcome of a session: the measurements of all stages, and the data that tables, files and pages need.

use base::units::{Energy, Span};
use flash::nand::Geometry;
use ssd::PowerDraw;

use crate::oracle::Verification;
use crate::run::{FlowResult, RunResult};
use crate::summary::{LifeSummary, Provenance, Report, Summary};
use crate::watch::Watch;
use crate::watch::explain::KindBands;
use crate::watch::timeline::Timeline;

/// The measurement of a workload or of one of its stages: all data that tables, files and pages need.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Provenance: program, seed, and the resolved device, workloads and session.
    pub about: Provenance,
    /// Latencies, counters, flows and the time series.
    pub result: RunResult,
    /// The results of each flow in its run alone, if the session compared them.
    pub alone: Vec<FlowResult>,
    /// The parts of the time of the requests, if an observer attributed it.
    pub explained: Vec<KindBands>,
    /// The erase count of every block at the end; empty if the device has none.
    pub erase_counts: Vec<u32>,
    /// The erase count of every block of the SLC array; empty without one.
    pub slc_erase_counts: Vec<u32>,
    /// The shape of the flash array, without an SLC array, if known.
    pub geometry: Option<Geometry>,
    /// The electrical figures of the flash, if known.
    pub power_draw: Option<PowerDraw>,
    /// The time that a mount would take after a power cut at the end, if known.
    pub mount: Option<Span>,
    /// The energy spent, by name; empty if unknown.
    pub energy: Vec<(String, Energy)>,
    /// The oracle's comparisons since the session began, if it checked data.
    pub verified: Option<Verification>,
    /// The drive's life, if the session ran until it was worn: the sums of all rounds. All other fields have the last
    /// round only.
    pub life: Option<LifeSummary>,
    /// Notes for a reader, one sentence each.
    pub notes: Vec<String>,
}

impl Measurement {
    /// The hash of all events since the device was created.
    #[must_use]
    pub const fn event_hash(&self) -> u64 {
        self.result.after.event_hash
    }

    /// The measurement's numbers under stable keys.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary::new(&self.report(None))
    }

    /// The measurement as input of a report.
    #[must_use]
    pub fn report<'a>(&'a self, timeline: Option<&'a Timeline>) -> Report<'a> {
        Report {
            about: &self.about,
            result: &self.result,
            alone: &self.alone,
            timeline,
            explained: &self.explained,
            erase_counts: &self.erase_counts,
            slc_erase_counts: &self.slc_erase_counts,
            geometry: self.geometry.as_ref(),
            power_draw: self.power_draw.as_ref(),
            mount: self.mount,
            energy: &self.energy,
            verified: self.verified,
            life: self.life.as_ref(),
            notes: &self.notes,
        }
    }
}

/// The results of a session: the measurements, and the observer's records.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measurement of each stage of the workload that ran, in order: at least one.
    pub measurements: Vec<Measurement>,
    /// The observer with its records, if there was one.
    pub watch: Option<Watch>,
}

impl Outcome {
    /// The measurement of the first stage; the only one, unless the workload has several.
    ///
    /// # Panics
    /// If the caller has removed it.
    #[must_use]
    pub fn first(&self) -> &Measurement {
        self.measurements.first().expect("a session ends with a measurement or with an error")
    }

    /// The timeline of a window, if the observer recorded one.
    #[must_use]
    pub fn timeline(&self) -> Option<&Timeline> {
        self.watch.as_ref().and_then(Watch::seen)
    }

    /// The measurements as input of a report, in the order of the stages. The first stage gets the timeline, because
    /// the window's times count from its start.
    #[must_use]
    pub fn reports(&self) -> Vec<Report<'_>> {
        let timelines = std::iter::once(self.timeline()).chain(std::iter::repeat(None));
        self.measurements.iter().zip(timelines).map(|(measured, timeline)| measured.report(timeline)).collect()
    }

    /// The summaries of all stages.
    #[must_use]
    pub fn summaries(&self) -> Vec<Summary> {
        self.measurements.iter().map(Measurement::summary).collect()
    }
}
