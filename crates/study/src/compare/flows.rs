//! Several workloads at once on each drive: the numbers of each flow, and how fairly each drive treats them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::execute::Outcome;
use crate::metric::Metric;
use crate::schema;
use crate::text::{count, duration, rate};

/// A column of the flows.
pub struct FlowColumn {
    /// The key in JSON, with its unit of measure.
    pub key: &'static str,
    /// The heading.
    pub heading: &'static str,
    /// The metric; that of a flow without `flow.NAME.` before it.
    metric: &'static str,
    /// Formats a value.
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

/// The columns of one flow.
pub const FLOW: [FlowColumn; 9] = [
    time("read_mean_us", "read mean", "read.mean"),
    time("read_p99_us", "p99", "read.p99"),
    time("read_p99_9_us", "p99.9", "read.p99_9"),
    time("write_mean_us", "write mean", "write.mean"),
    time("write_p99_us", "p99", "write.p99"),
    time("write_p99_9_us", "p99.9", "write.p99_9"),
    FlowColumn { key: "requests_per_s", heading: "req/s", metric: "requests-per-s", show: count, more: true },
    FlowColumn { key: "bytes_per_s", heading: "rate", metric: "rate", show: |value| rate(value as u64), more: true },
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

/// A note on the fairness of flows.
pub const MEANING: &str = "Slowdown: mean latency beside the other flows, by that of the same requests alone";

/// A drive's numbers of one flow, or of all together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowRow {
    /// The drive's name.
    pub device: String,
    /// Values in base units; columns that do not apply are missing.
    #[schemars(extend("propertyNames" = schema::keys(FLOW.iter().chain(&FAIRNESS).map(|column| column.key))))]
    pub values: BTreeMap<&'static str, f64>,
    /// The keys of the columns in which the drive is best.
    pub best: Vec<&'static str>,
}

/// One flow on all drives, or all flows together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowTable {
    /// The flow's name; missing for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The drives in the order of the user.
    pub rows: Vec<FlowRow>,
}

impl FlowTable {
    fn new(flow: Option<&str>, outcome: &Outcome) -> Self {
        let mut table = Self { flow: flow.map(ToOwned::to_owned), rows: Vec::new() };
        let columns = table.columns();
        let named = |metric: &str| match flow {
            Some(flow) => format!("flow.{flow}.{metric}"),
            None => metric.to_owned(),
        };
        let metrics: Vec<Metric> =
            columns.iter().map(|column| named(column.metric).parse().expect("a checked name of a flow")).collect();
        let row = |(i, point): (usize, &crate::plan::Point)| {
            let value = |(column, metric): (&FlowColumn, &Metric)| Some((column.key, outcome.value(i, metric)?));
            let values = columns.iter().zip(&metrics).filter_map(value).collect();
            FlowRow { device: point.labels[0].to_string(), values, best: Vec::new() }
        };
        table.rows = outcome.plan.points.iter().enumerate().map(row).collect();
        for column in columns {
            let of = |row: &FlowRow| row.values.get(column.key).map(|value| if column.more { -value } else { *value });
            let Some(best) = table.rows.iter().filter_map(of).min_by(f64::total_cmp) else { continue };
            // If all are equal, none is best.
            if table.rows.iter().filter_map(of).any(|value| value > best) {
                table.rows.iter_mut().filter(|row| of(row) == Some(best)).for_each(|row| row.best.push(column.key));
            }
        }
        table
    }

    /// The columns of the table.
    #[must_use]
    pub const fn columns(&self) -> &'static [FlowColumn] {
        if self.flow.is_some() { &FLOW } else { &FAIRNESS }
    }

    /// The columns in which some drive has a value.
    pub fn shown(&self) -> impl Iterator<Item = &'static FlowColumn> {
        self.columns().iter().filter(|column| self.rows.iter().any(|row| row.values.contains_key(column.key)))
    }
}

/// A table for each flow, and one for all together if each ran alone, too.
pub(super) fn tables(outcome: &Outcome) -> Vec<FlowTable> {
    let first = outcome.runs.first().and_then(|runs| runs.first());
    let flows = first.into_iter().flat_map(|run| &run.flows);
    let mut tables: Vec<FlowTable> = flows.map(|flow| FlowTable::new(Some(&flow.name), outcome)).collect();
    if first.is_some_and(|run| run.fairness.is_some()) {
        tables.push(FlowTable::new(None, outcome));
    }
    tables
}
