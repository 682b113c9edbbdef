//! Several workloads at once on each drive: the numbers of each flow, and how fairly each drive treats them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::best::{Candidate, Ranking};
use crate::execute::StudyOutcome;
use crate::metric::{Dimension, Metric};
use crate::plan::Point;
use crate::schema;
use crate::spread::Spread;
use crate::summary::Summary;
use crate::text::{count, duration, rate};

/// A column with one number of each flow of a device.
pub struct FlowColumn {
    /// The key in JSON, with its unit of measure.
    pub key: &'static str,
    /// Heading of the column in the printed table.
    pub heading: &'static str,
    /// The name of the metric; for a column of one flow, without the prefix `flow.NAME.`.
    metric: &'static str,
    /// Function that formats a value with its unit of measure.
    pub show: fn(f64) -> String,
    /// True if a higher value is better.
    more: bool,
}

const fn time(key: &'static str, heading: &'static str, metric: &'static str) -> FlowColumn {
    FlowColumn { key, heading, metric, show: duration, more: false }
}

fn plain(value: f64) -> String {
    format!("{value:.2}")
}

/// The columns of a table that compares one flow across devices.
pub const FLOW: [FlowColumn; 9] = [
    time("read_mean_us", "read mean", "read.mean"),
    time("read_p99_us", "p99", "read.p99"),
    time("read_p99_9_us", "p99.9", "read.p99_9"),
    time("write_mean_us", "write mean", "write.mean"),
    time("write_p99_us", "p99", "write.p99"),
    time("write_p99_9_us", "p99.9", "write.p99_9"),
    FlowColumn { key: "requests_per_s", heading: "req/s", metric: "requests-per-s", show: count, more: true },
    FlowColumn { key: "bytes_per_s", heading: "rate", metric: "rate", show: rate, more: true },
    FlowColumn { key: "slowdown", heading: "slowdown", metric: "slowdown", show: plain, more: false },
];

/// The columns of all flows together.
pub const FAIRNESS: [FlowColumn; 5] = [
    FlowColumn { key: "fairness", heading: "fairness", metric: "fairness", show: plain, more: true },
    FlowColumn { key: "unfairness", heading: "unfairness", metric: "unfairness", show: plain, more: false },
    FlowColumn { key: "max_slowdown", heading: "max slowdown", metric: "max-slowdown", show: plain, more: false },
    FlowColumn {
        key: "weighted_speedup",
        heading: "weighted speed-up",
        metric: "weighted-speedup",
        show: plain,
        more: true,
    },
    FlowColumn { key: "harmonic_speedup", heading: "harmonic", metric: "harmonic-speedup", show: plain, more: true },
];

/// The note below a table that has slowdowns.
pub const MEANING: &str = "Slowdown: mean latency beside the other flows, by that of the same requests alone";

/// A drive's values for one flow, or for all flows together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowRow {
    /// Name of the drive in its description.
    pub device: String,
    /// Values in base units; columns that do not apply are left out.
    #[schemars(extend("propertyNames" = schema::keys(FLOW.iter().chain(&FAIRNESS).map(|column| column.key))))]
    pub values: BTreeMap<&'static str, f64>,
    /// For each column, the mean over the seeds with its 95 % interval, and the value of each run; missing with one
    /// seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(FLOW.iter().chain(&FAIRNESS).map(|column| column.key))))]
    pub spread: BTreeMap<&'static str, Spread>,
    /// The keys of the columns in which the drive may be the best: the drive has the best mean, or the seeds cannot
    /// tell it from the drive with the best mean. Empty with one seed.
    pub best: Vec<&'static str>,
}

impl FlowColumn {
    /// The value of a row as text, with its interval if there are several seeds; `None` if the row has no such value.
    #[must_use]
    pub fn text(&self, row: &FlowRow) -> Option<String> {
        let interval = row.spread.get(self.key).and_then(Spread::interval).filter(|interval| interval.half_width > 0.0);
        let dimension = || match self.metric.parse::<Metric>() {
            Ok(metric) => metric.dimension(),
            // A quotient for one flow, which is not a metric by itself.
            Err(_) => Dimension::Plain,
        };
        interval.map(|interval| interval.show(dimension())).or_else(|| Some((self.show)(*row.values.get(self.key)?)))
    }
}

/// The table of one flow on all drives, or of all flows together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowTable {
    /// The flow's name; missing for all flows together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The drives in the order of the user.
    pub rows: Vec<FlowRow>,
}

impl FlowTable {
    fn new(flow: Option<&str>, outcome: &StudyOutcome) -> Self {
        let mut table = Self { flow: flow.map(ToOwned::to_owned), rows: Vec::new() };
        let columns = table.columns();
        let named = |metric: &str| match flow {
            Some(flow) => format!("flow.{flow}.{metric}"),
            None => metric.to_owned(),
        };
        let metrics: Vec<Metric> =
            columns.iter().map(|column| named(column.metric).parse().expect("a checked name of a flow")).collect();
        let of = |runs: &[Summary]| -> BTreeMap<&'static str, Spread> {
            let value = |(column, metric): (&FlowColumn, &Metric)| {
                let values: Option<Vec<f64>> = runs.iter().map(|run| metric.of(run)).collect();
                Some((column.key, Spread::of(values?)?))
            };
            columns.iter().zip(&metrics).filter_map(value).collect()
        };
        let all: Vec<BTreeMap<&'static str, Spread>> = outcome.runs.iter().map(|runs| of(runs)).collect();
        let row = |(point, spread): (&Point, &BTreeMap<&'static str, Spread>)| FlowRow {
            device: point.labels[0].to_string(),
            values: spread.iter().map(|(key, spread)| (*key, spread.mean)).collect(),
            spread: spread.iter().filter(|(_, spread)| spread.n > 1).map(|(key, of)| (*key, of.clone())).collect(),
            best: Vec::new(),
        };
        table.rows = outcome.plan.points.iter().zip(&all).map(row).collect();
        for column in columns {
            let candidate = |(row, of)| {
                let spread = BTreeMap::get(of, column.key).filter(|_| outcome.is_sound(row))?;
                Some(Candidate { row, spread })
            };
            let candidates: Vec<_> = all.iter().enumerate().filter_map(candidate).collect();
            let ranking = Ranking { more: column.more, is_fixed: false, show: column.show };
            for row in ranking.best(&candidates) {
                table.rows[row].best.push(column.key);
            }
        }
        table
    }

    /// Returns the columns: [`FLOW`] for a table about one flow, else those about fairness.
    #[must_use]
    pub const fn columns(&self) -> &'static [FlowColumn] {
        if self.flow.is_some() { &FLOW } else { &FAIRNESS }
    }

    /// The columns in which some drive has a value.
    pub fn shown(&self) -> impl Iterator<Item = &'static FlowColumn> {
        self.columns().iter().filter(|column| self.rows.iter().any(|row| row.values.contains_key(column.key)))
    }
}

/// One table for each flow, and one for all flows together if each flow also ran alone.
pub(super) fn tables(outcome: &StudyOutcome) -> Vec<FlowTable> {
    let first = outcome.runs.first().and_then(|runs| runs.first());
    let flows = first.into_iter().flat_map(|run| &run.flows);
    let mut tables: Vec<FlowTable> = flows.map(|flow| FlowTable::new(Some(&flow.name), outcome)).collect();
    if first.is_some_and(|run| run.fairness.is_some()) {
        tables.push(FlowTable::new(None, outcome));
    }
    tables
}
