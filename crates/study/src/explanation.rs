//! The document of `flashloom explain --json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::caution::cautions;
use crate::summary::Summary;
use crate::watch::explain::{KindBands, OneRequest};
use crate::what_if::{Culprit, Trial};

/// Version of the keys; higher after a key has changed its meaning or disappeared.
const SCHEMA: &str = "flashloom-explain-3";

/// The parts of the time of a run's requests, and the settings that would change them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct Explanation {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The parts of the time, for each kind of request and band of percentiles. Requests that failed are left out.
    pub explained: Vec<KindBands>,
    /// The share of the requests that failed.
    pub failed: f64,
    /// The share of read mapping units without data, whose reads took no flash time.
    pub unmapped_reads: f64,
    /// Reasons to doubt the numbers, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The request that the user selected.
    pub request: Option<OneRequest>,
    /// The parts with the most time over all requests, the largest first.
    pub culprits: Vec<Culprit>,
    /// Settings of the device that act on these parts, as `--set` takes them.
    pub levers: Vec<String>,
    /// The run of the unchanged device, then a run with each of the settings; empty without `--what-if`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<Trial>,
}

impl Explanation {
    /// Explains all requests of these stages of a run and, if `request` is given, a single request.
    #[must_use]
    pub fn new(explained: Vec<KindBands>, request: Option<OneRequest>, stages: &[Summary]) -> Self {
        let culprits = Culprit::largest(&explained, 2);
        let worst = |of: fn(&Summary) -> f64| stages.iter().map(of).fold(0.0, f64::max);
        let warnings = cautions(stages.iter().enumerate()).into_iter().filter(|caution| caution.is_warning);
        Self {
            schema: SCHEMA,
            explained,
            failed: worst(|run| run.validity.failed),
            unmapped_reads: worst(|run| run.validity.unmapped_reads),
            warnings: warnings.map(|caution| caution.text.to_owned()).collect(),
            request,
            culprits,
            levers: Vec::new(),
            what_if: Vec::new(),
        }
    }

    /// Writes the explanation as JSON, indented, with a newline at its end.
    ///
    /// # Panics
    ///
    /// Never: every value can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts") + "\n"
    }
}
