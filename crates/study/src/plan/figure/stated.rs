//! The values that the source of a figure states.

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FigureSpec, check};
use crate::expect::Bound;
use crate::label::{Assignment, Label};
use crate::metric::{Dimension, Metric};

/// A value that the source of a figure states.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedSpec {
    /// The point of the value: a label on each axis that the figure draws.
    #[serde(default, skip_serializing_if = "Assignment::is_empty")]
    pub at: Assignment,
    /// The name of a thing that only the source has, in place of `at`. The mark gets its own place on the horizontal
    /// axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The metric of the value, if the figure has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The value that the source states, with its unit of measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bound>,
    /// The range in which the value lies, instead of `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[Bound; 2]>,
    /// Further values that the source states, if the figure draws a quotient: the mark is `value` divided by their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Bound>,
    /// The place in the source, e.g. `Sec. 4.2.2`.
    pub source: String,
}

impl StatedSpec {
    /// The least and the greatest value of a figure about this metric; `None` if the figure cannot draw them.
    #[must_use]
    pub fn bounds(&self, figure: &FigureSpec, metric: &Metric) -> Option<(f64, f64)> {
        let (unit, divisor) = if self.over.is_empty() {
            (figure.unit(metric), 1.0)
        } else {
            let (top, bottom) = figure.quotient(metric)?;
            let parts: Option<Vec<f64>> = self.over.iter().map(|part| part.number(bottom)).collect();
            (top, parts?.iter().sum())
        };
        let (low, high) = match (&self.value, &self.between) {
            (Some(value), None) => (value.number(unit)?, value.number(unit)?),
            (None, Some([low, high])) => (low.number(unit)?, high.number(unit)?),
            _ => return None,
        };
        (divisor > 0.0 && low <= high).then_some((low / divisor, high / divisor))
    }

    /// The division behind the value, e.g. `203.07s by 321.74s`; `None` if the source states the value itself.
    #[must_use]
    pub fn division(&self) -> Option<String> {
        let text = |bound: &Bound| match bound {
            Bound::Number(number) => Dimension::Count.show(*number),
            Bound::Text(text) => text.clone(),
        };
        let join = |all: &[Bound], with: &str| all.iter().map(text).collect::<Vec<_>>().join(with);
        let value = self.value.as_ref().map(text).or_else(|| self.between.as_ref().map(|of| join(of, " to ")))?;
        (!self.over.is_empty()).then(|| format!("{value} by {}", join(&self.over, " + ")))
    }

    /// All faults of the value. Each key begins with `key`, the value's own.
    pub(super) fn faults(&self, key: &str, figure: &FigureSpec, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = Vec::new();
        check(&format!("{key}.at"), &self.at, axes, &mut faults);
        let drawn = [figure.along.as_ref(), figure.by.as_ref()];
        for axis in drawn.into_iter().flatten().filter(|_| self.name.is_none()) {
            let one = self.at.get(axis).is_some_and(|labels| labels.labels().len() == 1);
            let remedy = || format!("add its label, e.g. at = {{ {axis} = ... }}");
            let known = axes.iter().any(|(name, _)| name == axis);
            if known && !one {
                faults.push(Fault::new(format!("{key}.at"), format!("names no single point of `{axis}`"), remedy()));
            }
        }
        if self.name.is_some() && !self.at.is_empty() {
            faults.push(Fault::new(format!("{key}.name"), "stands beside `at`", "leave one of them out"));
        }
        let metric = self.metric.as_ref().or_else(|| figure.metrics.first().filter(|_| figure.metrics.len() == 1));
        let Some(metric) = metric.filter(|metric| figure.metrics.contains(metric)) else {
            let names: Vec<String> = figure.metrics.iter().map(ToString::to_string).collect();
            let remedy = format!("choose one of {}", names.join(", "));
            faults.push(Fault::new(format!("{key}.metric"), "is no metric of the figure, or missing", remedy));
            return faults;
        };
        if !self.over.is_empty() && figure.quotient(metric).is_none() {
            let message = "divides a value of a figure that draws no quotient";
            faults.push(Fault::new(format!("{key}.over"), message, "leave it out"));
        } else if self.bounds(figure, metric).is_none() {
            let unit = figure.quotient(metric).filter(|_| !self.over.is_empty()).map_or(figure.unit(metric), |of| of.0);
            let message = "gives no value, or one that the metric cannot have";
            let remedy = format!(
                "write value = {0} or between = [{0}, {0}]",
                unit.example().split(" or").next().unwrap_or("1.5")
            );
            faults.push(Fault::new(format!("{key}.value"), message, remedy));
        }
        if self.source.trim().is_empty() {
            faults.push(Fault::new(
                format!("{key}.source"),
                "is empty",
                "say where the value is stated, e.g. \"Sec. 4.2\"",
            ));
        }
        faults
    }
}
