//! The first paragraph of the page of studies: the studies, the results, and warnings about conclusions.

use study::execute::{Claim, StudyOutcome, Verdict};
use study::expect::CalibrationTarget;
use study::metric::Metric;

use super::tables::tally;
use crate::cautions;
use crate::page::Lead;
use crate::sentence::{list, seeds, sentence};

/// The most metrics whose range the paragraph gives.
const RANGES: usize = 3;

pub(super) fn lead(outcomes: &[StudyOutcome], claims: &[Claim]) -> Lead {
    let points: usize = outcomes.iter().map(|outcome| outcome.plan.points.len()).sum();
    let compared = match outcomes {
        [one] => {
            let spec = &one.plan.spec;
            let axes: Vec<String> =
                one.plan.axes.iter().map(|(name, labels)| format!("{name} ({} values)", labels.len())).collect();
            let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
            let over = if axes.is_empty() { String::new() } else { format!(" over {}", list(&axes)) };
            let asked = if spec.description.is_empty() { String::new() } else { sentence(&spec.description) + " " };
            format!("{asked}{}{over}{}.", number(points, "point"), with_seeds(one))
        }
        all => format!("{} with {} in all.", number(all.len(), "study"), number(points, "point")),
    };
    let mut came_out = Vec::new();
    if !claims.is_empty() {
        came_out.push(sentence(&tally(claims)));
    }
    if let [one] = outcomes {
        came_out.extend(one.plan.spec.metrics.iter().take(RANGES).filter_map(|metric| range(one, metric)));
    }
    Lead { compared, came_out, caution: caution(outcomes, claims) }
}

fn number(count: usize, of: &str) -> String {
    match (count, of) {
        (1, _) => format!("1 {of}"),
        (_, "study") => format!("{count} studies"),
        _ => format!("{count} {of}s"),
    }
}

fn with_seeds(outcome: &StudyOutcome) -> String {
    match outcome.plan.spec.seeds.len() {
        0 | 1 => String::new(),
        count => format!(", each with {count} seeds"),
    }
}

/// The points with the least and the greatest value of a metric.
fn range(outcome: &StudyOutcome, metric: &Metric) -> Option<String> {
    let values = (0..outcome.plan.points.len()).filter_map(|point| Some((point, outcome.value(point, metric)?)));
    let mut values: Vec<(usize, f64)> = values.collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [least, .., most] = values[..] else { return None };
    let show = |value: f64| metric.dimension().show(value);
    let at = |point: usize| {
        let pairs = outcome.axes().zip(outcome.labels(point)).map(|(axis, label)| format!("{axis} {label}"));
        pairs.collect::<Vec<_>>().join(", ")
    };
    (show(least.1) != show(most.1)).then(|| {
        format!("{}: from {} ({}) to {} ({}).", metric.title(), show(least.1), at(least.0), show(most.1), at(most.0))
    })
}

fn caution(outcomes: &[StudyOutcome], claims: &[Claim]) -> Vec<String> {
    let mut said = Vec::new();
    for outcome in outcomes {
        said.extend(cautions::sentences(&outcome.cautions(), |caution| cautions::points(caution, outcome)));
    }
    said.extend(outcomes.iter().flat_map(StudyOutcome::warnings).map(|warning| sentence(&warning)));
    let fitted = |claim: &&Claim| {
        claim.verdict == Verdict::Holds
            && matches!(claim.calibrated, Some(CalibrationTarget::This | CalibrationTarget::Input))
    };
    match claims.iter().filter(fitted).count() {
        0 => {}
        1 => said
            .push("The claim that holds calibrated restates what the inputs were fitted to: it is no evidence.".into()),
        count => said.push(format!(
            "The {count} claims that hold calibrated restate what the inputs were fitted to: they are no evidence."
        )),
    }
    if outcomes.iter().any(|outcome| outcome.plan.spec.seeds.len() <= 1) {
        said.extend(seeds(1).map(|text| text.replacen("It ran", "Points ran", 1)));
    }
    said
}
