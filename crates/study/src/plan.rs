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
use workload::measure::Measured;

pub use crate::label::{Assignment, Label, OneOrMany};
pub use builtin::builtin;
pub use claim::ClaimSpec;
pub use figure::{FigurePart, FigureScale, FigureSpec, FlashArray, Relation, ScoreSpec, StatedSpec};
pub use flow::FlowSpec;
pub(crate) use flow::pacing;
pub use grid::Plan;
pub(crate) use grid::{check_run, describe};
pub use point::{Beside, Point};
pub use reading::ReadingSpec;
pub(crate) use reading::UnknownRule;
pub use seeds::{MOST_SEEDS, seeds_from};
pub use workload::measure::Until;

use crate::metric::Metric;
use crate::run::{Amount, Stop, Window};

/// A study.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudySpec {
    /// The study's name.
    pub name: String,
    /// The question that the study asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The source of the question.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// True if it takes many minutes: `flashloom reproduce` runs it only with `--long`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long: bool,
    /// The device: a file beside the study, or the name of one that comes with Flashloom.
    #[schemars(extend("examples" = ["demo", "fmmu-16x8"]))]
    pub device: PathBuf,
    /// The workload: a file beside the study, or the name of one that comes with Flashloom.
    #[schemars(extend("examples" = ["oltp", "random-read-4k"]))]
    pub workload: PathBuf,
    /// Seeds: how many, from zero on, or a list. Every point runs with each of them; a metric is the mean over them, with the
    /// 95 % interval of the mean.
    #[serde(default = "zero", deserialize_with = "seeds::read")]
    #[schemars(with = "seeds::Seeds")]
    pub seeds: Vec<u64>,
    /// How the study runs the workload.
    #[serde(default)]
    #[schemars(with = "RunSpec")]
    pub run: toml::Table,
    /// Changes of keys for all points: tables `device` and `workload`.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub set: Changes,
    /// What a point is worth of whose requests more than one in a thousand failed.
    #[serde(default, skip_serializing_if = "Failures::are_unexpected")]
    pub failures: Failures,
    /// The axes. The study's points are all their combinations.
    #[serde(default, rename = "axis")]
    pub axes: Vec<AxisSpec>,
    /// If given, only combinations that match one of these run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Assignment>,
    /// The metrics that the report shows for each point.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// The labels of the baseline. The report shows how far the first metric of each point lies below that of the same
    /// point with these labels, absolutely and as a share.
    #[serde(default, skip_serializing_if = "Assignment::is_empty")]
    pub baseline: Assignment,
    /// The claims.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimSpec>,
    /// The figures that the report draws, instead of a chart for each metric.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureSpec>,
}

/// What a point is worth of whose requests more than one in a thousand failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Failures {
    /// No claim holds that looks at the point, and the study ends with exit code 1.
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
    /// Changes of the device.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub device: toml::Table,
    /// Changes of the workload.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub workload: toml::Table,
    /// Changes of the run.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "RunSpec")]
    pub run: toml::Table,
}

impl Changes {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How the workload of a study is run: the table `run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Precondition the drive first: `fill`, `preload:PIECE:EXTENT`, `random:xN`, `steady`, `steady:model`.
    pub precondition: Vec<Precondition>,
    /// Leave the drive without power for this time before the run, behind preconditioning: `90d`, or `client` (a year at
    /// 30 C) or `enterprise` (three months at 40 C) as JESD218 has them. For drives with `flash.errors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Storage>,
    /// The temperature meanwhile; 30 C if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
    /// Start from the drive state in this file, which `save-snapshot` wrote; its path is relative to the study.
    /// Preconditioning follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_snapshot: Option<PathBuf>,
    /// Save the drive's state after preconditioning in this file; its path is relative to the study. Each run needs a
    /// file of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_snapshot: Option<PathBuf>,
    /// Keep this many requests outstanding, instead of the workload's pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Issue requests at their arrival times, instead of the workload's pacing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Submit the requests to this submission queue of the drive; see `host.queue` in device files.
    #[serde(skip_serializing_if = "flow::is_zero")]
    pub queue: u16,
    /// The placement identifier of the writes that have none of their own; see the policy `placement-id` of
    /// `ftl.streams.host` in device files.
    #[serde(skip_serializing_if = "flow::is_zero")]
    pub placement_id: u16,
    /// The weight of that queue, instead of the drive's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The workload's name in results, instead of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Workloads that run at the same time, by name. Each has a queue, a pacing and results of its own; the metrics
    /// `flow.NAME...` are about one of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, FlowSpec>,
    /// Run each of several workloads alone, too, and compare. A metric that asks for it does the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fairness: bool,
    /// Multiply all times of arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<f64>,
    /// Check that every read returns the newest completed write of each sector.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Attribute the time of every request. Results are the same; the run takes longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Record the course of the run in intervals of this length: percentiles, queue depth and busy dies, by flow if there
    /// are several. Results are otherwise the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Span>,
    /// Stop after this many requests. A described workload with fewer `requests` goes on up to this number; a trace ends
    /// where it ends, and a note of the result says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Run this part of the workload first and measure what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Amount>,
    /// Measure this part of the workload, instead of all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Amount>,
    /// Warm up until the drive is in steady state: `steady`, or `steady:METRIC` with `rate`, `waf` or `latency`. The
    /// measurement is then as long as the five rounds in which the drive was steady, unless `measure` or `limit` is given.
    /// With `worn` the run lasts until the drive refuses a write because too many of its blocks have failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The length of a round of `until`. The default writes a tenth of the capacity; of `worn`, a hundred capacities, or all of a
    /// trace, a script or a job file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Amount>,
    /// End after this many rounds of until = `worn`, even if the drive is not worn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rounds: Option<u32>,
    /// The time over which `life.dwpd` spreads what the drive took until it was worn; five years if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warranty: Option<Age>,
    /// Run every point with this many seeds, from zero on: the same as `seeds` at the top of the study.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub seeds: Option<u32>,
    /// How traces are read.
    #[serde(flatten)]
    pub reading: ReadingSpec,
}

impl RunSpec {
    /// Keys that stand for one another: a study gives one of each group.
    const ALTERNATIVES: [&[&str]; 3] = [&["depth", "open"], &["limit", "measure"], &["warm-up", "until"]];

    /// Removes the keys that say how to read a trace, because the run reads none.
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

    const fn measured(&self) -> Measured {
        Measured { warm_up: self.warm_up, until: self.until, round: self.round, measure: self.measure }
    }

    /// The faults of keys that exclude each other.
    pub fn conflicts(&self) -> Vec<Fault> {
        let mut faults = self.measured().conflicts();
        if self.measure.is_some() && self.limit.is_some() {
            faults.push(Fault::new("measure", "both `measure` and `limit` end the run", "leave one of them out"));
        }
        let is_life = self.until == Some(Until::Worn);
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

/// One axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// The axis's name.
    pub name: String,
    /// The key that takes each of `values`, e.g. `device.flash.chips`, `workload.requests`, `run.depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The values of `key`, which are also the labels of the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Label>")]
    pub values: Vec<toml::Value>,
    /// Points that change several keys; instead of `key` and `values`.
    #[serde(default, rename = "point", skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<PointSpec>,
}

/// One point of an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointSpec {
    /// The point's label.
    pub at: Label,
    /// Another device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PathBuf>,
    /// Another workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<PathBuf>,
    /// Changes of keys.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub set: Changes,
}

fn zero() -> Vec<u64> {
    vec![0]
}
