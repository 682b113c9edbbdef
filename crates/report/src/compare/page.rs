//! The HTML page of `flashloom compare`.

use flash::backend::Cause;

use study::compare::{AXIS, COST, Column, Comparison, FLASH, LATENCIES, Row};
use study::curves::CurveSpread;
use study::execute::Program;
use study::metric::Dimension;
use study::summary::{Curve, Summary};

use super::{explained, flows, lead};
use crate::cumulated::cumulated;
use crate::figure::{Axis, BarPart, Chart, Figure, Line, Number, Scale, Stack, StepPosition, interval};
use crate::page::{self, Block, Cell, Page, Section, Table};
use crate::sides::{Side, sides};

/// The page of a comparison: its tables, latencies by percentile, and the busy time of the flash by cause.
#[must_use]
pub fn page(program: &Program, comparison: &Comparison) -> Page {
    let rows = &comparison.rows;
    let note = if comparison.seeds() > 1 { format!("{LATENCY} {BAND}") } else { LATENCY.to_owned() };
    let by_percentile = |heading: &str, kind| {
        Some(latency(comparison, kind)).filter(has_lines).map(|chart| Figure::new(heading, &*note, chart))
    };
    let first = [by_percentile("Reads", "read"), by_percentile("Writes", "write")];
    let figures = [
        cumulated("Share of reads by latency", &latency(comparison, "read")),
        cumulated("Share of writes by latency", &latency(comparison, "write")),
        Some(Figure::new("Flash data by cause", "Mapping units programmed, by cause.", programmed(comparison))),
        Some(Figure::new("Array time by cause", "Busy time of the dies.", worked(comparison))),
    ];
    let seen = explained::seen(rows);
    let sides = sides(&seen);
    let tables = [("Latency and throughput", &LATENCIES[..]), ("Flash, energy and RAM", &FLASH[..])];
    let tables = tables.into_iter().map(|(heading, columns)| table(comparison, heading, columns));
    Page {
        title: format!("{} drives under {}", rows.len(), comparison.workload),
        about: format!("flashloom {} ({})", program.version, program.commit),
        lead: lead::lead(comparison),
        sections: vec![Section {
            heading: "Results".into(),
            note: format!("{} {COST}.", comparison.explain_marks()),
            above: tables.chain(flows::tables(comparison)).map(Block::Table).collect(),
            figures: first
                .into_iter()
                .flatten()
                .chain(sides.iter().flat_map(Side::figures))
                .chain(figures.into_iter().flatten())
                .collect(),
            below: sides.iter().map(|side| Block::Table(side.table(AXIS))).collect(),
        }],
        result: comparison.json(),
    }
}

const LATENCY: &str = "By percentile: the slowest request in ten, in a hundred, in a thousand.";

/// The meaning of the band around a curve.
pub(crate) const BAND: &str = "A line is the mean over the seeds, its band the 95 % interval of the mean.";

const fn has_lines(chart: &Chart) -> bool {
    matches!(chart, Chart::Lines { lines, .. } if !lines.is_empty())
}

fn table(comparison: &Comparison, heading: &str, columns: &'static [Column]) -> Table {
    let columns: Vec<&Column> = columns.iter().filter(|column| column.is_shown(&comparison.rows)).collect();
    let row = |(i, row): (usize, &Row)| {
        let cell = |column: &&Column| {
            let class = if row.best.contains(&column.key) { "best" } else { "" };
            column.text(row).map_or_else(
                || "-".into(),
                |text| Cell { class, ..Cell::of(text, format!("/rows/{i}/values/{}", column.key)) },
            )
        };
        let cells = [Cell::from(row.device.as_str())].into_iter().chain(columns.iter().map(cell)).collect();
        page::Row { cells, notes: Vec::new() }
    };
    Table {
        heading: heading.into(),
        header: [AXIS].into_iter().chain(columns.iter().map(|column| column.heading)).map(Into::into).collect(),
        texts: 1,
        rows: comparison.rows.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// The distribution of the latencies of all runs, with as many points as their histograms have. With several seeds: the
/// mean at each percentile, with its 95 % interval.
fn latency(comparison: &Comparison, kind: &str) -> Chart {
    let line = |(colour, row): (usize, &Row)| {
        if let Some(curve) = row.latency_curves.get(kind) {
            return Some(spread(row.device.as_str(), colour, curve));
        }
        let curves = row.runs.iter().filter_map(|run| Some(&run.kinds.get(kind)?.latency_curve));
        let curve = Curve::together(curves);
        // The curve begins at zero, with the latency of the fastest requests.
        let first = curve.points().next().map(|[_, us]| [0.0, us]);
        let points: Vec<_> = first.into_iter().chain(curve.points()).map(|point| point.map(Number)).collect();
        let step = Some(StepPosition::Start);
        (!points.is_empty()).then(|| Line { step, ..Line::new(row.device.as_str(), colour, points) })
    };
    Chart::Lines {
        x: Axis::new("share of requests that are at least as fast", Dimension::Share, Scale::Nines),
        y: Axis::new("latency", Dimension::Time, Scale::Log),
        lines: comparison.rows.iter().enumerate().filter_map(line).collect(),
    }
}

/// The curve of a drive over the seeds with its band.
pub(crate) fn spread(name: &str, colour: usize, curve: &CurveSpread) -> Line {
    let points = curve.share.iter().zip(&curve.mean_us).zip(&curve.half_width_us);
    let range = |((share, mean), half): ((&f64, &f64), &f64)| {
        let [low, high] = interval(*mean, *half, false);
        [Number(*share), low, high]
    };
    let is_wide = curve.half_width_us.iter().any(|half| *half > 0.0);
    Line {
        step: Some(StepPosition::Start),
        spread: if is_wide { points.map(range).collect() } else { Vec::new() },
        ..Line::new(name, colour, curve.points().map(|(share, mean, _)| [share, mean].map(Number)).collect())
    }
}

fn programmed(comparison: &Comparison) -> Chart {
    let of = |run: &Summary, cause: Cause| {
        let rows = run.flash.iter().filter(|row| row.cause == cause.name() && row.op != "read" && row.op != "erase");
        rows.map(|row| row.slots as f64).sum()
    };
    stacks(comparison, Axis::new("mapping units", Dimension::Count, Scale::Linear), of)
}

fn worked(comparison: &Comparison) -> Chart {
    let of = |run: &Summary, cause: Cause| {
        run.flash.iter().filter(|row| row.cause == cause.name()).map(|row| row.array_s * 1e6).sum()
    };
    stacks(comparison, Axis::new("array time", Dimension::Time, Scale::Linear), of)
}

/// A bar for each drive, divided by cause.
fn stacks(comparison: &Comparison, x: Axis, of: impl Fn(&Summary, Cause) -> f64) -> Chart {
    let stack = |row: &Row| {
        let mean = |cause: Cause| row.runs.iter().map(|run| of(run, cause)).sum::<f64>() / row.runs.len() as f64;
        let part =
            |cause: Cause| BarPart { name: cause.name().into(), colour: cause as usize, value: Number(mean(cause)) };
        let parts = Cause::ALL.into_iter().map(part).filter(|part| part.value.0 > 0.0).collect();
        Stack { name: row.device.clone(), parts, label: None }
    };
    Chart::Stacks { x, rows: comparison.rows.iter().map(stack).collect() }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use study::compare::plan;
    use study::plan::RunSpec;

    use super::*;
    use crate::compare;

    fn compared(devices: &[&str], run: RunSpec) -> Comparison {
        let devices: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
        let run = RunSpec { limit: Some(300), ..run };
        let plan = plan(Path::new("oltp"), &devices, &[1, 2], &run).unwrap_or_else(|faults| panic!("{faults}"));
        Comparison::new(&study::execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs"))
    }

    #[test]
    fn the_best_value_of_every_column_is_marked() {
        let comparison = compared(&["compare-dirik", "compare-fmmu", "mix-buffered-page"], RunSpec::default());
        let text = compare::table(&comparison);
        assert!(text.contains("3 drives under oltp, 300 requests each"), "{text}");
        let best: usize = comparison.rows.iter().map(|row| row.best.len()).sum();
        assert!(best > 0, "{best} marks");
        assert!(text.contains('\u{b1}') && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // The line that explains the stars has one more.
        assert_eq!(text.matches('*').count(), best + 1, "{text}");
        assert!(!text.contains("-0") && !text.contains("die-wait"), "nothing was explained: {text}");
        assert_eq!(page(&Program::default(), &comparison).html().matches("class=\"best\"").count(), best);
    }

    #[test]
    fn a_curve_has_as_many_points_as_the_runs_have() {
        let comparison = compared(&["compare-dirik"], RunSpec::default());
        let Chart::Lines { lines, .. } = latency(&comparison, "read") else { panic!("lines") };
        let [line] = &lines[..] else { panic!("one drive") };
        // The curve has all requests: it begins with the fastest, at zero.
        assert_eq!(line.points[0][0], Number(0.0));
        assert!(line.points.len() > 20, "{} points", line.points.len());
        assert!(line.points.is_sorted_by(|a, b| a[0].0 <= b[0].0 && a[1].0 <= b[1].0), "it rises");
    }

    #[test]
    fn a_curve_over_several_seeds_has_a_band() {
        let comparison = compared(&["compare-dirik", "compare-fmmu"], RunSpec::default());
        let Chart::Lines { lines, .. } = latency(&comparison, "read") else { panic!("lines") };
        for (line, row) in lines.iter().zip(&comparison.rows) {
            assert_eq!(line.spread.len(), line.points.len(), "{}", line.name);
            for (point, range) in line.points.iter().zip(&line.spread) {
                assert!(point[0] == range[0] && range[1].0 >= 0.0, "{point:?} {range:?}");
                assert!(range[1].0 <= point[1].0 && point[1].0 <= range[2].0, "{point:?} {range:?}");
            }
            // The curve passes through the mean of the runs.
            for [share, us] in &line.points {
                let at = |run: &Summary| run.kinds["read"].latency_curve.at(share.0).expect("reads");
                let mean = row.runs.iter().map(at).sum::<f64>() / row.runs.len() as f64;
                assert!((us.0 / mean - 1.0).abs() < 1e-9, "{share:?}: {us:?}, not {mean}");
            }
        }
        let page = page(&Program::default(), &comparison);
        assert!(page.sections[0].figures[0].note.ends_with(BAND));
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let points = json["rows"][1]["latency_curves"]["write"]["mean_us"].as_array().expect("numbers");
        assert!(points.len() > 20, "{} points", points.len());
    }

    #[test]
    fn the_page_explains_the_latency_of_every_drive() {
        let run = RunSpec { explain: true, verify: true, ..RunSpec::default() };
        let comparison = compared(&["compare-dirik", "compare-chang"], run);
        let text = compare::table(&comparison);
        for wanted in ["read beyond p99", "transfer", "verified: ", "Cost is that of the flash alone"] {
            assert!(text.contains(wanted), "{text}");
        }
        let page = page(&Program::default(), &comparison);
        let bars = page.sections[0].figures.iter().filter(|of| of.heading.starts_with("Where the time went"));
        let waits = page.sections[0].figures.iter().filter(|of| of.heading.starts_with("What was waited for"));
        assert!(waits.count() >= 3, "requests wait on both drives");
        assert_eq!(bars.count(), 5, "all, the slowest, and flushes, which wait for their turn on Chang's");
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let html = page.html();
        for at in html.split("data-of=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(json.pointer(at).is_some_and(serde_json::Value::is_number), "{at}");
        }
    }
}
