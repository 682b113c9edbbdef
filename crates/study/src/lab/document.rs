//! The outcome of studies for programs.

use serde::Serialize;

use super::{Claim, Outcome, Program};
use crate::plan::Label;
use crate::summary::Summary;

/// Version of the keys: raised when one changes its meaning or disappears.
pub const SCHEMA: &str = "flashloom-study-1";

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
