//! Studies as one page: their claims, and every metric along the axes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Claim, Outcome, Program, claims_table, points_table};
use crate::metric::{Metric, Unit};
use crate::report::{Axis, COLOURS, Line, Scale, escape, figure, head, lines};

/// More charts than anyone looks at; the numbers are all in the tables.
const MOST_CHARTS: usize = 24;

/// The report as HTML.
#[must_use]
pub fn page(program: &Program, outcomes: &[Outcome], claims: &[Claim]) -> String {
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.plan.spec.name.as_str()).collect();
    let mut html = head(&names.join(", "), &format!("flashloom {} ({})", program.version, program.commit));
    for outcome in outcomes {
        for chart in charts(outcome).into_iter().take(MOST_CHARTS) {
            html.push_str(&chart);
        }
    }
    html.push_str("</main>\n");
    let mut numbers = |summary: &str, text: &str| {
        let (summary, text) = (escape(summary), escape(text));
        let _ = writeln!(html, "<details open><summary>{summary}</summary><pre>{text}</pre></details>");
    };
    if !claims.is_empty() {
        numbers("Claims", &claims_table(claims));
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.plan.spec.metrics.is_empty()) {
        numbers(&outcome.plan.spec.name, &points_table(outcome));
    }
    html.push_str("</body>\n</html>\n");
    html
}

/// The axis of a study that goes from left to right, and the one whose points are lines of different colours:
/// the two with the most points.
fn roles(outcome: &Outcome) -> Option<(usize, Option<usize>)> {
    let axes = &outcome.plan.axes;
    let mut by_length: Vec<usize> = (0..axes.len()).filter(|axis| axes[*axis].1.len() > 1).collect();
    by_length.sort_by_key(|axis| std::cmp::Reverse(axes[*axis].1.len()));
    let x = *by_length.first()?;
    Some((x, by_length[1..].iter().copied().find(|axis| axes[*axis].1.len() <= COLOURS)))
}

/// One chart for each metric and each combination of the axes that are neither x nor colour.
fn charts(outcome: &Outcome) -> Vec<String> {
    let Some((x, colour)) = roles(outcome) else { return Vec::new() };
    let axes = &outcome.plan.axes;
    let mut all = Vec::new();
    for metric in &outcome.plan.spec.metrics {
        let mut groups: BTreeMap<String, BTreeMap<usize, Line>> = BTreeMap::new();
        for point in 0..outcome.plan.points.len() {
            let labels = outcome.labels(point);
            let place = |axis: usize| axes[axis].1.iter().position(|label| *label == labels[axis]).unwrap_or_default();
            let others = (0..axes.len()).filter(|axis| *axis != x && Some(*axis) != colour && axes[*axis].1.len() > 1);
            let name = others.map(|axis| format!("{} {}", axes[axis].0, labels[axis])).collect::<Vec<_>>().join(", ");
            let number = colour.map_or(0, place);
            let line = groups.entry(name).or_default().entry(number).or_insert_with(|| Line {
                name: colour.map_or_else(|| metric.to_string(), |axis| format!("{} {}", axes[axis].0, labels[axis])),
                colour: number,
                points: Vec::new(),
            });
            line.points.push((place(x) as f64, outcome.value(point, metric).unwrap_or(f64::NAN)));
        }
        for (name, group) in groups {
            let group: Vec<Line> = group.into_values().collect();
            // One point is no course of anything.
            if group.iter().any(|line| line.points.len() > 1) {
                all.push(chart(outcome, metric, &name, x, group));
            }
        }
    }
    all
}

fn chart(outcome: &Outcome, metric: &Metric, name: &str, x: usize, mut group: Vec<Line>) -> String {
    for line in &mut group {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let (axis, labels) = &outcome.plan.axes[x];
    let x = Axis::named(axis.clone(), labels.iter().map(ToString::to_string).collect());
    let values = || group.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)).filter(|y| y.is_finite());
    let (least, most) = values().fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let scale = if least > 0.0 && most > 20.0 * least { Scale::Log } else { Scale::Linear };
    let unit = match metric.unit() {
        Unit::Time => " (us)",
        Unit::Rate => " (bytes/s)",
        Unit::PerSecond => " (1/s)",
        Unit::Energy => " (J)",
        Unit::Share | Unit::Count | Unit::Plain => "",
    };
    let y = Axis::over(format!("{metric}{unit}"), scale, values());
    let heading = escape(&format!("{}: {metric}", outcome.plan.spec.name));
    figure(&heading, &escape(name), &lines(&format!("{metric} along {axis}"), &x, &y, &group))
}
