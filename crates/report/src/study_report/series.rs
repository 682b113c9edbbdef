//! The course of every run of a study as a table for other programs, if the study asks for it: one row per interval.

use std::collections::BTreeSet;

use base::io::IoKind;
use study::execute::StudyOutcome;
use study::summary::{CompletedSummary, IntervalSummary, Summary};

use super::points::{SEED, add_axes, column_name};
use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

struct IntervalRow<'a> {
    point: usize,
    seed: u64,
    interval: &'a IntervalSummary,
}

/// One row per interval of each run: the values of its point on the axes, its seed, and the numbers of the interval;
/// `None` if no run recorded its course.
#[must_use]
pub fn series(outcome: &StudyOutcome) -> Option<Table> {
    let runs = outcome.runs.iter().enumerate();
    let rows: Vec<IntervalRow<'_>> =
        runs.flat_map(|(point, runs)| runs.iter().flat_map(move |run| rows(point, run))).collect();
    let mut table = Table::default();
    add_axes(&mut table, outcome, &rows.iter().map(|row| row.point).collect::<Vec<_>>());
    add_all(table, &rows)
}

/// One row per interval of each of these runs, which have no axes.
#[must_use]
pub(crate) fn series_of(runs: &[&Summary]) -> Option<Table> {
    let rows: Vec<IntervalRow<'_>> = runs.iter().flat_map(|run| rows(0, run)).collect();
    add_all(Table::default(), &rows)
}

/// Adds all columns except the columns of the axes.
fn add_all(mut table: Table, rows: &[IntervalRow<'_>]) -> Option<Table> {
    add_intervals(&mut table, rows);
    let flows: BTreeSet<&str> = rows.iter().flat_map(|row| row.interval.flows.keys()).map(String::as_str).collect();
    flows.into_iter().for_each(|flow| add_flow(&mut table, flow, rows));
    (!rows.is_empty()).then_some(table)
}

fn rows(point: usize, run: &Summary) -> impl Iterator<Item = IntervalRow<'_>> {
    let intervals = run.series.iter().flat_map(|series| &series.intervals);
    intervals.map(move |interval| IntervalRow { point, seed: run.seed, interval })
}

/// The columns of every file of series; `AXIS` stands for the axes of the study, and `FLOW` for its flows.
pub(crate) fn series_fields() -> Vec<Field> {
    let axis = "The value of the point on an axis, as in `STUDY.parquet`";
    let mut table = Table::default();
    table.push(Field::new("AXIS", Values::Text, UnitOfMeasure::None, axis), Column::Text(Vec::new()));
    add_intervals(&mut table, &[]);
    add_flow(&mut table, "FLOW", &[]);
    table.fields()
}

/// Adds the columns of all requests together.
fn add_intervals(table: &mut Table, rows: &[IntervalRow<'_>]) {
    let number = |of: fn(&IntervalSummary) -> Option<f64>| rows.iter().map(move |row| of(row.interval));
    table.push(SEED, Column::Count(rows.iter().map(|row| row.seed).collect()));
    let begin = "Begin of the interval in simulated time, from that of the measurement";
    table.number("from_us", UnitOfMeasure::Microseconds, begin, number(|of| Some(of.from_us)));
    table.number("to_us", UnitOfMeasure::Microseconds, "End of the interval", number(|of| Some(of.to_us)));
    for kind in IoKind::ALL {
        let all: Vec<_> = rows.iter().map(|row| row.interval.kinds.get(kind.name())).collect();
        add_completed(table, kind.name(), &format!("{} requests", kind.name()), &all);
    }
    let depth = "Mean number of requests outstanding";
    table.number("queue_depth_mean", UnitOfMeasure::None, depth, number(|of| Some(of.queue_depth_mean)));
    let most = rows.iter().map(|row| row.interval.queue_depth_max);
    table.count("queue_depth_max", UnitOfMeasure::None, "Most requests outstanding", most);
    let dies = "Mean number of dies that were busy";
    table.number("busy_dies", UnitOfMeasure::None, dies, number(|of| Some(of.busy_dies)));
    let free = rows.iter().map(|row| row.interval.free_blocks);
    table.count("free_blocks", UnitOfMeasure::None, "Free blocks at the end of the interval", free);
    let amplification = "Mapping units programmed per mapping unit that the host wrote and no buffer absorbed";
    table.number("write_amplification", UnitOfMeasure::None, amplification, number(|of| of.write_amplification));
}

fn add_flow(table: &mut Table, flow: &str, rows: &[IntervalRow<'_>]) {
    let prefix = format!("flow_{}", column_name(flow, UnitOfMeasure::None));
    let all = || rows.iter().map(|row| row.interval.flows.get(flow));
    let of = format!("the flow `{flow}`");
    add_completed(table, &prefix, &of, &all().map(|of| of.map(|of| &of.completed)).collect::<Vec<_>>());
    let mut add = |end: &str, meaning: &str, values: Vec<Option<f64>>| {
        let meaning = format!("{meaning}, of {of}");
        let field = Field::named(format!("{prefix}_{end}"), Values::Number, UnitOfMeasure::None, meaning);
        table.push(field, Column::Number(values));
    };
    let mean = all().map(|of| of.map(|of| of.queue_depth_mean));
    add("queue_depth_mean", "Mean number of requests outstanding", mean.collect());
    let most = all().map(|of| of.map(|of| of.queue_depth_max as f64));
    add("queue_depth_max", "Most requests outstanding", most.collect());
}

/// A number of completed requests: the end of its column's name, its unit of measure, its meaning, and its value.
type CompletionColumn = (&'static str, UnitOfMeasure, &'static str, fn(&CompletedSummary) -> Option<f64>);

const COMPLETED: [CompletionColumn; 7] = [
    ("requests", UnitOfMeasure::None, "Requests completed in the interval", |of| Some(of.requests as f64)),
    ("bytes_per_s", UnitOfMeasure::BytesPerSecond, "Bytes moved per simulated second", |of| Some(of.bytes_per_s)),
    ("latency_mean_us", UnitOfMeasure::Microseconds, "Mean response time", |of| Some(of.latency_mean_us)),
    ("latency_p50_us", UnitOfMeasure::Microseconds, "Median of the response time", |of| of.latency_p50_us),
    (
        "latency_p99_us",
        UnitOfMeasure::Microseconds,
        "99th percentile of the response time, empty if fewer than ten requests lie beyond it",
        |of| of.latency_p99_us,
    ),
    (
        "latency_p99_9_us",
        UnitOfMeasure::Microseconds,
        "99.9th percentile of the response time, empty if fewer than ten requests lie beyond it",
        |of| of.latency_p99_9_us,
    ),
    ("latency_max_us", UnitOfMeasure::Microseconds, "Longest response time", |of| Some(of.latency_max_us)),
];

/// Adds the columns of requests that completed. A number is missing in an interval without any.
fn add_completed(table: &mut Table, prefix: &str, of: &str, all: &[Option<&CompletedSummary>]) {
    for (end, unit, meaning, value) in COMPLETED {
        let field = Field::named(format!("{prefix}_{end}"), Values::Number, unit, format!("{meaning}, of {of}"));
        table.push(field, Column::Number(all.iter().map(|of| value((*of)?)).collect()));
    }
}

#[cfg(test)]
mod tests {
    use testkit::small::STUDY;

    use super::*;
    use crate::testing::studied;

    #[test]
    fn each_interval_of_a_run_is_a_row_with_numbers_on_the_axes() {
        let outcome = studied(&STUDY.replace("limit = 150", "limit = 150, series = \"1ms\""));
        let table = series(&outcome).expect("its course was recorded");
        let intervals = |run: &Summary| run.series.as_ref().expect("recorded").intervals.len();
        assert_eq!(table.rows(), outcome.runs.iter().flatten().map(intervals).sum::<usize>());
        let csv = table.csv();
        let cells = |line: Option<&str>| line.expect("a line").split(',').map(ToOwned::to_owned).collect::<Vec<_>>();
        let (head, last) = (cells(csv.lines().next()), cells(csv.lines().last()));
        let value = |name: &str| &*last[head.iter().position(|column| column == name).expect(name)];
        let (axis, _) = &outcome.plan.axes[0];
        let run = outcome.runs.last().and_then(|runs| runs.last()).expect("a run");
        assert_eq!(value(axis), outcome.labels(outcome.runs.len() - 1)[0].as_str());
        assert_eq!(value("seed"), run.seed.to_string());
        let of = run.series.as_ref().and_then(|series| series.intervals.last()).expect("an interval");
        assert_eq!(value("to_us"), of.to_us.to_string());
        assert_eq!(value("queue_depth_mean"), of.queue_depth_mean.to_string());
        let reads = of.kinds.get("read").map(|of| of.requests.to_string());
        assert_eq!(value("read_requests"), reads.unwrap_or_default());
    }

    #[test]
    fn a_study_without_intervals_has_no_series() {
        assert!(series(&studied(STUDY)).is_none());
    }
}
