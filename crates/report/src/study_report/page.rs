//! The page of studies: their claims, and every metric along the axes.

use std::collections::BTreeMap;

use serde::Serialize;

use study::execute::{Claim, Outcome, Program, SCHEMA, Verdict};
use study::metric::{Dimension, Metric};

use super::tables::{band, calibrated, said_below, says_calibration, tally};
use crate::figure::{Axis, COLOURS, Chart, Course, Figure, Names, Number, Scale};
use crate::page::{Block, Cell, Page, Row, Section, Table};

/// The most charts of a study; the tables have all numbers.
const MOST_CHARTS: usize = 24;

/// The JSON data of the page: the head of what `--json` prints, without the runs.
#[derive(Serialize)]
struct Judged<'a> {
    schema: &'static str,
    version: &'a str,
    commit: &'a str,
    claims: &'a [Claim],
}

/// The page of the studies.
///
/// # Panics
/// Never: every claim has a form in JSON.
#[must_use]
pub fn page(program: &Program, outcomes: &[Outcome], claims: &[Claim]) -> Page {
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.plan.spec.name.as_str()).collect();
    let Program { version, commit } = program;
    let judged = Judged { schema: SCHEMA, version, commit, claims };
    let mut sections = Vec::new();
    if !claims.is_empty() {
        let above = vec![Block::Table(verdicts(claims))];
        sections.push(Section { heading: "Claims".into(), note: tally(claims), above, ..Section::default() });
    }
    sections.extend(outcomes.iter().map(section));
    Page {
        title: names.join(", "),
        about: format!("flashloom {version} ({commit})"),
        sections,
        result: serde_json::to_string(&judged).expect("texts"),
    }
}

/// The table of claims: the paper's value beside the measured one.
fn verdicts(claims: &[Claim]) -> Table {
    let is_said = says_calibration(claims);
    let mut rows = Vec::new();
    for (i, claim) in claims.iter().enumerate() {
        for (j, finding) in claim.findings.iter().enumerate() {
            let is_first = j == 0;
            let said = if finding.paper.is_empty() { &claim.says } else { &finding.paper };
            let class = match finding.verdict {
                Verdict::Holds => "holds",
                Verdict::Partly | Verdict::Differs => "differs",
                Verdict::Fails | Verdict::Stale => "fails",
            };
            let measured = Cell::of(finding.measured.as_str(), format!("/claims/{i}/findings/{j}/measured"));
            let id = if is_first { claim.id.as_str() } else { "" };
            let mut cells: Vec<Cell> = vec![id.into(), said.as_str().into(), measured, band(finding).into()];
            cells.extend(is_said.then(|| calibrated(claim, j).into()));
            cells.push(Cell { class, ..finding.verdict.name().into() });
            let mut notes = Vec::new();
            if is_first {
                notes.push(format!("{} ({})", claim.says, claim.source));
                notes.extend(said_below(claim));
            }
            rows.push(Row { cells, notes });
        }
    }
    let mut header: Vec<String> = ["claim", "paper", "measured", "band"].map(ToOwned::to_owned).to_vec();
    header.extend(is_said.then(|| "fitted".to_owned()));
    header.push("verdict".to_owned());
    Table { texts: header.len(), header, rows, ..Table::default() }
}

/// The section of a study: its charts, its points and its file.
fn section(outcome: &Outcome) -> Section {
    let spec = &outcome.plan.spec;
    let mut below = Vec::new();
    if !spec.metrics.is_empty() {
        below.push(Block::Table(points(outcome)));
    }
    if let Ok(config) = toml::Table::try_from(spec) {
        below.push(Block::Text { heading: "The study".into(), text: config.to_string(), open: false });
    }
    Section {
        heading: spec.name.clone(),
        note: spec.description.clone(),
        figures: charts(outcome).into_iter().take(MOST_CHARTS).collect(),
        below,
        ..Section::default()
    }
}

/// The table of points, with their labels and the metrics of the study.
fn points(outcome: &Outcome) -> Table {
    let metrics = &outcome.plan.spec.metrics;
    let row = |point: usize| {
        let labels = outcome.labels(point).iter().map(|label| Cell::from(label.as_str()));
        let show = |metric: &Metric| match outcome.spread(point, metric) {
            Some(spread) => spread.show(metric.dimension()).into(),
            None => "-".into(),
        };
        Row { cells: labels.chain(metrics.iter().map(show)).collect(), notes: Vec::new() }
    };
    let few = outcome.plan.points.len() <= 24;
    Table {
        heading: format!("{} points", outcome.plan.points.len()),
        fold: Some(few),
        header: outcome.axes().map(ToOwned::to_owned).chain(metrics.iter().map(ToString::to_string)).collect(),
        texts: outcome.plan.axes.len(),
        rows: (0..outcome.plan.points.len()).map(row).collect(),
    }
}

/// The horizontal axis, and the axis whose points are lines of different colours: the two with the most points.
fn roles(outcome: &Outcome) -> Option<(usize, Option<usize>)> {
    let axes = &outcome.plan.axes;
    let mut by_length: Vec<usize> = (0..axes.len()).filter(|axis| axes[*axis].1.len() > 1).collect();
    by_length.sort_by_key(|axis| std::cmp::Reverse(axes[*axis].1.len()));
    let x = *by_length.first()?;
    Some((x, by_length[1..].iter().copied().find(|axis| axes[*axis].1.len() <= COLOURS)))
}

/// One chart for each metric and each combination of points on the axes that are neither horizontal nor colours.
fn charts(outcome: &Outcome) -> Vec<Figure> {
    let Some((x, colour)) = roles(outcome) else { return Vec::new() };
    let axes = &outcome.plan.axes;
    let mut all = Vec::new();
    for metric in &outcome.plan.spec.metrics {
        let mut groups: BTreeMap<String, BTreeMap<usize, Course>> = BTreeMap::new();
        for point in 0..outcome.plan.points.len() {
            let labels = outcome.labels(point);
            let place = |axis: usize| axes[axis].1.iter().position(|label| *label == labels[axis]).unwrap_or_default();
            let others = (0..axes.len()).filter(|axis| *axis != x && Some(*axis) != colour && axes[*axis].1.len() > 1);
            let name = others.map(|axis| format!("{} {}", axes[axis].0, labels[axis])).collect::<Vec<_>>().join(", ");
            let number = colour.map_or(0, place);
            let line = groups.entry(name).or_default().entry(number).or_insert_with(|| Course {
                name: colour.map_or_else(|| metric.to_string(), |axis| format!("{} {}", axes[axis].0, labels[axis])),
                colour: number,
                values: vec![Number(f64::NAN); axes[x].1.len()],
            });
            line.values[place(x)] = outcome.value(point, metric).into();
        }
        for (name, group) in groups {
            let lines: Vec<Course> = group.into_values().collect();
            // A single point makes no line.
            if lines.iter().any(|line| line.values.iter().filter(|value| value.0.is_finite()).count() > 1) {
                all.push(Figure::new(metric.to_string(), name, chart(outcome, metric, x, lines)));
            }
        }
    }
    all
}

fn chart(outcome: &Outcome, metric: &Metric, x: usize, lines: Vec<Course>) -> Chart {
    let (axis, labels) = &outcome.plan.axes[x];
    let values = lines.iter().flat_map(|line| &line.values).map(|value| value.0).filter(|value| value.is_finite());
    let (least, most) = values.fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let scale = if least > 0.0 && most > 20.0 * least { Scale::Log } else { Scale::Linear };
    let label = match metric.dimension() {
        Dimension::Energy => format!("{metric} (J)"),
        _ => metric.to_string(),
    };
    let x = Names { label: axis.clone(), names: labels.iter().map(ToString::to_string).collect() };
    Chart::Courses { x, y: Axis::new(label, metric.dimension(), scale), lines }
}

#[cfg(test)]
mod tests {
    use study::execute::{claims, json as document};
    use testkit::small::STUDY;

    use super::*;
    use crate::testing::studied;

    /// A second axis, and a claim.
    const MORE: &str = "[[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 4]\n\
        [[claim]]\nid = \"B1\"\nsays = \"banks <do> harm\"\n\
        [[claim.expect]]\nmetric = \"mean\"\nknown = \"they do not\"\n\
        monotonic = { along = \"banks\", direction = \"rises\" }\n";

    #[test]
    fn the_page_of_a_study_draws_its_axes_and_shows_its_claims() {
        let (program, outcomes) = (Program::default(), [studied(&[STUDY, MORE].concat())]);
        let claims = claims(&outcomes);
        let page = page(&program, &outcomes, &claims);
        let [_, study] = &page.sections[..] else { panic!("claims and a study") };
        assert_eq!(study.figures.len(), 2);
        let Chart::Courses { x, y, lines } = &study.figures[1].chart else { panic!("courses") };
        assert_eq!((x.label.as_str(), x.names.join(" "), y.unit), ("banks", "1 2 4".to_owned(), Dimension::Time));
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["depth 1", "depth 4"]);
        let metric = &outcomes[0].plan.spec.metrics[1];
        let (drawn, measured) = (lines[1].values[2].0, outcomes[0].value(5, metric).expect("measured"));
        assert!((drawn - measured).abs() < 1e-9, "{drawn} drawn of {measured}");
        let html = page.html();
        for wanted in ["banks &lt;do&gt; harm", "they do not", "class=\"differs\">differs<", "6 points", "1 claim:"] {
            assert!(html.contains(wanted), "{wanted}");
        }
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let whole = document(&program, &outcomes, &claims);
        let whole: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
        assert_eq!((&json["schema"], &json["claims"]), (&whole["schema"], &whole["claims"]));
        let measured = json.pointer("/claims/0/findings/0/measured").and_then(serde_json::Value::as_str);
        assert!(html.contains(&format!("data-of=\"/claims/0/findings/0/measured\">{}<", measured.expect("a text"))));
    }
}
