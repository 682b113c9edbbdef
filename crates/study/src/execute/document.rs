//! The outcome of studies as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Claim, Program, StudyOutcome};
use crate::plan::Label;
use crate::spread::Spread;
use crate::summary::Summary;

/// Version of the keys; higher after a key has changed its meaning or disappeared.
pub const SCHEMA: &str = "flashloom-study-2";

/// The document that studies print with `--json` and write as `study.json`: every run, and the results of the claims.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct Studies<'a> {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of the program that wrote the document.
    version: &'a str,
    /// Commit of the program that wrote the document.
    commit: &'a str,
    /// The results of the claims of all studies.
    claims: &'a [Claim],
    /// The studies in the order of the user.
    studies: Vec<StudyResult<'a>>,
}

/// The runs of a study.
#[derive(Debug, Serialize, JsonSchema)]
struct StudyResult<'a> {
    name: &'a str,
    axes: Vec<&'a str>,
    /// Sentences about axes along which no result changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    points: Vec<PointResult<'a>>,
}

/// The runs at a point.
#[derive(Debug, Serialize, JsonSchema)]
struct PointResult<'a> {
    /// The point's label on each axis.
    labels: &'a [Label],
    /// The study's metrics, each with its mean and spread over the seeds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, Spread>,
    /// The runs, one for each seed.
    runs: &'a [Summary],
}

impl<'a> PointResult<'a> {
    fn new(outcome: &'a StudyOutcome, point: usize) -> Self {
        let metrics = outcome.plan.spec.metrics.iter();
        let metrics = metrics.filter_map(|metric| Some((metric.to_string(), outcome.spread(point, metric)?))).collect();
        Self { labels: outcome.labels(point), metrics, runs: &outcome.runs[point] }
    }
}

/// The document as JSON, indented, with a newline at its end.
///
/// # Panics
/// Never: every value can be written as JSON.
#[must_use]
pub fn json(program: &Program, outcomes: &[StudyOutcome], claims: &[Claim]) -> String {
    let studies = outcomes.iter().map(|outcome| StudyResult {
        name: &outcome.plan.spec.name,
        axes: outcome.axes().collect(),
        warnings: outcome.warnings(),
        points: (0..outcome.runs.len()).map(|point| PointResult::new(outcome, point)).collect(),
    });
    let Program { version, commit } = program;
    let all = Studies { schema: SCHEMA, version, commit, claims, studies: studies.collect() };
    serde_json::to_string_pretty(&all).expect("numbers, texts and tables") + "\n"
}
