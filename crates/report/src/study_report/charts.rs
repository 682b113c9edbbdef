//! The charts of a study: those that it describes as figures, or one for each metric; and where the time went.

use std::collections::BTreeMap;

use study::compare::explained;
use study::execute::Outcome;
use study::metric::{Dimension, Metric};
use study::plan::{Assignment, FigureScale, FigureSpec, Label, StatedSpec};
use study::spread::Interval;
use study::watch::explain::Explained;

use crate::figure::{Axis, COLOURS, Chart, Course, Figure, Mark, Names, Number, Scale};
use crate::sides::{Seen, Side, sides};

/// The most bars of a figure about the parts of the latency.
const MOST_BARS: usize = 24;

/// From this ratio of the greatest number to the least, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// What a chart draws of a study.
struct View<'a> {
    outcome: &'a Outcome,
    metric: &'a Metric,
    unit: Dimension,
    /// The axis that is horizontal, and the one whose points have colours.
    x: usize,
    by: Option<usize>,
    filter: Option<&'a Assignment>,
    per: Option<&'a Assignment>,
    gain_over: Option<&'a Assignment>,
    scale: Option<Scale>,
    stated: Vec<&'a StatedSpec>,
}

/// A chart of a view, for one combination of the points on the axes that it does not draw.
struct Panel {
    /// These points, in words.
    name: String,
    chart: Chart,
}

/// The figures that the study describes, each with its number.
pub(super) fn described(outcome: &Outcome) -> Vec<(&str, Figure)> {
    outcome.plan.spec.figures.iter().flat_map(|spec| figure(outcome, spec)).collect()
}

fn figure<'a>(outcome: &'a Outcome, spec: &'a FigureSpec) -> Vec<(&'a str, Figure)> {
    let axis = |name: &str| outcome.plan.axes.iter().position(|(other, _)| other == name);
    let Some(x) = axis(&spec.along) else { return Vec::new() };
    let of_metric = |metric: &'a Metric| {
        let of = |stated: &&StatedSpec| stated.metric.as_ref().is_none_or(|of| of == metric);
        let view = View {
            outcome,
            metric,
            unit: spec.unit(metric),
            x,
            by: spec.by.as_deref().and_then(axis),
            filter: Some(&spec.filter),
            per: spec.per.as_ref(),
            gain_over: spec.gain_over.as_ref(),
            scale: spec.scale.map(|scale| match scale {
                FigureScale::Linear => Scale::Linear,
                FigureScale::Log => Scale::Log,
            }),
            stated: spec.stated.iter().filter(of).collect(),
        };
        let panels = view.panels();
        panels.into_iter().map(move |panel| (metric, panel))
    };
    let all: Vec<(&Metric, Panel)> = spec.metrics.iter().flat_map(of_metric).collect();
    let several = spec.metrics.len() > 1;
    let titled = all.into_iter().map(|(metric, panel)| {
        let heading =
            if spec.number.is_empty() { spec.title.clone() } else { format!("{}: {}", spec.number, spec.title) };
        let own = if several { metric.title() } else { String::new() };
        let parts = [own, panel.name, spec.note.clone()];
        let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        (spec.number.as_str(), Figure::new(heading, said.join(". "), panel.chart))
    });
    titled.collect()
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
pub(super) fn by_metric(outcome: &Outcome) -> Vec<Figure> {
    let Some((x, by)) = roles(outcome) else { return Vec::new() };
    let of_metric = |metric| {
        let unit = Metric::dimension(metric);
        let view = View {
            outcome,
            metric,
            unit,
            x,
            by,
            filter: None,
            per: None,
            gain_over: None,
            scale: None,
            stated: Vec::new(),
        };
        view.panels().into_iter().map(|panel| Figure::new(metric.title(), panel.name, panel.chart))
    };
    outcome.plan.spec.metrics.iter().flat_map(of_metric).collect()
}

impl View<'_> {
    /// The value at a point: the mean over the seeds, or the quotient of two means.
    fn value(&self, point: usize) -> Option<f64> {
        let value = self.outcome.value(point, self.metric)?;
        let Some(beside) = self.per.or(self.gain_over) else { return Some(value) };
        let (here, there) = self.outcome.values(self.metric).beside(self.outcome.labels(point), beside)?;
        self.quotient(here, there)
    }

    fn quotient(&self, here: f64, there: f64) -> Option<f64> {
        let (top, bottom) = if self.per.is_some() { (here, there) } else { (there, here) };
        (bottom != 0.0).then(|| top / bottom)
    }

    /// The 95 % interval of the value over the seeds; `None` with one of them, or if they all gave the same.
    fn interval(&self, point: usize) -> Option<[Number; 2]> {
        let here = self.outcome.spread(point, self.metric)?.values;
        let values: Option<Vec<f64>> = match self.per.or(self.gain_over) {
            None => Some(here),
            // The seeds are the same at both points, so each has a quotient of its own.
            Some(beside) => {
                let there = self.outcome.spread(self.moved(point, beside)?, self.metric)?.values;
                here.iter().zip(&there).map(|(here, there)| self.quotient(*here, *there)).collect()
            }
        };
        let half = Interval::of(&values?)?.half_width;
        let value = self.value(point).filter(|_| half > 0.0)?;
        Some([value - half, value + half].map(Number))
    }

    /// The point with these labels instead of its own.
    fn moved(&self, point: usize, to: &Assignment) -> Option<usize> {
        let mut labels = self.outcome.labels(point).to_vec();
        for (label, axis) in labels.iter_mut().zip(self.outcome.axes()) {
            if let Some(moved) = to.get(axis).and_then(|labels| labels.labels().first()) {
                label.clone_from(moved);
            }
        }
        (0..self.outcome.plan.points.len()).find(|other| self.outcome.labels(*other) == labels)
    }

    fn place(&self, axis: usize, label: &Label) -> Option<usize> {
        self.outcome.plan.axes[axis].1.iter().position(|other| other == label)
    }

    fn is_shown(&self, point: usize) -> bool {
        let pairs = || self.outcome.axes().zip(self.outcome.labels(point));
        self.filter.is_none_or(|filter| {
            filter.iter().all(|(axis, wanted)| {
                pairs().find(|(name, _)| name == axis).is_some_and(|(_, label)| wanted.labels().contains(label))
            })
        })
    }

    /// The panels in the order of their points, with the same vertical axis.
    fn panels(&self) -> Vec<Panel> {
        let axes = &self.outcome.plan.axes;
        let points: Vec<usize> = (0..self.outcome.plan.points.len()).filter(|point| self.is_shown(*point)).collect();
        let labels = |axis: usize| -> Vec<&Label> {
            let there = |label: &&Label| points.iter().any(|point| self.outcome.labels(*point)[axis] == **label);
            axes[axis].1.iter().filter(there).collect()
        };
        let (names, drawn) = (labels(self.x), [Some(self.x), self.by]);
        let others: Vec<usize> =
            (0..axes.len()).filter(|axis| !drawn.contains(&Some(*axis)) && labels(*axis).len() > 1).collect();
        let mut panels: Vec<(Vec<&Label>, BTreeMap<usize, Course>)> = Vec::new();
        for point in points.iter().copied() {
            let at = self.outcome.labels(point);
            let fixed: Vec<&Label> = others.iter().map(|axis| &at[*axis]).collect();
            let found = panels.iter().position(|(other, _)| *other == fixed).unwrap_or_else(|| {
                panels.push((fixed, BTreeMap::new()));
                panels.len() - 1
            });
            let colour = self.by.and_then(|axis| self.place(axis, &at[axis])).unwrap_or(0);
            let course = panels[found].1.entry(colour).or_insert_with(|| Course {
                name: self.by.map_or_else(|| self.metric.to_string(), |axis| format!("{} {}", axes[axis].0, at[axis])),
                colour,
                values: vec![Number(f64::NAN); names.len()],
                spread: vec![None; names.len()],
            });
            if let Some(x) = names.iter().position(|name| **name == at[self.x]) {
                course.values[x] = self.value(point).into();
                course.spread[x] = self.interval(point);
            }
        }
        // A run with one seed has no spread.
        for course in panels.iter_mut().flat_map(|(_, courses)| courses.values_mut()) {
            if course.spread.iter().all(Option::is_none) {
                course.spread.clear();
            }
        }
        // A panel without two numbers compares nothing.
        let known = |course: &Course| course.values.iter().filter(|value| value.0.is_finite()).count();
        panels.retain(|(_, courses)| courses.values().map(known).sum::<usize>() > 1);
        let marked = |(fixed, courses): (Vec<&Label>, BTreeMap<usize, Course>)| {
            let marks = self.marks(&names, &others, &fixed);
            let said: Vec<String> =
                others.iter().zip(&fixed).map(|(axis, label)| format!("{} {label}", axes[*axis].0)).collect();
            (said.join(", "), courses.into_values().collect::<Vec<_>>(), marks)
        };
        let panels: Vec<_> = panels.into_iter().map(marked).collect();
        let measured = panels.iter().flat_map(|(_, courses, _)| courses).flat_map(|course| &course.values);
        let stated = panels.iter().flat_map(|(_, _, marks)| marks).flat_map(|mark| [&mark.low, &mark.high]);
        let spread = panels
            .iter()
            .flat_map(|(_, courses, _)| courses)
            .flat_map(|course| course.spread.iter().flatten().flatten());
        let all = measured.chain(stated).chain(spread).map(|value| value.0).filter(|value| value.is_finite());
        let (least, most) = all.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        let wide = least > 0.0 && most > WIDE * least;
        let scale = self.scale.unwrap_or(if wide { Scale::Log } else { Scale::Linear });
        let cover = (panels.len() > 1).then_some([Number(least), Number(most)]);
        let names: Vec<String> = names.into_iter().map(ToString::to_string).collect();
        let panel = |(name, lines, marks)| {
            let y = Axis { cover, ..Axis::new(self.label(), self.unit, scale) };
            Panel {
                name,
                chart: Chart::Courses { x: Names::new(axes[self.x].0.as_str(), names.clone()), y, lines, marks },
            }
        };
        panels.into_iter().map(panel).collect()
    }

    /// The stated values of the panel at these labels on the axes that are not drawn.
    fn marks(&self, names: &[&Label], others: &[usize], fixed: &[&Label]) -> Vec<Mark> {
        let mark = |stated: &&StatedSpec| {
            let label = |axis: usize| stated.at.get(&self.outcome.plan.axes[axis].0)?.labels().first();
            // A value that names no point on an axis holds for all of them.
            let elsewhere =
                others.iter().zip(fixed).any(|(axis, here)| label(*axis).is_some_and(|label| label != *here));
            if elsewhere {
                return None;
            }
            let (low, high) = stated.bounds(self.unit)?;
            let at = names.iter().position(|name| Some(*name) == label(self.x))?;
            let line = self.by.and_then(|axis| Some((label(axis)?, self.place(axis, label(axis)?)?)));
            let show = |value| self.unit.show(value);
            let value = if low < high { format!("{} to {}", show(low), show(high)) } else { show(low) };
            let of = line.map_or_else(String::new, |(label, _)| format!(" for {label}"));
            Some(Mark {
                name: "stated by the source".into(),
                at,
                colour: line.map_or(0, |(_, number)| number),
                low: Number(low),
                high: Number(high),
                says: format!("{value}{of} ({})", stated.source),
            })
        };
        self.stated.iter().filter_map(mark).collect()
    }

    /// The name of the vertical axis: the metric's key, and what it is divided by.
    fn label(&self) -> String {
        let labels = |assignment: &Assignment| {
            let one = |(axis, labels): (&String, &study::plan::OneOrMany)| {
                let labels: Vec<&str> = labels.labels().iter().map(Label::as_str).collect();
                format!("{axis} {}", labels.join(", "))
            };
            assignment.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        match (self.per, self.gain_over) {
            (Some(per), _) => format!("{} / that of {}", self.metric, labels(per)),
            (None, Some(over)) => format!("gain over {}: {}", labels(over), self.metric),
            (None, None) => self.metric.to_string(),
        }
    }
}

/// The parts of the latency at each point, if the runs attributed them.
pub(super) fn times(outcome: &Outcome) -> Vec<Figure> {
    let axes = &outcome.plan.axes;
    let several: Vec<usize> = (0..axes.len()).filter(|axis| axes[*axis].1.len() > 1).collect();
    let all: Vec<(String, Vec<Explained>)> = (0..outcome.plan.points.len())
        .map(|point| {
            let labels = outcome.labels(point);
            let name: Vec<String> = several.iter().map(|axis| format!("{} {}", axes[*axis].0, labels[*axis])).collect();
            let name = if name.is_empty() { outcome.plan.spec.name.clone() } else { name.join(", ") };
            (name, explained(&outcome.runs[point]))
        })
        .filter(|(_, explained)| !explained.is_empty())
        .collect();
    let seen = |(name, explained)| Seen { name, explained, at: String::new() };
    let all = all.iter().map(|(name, explained)| seen((name.as_str(), explained.as_slice())));
    let all: Vec<Seen<'_>> = all.collect();
    all.chunks(MOST_BARS).flat_map(|part| sides(part).iter().map(Side::figure).collect::<Vec<_>>()).collect()
}
