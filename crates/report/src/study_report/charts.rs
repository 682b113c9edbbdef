//! The charts of a study's numbers, as a figure describes them or one for each metric; and the parts of the time of
//! requests.

use std::collections::BTreeMap;

use study::compare::explained;
use study::execute::StudyOutcome;
use study::metric::{Dimension, Metric};
use study::plan::{Assignment, FigureScale, FigureSpec, Label, Relation, ScoreSpec, StatedSpec};
use study::spread::Interval;
use study::watch::explain::KindBands;

use crate::figure::{Axis, COLOURS, Chart, Course, Figure, Mark, Names, Number, Scale, interval};
use crate::sides::{NamedResult, Side, sides};

/// The most bars of a figure of the parts of the latency.
const MOST_BARS: usize = 24;

/// The ratio of the greatest number to the least from which on an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The content of a chart of a study.
pub(super) struct View<'a> {
    pub(super) outcome: &'a StudyOutcome,
    pub(super) metric: &'a Metric,
    pub(super) unit: Dimension,
    /// The horizontal axis. Without an axis, the device is the only position.
    pub(super) x: Option<usize>,
    pub(super) by: Option<usize>,
    /// The figure of the study that describes the chart, if any.
    pub(super) figure: Option<&'a FigureSpec>,
}

/// A chart of a view, for one combination of the points on the axes that it does not draw.
pub(super) struct Panel {
    /// The names of these points.
    pub(super) name: String,
    pub(super) chart: Chart,
}

/// The horizontal axis, and the axis whose points are lines of different colours: the two with the most points.
fn roles(outcome: &StudyOutcome) -> Option<(usize, Option<usize>)> {
    let axes = &outcome.plan.axes;
    let mut by_length: Vec<usize> = (0..axes.len()).filter(|axis| axes[*axis].1.len() > 1).collect();
    by_length.sort_by_key(|axis| std::cmp::Reverse(axes[*axis].1.len()));
    let x = *by_length.first()?;
    Some((x, by_length[1..].iter().copied().find(|axis| axes[*axis].1.len() <= COLOURS)))
}

/// One chart for each metric and each combination of points on the axes that are neither horizontal nor colours.
pub(super) fn by_metric(outcome: &StudyOutcome) -> Vec<Figure> {
    let Some((x, by)) = roles(outcome) else { return Vec::new() };
    let of_metric = |metric| {
        let view = View { outcome, metric, unit: Metric::dimension(metric), x: Some(x), by, figure: None };
        view.panels().into_iter().map(|panel| Figure::new(metric.title(), panel.name, panel.chart))
    };
    outcome.plan.spec.metrics.iter().flat_map(of_metric).collect()
}

impl View<'_> {
    fn relation(&self) -> Option<Relation<'_>> {
        self.figure.and_then(FigureSpec::relation)
    }

    fn score(&self) -> Option<&ScoreSpec> {
        self.figure.and_then(|figure| figure.score.as_ref())
    }

    /// The points from which the number at a point is computed: only itself, or all points of a score.
    fn members(&self, point: usize) -> Vec<usize> {
        let Some(over) = self.score().and_then(|score| self.axis(&score.over)) else { return vec![point] };
        let here = self.outcome.labels(point);
        let beside = |other: &usize| {
            let there = self.outcome.labels(*other);
            is_shown(self.outcome, self.figure, *other)
                && (0..here.len()).all(|axis| axis == over || here[axis] == there[axis])
        };
        (0..self.outcome.plan.points.len()).filter(beside).collect()
    }

    /// The number at a point: the mean over the seeds, or the score of the means.
    fn number(&self, point: usize) -> Option<f64> {
        let Some(score) = self.score() else { return self.outcome.value(point, self.metric) };
        let numbers: Option<Vec<f64>> =
            self.members(point).into_iter().map(|member| self.outcome.value(member, self.metric)).collect();
        score.of(&numbers?, self.metric)
    }

    /// The number at a point with each seed.
    fn numbers(&self, point: usize) -> Option<Vec<f64>> {
        let all: Option<Vec<Vec<f64>>> = self
            .members(point)
            .into_iter()
            .map(|member| Some(self.outcome.spread(member, self.metric)?.values))
            .collect();
        let all = all?;
        let Some(score) = self.score() else { return all.into_iter().next() };
        let with = |seed: usize| all.iter().map(|values| values[seed]).collect::<Vec<_>>();
        (0..all.first()?.len()).map(|seed| score.of(&with(seed), self.metric)).collect()
    }

    /// The drawn value at a point: its number, or its relation to the number of another point.
    fn value(&self, point: usize) -> Option<f64> {
        let here = self.number(point)?;
        match self.relation() {
            None => Some(here),
            Some(relation) => relation.of(here, self.number(self.other(point, relation)?)?),
        }
    }

    /// The 95 % interval of the value over the seeds; `None` with one seed, or if all seeds gave one value.
    fn interval(&self, point: usize) -> Option<[Number; 2]> {
        let here = self.numbers(point)?;
        let values: Option<Vec<f64>> = match self.relation() {
            None => Some(here),
            // Both points have runs with the same seeds, so each seed gives a quotient.
            Some(relation) => {
                let there = self.numbers(self.other(point, relation)?)?;
                here.iter().zip(&there).map(|(here, there)| relation.of(*here, *there)).collect()
            }
        };
        let values = values?;
        let half = Interval::of(&values)?.half_width;
        let value = self.value(point).filter(|_| half > 0.0)?;
        // The lower end may be below zero only for a difference, or if a value is below zero.
        let is_difference = matches!(self.relation(), Some(Relation::LessThan(_)));
        Some(interval(value, half, is_difference || value < 0.0 || values.iter().any(|value| *value < 0.0)))
    }

    fn other(&self, point: usize, relation: Relation<'_>) -> Option<usize> {
        let axes = self.outcome.plan.axes.iter().map(|(name, _)| name.as_str());
        let labels = relation.other(axes, self.outcome.labels(point));
        (0..self.outcome.plan.points.len()).find(|other| self.outcome.labels(*other) == labels)
    }

    fn axis(&self, name: &str) -> Option<usize> {
        self.outcome.plan.axes.iter().position(|(other, _)| other == name)
    }

    fn place(&self, axis: usize, label: &Label) -> Option<usize> {
        self.outcome.plan.axes[axis].1.iter().position(|other| other == label)
    }

    /// The panels in the order of their points. All have the same vertical axis.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let axes = &self.outcome.plan.axes;
        let points = shown(self.outcome, self.figure);
        let labels = |axis: usize| labels(self.outcome, &points, axis);
        let over = self.score().and_then(|score| self.axis(&score.over));
        let (names, drawn) = (self.x.map(labels), [self.x, self.by, over]);
        let places = names.as_ref().map_or(1, Vec::len);
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
                values: vec![Number(f64::NAN); places],
                spread: vec![None; places],
            });
            let found = |names: &Vec<&Label>| names.iter().position(|name| self.x.is_some_and(|x| **name == at[x]));
            if let Some(x) = names.as_ref().map_or(Some(0), found) {
                course.values[x] = self.value(point).into();
                course.spread[x] = self.interval(point);
            }
        }
        // Runs with one seed have no spread.
        for course in panels.iter_mut().flat_map(|(_, courses)| courses.values_mut()) {
            if course.spread.iter().all(Option::is_none) {
                course.spread.clear();
            }
        }
        // Values that only the source has come after the points of the study.
        let extra: Vec<&str> = self.stated().filter_map(|stated| stated.name.as_deref()).collect();
        for course in panels.iter_mut().flat_map(|(_, courses)| courses.values_mut()) {
            course.values.resize(places + extra.len(), Number(f64::NAN));
            course.spread.resize(if course.spread.is_empty() { 0 } else { course.values.len() }, None);
        }
        let known = |course: &Course| course.values.iter().filter(|value| value.0.is_finite()).count();
        let marked = |(fixed, courses): (Vec<&Label>, BTreeMap<usize, Course>)| {
            let marks = self.marks(names.as_deref(), &others, &fixed);
            let said: Vec<String> =
                others.iter().zip(&fixed).map(|(axis, label)| format!("{} {label}", axes[*axis].0)).collect();
            (said.join(", "), courses.into_values().collect::<Vec<_>>(), marks)
        };
        // A panel with fewer than two numbers compares nothing.
        let compares = |(_, courses, marks): &(String, Vec<Course>, Vec<Mark>)| {
            let measured = courses.iter().map(known).sum::<usize>();
            measured > 0 && measured + marks.len() > 1
        };
        let panels: Vec<_> = panels.into_iter().map(marked).filter(compares).collect();
        let measured = || panels.iter().flat_map(|(_, courses, _)| courses).flat_map(|course| &course.values);
        let stated = || panels.iter().flat_map(|(_, _, marks)| marks).flat_map(|mark| [&mark.low, &mark.high]);
        let spread = panels
            .iter()
            .flat_map(|(_, courses, _)| courses)
            .flat_map(|course| course.spread.iter().flatten().flatten());
        let scale = scale(self.figure, measured().chain(stated()).map(|value| value.0));
        let all = measured().chain(stated()).chain(spread).map(|value| value.0).filter(|value| value.is_finite());
        let (least, most) = all.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        let cover = (panels.len() > 1).then_some([Number(least), Number(most)]);
        let measured = names.map_or_else(
            || vec![self.outcome.plan.spec.device.display().to_string()],
            |names| names.into_iter().map(ToString::to_string).collect(),
        );
        let names: Vec<String> = measured.into_iter().chain(extra.into_iter().map(ToOwned::to_owned)).collect();
        let x = self.x.map_or("device", |x| axes[x].0.as_str());
        let panel = |(name, lines, marks)| {
            let y = Axis { cover, ..Axis::new(self.label(), self.unit, scale) };
            Panel { name, chart: Chart::Courses { x: Names::of_labels(x, names.clone()), y, lines, marks } }
        };
        panels.into_iter().map(panel).collect()
    }

    /// The stated values of the metric.
    fn stated(&self) -> impl Iterator<Item = &StatedSpec> {
        let all = self.figure.map_or(&[][..], |figure| &figure.stated);
        all.iter().filter(|stated| stated.metric.as_ref().is_none_or(|of| of == self.metric))
    }

    /// The stated values in the panel at these labels on the axes that are not drawn.
    fn marks(&self, names: Option<&[&Label]>, others: &[usize], fixed: &[&Label]) -> Vec<Mark> {
        let mut extra = names.map_or(1, <[_]>::len);
        let mark = |stated: &StatedSpec| {
            let label = |axis: usize| stated.at.get(&self.outcome.plan.axes[axis].0)?.labels().first();
            let place = match &stated.name {
                None => match names {
                    None => Some(0),
                    Some(names) => {
                        let here = self.x.and_then(label);
                        names.iter().position(|name| Some(*name) == here)
                    }
                },
                Some(_) => {
                    extra += 1;
                    Some(extra - 1)
                }
            };
            // A value that names no point on an axis holds for all points.
            let elsewhere =
                others.iter().zip(fixed).any(|(axis, here)| label(*axis).is_some_and(|label| label != *here));
            if elsewhere {
                return None;
            }
            let (low, high) = stated.bounds(self.figure?, self.metric)?;
            let at = place?;
            let line = self.by.and_then(|axis| Some((label(axis)?, self.place(axis, label(axis)?)?)));
            let show = |value| self.unit.show(value);
            let value = if low < high { format!("{} to {}", show(low), show(high)) } else { show(low) };
            let from = stated.division().map_or_else(String::new, |division| format!(", {division}"));
            let of = line.map_or_else(String::new, |(label, _)| format!(" for {label}"));
            Some(Mark {
                name: "stated by the source".into(),
                at,
                colour: line.map_or(0, |(_, number)| number),
                low: Number(low),
                high: Number(high),
                says: format!("{value}{from}{of} ({})", stated.source),
            })
        };
        self.stated().filter_map(mark).collect()
    }

    /// The name of the vertical axis: the metric's key, and its relation to another point.
    fn label(&self) -> String {
        let number = match self.score() {
            None => self.metric.to_string(),
            Some(score) => format!("{} x geometric mean of {} over {}", score.times, self.metric, score.over),
        };
        let labels = |assignment: &Assignment| {
            let one = |(axis, labels): (&String, &study::plan::OneOrMany)| {
                let labels: Vec<&str> = labels.labels().iter().map(Label::as_str).collect();
                format!("{axis} {}", labels.join(", "))
            };
            assignment.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        match self.relation() {
            None => number,
            Some(Relation::Per(per)) => format!("{number} / that of {}", labels(per)),
            Some(Relation::PerExchanged([a, b])) => format!("{number}, {a} by {b}"),
            Some(Relation::GainOver(over)) => format!("gain over {}: {number}", labels(over)),
            Some(Relation::LessThan(than)) => format!("less than with {}: {number}", labels(than)),
        }
    }
}

/// The scale that the figure asks for, or one that suits these numbers. Intervals do not count: an interval down to
/// zero does not make an axis linear.
pub(super) fn scale(figure: Option<&FigureSpec>, numbers: impl Iterator<Item = f64>) -> Scale {
    let known = numbers.filter(|number| number.is_finite());
    let (least, most) = known.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
    match figure.and_then(|figure| figure.scale) {
        Some(FigureScale::Log) => Scale::Log,
        Some(FigureScale::Linear) => Scale::Linear,
        None if least > 0.0 && most > WIDE * least => Scale::Log,
        None => Scale::Linear,
    }
}

/// True if the figure shows the point.
fn is_shown(outcome: &StudyOutcome, figure: Option<&FigureSpec>, point: usize) -> bool {
    let pairs = || outcome.axes().zip(outcome.labels(point));
    figure.is_none_or(|figure| {
        figure.filter.iter().all(|(axis, wanted)| {
            pairs().find(|(name, _)| name == axis).is_some_and(|(_, label)| wanted.labels().contains(label))
        })
    })
}

/// The points that the figure shows, or all.
pub(super) fn shown(outcome: &StudyOutcome, figure: Option<&FigureSpec>) -> Vec<usize> {
    (0..outcome.plan.points.len()).filter(|point| is_shown(outcome, figure, *point)).collect()
}

/// The labels of these points on an axis, in its order.
pub(super) fn labels<'a>(outcome: &'a StudyOutcome, points: &[usize], axis: usize) -> Vec<&'a Label> {
    let there = |label: &&Label| points.iter().any(|point| outcome.labels(*point)[axis] == **label);
    outcome.plan.axes[axis].1.iter().filter(there).collect()
}

/// The figures of the parts of the latency at each point, if the runs attributed them.
pub(super) fn times(outcome: &StudyOutcome) -> Vec<Figure> {
    let axes = &outcome.plan.axes;
    let several: Vec<usize> = (0..axes.len()).filter(|axis| axes[*axis].1.len() > 1).collect();
    let all: Vec<(String, Vec<KindBands>)> = (0..outcome.plan.points.len())
        .map(|point| {
            let labels = outcome.labels(point);
            let name: Vec<String> = several.iter().map(|axis| format!("{} {}", axes[*axis].0, labels[*axis])).collect();
            let name = if name.is_empty() { outcome.plan.spec.name.clone() } else { name.join(", ") };
            (name, explained(&outcome.runs[point]))
        })
        .filter(|(_, explained)| !explained.is_empty())
        .collect();
    let seen = |(name, explained)| NamedResult { name, explained, at: String::new() };
    let all = all.iter().map(|(name, explained)| seen((name.as_str(), explained.as_slice())));
    let all: Vec<NamedResult<'_>> = all.collect();
    all.chunks(MOST_BARS).flat_map(|part| sides(part).iter().flat_map(Side::figures).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use testkit::small::STUDY;

    use super::*;
    use crate::testing::studied;

    #[test]
    fn no_latency_is_drawn_below_zero() {
        let mut outcome = studied(STUDY);
        // Two seeds with very different values: half the width of the interval exceeds the mean.
        let reads = outcome.runs[1][0].kinds.get_mut("read").expect("reads");
        *reads.latency_us.get_mut("mean").expect("a mean") *= 9.0;
        let metric: Metric = "read.mean".parse().expect("a metric");
        let spread = outcome.spread(1, &metric).expect("two seeds");
        assert!(spread.half_width > Some(spread.mean), "{spread:?}");
        let view =
            View { outcome: &outcome, metric: &metric, unit: Dimension::Time, x: Some(0), by: None, figure: None };
        let Chart::Courses { lines, .. } = &view.panels()[0].chart else { panic!("quantities") };
        let [low, high] = lines[0].spread[1].expect("a spread");
        assert!(low.0 == 0.0 && high.0 > spread.mean, "{low:?} to {high:?}");
    }
}
