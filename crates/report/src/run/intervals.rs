//! The intervals of a run as columns of its figures.

use ssd::Counters;

use study::metric::Dimension;
use study::series::Interval;
use study::summary::Report;

use crate::figure::{Axis, Number, Scale};

/// The most rows of a heat map. If there are more, neighbours are merged.
pub(super) const HEAT_ROWS: usize = 64;

/// The most columns of a heat map. If there are more, neighbours are merged.
pub(super) const HEAT_COLUMNS: usize = 160;

/// Simulated microseconds from the start of the run to these counters.
pub(super) fn elapsed(report: &Report<'_>, counters: &Counters) -> f64 {
    counters.at.saturating_since(report.result.before.at).as_us_f64()
}

pub(super) fn time_axis(report: &Report<'_>) -> Axis {
    let to = Some(Number(elapsed(report, &report.result.after)));
    Axis { to, ..Axis::new("simulated time", Dimension::Time, Scale::Linear) }
}

/// The counters at both ends of each interval; many intervals are merged with their neighbours.
pub(super) fn columns<'a>(report: &Report<'a>) -> Vec<(&'a Counters, &'a Counters)> {
    let intervals: Vec<Interval<'_>> = report.result.series.intervals().collect();
    let together = intervals.len().div_ceil(HEAT_COLUMNS).max(1);
    intervals.chunks(together).map(|chunk| (chunk[0].from, chunk[chunk.len() - 1].to)).collect()
}

/// The left edge of each column, and the right edge of the last.
pub(super) fn edges(report: &Report<'_>, columns: &[(&Counters, &Counters)]) -> Vec<Number> {
    let ends = columns.iter().map(|(_, to)| elapsed(report, to));
    std::iter::once(0.0).chain(ends).map(Number).collect()
}
