//! Charts of metrics against another metric: latency against the achieved rate.

use study::execute::StudyOutcome;
use study::metric::Metric;
use study::plan::{FigureSpec, Label};
use study::spread::Spread;

use super::charts::{labels, scale, shown};
use crate::figure::{Axis, COLOURS, Chart, Figure, Number, Path, Scale, Stop, interval};

/// A chart of metrics over another metric.
struct MetricPlot<'a> {
    outcome: &'a StudyOutcome,
    /// The horizontal axis.
    x: &'a Metric,
    /// The vertical axis: metrics of one dimension.
    metrics: &'a [Metric],
    /// The axis whose points a line connects.
    along: usize,
    /// The axis whose points have a line each, in different colours.
    by: Option<usize>,
    figure: Option<&'a FigureSpec>,
}

/// The panels of a figure against a metric, each with the names that distinguish it.
pub(super) fn described(outcome: &StudyOutcome, spec: &FigureSpec, x: &Metric) -> Vec<(Vec<String>, Chart)> {
    let axis = |name: &Option<String>| {
        let name = name.as_ref()?;
        outcome.plan.axes.iter().position(|(other, _)| other == name)
    };
    let Some(along) = axis(&spec.along) else { return Vec::new() };
    let by = axis(&spec.by);
    let of = MetricPlot { outcome, x, metrics: &spec.metrics, along, by, figure: Some(spec) };
    of.panels().into_iter().map(|(name, chart)| (vec![name], chart)).collect()
}

const NOTE: &str =
    "The mean and the 99th percentile against the rate that the drive reached. A line goes through the points of";

/// Figures of latency against the achieved rate, if an axis of the study is a load: for reads and for writes, one for
/// each combination of points on the axes that are not drawn.
pub(super) fn of_load(outcome: &StudyOutcome) -> Vec<Figure> {
    let Some(along) = load(outcome) else { return Vec::new() };
    let axes = &outcome.plan.axes;
    let mut others: Vec<usize> = (0..axes.len()).filter(|axis| *axis != along && axes[*axis].1.len() > 1).collect();
    others.sort_by_key(|axis| std::cmp::Reverse(axes[*axis].1.len()));
    let by = others.into_iter().find(|axis| axes[*axis].1.len() <= COLOURS);
    let metric = |name: String| name.parse::<Metric>().expect("a metric of the catalogue");
    let x = metric("requests-per-s".into());
    let figures = |kind: &str| {
        let metrics = ["mean", "p99"].map(|stat| metric(format!("{kind}.{stat}")));
        let of = MetricPlot { outcome, x: &x, metrics: &metrics, along, by, figure: None };
        let heading = format!("Latency of {kind}s against the achieved rate");
        let panels = of.panels().into_iter().map(|(name, chart)| {
            let place = if name.is_empty() { String::new() } else { format!(" {name}.") };
            Figure::new(heading.as_str(), format!("{NOTE} {}, in order.{place}", axes[along].0), chart)
        });
        panels.collect::<Vec<_>>()
    };
    ["read", "write"].into_iter().flat_map(figures).collect()
}

/// The axis that changes the number of requests outstanding or per second; if there are several, the axis with the most
/// points.
fn load(outcome: &StudyOutcome) -> Option<usize> {
    let is_load = |key: &String| {
        let mut parts = key.split('.');
        matches!(parts.next(), Some("run" | "workload")) && matches!(parts.next_back(), Some("depth" | "rate"))
    };
    let axes = outcome.plan.spec.axes.iter().filter(|axis| axis.key.as_ref().is_some_and(is_load));
    let place = |name: &str| outcome.plan.axes.iter().position(|(other, _)| other == name);
    let loads = axes.filter_map(|axis| place(&axis.name)).filter(|axis| outcome.plan.axes[*axis].1.len() > 1);
    loads.max_by_key(|axis| outcome.plan.axes[*axis].1.len())
}

impl MetricPlot<'_> {
    /// The spread of a metric at a point; `None` if too few requests support it in one of the runs.
    fn spread(&self, point: usize, metric: &Metric) -> Option<Spread> {
        let name = metric.to_string();
        let is_supported = self.outcome.runs[point].iter().all(|run| {
            let mut unsupported = run.validity.unsupported.iter();
            !unsupported.any(|(kind, keys)| keys.iter().any(|key| name == format!("{kind}.{key}")))
        });
        self.outcome.spread(point, metric).filter(|_| is_supported)
    }

    /// A chart for each combination of points on the axes that are not drawn, with the name of the combination.
    fn panels(&self) -> Vec<(String, Chart)> {
        let axes = &self.outcome.plan.axes;
        let points = shown(self.outcome, self.figure);
        let is_drawn = |axis: usize| axis == self.along || Some(axis) == self.by;
        let others: Vec<usize> =
            (0..axes.len()).filter(|axis| !is_drawn(*axis) && labels(self.outcome, &points, *axis).len() > 1).collect();
        let mut panels: Vec<(Vec<&Label>, Vec<Path>)> = Vec::new();
        for point in points {
            let at = self.outcome.labels(point);
            let fixed: Vec<&Label> = others.iter().map(|axis| &at[*axis]).collect();
            let found = panels.iter().position(|(other, _)| *other == fixed).unwrap_or_else(|| {
                panels.push((fixed, Vec::new()));
                panels.len() - 1
            });
            for (m, metric) in self.metrics.iter().enumerate() {
                let Some(x) = self.outcome.value(point, self.x) else { continue };
                let Some(y) = self.spread(point, metric) else { continue };
                let place = |axis: usize| axes[axis].1.iter().position(|label| *label == at[axis]).unwrap_or(0);
                // Lines beyond the palette use its colours again, and are dashed.
                let colour = self.by.map_or(0, place) % COLOURS + m * COLOURS;
                let half = y.half_width.filter(|half| *half > 0.0);
                let spread = half.map(|half| interval(y.mean, half, y.values.iter().any(|value| *value < 0.0)));
                let stop = Stop { name: at[self.along].to_string(), at: [x, y.mean].map(Number), spread };
                let of = self.by.map(|axis| format!("{} {}", axes[axis].0, at[axis]));
                let several = self.metrics.len() > 1 || of.is_none();
                let name: Vec<String> = of.into_iter().chain(several.then(|| metric.to_string())).collect();
                let lines = &mut panels[found].1;
                let name = name.join(", ");
                match lines.iter_mut().find(|line| line.name == name) {
                    Some(line) => line.points.push(stop),
                    None => lines.push(Path { name, colour, points: vec![stop] }),
                }
            }
        }
        let all = panels.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points).map(|stop| stop.at[1].0);
        let scale = scale(self.figure, all);
        let chart = |(fixed, lines): (Vec<&Label>, Vec<Path>)| {
            let said = others.iter().zip(&fixed).map(|(axis, label)| format!("{} {label}", axes[*axis].0));
            let x = Axis::new(self.x.to_string(), self.x.dimension(), Scale::Linear);
            let names: Vec<String> = self.metrics.iter().map(ToString::to_string).collect();
            let y = Axis::new(names.join(", "), self.metrics[0].dimension(), scale);
            // A line needs at least two points.
            let is_drawn = lines.iter().any(|line| line.points.len() > 1);
            is_drawn.then(|| (said.collect::<Vec<_>>().join(", "), Chart::Paths { x, y, lines }))
        };
        panels.into_iter().filter_map(chart).collect()
    }
}
