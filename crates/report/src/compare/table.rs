//! A comparison as text.

use study::compare::{AXIS, COST, Column, Comparison, FLASH, LATENCIES};

use super::{explained, flows};
use crate::cautions;
use crate::grid::{folded, grid};
use crate::sides::{Side, sides};

/// The width of a terminal in characters.
const WIDTH: usize = 80;

/// Text tables with a row for each drive; a star marks the best values of a column.
#[must_use]
pub fn table(of: &Comparison) -> String {
    let count = of.rows.first().and_then(|row| row.runs.first()).map_or(0, |run| run.requests);
    let head = format!("{} drives under {}, {count} requests each\n\n", of.rows.len(), of.workload);
    let verified = of.verified().map_or_else(String::new, |[reads, sectors]| {
        format!("verified: {sectors} sectors of {reads} reads returned the newest data\n")
    });
    let seen = explained::seen(&of.rows);
    let seen: String = sides(&seen).iter().map(Side::text).collect();
    let said = folded(&of.explain_marks().replace("The mark", "*"), WIDTH);
    let flows = flows::text(of);
    let failures = of.explain_missing_marks().map_or_else(String::new, |text| folded(&text, WIDTH));
    let names: Vec<&str> = of.rows.iter().map(|row| row.device.as_str()).collect();
    let cautions = cautions::text(&of.cautions(), |caution| cautions::drives(caution, &names), WIDTH);
    let tables = [part(of, &LATENCIES), flows, part(of, &FLASH)].concat();
    format!("{head}{tables}{COST}.\n{said}{failures}{cautions}{verified}\n{seen}")
}

/// The columns, divided among as few tables as fit the terminal: one, unless intervals make them wide.
fn part(of: &Comparison, columns: &'static [Column]) -> String {
    // A column without any value is left out.
    let mut left: Vec<&Column> = columns.iter().filter(|column| column.is_shown(&of.rows)).collect();
    let mut text = String::new();
    while !left.is_empty() {
        let fits = |taken: &usize| shown(of, &left[..*taken]).lines().all(|line| line.chars().count() <= WIDTH);
        let taken = (1..=left.len()).rev().find(fits).unwrap_or(1);
        text += &shown(of, &left[..taken]);
        left.drain(..taken);
    }
    text
}

fn shown(of: &Comparison, columns: &[&Column]) -> String {
    // A heading such as `p99` can be alone only beside the column that it belongs to.
    let owner = |column: &Column| match (column.key.split('_').next()?, column.heading) {
        (kind @ ("read" | "write"), heading) if heading.starts_with('p') => Some(kind),
        ("byte", _) => Some("WAF"),
        _ => None,
    };
    let heading = |(i, column): (usize, &&Column)| match owner(column) {
        Some(owner) if i == 0 => format!("{owner} {}", column.heading),
        _ => column.heading.to_owned(),
    };
    let header: Vec<String> = [AXIS.to_owned()].into_iter().chain(columns.iter().enumerate().map(heading)).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = of.rows.iter().map(|row| {
        let cell = |column: &&Column| {
            let mark = if row.best.contains(&column.key) { "*" } else { "" };
            column.text(row).map_or_else(|| "-".into(), |text| text + mark)
        };
        [row.device.clone()].into_iter().chain(columns.iter().map(cell)).collect()
    });
    grid(&header, rows, 1)
}
