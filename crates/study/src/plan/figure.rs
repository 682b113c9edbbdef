//! A figure in the file of a study: numbers along an axis, as a paper draws them, beside the values that the paper
//! states.

mod relation;
mod stated;
#[cfg(test)]
mod tests;

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::check;
use crate::config::did_you_mean;
use crate::expect::Bound;
use crate::label::{Assignment, Label};
use crate::metric::{Dimension, Metric};

pub use relation::Relation;
pub use stated::StatedSpec;

/// A figure of the report, instead of a chart for each metric.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    /// The figure's number in the source, e.g. `Fig. 12(a)`, by which the report sorts figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub number: String,
    /// Title above the figure.
    pub title: String,
    /// The metrics to draw, each in a panel of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// The parts of a bar for each point, in place of `metrics`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<FigurePart>,
    /// The arrays of a hybrid drive whose erase counts are drawn by block number, each in a panel of its own; in place
    /// of `metrics`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erases_of: Vec<FlashArray>,
    /// The horizontal axis of the chart: an axis of the study. Erase counts have no such axis, and without `along` a
    /// score is the score of the study's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<String>,
    /// A metric on the horizontal axis, e.g. `requests-per-s` for latency against the achieved rate. Lines go through
    /// the points of the axis `along`, in its order: a line for each metric and each point of the axis `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Metric>,
    /// The axis whose points are lines or bars of different colours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The points to draw; all if missing. For axes that are not drawn and still have several points, each of these
    /// points has a panel.
    #[serde(default, rename = "where", skip_serializing_if = "Assignment::is_empty")]
    pub filter: Assignment,
    /// The score to draw: a geometric mean over the points of an axis, as in benchmarks that end in one score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreSpec>,
    /// Divides each number by the number at the same point with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Assignment>,
    /// Divides each number by the number at the point whose labels on these two axes are exchanged: `["banks",
    /// "superblock"]` divides the number at 4 banks with superblocks of 1 by the number at 1 bank with superblocks of
    /// 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_exchanged: Option<[String; 2]>,
    /// Divides the number at the same point with these labels by each number: a speed-up, if the metric is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_over: Option<Assignment>,
    /// Subtracts each number from the number at the same point with these labels: the saving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub less_than: Option<Assignment>,
    /// The scale of the numbers. If missing, it is logarithmic for numbers that are far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<FigureScale>,
    /// A note for readers, e.g. that the source gives no numbers for its bars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The values that the source states, drawn as marks beside the measured values.
    #[serde(default, rename = "paper", skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<StatedSpec>,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigurePart {
    /// Name of the part in the legend.
    pub name: String,
    /// The metric that gives the length of the part. All parts of a figure have one dimension.
    pub metric: Metric,
}

/// One of the two arrays of a hybrid SLC/MLC drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlashArray {
    /// The SLC array: one bit per cell.
    Slc,
    /// The main array, of MLC flash.
    Mlc,
}

/// A score: the geometric mean of a metric over the points of an axis, times a number.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreSpec {
    /// The axis over whose points the mean is taken.
    pub over: String,
    /// The unit of measure of the numbers in the mean, e.g. `"1MB/s"`.
    pub unit: Bound,
    /// The number by which the mean is multiplied.
    pub times: f64,
}

/// The mapping of numbers to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureScale {
    /// Equal distances for equal differences.
    Linear,
    /// Equal distances for equal ratios.
    Log,
}

impl ScoreSpec {
    /// The score of these numbers of a metric; `None` if one of them is not above zero.
    #[must_use]
    pub fn of(&self, numbers: &[f64], metric: &Metric) -> Option<f64> {
        let unit = self.unit.number(metric.dimension())?;
        let sound = !numbers.is_empty() && numbers.iter().all(|number| *number > 0.0);
        let mean = || (numbers.iter().map(|number| number.ln()).sum::<f64>() / numbers.len() as f64).exp();
        sound.then(|| self.times * mean() / unit)
    }
}

impl FigureSpec {
    /// The dimension of the drawn numbers of a metric.
    #[must_use]
    pub fn unit(&self, metric: &Metric) -> Dimension {
        let plain = self.score.is_some() || self.relation().is_some_and(|relation| relation.is_quotient());
        if plain { Dimension::Plain } else { metric.dimension() }
    }

    /// The dimensions of the dividend and of the divisor, if the figure draws a quotient of numbers that the source can
    /// state.
    fn quotient(&self, metric: &Metric) -> Option<(Dimension, Dimension)> {
        let whole = metric.dimension();
        match self.relation() {
            _ if self.score.is_some() => None,
            Some(relation) if relation.is_quotient() => Some((whole, whole)),
            _ => metric.quotient(),
        }
    }

    /// All faults of the figure. Each key begins with `key`, the figure's own.
    pub(super) fn faults(&self, key: &str, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = self.kind_faults(key);
        faults.extend(self.axis_faults(key, axes));
        let relations = self.relations();
        if let [first, second, ..] = relations[..] {
            let message = format!("stands beside `{}`", first.key());
            faults.push(Fault::new(format!("{key}.{}", second.key()), message, "leave one of them out"));
        }
        check(&format!("{key}.where"), &self.filter, axes, &mut faults);
        for (name, assignment) in relations.iter().filter_map(|of| Some((of.key(), of.assignment()?))) {
            check(&format!("{key}.{name}"), assignment, axes, &mut faults);
        }
        for (i, part) in self.parts.iter().enumerate() {
            if part.metric.dimension() != self.parts[0].metric.dimension() {
                let message = format!("has another dimension than `{}`", self.parts[0].metric);
                faults.push(Fault::new(format!("{key}.parts[{i}].metric"), message, "choose parts of one whole"));
            }
        }
        if let Some(score) = &self.score {
            let metric = self.metrics.first();
            let unit = metric.and_then(|metric| score.unit.number(metric.dimension()));
            if metric.is_some() && !unit.is_some_and(|unit| unit > 0.0) {
                let remedy = "write a quantity of the metric, e.g. unit = \"1MB/s\"";
                faults.push(Fault::new(format!("{key}.score.unit"), "is none of the metric", remedy));
            }
            if !(score.times > 0.0 && score.times.is_finite()) {
                faults.push(Fault::new(format!("{key}.score.times"), "is not above zero", "write e.g. times = 300"));
            }
        }
        faults.extend(self.against_faults(key));
        for (i, stated) in self.stated.iter().enumerate() {
            faults.extend(stated.faults(&format!("{key}.paper[{i}]"), self, axes));
        }
        faults
    }

    /// Checks that the figure draws metrics, parts or erase counts, and has no key that has no effect for them.
    fn kind_faults(&self, key: &str) -> Vec<Fault> {
        let kinds = [
            ("metrics", !self.metrics.is_empty()),
            ("parts", !self.parts.is_empty()),
            ("erases-of", !self.erases_of.is_empty()),
        ];
        let given: Vec<&str> = kinds.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
        let fault =
            |name: &str, message: String, remedy: &str| vec![Fault::new(format!("{key}.{name}"), message, remedy)];
        match given[..] {
            [] => fault("metrics", "the list is empty".into(), "write e.g. metrics = [\"read.mean\"]"),
            [first, second, ..] => fault(second, format!("stands beside `{first}`"), "leave one of them out"),
            ["metrics"] => Vec::new(),
            [kind] => {
                let mut idle: Vec<&str> = self.relations().iter().map(Relation::key).collect();
                idle.extend(self.score.as_ref().map(|_| "score"));
                idle.extend(self.scale.map(|_| "scale"));
                idle.extend((!self.stated.is_empty()).then_some("paper"));
                idle.extend(self.against.as_ref().map(|_| "against"));
                idle.extend(self.along.as_ref().filter(|_| kind == "erases-of").map(|_| "along"));
                let all =
                    idle.into_iter().map(|name| fault(name, format!("has no effect on `{kind}`"), "leave it out"));
                all.flatten().collect()
            }
        }
    }

    /// Checks that a figure with a metric on the horizontal axis draws metrics without change, on one vertical axis.
    fn against_faults(&self, key: &str) -> Vec<Fault> {
        if self.against.is_none() || self.metrics.is_empty() {
            return Vec::new();
        }
        let mut idle: Vec<&str> = self.relations().iter().map(Relation::key).collect();
        idle.extend(self.score.as_ref().map(|_| "score"));
        idle.extend((!self.stated.is_empty()).then_some("paper"));
        let no_effect =
            |name| Fault::new(format!("{key}.{name}"), "has no effect on a figure `against` a metric", "leave it out");
        let mut faults: Vec<Fault> = idle.into_iter().map(no_effect).collect();
        for (i, metric) in self.metrics.iter().enumerate() {
            if metric.dimension() != self.metrics[0].dimension() {
                let message = format!("has another dimension than `{}`", self.metrics[0]);
                faults.push(Fault::new(format!("{key}.metrics[{i}]"), message, "draw it in a figure of its own"));
            }
        }
        faults
    }

    fn axis_faults(&self, key: &str, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let known: Vec<&str> = axes.iter().map(|(name, _)| name.as_str()).collect();
        let exchanged = self.per_exchanged.iter().flatten();
        let named = [("along", self.along.as_ref()), ("by", self.by.as_ref())].into_iter();
        let over = self.score.as_ref().map(|score| &score.over);
        let all = named.chain([("score.over", over)]).chain(exchanged.map(|axis| ("per-exchanged", Some(axis))));
        for (name, axis) in all {
            let Some(axis) = axis.filter(|axis| !known.contains(&axis.as_str())) else { continue };
            let meant = did_you_mean(axis, known.iter().copied());
            let remedy = match &*known {
                [] => "add an [[axis]], or leave the figure out".to_owned(),
                known => format!("{meant}choose one of {}", known.join(", ")),
            };
            faults.push(Fault::new(format!("{key}.{name}"), format!("`{axis}` is no axis of this study"), remedy));
        }
        if self.along.is_none() && self.erases_of.is_empty() && self.score.is_none() {
            let remedy = format!("name the horizontal axis: choose one of {}", known.join(", "));
            faults.push(Fault::new(format!("{key}.along"), "is missing", remedy));
        }
        if self.by.is_some() && self.by == self.along {
            faults.push(Fault::new(
                format!("{key}.by"),
                "is the horizontal axis too",
                "choose another axis, or leave it out",
            ));
        }
        if over.is_some_and(|over| [&self.along, &self.by].into_iter().flatten().any(|drawn| drawn == over)) {
            let remedy = "choose another axis";
            faults.push(Fault::new(format!("{key}.score.over"), "is an axis that the figure draws", remedy));
        }
        faults
    }
}
