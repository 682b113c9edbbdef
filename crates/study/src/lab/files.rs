//! The outcome of studies, for people and for programs.

use std::io::{self, Write};

use parquet::errors::Result;
use serde::Serialize;

use super::{Claim, Outcome, Program, Verdict};
use crate::metric::Metric;
use crate::output::{OutFolder, OutputError, STUDY_MARK, TEXT};
use crate::plan::{Label, Plan, StudySpec};
use crate::report::{About, Column, Page, Summary, WIDTH, grid, whole, wrapped};

/// Version of the keys: raised when one changes its meaning or disappears.
pub(super) const SCHEMA: &str = "flashloom-study-1";

/// What every file of points has, besides the metrics of its study.
const ALWAYS: [&str; 14] = [
    "read.mean",
    "read.p99",
    "read.access",
    "read.flash-wait",
    "write.mean",
    "write.p99",
    "write.access",
    "write.flash-wait",
    "requests-per-s",
    "read.rate",
    "write.rate",
    "waf",
    "busy.channels",
    "busy.dies",
];

/// The points as a table: their labels, the metrics of the study, and how far the first of them is below that of the
/// baseline, if there is one.
#[must_use]
pub fn points_table(outcome: &Outcome) -> String {
    let metrics = &outcome.plan.spec.metrics;
    let baseline = &outcome.plan.spec.baseline;
    let compared = metrics.first().filter(|_| !baseline.is_empty());
    let values = compared.map(|metric| (metric.unit(), outcome.values(metric)));
    let mut header: Vec<String> =
        outcome.axes().map(ToOwned::to_owned).chain(metrics.iter().map(ToString::to_string)).collect();
    header.extend(values.iter().flat_map(|_| ["less by".to_owned(), "gain".to_owned()]));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = (0..outcome.plan.points.len()).map(|point| {
        let labels = outcome.labels(point).iter().map(ToString::to_string);
        let show = |metric: &Metric| outcome.value(point, metric).map_or_else(|| "-".into(), |v| metric.unit().show(v));
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

/// Writes one row per run: the labels of its point, its seed, and metrics in base units (microseconds, bytes
/// and requests per second, joules).
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// Never: the metrics that every file has exist.
pub fn write_points(out: impl Write + Send, about: &About, outcome: &Outcome) -> Result<()> {
    let runs = || outcome.runs.iter().enumerate().flat_map(|(point, runs)| runs.iter().map(move |run| (point, run)));
    let mut columns: Vec<(String, Column)> = Vec::new();
    for (i, axis) in outcome.axes().enumerate() {
        let labels = runs().map(|(point, _)| outcome.labels(point)[i].to_string().into()).collect();
        columns.push((column_name(axis), Column::Text(labels)));
    }
    columns.push(("seed".into(), Column::Count(runs().map(|(_, run)| run.seed).collect())));
    let always = ALWAYS.iter().map(|name| name.parse::<Metric>().expect("a constant, valid name"));
    for metric in outcome.plan.spec.metrics.iter().cloned().chain(always) {
        let name = column_name(&metric.to_string());
        if columns.iter().all(|(other, _)| *other != name) {
            columns.push((name, Column::Number(runs().map(|(_, run)| metric.of(run)).collect())));
        }
    }
    let named: Vec<(&str, Column)> = columns.iter_mut().map(|(name, column)| (name.as_str(), column.take())).collect();
    whole(out, about, &named)
}

/// Some studies and what became of their claims, under stable keys.
#[derive(Serialize)]
struct Everything<'a> {
    schema: &'static str,
    version: &'a str,
    commit: &'a str,
    claims: &'a [Claim],
    studies: Vec<StudyResult<'a>>,
}

#[derive(Serialize)]
struct StudyResult<'a> {
    name: &'a str,
    axes: Vec<&'a str>,
    points: Vec<PointResult<'a>>,
}

#[derive(Serialize)]
struct PointResult<'a> {
    labels: &'a [Label],
    runs: &'a [Summary],
}

/// Everything as JSON, indented, with a newline at its end.
///
/// # Panics
/// Never: every value has a form in JSON.
#[must_use]
pub fn json(program: &Program, outcomes: &[Outcome], claims: &[Claim]) -> String {
    let studies = outcomes.iter().map(|outcome| StudyResult {
        name: &outcome.plan.spec.name,
        axes: outcome.axes().collect(),
        points: (outcome.runs.iter().enumerate())
            .map(|(point, runs)| PointResult { labels: outcome.labels(point), runs })
            .collect(),
    });
    let Program { version, commit } = program;
    let everything = Everything { schema: SCHEMA, version, commit, claims, studies: studies.collect() };
    serde_json::to_string_pretty(&everything).expect("numbers, texts and tables") + "\n"
}

const CLAIMS: &str = "claims.txt";
const PAGE: &str = "report.html";

/// A file about one study.
fn name(spec: &StudySpec, extension: &str) -> String {
    format!("{}.{extension}", spec.name.replace('/', "-"))
}

/// The names that the files about some studies have.
#[must_use]
pub fn names(plans: &[Plan]) -> Vec<String> {
    let each = plans.iter().flat_map(|plan| ["toml", "parquet"].map(|extension| name(&plan.spec, extension)));
    [STUDY_MARK, CLAIMS, PAGE].map(ToOwned::to_owned).into_iter().chain(each).collect()
}

/// Fills a directory with everything about some studies: `study.json`, `claims.txt`, the page as `report.html`, and
/// for each study its points as Parquet and the study itself as TOML.
///
/// # Errors
/// If something cannot be written.
pub fn write_all(
    dir: &mut OutFolder,
    program: &Program,
    outcomes: &[Outcome],
    claims: &[Claim],
    page: &Page,
) -> std::result::Result<(), OutputError> {
    dir.add(STUDY_MARK, |out| out.write_all(json(program, outcomes, claims).as_bytes()))?;
    dir.add(CLAIMS, |out| write!(out, "{TEXT}{}", claims_table(claims)))?;
    dir.add(PAGE, |out| out.write_all(page.html().as_bytes()))?;
    for outcome in outcomes {
        let spec = &outcome.plan.spec;
        let config = toml::Table::try_from(spec).expect("a study can be written");
        dir.add(&name(spec, "toml"), |out| write!(out, "{TEXT}{config}"))?;
        let about = About {
            version: program.version.clone(),
            commit: program.commit.clone(),
            seed: spec.seeds.first().copied().unwrap_or_default(),
            device: spec.device.display().to_string(),
            workload: spec.workload.display().to_string(),
            cost: None,
            config,
        };
        dir.add(&name(spec, "parquet"), |out| write_points(out, &about, outcome).map_err(io::Error::other))?;
    }
    Ok(())
}

/// The claims as a table: what the paper says beside what was measured, and below it whatever has to be
/// said about those that differ.
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

/// How many claims came out how, in a sentence without its full stop.
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

/// Adds a paragraph with its lines broken at the width of the tables.
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

/// A name that every reader of Parquet takes.
fn column_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
