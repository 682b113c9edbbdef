//! A claim in the file of a study, and its faults.

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::check;
use crate::expect::{CalibrationTarget, ExpectSpec};
use crate::label::Label;

/// A claim about the outcome, and the expectations that test it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The claim's name, e.g. `DJ1`.
    pub id: String,
    /// The claim of the paper, as one sentence.
    pub says: String,
    /// The place where the claim is made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// A note for readers of the verdict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The numbers to which the inputs of the study were fitted. Only a claim to which nothing was fitted counts as
    /// holding independently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<CalibrationTarget>,
    /// The inputs that were fitted, and the numbers to which they were fitted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub calibration: String,
    /// The expectations; the claim holds if all of them hold.
    #[serde(default, rename = "expect")]
    pub expectations: Vec<ExpectSpec>,
    /// Measurements that isolate the reason of an expectation with `known`; `paper` states the conclusion from each.
    /// They do not count for the verdict, but a measurement that does not hold is an error of the study.
    #[serde(default, rename = "isolate", skip_serializing_if = "Vec::is_empty")]
    pub isolations: Vec<ExpectSpec>,
}

impl ClaimSpec {
    /// All faults of the claim. Each key begins with `key`, the claim's own.
    pub(super) fn faults(&self, key: &str, axes: &[(String, Vec<Label>)], seeds: usize) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.expectations.is_empty() && self.isolations.is_empty() {
            faults.push(Fault::new(key, "expects nothing", "add a [[claim.expect]]"));
        }
        faults.extend(self.calibration_fault(key));
        let expectations = self.expectations.iter().enumerate().map(|(i, one)| (format!("{key}.expect[{i}]"), one));
        let isolations = self.isolations.iter().enumerate().map(|(i, one)| (format!("{key}.isolate[{i}]"), one));
        for (key, expectation) in expectations.chain(isolations) {
            for (inside, assignment) in expectation.assignments() {
                check(&format!("{key}.{inside}"), assignment, axes, &mut faults);
            }
            let inside = expectation.faults(axes).into_iter().chain(expectation.spread_fault(seeds));
            faults.extend(inside.map(|fault| Fault::new(format!("{key}.{}", fault.path), fault.message, fault.remedy)));
        }
        for (i, isolation) in self.isolations.iter().enumerate() {
            if let Some(name) = isolation.only_expected() {
                let remedy = "leave it out: an isolating measurement has a `paper` and its condition";
                faults.push(Fault::new(format!("{key}.isolate[{i}].{name}"), "has no effect here", remedy));
            }
        }
        faults
    }

    fn calibration_fault(&self, key: &str) -> Option<Fault> {
        let own = self.expectations.iter().position(|expectation| expectation.calibrated.is_some());
        match (self.calibrated, self.calibration.trim()) {
            (None, _) if own.is_some() || !self.calibration.is_empty() => {
                let remedy = "write calibrated = \"no\", \"other\", \"this\" or \"input\"";
                Some(Fault::new(format!("{key}.calibrated"), "is missing, and the claim says more about it", remedy))
            }
            (Some(CalibrationTarget::Other | CalibrationTarget::This | CalibrationTarget::Input), "") => {
                let remedy = "say which inputs were fitted, and to which numbers";
                Some(Fault::new(format!("{key}.calibration"), "is missing or empty", remedy))
            }
            _ => None,
        }
    }
}
