//! The first paragraph of a comparison's page: what was compared, what came out, what not to conclude.

use study::compare::{Comparison, LATENCIES, Row};

use crate::cautions;
use crate::page::Lead;
use crate::sentence::{list, seeds, sentence, unsupported};

/// What the first paragraph says about a column.
const SAID: [(&str, &str); 3] = [
    ("read_mean_us", "Reads took least time on average on"),
    ("write_mean_us", "Writes took least time on average on"),
    ("requests_per_s", "Most reads and writes per second were served by"),
];

pub(super) fn lead(comparison: &Comparison) -> Lead {
    let rows = &comparison.rows;
    let names: Vec<&str> = rows.iter().map(|row| row.device.as_str()).collect();
    let first = rows.first().and_then(|row| row.runs.first());
    let runs = rows.first().map_or(0, |row| row.runs.len());
    let with =
        if runs > 1 { format!(", with each of {runs} seeds; numbers are means over them") } else { String::new() };
    let compared = format!(
        "{} drives served {}: {}. Each got the same {} requests{with}.",
        rows.len(),
        comparison.workload,
        list(&names),
        first.map_or(0, |run| run.requests)
    );
    let came_out = SAID.iter().filter_map(|(key, said)| extremes(rows, key, said)).collect();
    let mut caution = cautions::sentences(&comparison.cautions(), |caution| cautions::drives(caution, &names));
    caution.extend(comparison.explain_missing_marks());
    caution.extend(first.and_then(unsupported));
    caution.extend(seeds(runs).map(|text| sentence(&text)));
    Lead { compared, came_out, caution }
}

/// Who is best in a column and who is worst, without a word on whether the difference is chance.
fn extremes(rows: &[Row], key: &str, said: &str) -> Option<String> {
    let column = LATENCIES.iter().find(|column| column.key == key)?;
    let value = |row: &&Row| row.values.get(key).copied();
    let mut known: Vec<(&str, f64)> = rows
        .iter()
        .filter(|row| row.is_comparable)
        .filter_map(|row| Some((row.device.as_str(), value(&row)?)))
        .collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    if key == "requests_per_s" {
        known.reverse();
    }
    let [best, .., worst] = known[..] else { return None };
    let show = column.show;
    (show(best.1) != show(worst.1))
        .then(|| format!("{said} {} ({}), and the other end is {} ({}).", best.0, show(best.1), worst.0, show(worst.1)))
}
