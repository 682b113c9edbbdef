//! The output of the bench, as a table or as JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// The least, the median and the largest of several samples.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// The smallest sample, in the unit of the row.
    pub min: f64,
    /// The middle sample; of an even number, the upper of the two.
    pub median: f64,
    /// The largest sample, in the unit of the row.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of one sample or more.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else { return Self::one(f64::NAN) };
        Self { min: *min, median: sorted[sorted.len() / 2], max: *max }
    }

    /// Creates the spread of a single sample.
    pub const fn one(value: f64) -> Self {
        Self { min: value, median: value, max: value }
    }
}

/// A measurement with its goal.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the row; `--row` selects rows by a part of their names.
    pub name: String,
    /// Unit of measure of `value`.
    pub unit: &'static str,
    /// Measured value with its spread over the slices.
    pub value: Spread,
    /// Median wall-clock rate.
    pub wall: Option<f64>,
    /// Ratio to the rate of the bare event loop, or of the row that the target names, measured right before.
    pub ratio: Option<Spread>,
    /// Cost of a request, in reads of the bare loop that ran right before.
    pub reads: Option<Spread>,
    /// The goal in words.
    pub target: Option<String>,
    /// True if the goal is met; `None` without a goal.
    pub met: Option<bool>,
    /// Remark on the measurement.
    pub note: String,
}

/// Formats the results as a table for people.
pub fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "",
        "value",
        "(min .. max)",
        "unit",
        "wall clock",
        "ratio",
        "(min .. max)",
        "loop reads",
        "target",
        "",
    ]);
    for column in [1, 2, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        let met = match row.met {
            None => "",
            Some(true) => "met",
            Some(false) => "NOT MET",
        };
        table.add_row([
            row.name.clone(),
            figure(row.value.median),
            range(row.value),
            row.unit.to_owned(),
            row.wall.map_or_else(String::new, figure),
            row.ratio.map_or_else(String::new, |ratio| figure(ratio.median)),
            row.ratio.map_or_else(String::new, range),
            row.reads.map_or_else(String::new, |reads| figure(reads.median)),
            row.target.clone().unwrap_or_default(),
            met.to_owned(),
        ]);
    }
    let notes = rows.iter().filter(|row| !row.note.is_empty());
    let notes: Vec<_> = notes.map(|row| format!("  {}: {}\n", row.name, row.note)).collect();
    format!("{table}\n\n{}", notes.concat())
}

/// Formats the results as JSON for programs.
pub fn json(rows: &[Row]) -> String {
    serde_json::to_string_pretty(rows).unwrap_or_else(|error| panic!("rows are plain data: {error}"))
}

fn range(spread: Spread) -> String {
    if spread.min.total_cmp(&spread.max).is_eq() {
        return String::new();
    }
    format!("{} .. {}", figure(spread.min), figure(spread.max))
}

/// Prints a number with three digits or a few more.
fn figure(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.0} k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}
