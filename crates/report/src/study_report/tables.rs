//! Studies as text: their points and their claims.

use study::execute::{Claim, Outcome, Verdict};
use study::metric::Metric;

use crate::grid::{WIDTH, grid, wrapped};

/// The points as a table: their labels, the metrics of the study, and, if there is a baseline, how far the first metric
/// is below it.
#[must_use]
pub fn points_table(outcome: &Outcome) -> String {
    let metrics = &outcome.plan.spec.metrics;
    let baseline = &outcome.plan.spec.baseline;
    let compared = metrics.first().filter(|_| !baseline.is_empty());
    let values = compared.map(|metric| (metric.dimension(), outcome.values(metric)));
    let mut header: Vec<String> =
        outcome.axes().map(ToOwned::to_owned).chain(metrics.iter().map(ToString::to_string)).collect();
    header.extend(values.iter().flat_map(|_| ["less by".to_owned(), "gain".to_owned()]));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = (0..outcome.plan.points.len()).map(|point| {
        let labels = outcome.labels(point).iter().map(ToString::to_string);
        let show =
            |metric: &Metric| outcome.value(point, metric).map_or_else(|| "-".into(), |v| metric.dimension().show(v));
        let mut row: Vec<String> = labels.chain(metrics.iter().map(show)).collect();
        if let Some((unit, values)) = &values {
            let pair = values.beside(outcome.labels(point), baseline);
            row.push(pair.map_or_else(|| "-".into(), |(here, there)| unit.show(there - here)));
            let share = pair.filter(|(_, there)| *there != 0.0).map(|(here, there)| (there - here) / there);
            row.push(share.map_or_else(|| "-".into(), |share| format!("{:.2}%", share * 100.0)));
        }
        row
    });
    grid(&header, rows, outcome.plan.axes.len())
}

/// The claims as a table: the paper's value beside the measured one, with notes below on those that differ.
#[must_use]
pub fn claims_table(claims: &[Claim]) -> String {
    let mut rows = Vec::new();
    let mut notes = String::new();
    for claim in claims {
        let mut name = claim.id.as_str();
        for finding in &claim.findings {
            let said = if finding.paper.is_empty() { &claim.says } else { &finding.paper };
            rows.push([name, said, &finding.measured, finding.verdict.name()].map(ToOwned::to_owned).to_vec());
            name = "";
        }
        let mut said = Vec::new();
        said.extend((!claim.note.is_empty()).then(|| claim.note.clone()));
        for finding in claim.findings.iter().filter(|finding| !finding.offenders.is_empty()) {
            said.extend(finding.reason.clone());
            let shown = finding.offenders.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
            said.push(format!("{} of {}: {shown}", finding.metric, finding.study));
        }
        if !said.is_empty() {
            notes.push('\n');
            fold(&mut notes, "", &format!("{} ({}): {}", claim.id, claim.source, claim.says));
            said.iter().for_each(|line| fold(&mut notes, "  ", line));
        }
    }
    format!("{}{}\n{notes}", wrapped(&["claim", "paper", "measured", "verdict"], rows), tally(claims))
}

/// The number of claims for each verdict, in a sentence without its full stop.
pub(super) fn tally(claims: &[Claim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict() == verdict).count();
    let several = if claims.len() == 1 { "claim" } else { "claims" };
    let mut tally = format!("{} {several}: {} hold", claims.len(), count(Verdict::Holds));
    for (verdict, said) in [
        (Verdict::Partly, "hold in part, for reasons given below"),
        (Verdict::Differs, "differ, for reasons given below"),
        (Verdict::Fails, "FAIL"),
    ] {
        if count(verdict) > 0 {
            tally.push_str(&format!(", {} {said}", count(verdict)));
        }
    }
    tally
}

/// Appends a paragraph wrapped at the width of the tables.
fn fold(text: &mut String, indent: &str, paragraph: &str) {
    let mut line = String::from(indent);
    for word in paragraph.split_whitespace() {
        if line.len() > indent.len() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from(indent);
        }
        if line.len() > indent.len() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
