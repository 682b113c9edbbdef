//! Compares the rows of two builds that ran in pairs.
//!
//! The two runs of a pair met the same noise, those of different pairs did not, so changes are computed within each
//! pair. The builds are compared by their absolute rates, not by their ratios to the bare loop, because the loop's own
//! speed depends on how the compiler lays out a program: it moved by 11 % between builds with the loop's code
//! untouched.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use serde::Deserialize;

/// The least change that counts, as a share; each pair must have changed in the same direction.
pub const NOTABLE: f64 = 0.05;

/// Line that a bench in step prints on its standard error when its next slice may begin.
pub const READY: &str = "ready for a slice";

/// A row that a bench printed as JSON. Other fields may come and go between commits.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct PrintedRow {
    /// Name of the row, by which the rows of two builds are matched.
    pub name: String,
    /// Unit of measure of the value.
    pub unit: String,
    /// The measured value over the slices, in `unit`.
    pub value: Value,
}

/// The statistics of a measurement that the comparison reads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct Value {
    /// Median over the rounds.
    pub median: f64,
}

/// The reason, in words, why a comparison failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonFailure(String);

impl fmt::Display for ComparisonFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ComparisonFailure {}

impl From<String> for ComparisonFailure {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for ComparisonFailure {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// Parses the rows of a bench's output.
///
/// # Errors
/// If the text is not a JSON list of rows.
pub fn parse(text: &str) -> Result<Vec<PrintedRow>, ComparisonFailure> {
    serde_json::from_str(text).map_err(|error| ComparisonFailure(format!("the bench printed no list of rows: {error}")))
}

/// Returns true if a larger number of this unit is better, false if a smaller one is, and `None` if the unit measures
/// no speed.
fn more_is_better(unit: &str) -> Option<bool> {
    match unit {
        "requests/CPU s" => Some(true),
        "CPU s" | "CPU s/TB" => Some(false),
        _ => None,
    }
}

/// The samples of a row, one for each pair of runs.
#[derive(Clone, Debug, PartialEq)]
struct Samples {
    name: String,
    unit: String,
    values: Vec<f64>,
}

impl Samples {
    fn range(&self) -> (f64, f64) {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least, most)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        below.midpoint(above)
    }

    /// Returns the changes to another build's samples, pair by pair, as shares of these samples.
    fn changes_to(&self, now: &Self) -> Self {
        let values = self.values.iter().zip(&now.values).map(|(before, after)| after / before - 1.0).collect();
        Self { values, ..self.clone() }
    }
}

/// The rows of all runs of a build.
#[derive(Clone, Debug, Default)]
pub struct Runs(Vec<Samples>);

impl Runs {
    /// Adds the rows of a further run of the build.
    pub fn add(&mut self, rows: Vec<PrintedRow>) {
        for PrintedRow { name, unit, value } in rows {
            match self.0.iter_mut().find(|samples| samples.name == name && samples.unit == unit) {
                Some(samples) => samples.values.push(value.median),
                None => self.0.push(Samples { name, unit, values: vec![value.median] }),
            }
        }
    }

    fn of(&self, other: &Samples) -> Option<&Samples> {
        self.0.iter().find(|samples| samples.name == other.name && samples.unit == other.unit)
    }
}

/// The judgement of a row that both builds have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change is small, or the pairs changed in different directions.
    Alike,
    /// The row is slower by 5 % or more, and slower in each pair.
    Slower,
    /// The row is faster by 5 % or more, and faster in each pair.
    Faster,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alike => "",
            Self::Slower => "SLOWER",
            Self::Faster => "faster",
        })
    }
}

fn judge(changes: &Samples, more_is_better: bool) -> Verdict {
    let (change, (least, most)) = (changes.median(), changes.range());
    let counts = change.abs() >= NOTABLE && (least > 0.0 || most < 0.0);
    match (counts, (change > 0.0) == more_is_better) {
        (false, _) => Verdict::Alike,
        (true, true) => Verdict::Faster,
        (true, false) => Verdict::Slower,
    }
}

/// A row that both builds have, with its samples.
#[derive(Clone, Debug, PartialEq)]
struct RowPair {
    base: Samples,
    now: Samples,
    changes: Samples,
    verdict: Verdict,
}

/// The rows of two builds beside each other, with verdicts.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    both: Vec<RowPair>,
    only_base: Vec<String>,
    only_now: Vec<String>,
}

impl Comparison {
    /// Compares the runs of two builds. Rows that measure no speed are left out.
    #[must_use]
    pub fn new(base: &Runs, now: &Runs) -> Self {
        let mut all = Self::default();
        let speeds = |runs: &Runs| -> Vec<(Samples, bool)> {
            let known = runs.0.iter().filter_map(|samples| Some((samples.clone(), more_is_better(&samples.unit)?)));
            known.collect()
        };
        for (samples, more_is_better) in speeds(now) {
            match base.of(&samples) {
                None => all.only_now.push(samples.name),
                Some(base) => {
                    let changes = base.changes_to(&samples);
                    let verdict = judge(&changes, more_is_better);
                    all.both.push(RowPair { base: base.clone(), now: samples, changes, verdict });
                }
            }
        }
        let gone = speeds(base).into_iter().filter(|(samples, _)| now.of(samples).is_none());
        all.only_base = gone.map(|(samples, _)| samples.name).collect();
        all
    }

    /// Returns true if a row is slower.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        self.both.iter().any(|row| row.verdict == Verdict::Slower)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["", "unit", "base", "(min .. max)", "now", "(min .. max)", "change", "(min .. max)", ""]);
        for column in 2..=7 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let range = |samples: &Samples| {
            let (least, most) = samples.range();
            format!("{} .. {}", figure(least), figure(most))
        };
        for RowPair { base, now, changes, verdict } in &self.both {
            let (least, most) = changes.range();
            table.add_row([
                now.name.clone(),
                now.unit.clone(),
                figure(base.median()),
                range(base),
                figure(now.median()),
                range(now),
                percent(changes.median()),
                format!("{} .. {}", percent(least), percent(most)),
                verdict.to_string(),
            ]);
        }
        writeln!(f, "{table}")?;
        for (names, whose) in [(&self.only_base, "the base"), (&self.only_now, "today's bench")] {
            names.iter().try_for_each(|name| writeln!(f, "only {whose} has: {name}"))?;
        }
        Ok(())
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// Prints a number with four digits or a few more, so that a change of a percent is visible.
fn figure(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.3} M", v / 1e6),
        v if v >= 1e3 => format!("{:.1} k", v / 1e3),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: &str = "requests/CPU s";

    fn row(name: &str, unit: &str, median: f64) -> PrintedRow {
        PrintedRow { name: name.into(), unit: unit.into(), value: Value { median } }
    }

    fn runs(name: &str, unit: &str, medians: &[f64]) -> Runs {
        let mut runs = Runs::default();
        medians.iter().for_each(|median| runs.add(vec![row(name, unit, *median)]));
        runs
    }

    fn verdict(unit: &str, base: &[f64], now: &[f64]) -> Verdict {
        Comparison::new(&runs("a", unit, base), &runs("a", unit, now)).both[0].verdict
    }

    #[test]
    fn the_rows_of_this_bench_and_of_older_ones_are_read() {
        let today = r#"[{ "name": "reads", "unit": "requests/CPU s", "value": { "min": 1.0, "median": 2.5, "max": 3.0 },
            "wall": 2.0, "ratio": null, "target": null, "met": null, "note": "" }]"#;
        assert_eq!(parse(today), Ok(vec![row("reads", RATE, 2.5)]));
        let older = r#"[{ "name": "reads", "unit": "requests/CPU s", "value": { "median": 2 }, "share": [1, 2] }]"#;
        assert_eq!(parse(older), Ok(vec![row("reads", RATE, 2.0)]));
        for other in ["", "bench: no such row", r#"[{ "name": "reads" }]"#] {
            assert!(
                parse(other).is_err_and(|fault| fault.0.starts_with("the bench printed no list of rows")),
                "{other}"
            );
        }
    }

    #[test]
    fn a_change_counts_from_five_percent_on() {
        assert_eq!(verdict(RATE, &[100.0, 101.0, 99.0], &[94.9, 94.9, 94.9]), Verdict::Slower);
        assert_eq!(verdict(RATE, &[100.0, 101.0, 99.0], &[95.1, 95.1, 95.1]), Verdict::Alike);
        assert_eq!(verdict(RATE, &[100.0, 101.0, 99.0], &[106.0, 106.0, 105.0]), Verdict::Faster);
    }

    #[test]
    fn each_pair_must_have_changed_the_same_way() {
        assert_eq!(verdict(RATE, &[100.0, 100.0, 80.0], &[90.0, 90.0, 81.0]), Verdict::Alike);
        assert_eq!(verdict(RATE, &[100.0, 100.0, 100.0], &[90.0, 90.0, 100.0]), Verdict::Alike);
        // The machine became half as fast for both builds between two pairs.
        assert_eq!(verdict(RATE, &[100.0, 100.0, 50.0], &[90.0, 91.0, 46.0]), Verdict::Slower);
    }

    #[test]
    fn more_seconds_are_slower() {
        assert_eq!(verdict("CPU s", &[10.0], &[12.0]), Verdict::Slower);
        assert_eq!(verdict("CPU s/TB", &[10.0], &[8.0]), Verdict::Faster);
        let slower = Comparison::new(&runs("a", "CPU s", &[10.0]), &runs("a", "CPU s", &[12.0]));
        assert!(slower.is_slower());
        assert!(!Comparison::new(&runs("a", "CPU s", &[10.0]), &runs("a", "CPU s", &[8.0])).is_slower());
    }

    #[test]
    fn rows_of_one_build_are_listed_and_rows_of_memory_left_out() {
        let (mut base, mut now) = (runs("old", RATE, &[1.0]), runs("new", RATE, &[1.0]));
        for runs in [&mut base, &mut now] {
            runs.add(vec![row("state", "bytes", 12.0), row("both", RATE, 5e5)]);
        }
        // A row of the same name in another unit is another measurement.
        base.add(vec![row("large", "CPU s", 5.0)]);
        now.add(vec![row("large", "CPU s/TB", 5.0)]);
        let comparison = Comparison::new(&base, &now);
        assert_eq!(comparison.both.len(), 1);
        assert_eq!(comparison.only_base, ["old", "large"]);
        assert_eq!(comparison.only_now, ["new", "large"]);
        let text = comparison.to_string();
        assert!(text.contains("only the base has: old\n") && text.contains("only today's bench has: new\n"), "{text}");
        assert!(text.contains("500.0 k") && text.contains("+0.0 % .. +0.0 %") && !text.contains("state"), "{text}");
        assert!(!comparison.is_slower());
    }

    #[test]
    fn the_median_of_an_even_number_of_runs_lies_between_two() {
        for (values, median) in [(&[4.0, 1.0, 2.0, 3.0][..], 2.5), (&[3.0, 1.0, 2.0], 2.0)] {
            assert!(runs("a", RATE, values).0[0].median().total_cmp(&median).is_eq());
        }
    }
}
