//! The description of a study in its file: a device, a workload, axes along which they change, and claims about the
//! outcome.

mod builtin;
mod claim;
mod figure;
mod flow;
mod grid;
mod part;
mod point;
mod reading;
mod seeds;
mod single;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;

use base::fault::Fault;
use base::units::{Age, Span, Temperature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{Precondition, Storage};
use workload::measure::MeasureKeys;

pub use crate::label::{Assignment, Label, OneOrMany};
pub use builtin::builtin;
pub use claim::ClaimSpec;
pub use figure::{FigurePart, FigureScale, FigureSpec, FlashArray, Relation, ScoreSpec, StatedSpec};
pub use flow::FlowSpec;
pub(crate) use flow::pacing;
pub use grid::Plan;
pub(crate) use grid::{check_run, describe};
pub use point::{ConcurrentWorkload, Point};
pub use reading::ReadingSpec;
pub(crate) use reading::UnknownRule;
pub use seeds::{MOST_SEEDS, seeds_from};
pub use workload::measure::TargetState;

use crate::metric::Metric;
use crate::run::{Amount, Stop, Window};

/// The description of a study, as in its file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudySpec {
    /// Name of the study in results.
    pub name: String,
    /// The question that the study asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The source of the question.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// True if the study takes many minutes: `flashloom reproduce` runs it only with `--long`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long: bool,
    /// The device: a file (its path is relative to the study), or the name of a device that comes with Flashloom.
    #[schemars(extend("examples" = ["demo", "fmmu-16x8"]))]
    pub device: PathBuf,
    /// The workload: a file (its path is relative to the study), or the name of a workload that comes with Flashloom.
    #[schemars(extend("examples" = ["oltp", "random-read-4k"]))]
    pub workload: PathBuf,
    /// Seeds: their number, counted from zero on, or a list of them. Every point runs with each seed; a metric is the
    /// mean over the seeds, with the 95 % interval of the mean.
    #[serde(default = "zero", deserialize_with = "seeds::read")]
    #[schemars(with = "seeds::Seeds")]
    pub seeds: Vec<u64>,
    /// The preparation, the pacing, the length and the checks of each run.
    #[serde(default)]
    #[schemars(with = "RunSpec")]
    pub run: toml::Table,
    /// Changes of keys for all points: tables `device` and `workload`.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub set: Changes,
    /// The treatment of points of whose requests more than one in a thousand failed.
    #[serde(default, skip_serializing_if = "Failures::are_unexpected")]
    pub failures: Failures,
    /// The axes. Each combination of their points is a point of the study.
    #[serde(default, rename = "axis")]
    pub axes: Vec<AxisSpec>,
    /// If given, only the combinations that match at least one of these assignments run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Assignment>,
    /// The metrics that the report shows for each point.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// The labels of the baseline. For each point, the report shows the difference between the first metric at the
    /// baseline's labels and at the point, absolutely and as a share.
    #[serde(default, skip_serializing_if = "Assignment::is_empty")]
    pub baseline: Assignment,
    /// Claims of the paper that the study judges.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimSpec>,
    /// The figures that the report draws, instead of a chart for each metric.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureSpec>,
}

/// The treatment of points of whose requests more than one in a thousand failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Failures {
    /// No claim about the point holds, and the study ends with exit code 1.
    #[default]
    Unexpected,
    /// The study is about failures, and the point counts like any other.
    Expected,
}

impl Failures {
    const fn are_unexpected(&self) -> bool {
        matches!(self, Self::Unexpected)
    }
}

/// Changes of keys: of the device's file, the workload's file and `[run]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// Keys of the device that differ from the description, with their values.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub device: toml::Table,
    /// Keys of the workload that differ from the description, with their values.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub workload: toml::Table,
    /// Keys of the table `[run]` that differ, with their values.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "RunSpec")]
    pub run: toml::Table,
}

impl Changes {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The preparation, the pacing, the length and the checks of a study's runs: the table `run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Steps that precondition the drive first: `fill`, `preload:PIECE:EXTENT`, `random:xN`, `steady`, `steady:model`.
    pub precondition: Vec<Precondition>,
    /// The time for which the drive is without power between preconditioning and run: `90d`, or `client` (a year at 30
    /// C) or `enterprise` (three months at 40 C) as in JESD218. For drives with `flash.errors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Storage>,
    /// The temperature of the drive without power; 30 C if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
    /// The file with the drive state to start from, written by `save-snapshot`; its path is relative to the study.
    /// Preconditioning follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_snapshot: Option<PathBuf>,
    /// The file to which the drive's state after preconditioning is saved; its path is relative to the study. Each run
    /// needs a file of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_snapshot: Option<PathBuf>,
    /// The number of requests to keep outstanding, in place of the workload's pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// True to issue requests at their arrival times, in place of the workload's pacing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The submission queue of the drive for the requests; see `host.queue` in device files.
    #[serde(skip_serializing_if = "flow::is_zero")]
    pub queue: u16,
    /// The placement identifier of the writes that have none of their own; see the policy `placement-id` of
    /// `ftl.streams.host` in device files.
    #[serde(skip_serializing_if = "flow::is_zero")]
    pub placement_id: u16,
    /// The weight of that queue, in place of the drive's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The workload's name in results, in place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Workloads that run at the same time, by name. Each has a queue, a pacing and results of its own; the metrics
    /// `flow.NAME...` are the numbers of a single flow.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, FlowSpec>,
    /// True to run each of several workloads also alone, and compare. Metrics that need such runs cause them, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fairness: bool,
    /// The factor by which all times of arrival are multiplied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<f64>,
    /// True to check that every read returns the newest completed write of each sector.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// True to attribute the time of every request. Results do not change; the run takes longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// The length of intervals for which the course of the run is recorded: percentiles, queue depth and busy dies, by
    /// flow if there are several. Results do not change otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Span>,
    /// The number of requests after which the run stops. A described workload with fewer `requests` goes on up to this
    /// number; a trace ends with its last request, and a note of the result says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The part of the workload that runs before the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Amount>,
    /// The part of the workload that is measured; the whole workload if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Amount>,
    /// The condition up to which the drive is warmed up. `steady`, or `steady:METRIC` with `rate`, `waf` or `latency`,
    /// is the steady state; the measurement is then as long as the five rounds in which the drive was steady, unless
    /// `measure` or `limit` is given. With `worn` the run lasts until the drive refuses a write because too many of its
    /// blocks have failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<TargetState>,
    /// The length of a round of `until`. The default writes a tenth of the capacity; for `worn`, a hundred capacities,
    /// or all of a trace, a script or a job file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Amount>,
    /// The number of rounds after which a run with until = `worn` ends, even if the drive is not worn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rounds: Option<u32>,
    /// The time over which `life.dwpd` spreads the writes until the drive was worn; five years if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warranty: Option<Age>,
    /// The number of seeds, from zero on, with which every point runs: equal to `seeds` at the top of the study.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub seeds: Option<u32>,
    /// The options for reading traces.
    #[serde(flatten)]
    pub reading: ReadingSpec,
}

impl RunSpec {
    /// Groups of alternative keys: a study gives one key of each group.
    const ALTERNATIVES: [&[&str]; 3] = [&["depth", "open"], &["limit", "measure"], &["warm-up", "until"]];

    /// Removes the options for reading traces, because the run reads none.
    pub(crate) fn forget_traces(&mut self) {
        self.reading = ReadingSpec::default();
        self.flows.values_mut().for_each(FlowSpec::forget_traces);
    }

    /// The part of the workload that is measured.
    pub(crate) fn window(&self) -> Window {
        let window = Window::default().or(&self.measured());
        match (self.measure, self.limit) {
            (None, Some(limit)) => window.stopped_by(Stop::Requests(limit)),
            _ => window,
        }
    }

    const fn measured(&self) -> MeasureKeys {
        MeasureKeys { warm_up: self.warm_up, until: self.until, round: self.round, measure: self.measure }
    }

    /// The faults of keys that exclude each other, or need one another.
    pub fn conflicts(&self) -> Vec<Fault> {
        let mut faults = self.measured().conflicts();
        if self.measure.is_some() && self.limit.is_some() {
            faults.push(Fault::new("measure", "both `measure` and `limit` end the run", "leave one of them out"));
        }
        let is_life = self.until == Some(TargetState::Worn);
        if is_life && self.limit.is_some() {
            let message = "until = \"worn\" runs to the end of the drive's life";
            faults.push(Fault::new("limit", message, "leave one of them out, or end earlier with `rounds`"));
        }
        for (key, is_given) in [("rounds", self.rounds.is_some()), ("warranty", self.warranty.is_some())] {
            if is_given && !is_life {
                faults.push(Fault::new(key, "has no life to be about", "add until = \"worn\", or leave it out"));
            }
        }
        if self.rounds == Some(0) {
            faults.push(Fault::new("rounds", "a life of no round", "use 1 or more"));
        }
        if self.warranty.is_some_and(Age::is_zero) {
            faults.push(Fault::new("warranty", "a warranty of no time", "give it one, e.g. \"5y\""));
        }
        if self.series.is_some_and(Span::is_zero) {
            faults.push(Fault::new("series", "intervals without length", "give them one, e.g. \"10ms\""));
        }
        if self.reading.repeat == Some(0) {
            faults.push(Fault::new("repeat", "a trace that plays no time issues no request", "use 1 or more"));
        }
        faults
    }
}

/// An axis of a study.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// Name of the axis, by which claims and figures refer to it.
    pub name: String,
    /// The key that takes each of `values`, e.g. `device.flash.chips`, `workload.requests`, `run.depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The values of `key`, which are also the labels of the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Label>")]
    pub values: Vec<toml::Value>,
    /// Points that change several keys each; in place of `key` and `values`.
    #[serde(default, rename = "point", skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointSpec>,
}

/// A point of an axis: its label, and the changes that it makes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointSpec {
    /// Label of the point, by which claims and results refer to it.
    pub at: Label,
    /// The device of the point, in place of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PathBuf>,
    /// The workload of the point, in place of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<PathBuf>,
    /// Keys that the point changes: tables `device`, `workload` and `run`.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub set: Changes,
}

fn zero() -> Vec<u64> {
    vec![0]
}
