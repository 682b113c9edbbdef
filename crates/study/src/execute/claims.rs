//! The claims of studies, each beside the measurements.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::Outcome;
use crate::expect::Judgement;

/// The verdict on an expectation or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// Some expectations of a claim hold; the others differ for a known reason.
    Partly,
    /// It does not hold, for a known reason.
    Differs,
    /// It does not hold, and no reason is known.
    Fails,
}

impl Verdict {
    /// The verdict's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::Differs => "differs",
            Self::Fails => "FAILS",
        }
    }
}

/// The result of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The study that measured it.
    pub study: String,
    /// Its metric.
    pub metric: String,
    /// The paper's value.
    pub paper: String,
    /// The measured value.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The known reason for a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The points at which it does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offenders: Vec<String>,
}

/// The result of one claim, over all studies that test it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// The claim's name.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The place where the claim is made.
    pub source: String,
    /// A note for readers.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The results of its expectations.
    pub findings: Vec<Finding>,
}

impl Claim {
    /// The verdict on all expectations together.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| self.findings.iter().any(|finding| finding.verdict == verdict);
        match (any(Verdict::Fails), any(Verdict::Differs), any(Verdict::Holds)) {
            (true, ..) => Verdict::Fails,
            (_, true, true) => Verdict::Partly,
            (_, true, false) => Verdict::Differs,
            _ => Verdict::Holds,
        }
    }
}

/// The claims of several studies, in the natural order of their names. A claim that several studies test appears once.
#[must_use]
pub fn claims(outcomes: &[Outcome]) -> Vec<Claim> {
    let mut all: Vec<Claim> = Vec::new();
    for outcome in outcomes {
        for spec in &outcome.plan.spec.claims {
            let findings = spec.expectations.iter().map(|expectation| {
                let Judgement { holds, measured, offenders } = expectation.judge(&outcome.values(&expectation.metric));
                let verdict = match &expectation.known {
                    _ if holds => Verdict::Holds,
                    Some(_) => Verdict::Differs,
                    None => Verdict::Fails,
                };
                Finding {
                    study: outcome.plan.spec.name.clone(),
                    metric: expectation.metric.to_string(),
                    paper: expectation.paper.clone(),
                    measured,
                    verdict,
                    reason: expectation.known.clone(),
                    offenders,
                }
            });
            let findings: Vec<Finding> = findings.collect();
            match all.iter_mut().find(|claim| claim.id == spec.id) {
                Some(claim) => {
                    claim.findings.extend(findings);
                    if claim.note.is_empty() {
                        claim.note.clone_from(&spec.note);
                    }
                }
                None => all.push(Claim {
                    id: spec.id.clone(),
                    says: spec.says.clone(),
                    source: spec.source.clone(),
                    note: spec.note.clone(),
                    findings,
                }),
            }
        }
    }
    all.sort_by(|a, b| natural(&a.id, &b.id));
    all
}

/// The natural order of names: DJ2 before DJ10.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let split = |text: &str| {
        let digits = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (name, number) = text.split_at(digits);
        (name.to_owned(), number.parse::<u64>().unwrap_or(u64::MAX))
    };
    split(a).cmp(&split(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_ids_sort_in_natural_order() {
        let mut ids = ["DJ10", "DJ2", "HY1", "DJ1", "DJ"];
        ids.sort_by(|a, b| natural(a, b));
        assert_eq!(ids, ["DJ1", "DJ2", "DJ10", "DJ", "HY1"]);
    }
}
