//! The page of a run with several seeds: the spread of its numbers.

use study::execute::Program;
use study::metric::{Dimension, Metric};
use study::repeat::RepeatedRuns;
use study::text::count;

use super::seeds::{is_hidden, rows, seeds_table};
use crate::cautions;
use crate::compare::{BAND, spread};
use crate::cumulated::cumulated;
use crate::figure::{Axis, Chart, Course, Figure, Names, Number, Scale};
use crate::page::{Block, Cell, Lead, Page, Row, Section, Table};
use crate::sentence::{sentence, several, unsupported};

/// The charts of the values of each seed: a heading, the label of the axis, and the metrics.
const BY_SEED: [(&str, &str, &[&str]); 3] = [
    ("Mean latency of each seed", "latency", &["read.mean", "write.mean"]),
    ("Rate of each seed", "requests per second", &["requests-per-s"]),
    ("Write amplification of each seed", "write amplification", &["waf"]),
];

/// The kinds of requests whose percentiles are drawn.
const DRAWN: [&str; 2] = ["read", "write"];

/// The page of these runs, with a section for each stage, in order.
#[must_use]
pub fn seeds_page(program: &Program, stages: &[RepeatedRuns]) -> Page {
    let root = |number: usize| if stages.len() > 1 { format!("/{number}") } else { String::new() };
    let section = |(i, of): (usize, &RepeatedRuns)| Section {
        heading: if stages.len() > 1 { format!("Stage {}: {}", i + 1, of.workload) } else { "Results".to_owned() },
        note: "\u{b1} is the 95 % interval of the mean over the seeds (Student's t).".into(),
        above: vec![Block::Table(metrics(of, &root(i)))],
        figures: percentiles(of).into_iter().chain(by_seed(of)).collect(),
        below: vec![Block::Text { heading: "As the command prints it".into(), text: seeds_table(of), open: false }],
    };
    let mut workloads: Vec<&str> = stages.iter().map(|of| of.workload.as_str()).collect();
    workloads.dedup();
    let (device, seeds) = stages.first().map_or(("", 0), |of| (&*of.device, of.seeds.len()));
    Page {
        title: format!("{device} under {}, {seeds} seeds", workloads.join(", ")),
        about: format!("flashloom {} ({})", program.version, program.commit),
        lead: lead(stages),
        sections: stages.iter().enumerate().map(section).collect(),
        result: RepeatedRuns::json(stages),
    }
}

/// The means with their intervals, the least and the greatest value; `root` is the JSON pointer of the runs in the result.
fn metrics(of: &RepeatedRuns, root: &str) -> Table {
    let row = |name: String| {
        let spread = &of.metrics[&name];
        let unit = dimension(&name);
        let extreme = |better: fn(f64, f64) -> bool| {
            let values = spread.values.iter().enumerate();
            let found = values.reduce(|a, b| if better(*b.1, *a.1) { b } else { a });
            found.map_or_else(
                || "-".into(),
                |(i, value)| Cell::of(unit.show(*value), format!("{root}/metrics/{name}/values/{i}")),
            )
        };
        let numbers = if is_hidden(of, &name) {
            ["-", "-", "-"].map(Cell::from)
        } else {
            let mean = Cell::of(spread.show(unit), format!("{root}/metrics/{name}/mean"));
            [mean, extreme(|a, b| a < b), extreme(|a, b| a > b)]
        };
        Row { cells: [Cell::from(name.as_str())].into_iter().chain(numbers).collect(), notes: Vec::new() }
    };
    Table {
        heading: format!("{} seeds", of.seeds.len()),
        header: ["metric", "mean", "least", "most"].map(ToOwned::to_owned).to_vec(),
        texts: 1,
        rows: rows(of).map(row).collect(),
        ..Table::default()
    }
}

fn dimension(name: &str) -> Dimension {
    name.parse::<Metric>().map_or(Dimension::Plain, |metric| metric.dimension())
}

/// The latencies by percentile with their bands, and as shares of the requests.
fn percentiles(of: &RepeatedRuns) -> Vec<Figure> {
    let line = |(colour, kind): (usize, &&str)| Some(spread(kind, colour, of.latency_curves.get(*kind)?));
    let lines: Vec<_> = DRAWN.iter().enumerate().filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let x = Axis::new("share of requests that are at least as fast", Dimension::Share, Scale::Nines);
    let y = Axis::new("latency", Dimension::Time, Scale::Log);
    let chart = Chart::Lines { x, y, lines };
    let shares = cumulated("Share of requests by latency", &chart);
    [Figure::new("Latency by percentile", BAND, chart)].into_iter().chain(shares).collect()
}

/// The figures of the values of each seed, if they differ.
fn by_seed(of: &RepeatedRuns) -> Vec<Figure> {
    let figure = |(heading, label, names): &(&str, &str, &[&str])| {
        let course = |(colour, name): (usize, &&str)| {
            let spread = of.metrics.get(*name).filter(|spread| spread.half_width.is_some_and(|half| half > 0.0))?;
            let values = spread.values.iter().copied().map(Number).collect();
            Some(Course { name: (*name).to_owned(), colour, values, spread: Vec::new() })
        };
        let lines: Vec<Course> = names.iter().enumerate().filter_map(course).collect();
        let unit = dimension(names.first()?);
        let x = Names::of_labels("seed", of.seeds.iter().map(ToString::to_string).collect());
        let y = Axis::new(*label, unit, Scale::Linear);
        (!lines.is_empty()).then(|| {
            Figure::new(*heading, "One value for each seed.", Chart::Courses { x, y, lines, marks: Vec::new() })
        })
    };
    BY_SEED.iter().filter_map(figure).collect()
}

/// The first paragraph: the runs, the result, and warnings about conclusions.
fn lead(stages: &[RepeatedRuns]) -> Lead {
    let mut lead = Lead::default();
    for (number, of) in (1..).zip(stages) {
        let Some(first) = of.runs.first() else { continue };
        let stage = if stages.len() > 1 { format!("Stage {number}: ") } else { String::new() };
        let compared = format!(
            "{stage}{} served {} with each of {} seeds, {} requests with the first; numbers are means over the seeds.",
            of.device,
            of.workload,
            of.seeds.len(),
            count(first.requests as f64)
        );
        lead.compared = format!("{} {compared}", lead.compared).trim().to_owned();
        let shown = |name: &str| Some(of.metrics.get(name)?.show(dimension(name)));
        for kind in DRAWN {
            if let Some(mean) = shown(&format!("{kind}.mean")) {
                lead.came_out.push(sentence(&format!("{stage}{} took {mean} on average", several(kind))));
            }
        }
        if let Some(rate) = shown("requests-per-s") {
            lead.came_out.push(format!("{stage}The drive completed {rate}."));
        }
        let said =
            cautions::sentences(&of.cautions(), |caution| format!("in {}", cautions::share(caution, of.runs.len())));
        lead.caution.extend(said.into_iter().map(|text| format!("{stage}{text}")));
        lead.caution.extend(unsupported(first).map(|text| format!("{stage}{text}")));
    }
    lead
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled};

    #[test]
    fn the_page_of_several_seeds_shows_their_spread() {
        let stages = reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let mut runs = vec![vec![summary.clone()], vec![summary.clone()], vec![summary.clone()]];
            for (seed, run) in (4..).zip(&mut runs) {
                run[0].seed = seed;
                run[0].requests_per_s = Some(1_000.0 + seed as f64);
                run[0].validity.warnings = vec![format!("no steady state: {seed} of it")];
            }
            RepeatedRuns::stages(runs)
        });
        let page = seeds_page(&Program::default(), &stages);
        assert_eq!(page.title, "a <drive> under a mix, 3 seeds");
        assert!(page.lead.came_out.iter().any(|text| text.contains("1005.0 \u{b1} 2.5/s")), "{:?}", page.lead);
        assert!(page.lead.caution[0].starts_with("In 3 of 3 runs: no steady state"), "{:?}", page.lead);
        let headings: Vec<&str> = page.sections[0].figures.iter().map(|of| of.heading.as_str()).collect();
        // The runs are equal except for the change of the test.
        assert_eq!(headings, ["Latency by percentile", "Share of requests by latency", "Rate of each seed"]);
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let html = page.html();
        let of: Vec<&str> = html.split("data-of=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(of.contains(&"/metrics/requests-per-s/mean"), "{of:?}");
        for at in of {
            assert!(json.pointer(at).is_some_and(serde_json::Value::is_number), "{at}");
        }
    }
}
