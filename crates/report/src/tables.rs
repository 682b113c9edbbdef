//! The tables of a run in memory, for interfaces that pass them on. They have the columns of its Parquet files.

use ssd::PowerDraw;
use study::run::{Record, RunResult};
use study::summary::LifePointSummary;

use crate::columns;
use crate::table::Table;

/// The table of the non-empty bins of the histograms of response times, as in `latencies.parquet`.
#[must_use]
pub fn latencies(result: &RunResult) -> Table {
    columns::run_histograms(result)
}

/// The course of the run, one row per interval, as in `series.parquet`: the detailed series, if the run has it. `draw`
/// gives the energy of each interval.
#[must_use]
pub fn series(result: &RunResult, draw: Option<&PowerDraw>) -> Table {
    columns::run_series(result, draw)
}

/// The busy share of each channel and die, one row for each of them and each interval, as in `busy.parquet`.
#[must_use]
pub fn busy(result: &RunResult) -> Table {
    columns::run_busy(result)
}

/// The course of each flow, one row for each flow and interval, as in `series-flows.parquet`; without rows unless the run
/// has several flows and a detailed series.
#[must_use]
pub fn flow_series(result: &RunResult) -> Table {
    columns::run_flow_series(result)
}

/// Program/erase cycles of every block, as in `erases.parquet`.
#[must_use]
pub fn erases(counts: &[u32]) -> Table {
    columns::erases(counts)
}

/// The curve of a drive's life, as in `life.parquet`; without rows unless the run lasted until the drive was worn.
#[must_use]
pub fn life(points: &[LifePointSummary]) -> Table {
    columns::life(points)
}

/// One row per request, as in the file of `--requests`.
#[must_use]
pub fn requests(records: &[Record]) -> Table {
    crate::requests::table(records)
}
