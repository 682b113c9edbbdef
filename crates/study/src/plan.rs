//! The description of a study in its file: a device, a workload, axes along which they change, and claims about the
//! outcome.

mod builtin;
mod claim;
mod figure;
mod flow;
mod grid;
mod part;
mod point;
mod seeds;
mod single;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use base::fault::Fault;
use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::Precondition;
use workload::measure::Measured;
use workload::trace::{Columns, Event, ExtentRule, Format, NamedUnits, SizeUnit, TimeUnit, TraceOptions, VolumeRule};

pub use crate::label::{Assignment, Label, OneOrMany};
pub use builtin::builtin;
pub use claim::ClaimSpec;
pub use figure::{FigureScale, FigureSpec, StatedSpec};
pub use flow::FlowSpec;
pub(crate) use flow::pacing;
pub use grid::Plan;
pub(crate) use grid::{check_run, describe};
pub use point::{Beside, Point};
pub use seeds::{MOST_SEEDS, seeds_from};
pub use workload::measure::Until;

use crate::config::did_you_mean;
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

/// A key of the table `run` whose value does not say how to read a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownRule {
    Format,
    Columns,
    Units,
    Event,
    Extent,
    Volumes,
}

impl UnknownRule {
    /// The fault of the table `run`.
    fn fault(self, run: &RunSpec) -> Fault {
        let one_of = |names: Vec<&str>, name: &str| {
            format!("{}choose one of {}", did_you_mean(name, names.iter().copied()), names.join(", "))
        };
        let quoted = |name: &Option<String>| name.clone().unwrap_or_default();
        match self {
            Self::Format => {
                let name = quoted(&run.format);
                let remedy = one_of(Format::ALL.iter().map(|format| format.name()).collect(), &name);
                Fault::new("format", format!("`{name}` is not a trace format"), remedy)
            }
            Self::Columns => {
                let error = run.columns.as_ref().and_then(|text| text.parse::<Columns>().err());
                let error = error.expect("they do not describe columns");
                Fault::new("columns", error.message(), error.remedy())
            }
            Self::Units => {
                let time = run.time_unit.as_ref().and_then(|text| Some(("time-unit", text.parse::<TimeUnit>().err()?)));
                let size = |key, text: &Option<String>| Some((key, text.as_ref()?.parse::<SizeUnit>().err()?));
                let wrong = time.or_else(|| size("size-unit", &run.size_unit));
                let wrong = wrong.or_else(|| size("address-unit", &run.address_unit));
                let (key, error) = wrong.expect("one of them is not a unit");
                Fault::new(key, error.message(), error.remedy())
            }
            Self::Event => {
                let name = quoted(&run.event);
                let remedy = one_of(Event::ALL.iter().map(|event| event.name()).collect(), &name);
                Fault::new("event", format!("`{name}` is not an event of a block trace"), remedy)
            }
            Self::Extent => {
                let name = quoted(&run.extent);
                let remedy = one_of(ExtentRule::ALL.iter().map(|rule| rule.name()).collect(), &name);
                Fault::new("extent", format!("`{name}` is not a rule for addresses of traces"), remedy)
            }
            Self::Volumes => {
                let name = quoted(&run.volumes);
                let message = format!("`{name}` is not a rule for volumes of traces");
                Fault::new("volumes", message, "write single, overlay or stride:SIZE, e.g. stride:1GiB")
            }
        }
    }
}

/// How the workload of a study is run: the table `run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Precondition the drive first: `fill`, `preload:PIECE:EXTENT`, `random:xN`, `steady`, `steady:model`.
    pub precondition: Vec<Precondition>,
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
    /// Stop after this many requests.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The length of a round of `until`. The default writes a tenth of the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Amount>,
    /// Run every point with this many seeds, from zero on: the same as `seeds` at the top of the study.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub seeds: Option<u32>,
    /// Skip this many requests at the beginning of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<u64>,
    /// Play a trace this many times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The event that stands for a request in blktrace and blkparse files: `auto`, `queue`, `issue` or `complete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The rule for trace addresses beyond the drive's capacity: `error`, `wrap` or `compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extent: Option<String>,
    /// The format of a trace, instead of the detected one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The columns of a CSV, e.g. `time=ts:us,op=rw,offset=lba:512B,size=len:B`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// The unit of a trace's times, instead of its format's: `s`, `ms`, `us`, `100ns`, `ns` or `ps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
    /// The unit of a trace's sizes, instead of its format's: `B`, `512B`, `4KiB`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_unit: Option<String>,
    /// The unit of a trace's addresses, instead of its format's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_unit: Option<String>,
    /// Shorten gaps between requests of a trace to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_limit: Option<Span>,
    /// How far a time of a trace may lie before the latest one so far. Requests within this tolerance are sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Span>,
    /// Play only this volume of a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The rule for a trace of several volumes: `single`, `overlay` or `stride:SIZE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
}

impl RunSpec {
    /// The rule named by `extent`; `None` if the name is unknown.
    fn extent_rule(&self) -> Option<ExtentRule> {
        match &self.extent {
            None => Some(ExtentRule::default()),
            Some(name) => ExtentRule::ALL.into_iter().find(|rule| rule.name() == name),
        }
    }

    /// The options with which to read a trace.
    pub(crate) fn trace_options(&self) -> Result<TraceOptions, UnknownRule> {
        let format = match self.format.as_deref().map(Format::from_name) {
            Some(None) => return Err(UnknownRule::Format),
            known => known.flatten(),
        };
        Ok(TraceOptions {
            format,
            columns: parsed(&self.columns).map_err(|()| UnknownRule::Columns)?,
            units: self.named_units().map_err(|()| UnknownRule::Units)?,
            event: match self.event.as_deref() {
                None => Event::default(),
                Some(name) => Event::from_name(name).ok_or(UnknownRule::Event)?,
            },
            skip: self.skip.unwrap_or(0),
            repeat: self.repeat.unwrap_or(1),
            gap_limit: self.gap_limit,
            tolerance: self.tolerance.unwrap_or(TraceOptions::default().tolerance),
            extent: self.extent_rule().ok_or(UnknownRule::Extent)?,
            volume: self.volume.clone(),
            volumes: self.volume_rule().ok_or(UnknownRule::Volumes)?,
            ..TraceOptions::default()
        })
    }

    /// Removes the keys that say how to read a trace, because the run reads none.
    pub(crate) fn forget_traces(&mut self) {
        *self = Self {
            skip: None,
            repeat: None,
            event: None,
            extent: None,
            format: None,
            columns: None,
            time_unit: None,
            size_unit: None,
            address_unit: None,
            gap_limit: None,
            tolerance: None,
            volume: None,
            volumes: None,
            ..std::mem::take(self)
        };
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
        if self.series.is_some_and(Span::is_zero) {
            faults.push(Fault::new("series", "intervals without length", "give them one, e.g. \"10ms\""));
        }
        if self.repeat == Some(0) {
            faults.push(Fault::new("repeat", "a trace that plays no time issues no request", "use 1 or more"));
        }
        faults
    }

    fn named_units(&self) -> Result<NamedUnits, ()> {
        Ok(NamedUnits {
            time: parsed(&self.time_unit)?,
            address: parsed(&self.address_unit)?,
            size: parsed(&self.size_unit)?,
        })
    }

    /// The rule named by `volumes`; `None` if the text names none.
    fn volume_rule(&self) -> Option<VolumeRule> {
        self.volumes.as_ref().map_or_else(|| Some(VolumeRule::default()), |text| text.parse().ok())
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

/// The parsed text, if there is one.
fn parsed<T: FromStr>(text: &Option<String>) -> Result<Option<T>, ()> {
    text.as_deref().map(|text| text.parse().map_err(|_| ())).transpose()
}

fn zero() -> Vec<u64> {
    vec![0]
}
