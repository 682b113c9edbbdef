//! The comparison as a page.

use flash::backend::Cause;

use super::{AXIS, COST, Column, Comparison, FLASH, LATENCIES, explained};
use crate::lab::Program;
use crate::metric::Unit;
use crate::report::{
    Axis, Block, Cell, Chart, Figure, Line, Number, Page, Part, Row as Cells, Scale, Section, Stack, Summary, Table,
};

/// The percentiles that a run keeps, as shares.
const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("p99_999", 0.99999),
];

/// The comparison as a page: its tables, latencies by percentile, and what the flash was busy with.
#[must_use]
pub fn page(program: &Program, comparison: &Comparison) -> Page {
    let rows = &comparison.rows;
    let requests = rows.first().and_then(|row| row.runs.first()).map_or(0, |run| run.requests);
    let figures = [
        Some(latency(comparison, "read")).filter(has_lines).map(|chart| Figure::new("Reads", LATENCY, chart)),
        Some(latency(comparison, "write")).filter(has_lines).map(|chart| Figure::new("Writes", LATENCY, chart)),
        Some(Figure::new("Flash data by cause", "Mapping units programmed, and why.", programmed(comparison))),
        Some(Figure::new("Array time by cause", "Time the dies worked.", worked(comparison))),
    ];
    let seen = explained::tables(rows).into_iter().map(Block::Table).collect();
    let tables = [("Latency and throughput", &LATENCIES[..]), ("Flash, energy and RAM", &FLASH[..])];
    Page {
        title: format!("{} disks under {}", rows.len(), comparison.workload),
        about: format!("flashloom {} ({})", program.version, program.commit),
        sections: vec![Section {
            note: format!("{requests} requests on each disk. The best of each column is marked. {COST}."),
            above: tables.map(|(heading, columns)| Block::Table(table(comparison, heading, columns))).to_vec(),
            figures: figures.into_iter().flatten().chain(explained::figures(rows)).collect(),
            below: seen,
            ..Section::default()
        }],
        result: comparison.json(),
    }
}

const LATENCY: &str = "By percentile: the slowest request in ten, in a hundred, in a thousand.";

const fn has_lines(chart: &Chart) -> bool {
    matches!(chart, Chart::Lines { lines, .. } if !lines.is_empty())
}

fn table(comparison: &Comparison, heading: &str, columns: &'static [Column]) -> Table {
    let row = |(i, row): (usize, &super::Row)| {
        let cell = |column: &Column| {
            let class = if row.best.contains(&column.key) { "best" } else { "" };
            row.values.get(column.key).map_or_else(
                || "-".into(),
                |value| Cell { class, ..Cell::of((column.show)(*value), format!("/rows/{i}/values/{}", column.key)) },
            )
        };
        let cells = [Cell::from(row.device.as_str())].into_iter().chain(columns.iter().map(cell)).collect();
        Cells { cells, notes: Vec::new() }
    };
    Table {
        heading: heading.into(),
        header: [AXIS].into_iter().chain(columns.iter().map(|column| column.heading)).map(Into::into).collect(),
        texts: 1,
        rows: comparison.rows.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// The means over the seeds of every percentile.
fn latency(comparison: &Comparison, kind: &str) -> Chart {
    let line = |(colour, row): (usize, &super::Row)| {
        let at = |(key, share): (&str, f64)| {
            let of = |run: &Summary| run.kinds.get(kind)?.latency_us.get(key).copied();
            let all: Option<Vec<f64>> = row.runs.iter().map(of).collect();
            let all = all.filter(|all| !all.is_empty())?;
            Some([share, all.iter().sum::<f64>() / all.len() as f64].map(Number))
        };
        let points: Vec<_> = PERCENTILES.into_iter().filter_map(at).collect();
        (!points.is_empty()).then(|| Line { name: row.device.clone(), colour, points })
    };
    Chart::Lines {
        x: Axis::new("share of requests that are at least as fast", Unit::Share, Scale::Nines),
        y: Axis::new("latency", Unit::Time, Scale::Log),
        lines: comparison.rows.iter().enumerate().filter_map(line).collect(),
    }
}

fn programmed(comparison: &Comparison) -> Chart {
    let of = |run: &Summary, cause: Cause| {
        let rows = run.flash.iter().filter(|row| row.cause == cause.name() && row.op != "read" && row.op != "erase");
        rows.map(|row| row.slots as f64).sum()
    };
    stacks(comparison, Axis::new("mapping units", Unit::Count, Scale::Linear), of)
}

fn worked(comparison: &Comparison) -> Chart {
    let of = |run: &Summary, cause: Cause| {
        run.flash.iter().filter(|row| row.cause == cause.name()).map(|row| row.array_s * 1e6).sum()
    };
    stacks(comparison, Axis::new("array time", Unit::Time, Scale::Linear), of)
}

/// A bar for each disk, divided by cause.
fn stacks(comparison: &Comparison, x: Axis, of: impl Fn(&Summary, Cause) -> f64) -> Chart {
    let stack = |row: &super::Row| {
        let mean = |cause: Cause| row.runs.iter().map(|run| of(run, cause)).sum::<f64>() / row.runs.len() as f64;
        let part =
            |cause: Cause| Part { name: cause.name().into(), colour: cause as usize, value: Number(mean(cause)) };
        let parts = Cause::ALL.into_iter().map(part).filter(|part| part.value.0 > 0.0).collect();
        Stack { name: row.device.clone(), parts, label: None }
    };
    Chart::Stacks { x, rows: comparison.rows.iter().map(stack).collect() }
}
