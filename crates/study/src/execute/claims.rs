//! Judges the claims of studies by the measurements.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::StudyOutcome;
use crate::expect::{CalibrationTarget, ExpectSpec, Judgement, LeftOutSpec, Sharpness};
use crate::label::{Assignment, Label, OneOrMany};
use crate::plan::ClaimSpec;
use crate::text::percent;
use crate::validity::MOST_FAILED;

/// The verdict on an expectation or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The expectation or claim holds.
    Holds,
    /// Some expectations of a claim hold; the others differ for a known reason.
    Partly,
    /// The expectation or claim does not hold, for a known reason.
    Differs,
    /// The expectation or claim does not hold, and no reason is known.
    Fails,
    /// The study is out of date: a known reason is given for something that holds, or a point that is left out has
    /// another value than the study says, or a measurement does not isolate a reason any more.
    Stale,
}

impl Verdict {
    /// Name of the verdict in JSON and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::Differs => "differs",
            Self::Fails => "FAILS",
            Self::Stale => "STALE",
        }
    }
}

/// An expectation of a study, with the measured value and the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename = "Finding")]
pub struct ExpectationResult {
    /// The study that measured the value.
    pub study: String,
    /// Metric of the expectation, as the study names it.
    pub metric: String,
    /// The value that the paper states, in words.
    pub paper: String,
    /// The measured value, as the study prints it.
    pub measured: String,
    /// The kind of agreement that the expectation asks for.
    #[serde(flatten)]
    pub sharpness: Sharpness,
    /// The paper's words, if the paper asks for no more than the expectation does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks_no_more: Option<String>,
    /// The data to which inputs of the expectation were fitted; `null` if the study does not say.
    pub calibrated: Option<CalibrationTarget>,
    /// Whether the measured value meets the expectation.
    pub verdict: Verdict,
    /// The known reason for a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The points at which the expectation does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offenders: Vec<String>,
    /// The points that the expectation leaves out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedPoints>,
}

/// Points of the paper's range that an expectation leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename = "LeftOut")]
pub struct OmittedPoints {
    /// The points that are left out, in words.
    pub points: String,
    /// The measured value, as the study prints it.
    pub measured: String,
    /// Reason, in words, why the points are left out of the expectation.
    pub reason: String,
    /// The reason for which the study is out of date about these points, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
}

/// A measurement that isolates the reason for a difference.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Isolation {
    /// The study that measured the value.
    pub study: String,
    /// Metric of the measurement, as the study names it.
    pub metric: String,
    /// The conclusion that the measurement supports.
    pub shows: String,
    /// The measured value, as the study prints it.
    pub measured: String,
    /// True if the measurement still supports the conclusion.
    pub holds: bool,
}

/// The result of one claim, from all studies that test it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// Identifier of the claim, which is unique in its study.
    pub id: String,
    /// The claim of the paper, as one sentence.
    pub says: String,
    /// The place where the claim is made.
    pub source: String,
    /// A note for readers of the results, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The verdict on all expectations together.
    pub verdict: Verdict,
    /// The data to which inputs were fitted, for the expectation that is fitted most; `null` if a study does not say.
    /// Expectations that restate an input do not count, unless there are no others.
    pub calibrated: Option<CalibrationTarget>,
    /// The inputs that were fitted, and the numbers to which they were fitted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub calibration: String,
    /// Half the width of the widest band with two ends, as a share of its middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub widest: Option<f64>,
    /// The results of the claim's expectations.
    pub findings: Vec<ExpectationResult>,
    /// Measurements that isolate the reasons for expectations that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub isolated: Vec<Isolation>,
}

impl Claim {
    fn new(spec: &ClaimSpec) -> Self {
        Self {
            id: spec.id.clone(),
            says: spec.says.clone(),
            source: spec.source.clone(),
            note: String::new(),
            verdict: Verdict::Holds,
            calibrated: None,
            calibration: String::new(),
            widest: None,
            findings: Vec::new(),
            isolated: Vec::new(),
        }
    }

    fn add(&mut self, spec: &ClaimSpec, outcome: &StudyOutcome) {
        self.findings.extend(spec.expectations.iter().map(|one| finding(one, spec.calibrated, outcome)));
        self.isolated.extend(spec.isolations.iter().map(|one| isolation(one, outcome)));
        for (all, text) in [(&mut self.note, &spec.note), (&mut self.calibration, &spec.calibration)] {
            if !all.contains(text.as_str()) {
                all.push_str(if all.is_empty() { "" } else { " " });
                all.push_str(text);
            }
        }
        self.verdict = self.judge();
        self.calibrated = self.most_calibrated();
        self.widest = self.findings.iter().filter_map(|finding| finding.sharpness.width).reduce(f64::max);
    }

    fn judge(&self) -> Verdict {
        let any = |verdict| self.findings.iter().any(|finding| finding.verdict == verdict);
        let is_stale = any(Verdict::Stale) || self.isolated.iter().any(|one| !one.holds);
        match (any(Verdict::Fails), any(Verdict::Differs), any(Verdict::Holds)) {
            (true, ..) => Verdict::Fails,
            _ if is_stale => Verdict::Stale,
            (_, true, true) => Verdict::Partly,
            (_, true, false) => Verdict::Differs,
            _ => Verdict::Holds,
        }
    }

    fn most_calibrated(&self) -> Option<CalibrationTarget> {
        let of = |finding: &ExpectationResult| finding.calibrated;
        let counts = |one: &Option<CalibrationTarget>| *one != Some(CalibrationTarget::Input);
        let all: Vec<Option<CalibrationTarget>> = self.findings.iter().map(of).filter(counts).collect();
        let most = all.iter().copied().max().flatten();
        match most {
            None if all.is_empty() => self.findings.first().and_then(of),
            // An expectation fitted to the claim decides, whatever the others say.
            Some(CalibrationTarget::This) => most,
            _ if all.contains(&None) => None,
            _ => most,
        }
    }

    /// True if the claim does not hold, and no measurement isolates a reason.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        self.verdict != Verdict::Holds && self.isolated.is_empty()
    }
}

/// Judges an expectation by the means over the seeds and, if it asks for that, by the spread over them. An expectation
/// about a point at which too many requests failed never holds.
fn judged(spec: &ExpectSpec, outcome: &StudyOutcome) -> Judgement {
    let mut judgement = spec.judge(&outcome.values(&spec.metric));
    let unsound = outcome.unsound().above_zero(&spec.filter, spec.per.as_ref());
    judgement.offenders.extend(unsound.iter().map(|point| {
        let at = if point.is_empty() { String::new() } else { format!("{point}: ") };
        format!("{at}more than {} of the requests failed", percent(MOST_FAILED))
    }));
    judgement.offenders.extend(spec.within_spread(&outcome.values_by_seed(&spec.metric)));
    judgement.holds &= judgement.offenders.is_empty();
    judgement
}

/// Measures and judges an expectation.
fn finding(spec: &ExpectSpec, calibrated: Option<CalibrationTarget>, outcome: &StudyOutcome) -> ExpectationResult {
    let Judgement { holds, measured, mut offenders } = judged(spec, outcome);
    let left_out: Vec<OmittedPoints> =
        spec.left_out.iter().map(|out| left_out(out, judged(&spec.at(out), outcome))).collect();
    let is_stale = left_out.iter().any(|out| out.stale.is_some());
    let verdict = match &spec.known {
        None if !holds => Verdict::Fails,
        Some(_) if holds => {
            offenders.push("it holds, but the study has a reason why it does not".to_owned());
            Verdict::Stale
        }
        _ if is_stale => Verdict::Stale,
        Some(_) => Verdict::Differs,
        None => Verdict::Holds,
    };
    ExpectationResult {
        study: outcome.plan.spec.name.clone(),
        metric: spec.metric.to_string(),
        paper: spec.paper.clone(),
        measured,
        sharpness: spec.sharpness(),
        asks_no_more: spec.asks_no_more.clone(),
        calibrated: spec.calibrated.or(calibrated),
        verdict,
        reason: spec.known.clone(),
        offenders,
        left_out,
    }
}

/// Measures and judges the points that an expectation leaves out.
fn left_out(spec: &LeftOutSpec, judgement: Judgement) -> OmittedPoints {
    let Judgement { holds, measured, .. } = judgement;
    let stale = if holds {
        Some("the expectation holds there, too".to_owned())
    } else if measured != spec.measured {
        Some(format!("the study says {}", spec.measured))
    } else {
        None
    };
    OmittedPoints { points: points(&spec.filter), measured, reason: spec.reason.clone(), stale }
}

/// The points of an assignment in words.
fn points(assignment: &Assignment) -> String {
    let one = |(axis, labels): (&String, &OneOrMany)| {
        let labels: Vec<&str> = labels.labels().iter().map(Label::as_str).collect();
        format!("{axis} {}", labels.join(" or "))
    };
    assignment.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn isolation(spec: &ExpectSpec, outcome: &StudyOutcome) -> Isolation {
    let Judgement { holds, measured, .. } = judged(spec, outcome);
    Isolation {
        study: outcome.plan.spec.name.clone(),
        metric: spec.metric.to_string(),
        shows: spec.paper.clone(),
        measured,
        holds,
    }
}

/// The claims of several studies, in the natural order of their names. A claim that several studies test appears once.
#[must_use]
pub fn claims(outcomes: &[StudyOutcome]) -> Vec<Claim> {
    let mut all: Vec<Claim> = Vec::new();
    for outcome in outcomes {
        for spec in &outcome.plan.spec.claims {
            let at = all.iter().position(|claim| claim.id == spec.id).unwrap_or_else(|| {
                all.push(Claim::new(spec));
                all.len() - 1
            });
            all[at].add(spec, outcome);
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
    use std::path::Path;

    use testkit::small::STUDY;

    use super::*;
    use crate::config::Document;
    use crate::execute::{Program, run};
    use crate::plan::Plan;

    /// The claims of a small study in which a read takes less time with 2 banks than with 1, and with 4 than with 2.
    fn judged(text: &str) -> Vec<Claim> {
        let document = Document::parse(Path::new("s.toml"), [STUDY, text].concat()).expect("TOML");
        let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
        claims(&[run(plan, &Program::default(), None, &|_, _| {}).expect("it runs")])
    }

    fn claim(more: &str) -> Claim {
        judged(&format!("[[claim]]\nid = \"B\"\nsays = \"banks\"\n{more}")).remove(0)
    }

    const FALLS: &str =
        "[[claim.expect]]\nmetric = \"mean\"\nmonotonic = { along = \"banks\", direction = \"falls\" }\n";
    const RISES: &str =
        "[[claim.expect]]\nmetric = \"mean\"\nmonotonic = { along = \"banks\", direction = \"rises\" }\n";

    #[test]
    fn claim_ids_sort_in_natural_order() {
        let mut ids = ["DJ10", "DJ2", "HY1", "DJ1", "DJ"];
        ids.sort_by(|a, b| natural(a, b));
        assert_eq!(ids, ["DJ1", "DJ2", "DJ10", "DJ", "HY1"]);
    }

    #[test]
    fn a_reason_beside_something_that_holds_is_out_of_date() {
        let explained = claim(&format!("{FALLS}known = \"a reason of yesterday\"\n"));
        assert_eq!(explained.verdict, Verdict::Stale);
        assert_eq!(explained.findings[0].offenders, ["it holds, but the study has a reason why it does not"]);
        let partly = claim(&format!("{FALLS}{RISES}known = \"they help\"\n"));
        assert_eq!((partly.verdict, partly.is_unexplained()), (Verdict::Partly, true));
    }

    #[test]
    fn a_measurement_that_isolates_a_reason_is_judged_but_does_not_count() {
        let isolate = FALLS.replace("expect", "isolate");
        let sound = claim(&format!("{RISES}known = \"they help\"\n{isolate}paper = \"help\"\n"));
        assert_eq!((sound.verdict, sound.is_unexplained()), (Verdict::Differs, false));
        let isolated = &sound.isolated[0];
        assert_eq!((isolated.shows.as_str(), isolated.holds, sound.findings.len()), ("help", true, 1));
        let isolate = RISES.replace("expect", "isolate");
        assert_eq!(claim(&format!("{FALLS}{isolate}paper = \"harm\"\n")).verdict, Verdict::Stale);
    }

    #[test]
    fn points_that_are_left_out_are_measured_all_the_same() {
        let out = |more: &str| format!("[[claim.expect]]\nmetric = \"mean\"\nwhere = {{ banks = 4 }}\n{more}\n");
        let bounded = |measured: &str| {
            let out = out("per = { banks = 4 }\nwithin = { value = 1.0, tolerance = \"1%\" }");
            format!(
                "{out}[[claim.expect.left-out]]\nwhere = {{ banks = 1 }}\nmeasured = \"{measured}\"\nreason = \"r\"\n"
            )
        };
        let wrong = claim(&bounded("1.00"));
        let said = &wrong.findings[0].left_out[0];
        assert_eq!((wrong.verdict, said.points.as_str()), (Verdict::Stale, "banks 1"));
        assert_eq!(said.stale.as_deref(), Some("the study says 1.00"));
        let right = claim(&bounded(&said.measured));
        assert_eq!((right.verdict, &right.findings[0].left_out[0].stale), (Verdict::Holds, &None));
        // A point at which the expectation holds need not be left out.
        let needless = claim(&bounded(&said.measured).replace("where = { banks = 1 }", "where = { banks = 4 }"));
        assert_eq!(needless.verdict, Verdict::Stale);
    }

    #[test]
    fn a_claim_may_ask_that_a_difference_is_larger_than_the_spread() {
        let ratio = |at: u32, to: u32, more: &str| {
            let ratio = format!("ratio = {{ at = {{ banks = {at} }}, to = {{ banks = {to} }}, between = [0, 10] }}\n");
            format!("[[claim.expect]]\nmetric = \"mean\"\n{ratio}{more}")
        };
        let seeds = STUDY.replace("seeds = [1, 2]", "seeds = 4");
        let judge = |text: String| {
            let claim = format!("{seeds}[[claim]]\nid = \"B\"\nsays = \"banks\"\n{text}");
            let plan = Plan::new(&Document::parse(Path::new("s.toml"), claim).expect("TOML"));
            let plan = plan.unwrap_or_else(|faults| panic!("{faults}"));
            let outcome = run(plan, &Program::default(), None, &|_, _| {}).expect("it runs");
            claims(&[outcome]).remove(0)
        };
        let beyond = "beyond-spread = true\n";
        // One bank takes twice as long as four, with every seed.
        let large = judge(ratio(4, 1, beyond));
        assert_eq!(large.verdict, Verdict::Holds, "{large:?}");
        assert!(large.findings[0].sharpness.band.ends_with("beyond the spread"), "{large:?}");
        // A point does not differ from itself, and a single seed shows nothing.
        let none = judge(ratio(4, 4, beyond));
        assert_eq!((none.verdict, judge(ratio(4, 4, "")).verdict), (Verdict::Fails, Verdict::Holds));
        assert!(none.findings[0].offenders[0].contains("over 4 seeds is not beyond the spread"), "{none:?}");
        let order = "[[claim.expect]]\nmetric = \"mean\"\norder = { of = [{ banks = 4 }, { banks = 1 }] }\n";
        let order = judge(format!("{order}{beyond}"));
        assert_eq!((order.verdict, order.findings[0].sharpness.loose), (Verdict::Holds, false));
        for (text, seeds, remedy) in [
            (ratio(4, 1, beyond), "seeds = [1]", "seeds = 5"),
            (
                "[[claim.expect]]\nmetric = \"mean\"\nequal = { within = \"5%\" }\nbeyond-spread = true\n".into(),
                "seeds = 2",
                "leave it out",
            ),
        ] {
            let study = STUDY.replace("seeds = [1, 2]", seeds);
            let text = format!("{study}[[claim]]\nid = \"B\"\nsays = \"banks\"\n{text}");
            let faults = Plan::new(&Document::parse(Path::new("s.toml"), text).expect("TOML")).expect_err("a fault");
            assert_eq!(faults.0[0].key, "claim[0].expect[0].beyond-spread");
            assert!(faults.0[0].remedy.contains(remedy), "{faults}");
        }
    }

    #[test]
    fn a_claim_is_as_fitted_as_its_expectation_that_is_fitted_most() {
        let of = |claims: &str, each: [&str; 2]| {
            let said = |one: &str| if one.is_empty() { String::new() } else { format!("calibrated = \"{one}\"\n") };
            let [a, b] = each.map(|one| [FALLS, &said(one)].concat());
            let text = if claims.is_empty() { String::new() } else { "calibration = \"these\"\n".to_owned() };
            claim(&format!("{}{text}{a}{b}", said(claims))).calibrated
        };
        assert_eq!(of("", ["", ""]), None);
        assert_eq!(of("no", ["", ""]), Some(CalibrationTarget::No));
        assert_eq!(of("no", ["other", ""]), Some(CalibrationTarget::Other));
        assert_eq!(of("no", ["other", "this"]), Some(CalibrationTarget::This));
        // An expectation that restates an input does not count.
        assert_eq!(of("no", ["input", ""]), Some(CalibrationTarget::No));
        assert_eq!(of("this", ["input", "input"]), Some(CalibrationTarget::Input));
    }

    #[test]
    fn faults_of_claims_are_found() {
        let isolate = FALLS.replace("expect", "isolate");
        for (text, key) in [
            (FALLS.replace("metric", "calibrated = \"no\"\nmetric"), "claim[0].calibrated"),
            (format!("calibration = \"all\"\n{FALLS}"), "claim[0].calibrated"),
            (format!("calibrated = \"this\"\n{FALLS}"), "claim[0].calibration"),
            (format!("{FALLS}asks-no-more = \"the paper's words\"\n"), "claim[0].expect[0].asks-no-more"),
            (format!("{FALLS}{isolate}known = \"that\"\n"), "claim[0].isolate[0].known"),
            (String::new(), "claim[0]"),
        ] {
            let text = format!("{STUDY}[[claim]]\nid = \"B\"\nsays = \"banks\"\n{text}");
            let document = Document::parse(Path::new("s.toml"), text.clone()).expect("TOML");
            let faults = Plan::new(&document).expect_err("a fault");
            assert_eq!(faults.0.iter().map(|fault| fault.key.as_str()).collect::<Vec<_>>(), [key], "{text}");
        }
    }
}
