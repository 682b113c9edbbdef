//! A comparison as text.

use study::compare::{AXIS, COST, Column, Comparison, FLASH, LATENCIES};

use super::{explained, flows};
use crate::grid::grid;
use crate::sides::{Side, sides};

/// Two text tables with a row for each drive; a star marks the best value of a column.
#[must_use]
pub fn table(of: &Comparison) -> String {
    let count = of.rows.first().and_then(|row| row.runs.first()).map_or(0, |run| run.requests);
    let head = format!("{} drives under {}, {count} requests each; * is the best\n\n", of.rows.len(), of.workload);
    let verified = of.verified().map_or_else(String::new, |[reads, sectors]| {
        format!("verified: {sectors} sectors of {reads} reads returned the newest data\n")
    });
    let seen = explained::seen(&of.rows);
    let seen: String = sides(&seen).iter().map(Side::text).collect();
    let flows = flows::text(of);
    format!("{head}{}{flows}{}{COST}.\n{verified}\n{seen}", part(of, &LATENCIES), part(of, &FLASH))
}

fn part(of: &Comparison, columns: &'static [Column]) -> String {
    // A column without any value is left out.
    let shown: Vec<_> =
        columns.iter().filter(|column| of.rows.iter().any(|row| row.values.contains_key(column.key))).collect();
    let header: Vec<&str> = [AXIS].into_iter().chain(shown.iter().map(|column| column.heading)).collect();
    let rows = of.rows.iter().map(|row| {
        let cell = |column: &&Column| {
            let mark = if row.best.contains(&column.key) { "*" } else { "" };
            row.values.get(column.key).map_or_else(|| "-".into(), |value| (column.show)(*value) + mark)
        };
        [row.device.clone()].into_iter().chain(shown.iter().map(cell)).collect()
    });
    grid(&header, rows, 1)
}
