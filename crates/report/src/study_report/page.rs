//! The page of studies: their claims, and every metric along the axes.

use serde::Serialize;

use study::execute::{Claim, Program, SCHEMA, StudyOutcome, Verdict};
use study::metric::Metric;

use super::charts::{by_metric, times};
use super::described::described;
use super::lead::lead;
use super::metric_plot::of_load;
use super::tables::{band, calibrated, said_below, says_calibration, shown_metrics};
use crate::figure::{Chart, Figure};
use crate::page::{Block, Cell, Page, Row, Section, Table};

/// The most charts of a study; the tables have all numbers.
const MOST_CHARTS: usize = 24;

/// The JSON data of the page: the beginning of the output of `--json`, without the runs.
#[derive(Serialize)]
struct ClaimsData<'a> {
    schema: &'static str,
    version: &'a str,
    commit: &'a str,
    claims: &'a [Claim],
}

/// The charts on the page of studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charts {
    /// The figures that each study describes; for a study without figures, one chart for each metric.
    Each,
    /// If any study describes figures, only figures, because the page repeats a paper.
    Figures,
}

/// The page of the studies.
///
/// # Panics
/// Never: every claim has a form in JSON.
#[must_use]
pub fn page(program: &Program, outcomes: &[StudyOutcome], claims: &[Claim], charts: Charts) -> Page {
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.plan.spec.name.as_str()).collect();
    let Program { version, commit } = program;
    let judged = ClaimsData { schema: SCHEMA, version, commit, claims };
    let mut sections = figures(outcomes);
    let only_figures = charts == Charts::Figures && !sections.is_empty();
    if !claims.is_empty() {
        let above = vec![Block::Table(verdicts(claims))];
        sections.push(Section { heading: "Claims".into(), above, ..Section::default() });
    }
    sections.extend(outcomes.iter().map(|outcome| section(outcome, outcomes.len() > 1, only_figures)));
    Page {
        title: title(&names),
        about: format!("flashloom {version} ({commit})"),
        lead: lead(outcomes, claims),
        sections,
        result: serde_json::to_string(&judged).expect("texts"),
    }
}

/// The title of a page about these studies: their names, or the number of studies in each folder.
fn title(names: &[&str]) -> String {
    if names.len() <= 3 {
        return names.join(", ");
    }
    let mut folders: Vec<(&str, usize)> = Vec::new();
    for name in names {
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        match folders.iter_mut().find(|(other, _)| *other == folder) {
            Some((_, count)) => *count += 1,
            None => folders.push((folder, 1)),
        }
    }
    let each = folders.iter().map(|(folder, count)| match (*folder, *count) {
        ("", count) => format!("{count} studies"),
        (folder, 1) => format!("{folder} (1 study)"),
        (folder, count) => format!("{folder} ({count} studies)"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A section for each source of figures, with the figures of all its studies, sorted by number.
fn figures(outcomes: &[StudyOutcome]) -> Vec<Section> {
    let mut sources: Vec<(&str, Vec<(&str, Figure)>)> = Vec::new();
    for outcome in outcomes {
        let source = outcome.plan.spec.name.split_once('/').map_or("", |(folder, _)| folder);
        let found = described(outcome);
        match sources.iter_mut().find(|(other, _)| *other == source) {
            Some((_, all)) => all.extend(found),
            None => sources.push((source, found)),
        }
    }
    sources.retain(|(_, all)| !all.is_empty());
    let several = sources.len() > 1;
    let section = |(source, mut all): (&str, Vec<(&str, Figure)>)| {
        // The sort is stable, so the panels of a figure stay in order.
        all.sort_by_key(|(number, _)| in_order(number));
        let is_marked =
            |(_, figure): &(&str, Figure)| matches!(&figure.chart, Chart::Courses { marks, .. } if !marks.is_empty());
        let note = "Diamonds and brackets are values that the source states; everything else was measured here.";
        Section {
            heading: if several { format!("Figures: {source}") } else { "Figures".into() },
            note: if all.iter().any(is_marked) { note.into() } else { String::new() },
            figures: all.into_iter().map(|(_, figure)| figure).collect(),
            ..Section::default()
        }
    };
    sources.into_iter().map(section).collect()
}

/// The number of a figure as a key of its order: `Fig. 2(b)` before `Fig. 10`.
fn in_order(number: &str) -> Vec<(String, u64)> {
    let number = number.replacen("Figs.", "Fig.", 1);
    let (mut parts, mut rest) = (Vec::new(), number.as_str());
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let end = rest[digits..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| digits + end);
        parts.push((rest[..digits].to_owned(), rest[digits..end].parse().unwrap_or(0)));
        rest = &rest[end..];
    }
    parts
}

/// The table of claims, with the paper's values beside the measured values.
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
    let heading = "Each claim, what was measured and how much was asked for".into();
    Table { heading, texts: header.len(), header, rows, ..Table::default() }
}

/// The section of a study: its charts, its points and its file. Its name is left out if it is the only one, because the
/// title has it.
fn section(outcome: &StudyOutcome, is_one_of_several: bool, only_figures: bool) -> Section {
    let spec = &outcome.plan.spec;
    let mut below = Vec::new();
    if !spec.metrics.is_empty() {
        below.push(Block::Table(points(outcome)));
    }
    if let Ok(config) = toml::Table::try_from(spec) {
        let heading = if is_one_of_several { format!("The file of {}", spec.name) } else { "The study's file".into() };
        below.push(Block::Text { heading, text: config.to_string(), open: false });
    }
    let drawn = if only_figures || !spec.figures.is_empty() {
        Vec::new()
    } else {
        // Charts against a load come first, as in papers that vary the load.
        of_load(outcome).into_iter().chain(by_metric(outcome)).collect()
    };
    let left_out = drawn.len().saturating_sub(MOST_CHARTS);
    let note = match left_out {
        0 => String::new(),
        count => format!(
            " {count} more charts are left out; the table of points has their numbers, and a [[figure]] draws what matters."
        ),
    };
    let about = if is_one_of_several { spec.description.clone() } else { String::new() };
    Section {
        heading: if is_one_of_several { spec.name.clone() } else { "Points".into() },
        note: format!("{about}{note}").trim().to_owned(),
        figures: drawn.into_iter().take(MOST_CHARTS).chain(times(outcome)).collect(),
        below,
        ..Section::default()
    }
}

/// The table of points, with their labels and the metrics of the study.
fn points(outcome: &StudyOutcome) -> Table {
    let metrics = &shown_metrics(outcome);
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
        meanings: metrics.iter().map(|metric| (metric.to_string(), metric.meaning())).collect(),
        texts: outcome.plan.axes.len(),
        rows: (0..outcome.plan.points.len()).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use study::execute::{self, claims};
    use testkit::small::STUDY;

    use study::metric::Dimension;

    use super::*;
    use crate::testing::studied;

    /// A second axis, and a claim, for the study of these tests.
    const MORE: &str = r#"[[axis]]
name = "depth"
key = "run.depth"
values = [1, 4]
[[claim]]
id = "B1"
says = "banks <do> harm"
[[claim.expect]]
metric = "mean"
known = "they do not"
monotonic = { along = "banks", direction = "rises" }
"#;

    #[test]
    fn the_page_of_a_study_draws_its_axes_and_shows_its_claims() {
        let (program, outcomes) = (Program::default(), [studied(&[STUDY, MORE].concat())]);
        let claims = claims(&outcomes);
        let page = page(&program, &outcomes, &claims, Charts::Each);
        let [_, study] = &page.sections[..] else { panic!("claims and a study") };
        // The depth is a load; a 99th percentile has too few requests.
        let headings: Vec<&str> = study.figures.iter().map(|figure| figure.heading.as_str()).collect();
        let [read, write] = ["read", "write"].map(|kind| format!("Latency of {kind}s against the achieved rate"));
        assert_eq!(headings[..2], [read.as_str(), write.as_str()]);
        let Chart::Paths { x, y, lines } = &study.figures[0].chart else { panic!("paths") };
        assert_eq!((x.unit, y.unit, lines.len()), (Dimension::PerSecond, Dimension::Time, 3));
        assert_eq!(lines[2].name, "banks 4, read.mean");
        let value = |metric: &str| outcomes[0].value(5, &metric.parse().expect("a metric")).expect("measured");
        let stop = &lines[2].points[1];
        assert_eq!((stop.name.as_str(), stop.at.map(|at| at.0)), ("4", [value("requests-per-s"), value("read.mean")]));
        let Chart::Courses { x, y, lines, .. } = &study.figures[3].chart else { panic!("courses") };
        assert_eq!((x.label.as_str(), x.names.join(" "), y.unit), ("banks", "1 2 4".to_owned(), Dimension::Time));
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["depth 1", "depth 4"]);
        let metric = &outcomes[0].plan.spec.metrics[1];
        let (drawn, measured) = (lines[1].values[2].0, outcomes[0].value(5, metric).expect("measured"));
        assert!((drawn - measured).abs() < 1e-9, "{drawn} drawn of {measured}");
        let html = page.html();
        for wanted in [
            "banks &lt;do&gt; harm",
            "they do not",
            "class=\"differs\">differs<",
            "6 points",
            ">claim</a>: 0 hold, 1 differ",
        ] {
            assert!(html.contains(wanted), "{wanted}");
        }
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let whole = execute::json(&program, &outcomes, &claims);
        let whole: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
        assert_eq!((&json["schema"], &json["claims"]), (&whole["schema"], &whole["claims"]));
        let measured = json.pointer("/claims/0/findings/0/measured").and_then(serde_json::Value::as_str);
        assert!(html.contains(&format!("data-of=\"/claims/0/findings/0/measured\">{}<", measured.expect("a text"))));
    }
}
