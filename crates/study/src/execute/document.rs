//! The outcome of studies as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Claim, Outcome, Program};
use crate::plan::Label;
use crate::summary::Summary;

/// Version of the keys, raised when a key changes its meaning or disappears.
pub const SCHEMA: &str = "flashloom-study-2";

/// The document that studies print with `--json` and write as `study.json`: every run, and the results of the claims.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct Studies<'a> {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of the program.
    version: &'a str,
    /// Commit of the program.
    commit: &'a str,
    /// The results of the claims of all studies.
    claims: &'a [Claim],
    /// The studies in the order of the user.
    studies: Vec<StudyResult<'a>>,
}

/// The runs of a study.
#[derive(Debug, Serialize, JsonSchema)]
struct StudyResult<'a> {
    /// The study's name.
    name: &'a str,
    /// The names of the axes.
    axes: Vec<&'a str>,
    /// The points.
    points: Vec<PointResult<'a>>,
}

/// The runs at a point.
#[derive(Debug, Serialize, JsonSchema)]
struct PointResult<'a> {
    /// The point's label on each axis.
    labels: &'a [Label],
    /// One for each seed.
    runs: &'a [Summary],
}

/// The document as JSON, indented, with a newline at its end.
///
/// # Panics
/// Never: every value can be written as JSON.
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
    let all = Studies { schema: SCHEMA, version, commit, claims, studies: studies.collect() };
    serde_json::to_string_pretty(&all).expect("numbers, texts and tables") + "\n"
}
