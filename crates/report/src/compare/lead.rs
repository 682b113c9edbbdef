//! The first paragraph of a comparison's page: the compared drives, the result, and warnings about conclusions.

use study::compare::{Comparison, LATENCIES, Row};

use crate::cautions;
use crate::page::Lead;
use crate::sentence::{list, seeds, sentence, unsupported};

/// A column that the first paragraph mentions.
struct Subject {
    key: &'static str,
    /// The sentence about the best drive, up to the drive's name.
    best: &'static str,
    /// The sentence about the worst drive, without its name, e.g. `had the longest mean read latency`.
    worst: &'static str,
    /// True if a higher value is better.
    more: bool,
}

const SUBJECTS: [Subject; 3] = [
    Subject {
        key: "read_mean_us",
        best: "Reads took least time on average on",
        worst: "had the longest mean read latency",
        more: false,
    },
    Subject {
        key: "write_mean_us",
        best: "Writes took least time on average on",
        worst: "had the longest mean write latency",
        more: false,
    },
    Subject {
        key: "requests_per_s",
        best: "Most reads and writes per second were served by",
        worst: "served the fewest",
        more: true,
    },
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
    let came_out = SUBJECTS.iter().filter_map(|subject| subject.sentences(rows)).collect();
    let mut caution = cautions::sentences(&comparison.cautions(), |caution| cautions::drives(caution, &names));
    caution.extend(comparison.explain_missing_marks());
    caution.extend(first.and_then(unsupported));
    caution.extend(seeds(runs).map(|text| sentence(&text)));
    Lead { compared, came_out, caution }
}

impl Subject {
    /// The best drives of the column and the worst, in sentences. With several seeds, `None` unless the runs tell them
    /// apart.
    fn sentences(&self, rows: &[Row]) -> Option<String> {
        let column = LATENCIES.iter().find(|column| column.key == self.key)?;
        let mut known: Vec<(&Row, f64)> = rows
            .iter()
            .filter(|row| row.is_comparable)
            .filter_map(|row| Some((row, *row.values.get(self.key)?)))
            .collect();
        known.sort_by(|a, b| if self.more { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        let [best, .., worst] = known[..] else { return None };
        let is_marked = |row: &Row| row.best.contains(&self.key);
        let shown = |value: f64| (column.show)(value);
        if shown(best.1) == shown(worst.1) || worst.0.runs.len() > 1 && (is_marked(worst.0) || !is_marked(best.0)) {
            return None;
        }
        let also: Vec<&str> =
            known[1..].iter().filter(|(row, _)| is_marked(row)).map(|(row, _)| &*row.device).collect();
        let also =
            if also.is_empty() { String::new() } else { format!("; the seeds do not tell {} from it", list(&also)) };
        let times = times(best.1, worst.1).map_or_else(String::new, |times| {
            if self.more {
                format!(", and {} {times} times as many", best.0.device)
            } else {
                format!(", {times} times that of {}", best.0.device)
            }
        });
        Some(format!(
            "{} {} ({}){also}. {} {}: {}{times}.",
            self.best,
            best.0.device,
            shown(best.1),
            worst.0.device,
            self.worst,
            shown(worst.1),
        ))
    }
}

/// The quotient of the larger and the smaller value, in words; `None` if the smaller is zero.
fn times(a: f64, b: f64) -> Option<String> {
    let (less, more) = (a.min(b), a.max(b));
    let quotient = more / less;
    let decimals = if quotient < 10.0 { 1 } else { 0 };
    (less > 0.0).then(|| format!("{quotient:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use study::compare::{Comparison, plan};
    use study::execute::{self, Program};
    use study::plan::RunSpec;

    use super::*;

    fn compared(seeds: &[u64]) -> Comparison {
        let devices = ["compare-dirik", "compare-fmmu", "compare-chang"].map(PathBuf::from);
        let run = RunSpec { limit: Some(300), ..RunSpec::default() };
        let plan = plan(Path::new("oltp"), &devices, seeds, &run).unwrap_or_else(|faults| panic!("{faults}"));
        Comparison::new(&execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs"))
    }

    /// The comparison with other mean read latencies, and the drives that are marked as the best.
    fn reads(comparison: &Comparison, means_us: [f64; 3], marked: &[&str]) -> Vec<String> {
        let mut rows = comparison.rows.clone();
        for (row, us) in rows.iter_mut().zip(means_us) {
            row.values.insert("read_mean_us", us);
            row.best = if marked.contains(&&*row.device) { vec!["read_mean_us"] } else { Vec::new() };
        }
        SUBJECTS[..1].iter().filter_map(|subject| subject.sentences(&rows)).collect()
    }

    #[test]
    fn the_slowest_drive_is_named_with_its_latency() {
        let one = compared(&[1]);
        assert_eq!(
            reads(&one, [132.0, 200.0, 4_100.0], &[]),
            [
                "Reads took least time on average on dirik (132us). chang had the longest mean read latency: 4.10ms, 31 times \
                 that of dirik."
            ]
        );
        assert!(reads(&one, [132.0; 3], &[]).is_empty(), "they are alike");
    }

    #[test]
    fn what_the_seeds_do_not_tell_apart_is_not_told_apart() {
        let two = compared(&[1, 2]);
        assert_eq!(
            reads(&two, [132.0, 140.0, 264.0], &["dirik", "fmmu"]),
            [
                "Reads took least time on average on dirik (132us); the seeds do not tell fmmu from it. chang had the longest \
                 mean read latency: 264us, 2.0 times that of dirik."
            ]
        );
        assert!(reads(&two, [132.0, 140.0, 150.0], &[]).is_empty(), "no drive is told from the best");
    }

    #[test]
    fn the_first_paragraph_begins_with_what_ran_and_what_came_out() {
        let comparison = compared(&[1]);
        let lead = lead(&comparison);
        assert!(lead.compared.starts_with("3 drives served oltp: dirik, fmmu and chang."), "{}", lead.compared);
        assert!(lead.came_out.iter().any(|text| text.contains(" served the fewest: ")), "{:?}", lead.came_out);
        let html = crate::compare::page(&Program::default(), &comparison).html();
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
        assert!(at("What ran.") < at("What came out.") && at("What came out.") < at("What not to conclude."));
    }
}
