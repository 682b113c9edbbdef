//! Studies as text: their points and their claims.

use study::execute::{Claim, ExpectationResult, Isolation, OmittedPoints, StudyOutcome, Verdict};
use study::expect::CalibrationTarget;
use study::metric::Metric;

use crate::cautions;
use crate::grid::{WIDTH, grid, wrapped};

/// The table of points: their labels, the metrics of the study, and, if there is a baseline, the difference of the
/// first metric from it. Warnings follow the table.
#[must_use]
pub fn points_table(outcome: &StudyOutcome) -> String {
    let metrics = &shown_metrics(outcome);
    let baseline = &outcome.plan.spec.baseline;
    let compared = metrics.first().filter(|_| !baseline.is_empty());
    let values = compared.map(|metric| (metric.dimension(), outcome.values(metric)));
    let mut header: Vec<String> =
        outcome.axes().map(ToOwned::to_owned).chain(metrics.iter().map(ToString::to_string)).collect();
    header.extend(values.iter().flat_map(|_| ["less by".to_owned(), "gain".to_owned()]));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = (0..outcome.plan.points.len()).map(|point| {
        let labels = outcome.labels(point).iter().map(ToString::to_string);
        let show = |metric: &Metric| {
            outcome.spread(point, metric).map_or_else(|| "-".into(), |spread| spread.show(metric.dimension()))
        };
        let mut row: Vec<String> = labels.chain(metrics.iter().map(show)).collect();
        if let Some((unit, values)) = &values {
            let pair = values.beside(outcome.labels(point), baseline);
            row.push(pair.map_or_else(|| "-".into(), |(here, there)| unit.show(there - here)));
            let share = pair.filter(|(_, there)| *there != 0.0).map(|(here, there)| (there - here) / there);
            row.push(share.map_or_else(|| "-".into(), |share| format!("{:.2}%", share * 100.0)));
        }
        row
    });
    let mut text = grid(&header, rows, outcome.plan.axes.len());
    for warning in outcome.warnings() {
        fold(&mut text, "", &format!("WARNING: {warning}"));
    }
    text
}

/// The metrics of the study, and the share of failed requests if there are any.
pub(super) fn shown_metrics(outcome: &StudyOutcome) -> Vec<Metric> {
    let failed: Metric = "failed".parse().expect("a constant, valid name");
    let mut metrics = outcome.plan.spec.metrics.clone();
    let any = outcome.runs.iter().flatten().any(|run| run.validity.failed > 0.0);
    if any && !metrics.contains(&failed) {
        metrics.push(failed);
    }
    metrics
}

/// The warnings and notes of the runs of a study, for below its table.
#[must_use]
pub fn cautions_text(outcome: &StudyOutcome) -> String {
    let text = cautions::text(&outcome.cautions(), |caution| cautions::points(caution, outcome), WIDTH);
    if text.is_empty() { text } else { text + "\n" }
}

/// The table of claims, with the paper's values beside the measured values and the band that was asked for. Notes
/// follow the table.
#[must_use]
pub fn claims_table(claims: &[Claim]) -> String {
    let is_said = says_calibration(claims);
    let mut rows = Vec::new();
    let mut notes = String::new();
    for claim in claims {
        for (i, finding) in claim.findings.iter().enumerate() {
            let said = if finding.paper.is_empty() { &claim.says } else { &finding.paper };
            let band = band(finding);
            let mut row = vec![if i == 0 { &claim.id } else { "" }, said, &finding.measured, &band];
            row.extend(is_said.then(|| calibrated(claim, i)));
            row.push(finding.verdict.name());
            rows.push(row.into_iter().map(ToOwned::to_owned).collect());
        }
        let said = said_below(claim);
        if !said.is_empty() {
            notes.push('\n');
            fold(&mut notes, "", &format!("{} ({}): {}", claim.id, claim.source, claim.says));
            said.iter().for_each(|line| fold(&mut notes, "  ", line));
        }
    }
    let mut header = vec!["claim", "paper", "measured", "band"];
    header.extend(is_said.then_some("fitted"));
    header.push("verdict");
    let mut sum = String::new();
    fold(&mut sum, "", &tally(claims));
    format!("{}{sum}{notes}", wrapped(&header, rows))
}

/// True if a claim names the numbers to which its inputs were fitted.
pub(super) fn says_calibration(claims: &[Claim]) -> bool {
    claims.iter().flat_map(|claim| &claim.findings).any(|finding| finding.calibrated.is_some())
}

/// The kind of numbers to which the inputs of a finding were fitted; empty if the finding before has the same kind.
pub(super) fn calibrated(claim: &Claim, finding: usize) -> &'static str {
    let of = |finding: usize| claim.findings[finding].calibrated;
    match of(finding) {
        same if finding > 0 && same == of(finding - 1) => "",
        Some(calibrated) => calibrated.name(),
        None => "not said",
    }
}

/// The width of a finding's band, with a mark if it is loose.
pub(super) fn band(finding: &ExpectationResult) -> String {
    let loose = if finding.sharpness.loose { "loose: " } else { "" };
    format!("{loose}{}", finding.sharpness.band)
}

/// The notes about a claim below the table, one paragraph each.
pub(super) fn said_below(claim: &Claim) -> Vec<String> {
    let mut said = Vec::new();
    said.extend((!claim.note.is_empty()).then(|| claim.note.clone()));
    said.extend((!claim.calibration.is_empty()).then(|| format!("fitted: {}", claim.calibration)));
    for finding in &claim.findings {
        if !finding.offenders.is_empty() {
            said.extend(finding.reason.clone());
            let shown = finding.offenders.iter().take(4).cloned().collect::<Vec<_>>().join("; ");
            said.push(format!("{} of {}: {shown}", finding.metric, finding.study));
        }
        for OmittedPoints { points, measured, reason, stale } in &finding.left_out {
            let stale = stale.as_ref().map_or_else(String::new, |stale| format!(" (STALE: {stale})"));
            said.push(format!("left out, {}, {points}: {measured}{stale}: {reason}", finding.paper));
        }
        let band = &finding.sharpness.band;
        said.extend(finding.asks_no_more.iter().map(|words| format!("{band}, and no more, is asked for: {words}")));
    }
    for Isolation { study, shows, measured, holds, .. } in &claim.isolated {
        let stale = if *holds { "" } else { " (STALE: it does not)" };
        said.push(format!("isolated, {study}: {shows}: {measured}{stale}"));
    }
    said
}

/// The number of claims for each verdict, in a sentence without its full stop.
pub(super) fn tally(claims: &[Claim]) -> String {
    // A study may have only measurements that isolate the reasons of another study's claim; such a claim is not
    // counted.
    let claims: Vec<Claim> = claims.iter().filter(|claim| !claim.findings.is_empty()).cloned().collect();
    let claims = &claims[..];
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let several = if claims.len() == 1 { "claim" } else { "claims" };
    let mut tally = format!("{} {several}: ", claims.len());
    if says_calibration(claims) {
        let holds = |wanted: &[Option<CalibrationTarget>]| {
            claims.iter().filter(|one| one.verdict == Verdict::Holds && wanted.contains(&one.calibrated)).count()
        };
        let independent = holds(&[Some(CalibrationTarget::No), Some(CalibrationTarget::Other)]);
        let calibrated = holds(&[Some(CalibrationTarget::This), Some(CalibrationTarget::Input)]);
        tally.push_str(&format!("{independent} hold independently, {calibrated} hold calibrated"));
        if holds(&[None]) > 0 {
            tally.push_str(&format!(", {} hold without saying", holds(&[None])));
        }
    } else {
        tally.push_str(&format!("{} hold", count(Verdict::Holds)));
    }
    for (verdict, said) in [
        (Verdict::Partly, "hold in part, for reasons given below"),
        (Verdict::Differs, "differ, for reasons given below"),
        (Verdict::Fails, "FAIL"),
        (Verdict::Stale, "are STALE: their study is out of date"),
    ] {
        if count(verdict) > 0 {
            tally.push_str(&format!(", {} {said}", count(verdict)));
        }
    }
    let unexplained = claims.iter().filter(|claim| claim.is_unexplained()).count();
    let all: Vec<&ExpectationResult> = claims.iter().flat_map(|claim| &claim.findings).collect();
    let loose = all.iter().filter(|finding| finding.sharpness.loose).count();
    if unexplained > 0 && says_calibration(claims) {
        tally.push_str(&format!("; no measurement isolates the reasons of {unexplained}"));
    }
    if loose > 0 {
        tally.push_str(&format!("; loose bands: {loose} of {}", all.len()));
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
