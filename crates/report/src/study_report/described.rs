//! The figures that a study describes.

use study::execute::StudyOutcome;
use study::metric::{Dimension, Metric};
use study::plan::{FigureSpec, FlashArray};
use study::summary::{EraseRange, Summary};

use super::charts::{View, labels, shown};
use super::metric_plot;
use crate::figure::{Axis, BarPart, Chart, Figure, Line, Number, Scale, Stack};

pub(super) fn described(outcome: &StudyOutcome) -> Vec<(&str, Figure)> {
    outcome.plan.spec.figures.iter().flat_map(|spec| figure(outcome, spec)).collect()
}

fn figure<'a>(outcome: &'a StudyOutcome, spec: &'a FigureSpec) -> impl Iterator<Item = (&'a str, Figure)> {
    let panels = if !spec.parts.is_empty() {
        parts(outcome, spec).into_iter().collect()
    } else if !spec.erases_of.is_empty() {
        spec.erases_of.iter().filter_map(|array| erases(outcome, spec, *array)).collect()
    } else if let Some(x) = &spec.against {
        metric_plot::described(outcome, spec, x)
    } else {
        numbers(outcome, spec)
    };
    panels.into_iter().map(|(said, chart)| {
        let heading =
            if spec.number.is_empty() { spec.title.clone() } else { format!("{}: {}", spec.number, spec.title) };
        let said: Vec<&str> =
            said.iter().chain([&spec.note]).map(String::as_str).filter(|part| !part.is_empty()).collect();
        (spec.number.as_str(), Figure::new(heading, said.join(". "), chart))
    })
}

fn axis(outcome: &StudyOutcome, name: Option<&String>) -> Option<usize> {
    outcome.plan.axes.iter().position(|(other, _)| Some(other) == name)
}

/// A panel for each metric and each point on the axes that the figure does not draw.
fn numbers(outcome: &StudyOutcome, spec: &FigureSpec) -> Vec<(Vec<String>, Chart)> {
    let x = axis(outcome, spec.along.as_ref());
    let by = axis(outcome, spec.by.as_ref());
    let several = spec.metrics.len() > 1;
    let of_metric = |metric: &Metric| {
        let own = if several { metric.title() } else { String::new() };
        let view = View { outcome, metric, unit: spec.unit(metric), x, by, figure: Some(spec) };
        view.panels().into_iter().map(move |panel| (vec![own.clone(), panel.name], panel.chart)).collect::<Vec<_>>()
    };
    spec.metrics.iter().flat_map(of_metric).collect()
}

/// The points that a figure shows in the order of its axes, each with its labels on the axes that distinguish the
/// points.
fn named(outcome: &StudyOutcome, spec: &FigureSpec) -> Vec<(usize, String)> {
    let axes = &outcome.plan.axes;
    let mut points = shown(outcome, Some(spec));
    let first: Vec<usize> = [&spec.along, &spec.by].into_iter().filter_map(|of| axis(outcome, of.as_ref())).collect();
    let rest: Vec<usize> = (0..axes.len()).filter(|axis| !first.contains(axis)).collect();
    let order: Vec<usize> = first.into_iter().chain(rest).collect();
    let place = |point: usize, axis: usize| {
        axes[axis].1.iter().position(|label| *label == outcome.labels(point)[axis]).unwrap_or(usize::MAX)
    };
    points.sort_by_key(|point| order.iter().map(|axis| place(*point, *axis)).collect::<Vec<_>>());
    let apart: Vec<usize> = order.into_iter().filter(|axis| labels(outcome, &points, *axis).len() > 1).collect();
    let name = |point: &usize| {
        let one = |axis: &usize| format!("{} {}", axes[*axis].0, outcome.labels(*point)[*axis]);
        apart.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    points.iter().map(|point| (*point, name(point))).collect()
}

/// A bar for each point, divided into parts.
fn parts(outcome: &StudyOutcome, spec: &FigureSpec) -> Option<(Vec<String>, Chart)> {
    let row = |(point, name): (usize, String)| {
        let part = |(colour, part): (usize, &study::plan::FigurePart)| {
            let value = outcome.value(point, &part.metric).filter(|value| *value > 0.0)?;
            Some(BarPart { name: part.name.clone(), colour, value: Number(value) })
        };
        Stack { name, parts: spec.parts.iter().enumerate().filter_map(part).collect(), label: None }
    };
    let rows: Vec<Stack> = named(outcome, spec).into_iter().map(row).filter(|row| !row.parts.is_empty()).collect();
    let unit = spec.parts.first()?.metric.dimension();
    let x = Axis::new(spec.title.as_str(), unit, Scale::Linear);
    (!rows.is_empty()).then_some((Vec::new(), Chart::Stacks { x, rows }))
}

/// The erase counts of an array by the number of the block, a line for each point.
fn erases(outcome: &StudyOutcome, spec: &FigureSpec, array: FlashArray) -> Option<(Vec<String>, Chart)> {
    let line = |(colour, (point, name)): (usize, (usize, String))| {
        let ranges = ranges(outcome.runs[point].first()?, array)?;
        let mut from = 0.0;
        let mut line = Line::new(name, colour, Vec::new());
        for EraseRange { blocks, min, mean, max } in ranges {
            let middle = from + f64::from(*blocks) / 2.0;
            line.points.push([middle, *mean].map(Number));
            line.spread.push([middle, f64::from(*min), f64::from(*max)].map(Number));
            from += f64::from(*blocks);
        }
        Some(line)
    };
    let lines: Vec<Line> = named(outcome, spec).into_iter().enumerate().filter_map(line).collect();
    let said = match array {
        FlashArray::Slc => "SLC flash",
        FlashArray::Mlc => "MLC flash",
    };
    let how = "Means of ranges of blocks, and a band from the least to the greatest count of each";
    let counts = |point: usize| outcome.runs[point].first().and_then(|run| ranges(run, array));
    let blocks = |(point, _): &(usize, String)| counts(*point).map_or(0, |all| all.iter().map(|of| of.blocks).sum());
    let end = named(outcome, spec).iter().map(blocks).max().map(f64::from).unwrap_or_default();
    let x = Axis { to: Some(Number(end)), ..Axis::new("number of the block", Dimension::Count, Scale::Linear) };
    let y = Axis::new("erases of a block", Dimension::Count, Scale::Linear);
    (!lines.is_empty()).then(|| (vec![said.to_owned(), how.to_owned()], Chart::Lines { x, y, lines }))
}

/// The erase counts of an array by ranges; `None` if the drive has no such array, or an older version wrote the result.
fn ranges(summary: &Summary, array: FlashArray) -> Option<&[EraseRange]> {
    let drive = summary.slc_mlc.as_ref()?;
    let ranges = match array {
        FlashArray::Slc => &drive.slc_erase_ranges,
        FlashArray::Mlc => &drive.mlc_erase_ranges,
    };
    (!ranges.is_empty()).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use testkit::small::STUDY;

    use super::*;
    use crate::testing::studied;

    /// A study with two axes: one has the runs of `STUDY` as its points, the other has depths.
    const DEPTHS: &str = "[[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 2]\n";

    const FIGURES: &str = r#"[[figure]]
number = "Fig. 1"
title = "Pages"
along = "depth"
by = "banks"
where = { banks = [1, 2] }
parts = [{ name = "host", metric = "commands.program.host" }, { name = "copies", metric = "commands.program.wear" }]
[[figure]]
title = "Exchanged"
metrics = ["read.mean"]
along = "banks"
where = { banks = 2, depth = 1 }
per-exchanged = ["banks", "depth"]
paper = [{ at = { banks = 2 }, value = 0.5, source = "Sec. 1" }]
[[figure]]
title = "Saved"
metrics = ["read.mean"]
along = "banks"
where = { depth = 1 }
less-than = { depth = 2 }
[[figure]]
title = "Score"
metrics = ["rate"]
where = { depth = 2 }
score = { over = "banks", unit = "1MB/s", times = 300 }
paper = [{ value = 4, source = "Sec. 1" }, { name = "another", value = 3, source = "Sec. 2" }]
[[figure]]
title = "Wear"
erases-of = ["slc", "mlc"]
by = "banks"
"#;

    #[test]
    fn figures_draw_parts_quotients_differences_and_scores() {
        let outcome = studied(&[STUDY, DEPTHS, FIGURES].concat());
        // A drive with one array has no erase counts of two.
        let [(number, pages), (_, exchanged), (_, saved), (_, score)] = &described(&outcome)[..] else {
            panic!("four figures")
        };
        let value = |banks: &str, depth: &str, metric: &str| {
            let labels = |point: &usize| outcome.labels(*point).iter().map(ToString::to_string).eq([banks, depth]);
            let point = (0..6).find(labels).expect("a point");
            outcome.value(point, &metric.parse().expect("a metric")).expect("a number")
        };
        assert_eq!((*number, pages.heading.as_str()), ("Fig. 1", "Fig. 1: Pages"));
        let Chart::Stacks { rows, .. } = &pages.chart else { panic!("bars") };
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["depth 1, banks 1", "depth 1, banks 2", "depth 2, banks 1", "depth 2, banks 2"]);
        // A part of length zero is left out.
        let [part] = &rows[2].parts[..] else { panic!("one part") };
        assert_eq!((part.name.as_str(), part.value.0), ("host", value("1", "2", "commands.program.host")));

        let Chart::Courses { lines, marks, .. } = &exchanged.chart else { panic!("names") };
        let quotient = value("2", "1", "read.mean") / value("1", "2", "read.mean");
        assert!((lines[0].values[0].0 / quotient - 1.0).abs() < 1e-9 && marks.len() == 1);
        // Each of the two seeds has a quotient of its own.
        assert!(lines[0].spread[0].is_some_and(|[low, high]| low.0 < quotient && quotient < high.0));

        let Chart::Courses { lines, y, .. } = &saved.chart else { panic!("names") };
        let less = value("4", "2", "read.mean") - value("4", "1", "read.mean");
        assert!((lines[0].values[2].0 - less).abs() < 1e-9 && y.unit == Dimension::Time);

        let Chart::Courses { x, lines, marks, y } = &score.chart else { panic!("names") };
        let rates = ["1", "2", "4"].map(|banks| value(banks, "2", "rate") / 1e6);
        let wanted = 300.0 * rates.iter().product::<f64>().cbrt();
        assert!((lines[0].values[0].0 / wanted - 1.0).abs() < 1e-9, "{wanted} {:?}", lines[0].values);
        assert_eq!((x.names.join(", "), y.unit), ("dirik-1x1, another".to_owned(), Dimension::Plain));
        assert!(lines[0].values.len() == 2 && !lines[0].values[1].0.is_finite());
        let said: Vec<_> = marks.iter().map(|mark| (mark.at, mark.says.as_str())).collect();
        assert_eq!(said, [(0, "4.00 (Sec. 1)"), (1, "3.00 (Sec. 2)")]);
    }

    #[test]
    fn a_figure_against_a_metric_goes_through_the_points_of_its_axis() {
        let against = r#"[[figure]]
title = "Hockey stick"
metrics = ["read.mean", "write.mean"]
along = "depth"
against = "rate"
where = { banks = [1, 4] }
"#;
        let outcome = studied(&[STUDY, DEPTHS, against].concat());
        let [(_, one), (_, four)] = &described(&outcome)[..] else { panic!("a panel for each number of banks") };
        assert_eq!((one.note.as_str(), four.note.as_str()), ("banks 1", "banks 4"));
        let Chart::Paths { x, y, lines } = &four.chart else { panic!("paths") };
        assert_eq!((x.unit, y.label.as_str()), (Dimension::Rate, "read.mean, write.mean"));
        let names: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.colour)).collect();
        assert_eq!(names, [("read.mean", 0), ("write.mean", crate::figure::COLOURS)]);
        let number = |point: usize, metric: &str| outcome.value(point, &metric.parse().expect("a metric"));
        for (i, point) in [4, 5].into_iter().enumerate() {
            assert_eq!(outcome.labels(point)[0].as_str(), "4");
            let stop = &lines[1].points[i];
            assert_eq!(stop.name, outcome.labels(point)[1].as_str());
            assert_eq!(stop.at.map(|at| Some(at.0)), [number(point, "rate"), number(point, "write.mean")]);
        }
        let spreads: Vec<_> = lines.iter().flat_map(|line| &line.points).filter_map(|stop| stop.spread).collect();
        assert!(!spreads.is_empty(), "two seeds differ somewhere");
        assert!(spreads.iter().all(|[low, high]| low.0 >= 0.0 && low.0 < high.0), "{spreads:?}");
    }

    #[test]
    fn erase_counts_are_drawn_by_the_number_of_the_block() {
        let mut outcome = studied(&[STUDY, FIGURES.rsplit_once("[[figure]]").expect("several").1].join("[[figure]]"));
        let range = |blocks, min, mean, max| EraseRange { blocks, min, mean, max };
        for runs in &mut outcome.runs {
            let mut slc_mlc = slc_mlc();
            slc_mlc.slc_erase_ranges = vec![range(4, 1, 1.5, 2), range(2, 1, 1.0, 1)];
            slc_mlc.mlc_erase_ranges = vec![range(8, 0, 3.0, 9)];
            runs[0].slc_mlc = Some(slc_mlc);
        }
        let [(_, slc), (_, mlc)] = &described(&outcome)[..] else { panic!("two panels") };
        assert!(slc.note.starts_with("SLC flash.") && mlc.note.starts_with("MLC flash."));
        let Chart::Lines { x, lines, .. } = &slc.chart else { panic!("lines") };
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["banks 1", "banks 2", "banks 4"]);
        assert_eq!(lines[2].points, [[2.0, 1.5], [5.0, 1.0]].map(|point| point.map(Number)));
        assert_eq!(lines[2].spread[0], [2.0, 1.0, 2.0].map(Number));
        assert_eq!(x.to, Some(Number(6.0)));
    }

    /// The numbers of an arbitrary SLC/MLC drive.
    fn slc_mlc() -> study::summary::SlcMlcSummary {
        let result = crate::testing::settled(testkit::small::with_slc());
        crate::testing::reported(&result, &[], |_, summary| summary.slc_mlc.clone()).expect("an SLC/MLC drive")
    }
}
