//! A figure in the file of a study: a metric along an axis, as a paper draws it, beside the values that the paper states.

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grid::check;
use crate::config::did_you_mean;
use crate::expect::Bound;
use crate::label::{Assignment, Label};
use crate::metric::{Dimension, Metric};

/// A figure of the report, instead of a chart for each metric.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    /// Its number in the source, e.g. `Fig. 12(a)`. The report sorts figures by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub number: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What it draws: a panel for each of these metrics.
    pub metrics: Vec<Metric>,
    /// The horizontal axis of the chart: an axis of the study.
    pub along: String,
    /// The axis whose points are lines or bars of different colours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only these points; default: all. Axes that are neither drawn nor left with one point make a panel for each of their
    /// points.
    #[serde(default, rename = "where", skip_serializing_if = "Assignment::is_empty")]
    pub filter: Assignment,
    /// Divide each number by the one at the same point with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Assignment>,
    /// Divide the number at the same point with these labels by each number: a speed-up, if the metric is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_over: Option<Assignment>,
    /// The scale of the numbers; the default depends on how far they are apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<FigureScale>,
    /// What a reader should know, e.g. that the source gives no numbers for its bars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The values that the source states. They are marks beside the measured ones.
    #[serde(default, rename = "paper", skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<StatedSpec>,
}

/// How an axis maps numbers to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureScale {
    /// Equal distances for equal differences.
    Linear,
    /// Equal distances for equal ratios.
    Log,
}

/// A value that the source of a figure states.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedSpec {
    /// Its point: a label on each axis that the figure draws.
    pub at: Assignment,
    /// Its metric, if the figure has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bound>,
    /// The range in which the value lies, instead of `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[Bound; 2]>,
    /// Where the source states it, e.g. `Sec. 4.2.2`.
    pub source: String,
}

impl StatedSpec {
    /// The least and the greatest value in this dimension; `None` if they are no numbers of it.
    #[must_use]
    pub fn bounds(&self, unit: Dimension) -> Option<(f64, f64)> {
        match (&self.value, &self.between) {
            (Some(value), None) => value.number(unit).map(|value| (value, value)),
            (None, Some([low, high])) => {
                Some((low.number(unit)?, high.number(unit)?)).filter(|(low, high)| low <= high)
            }
            _ => None,
        }
    }
}

impl FigureSpec {
    /// The dimension of what is drawn of a metric.
    #[must_use]
    pub const fn unit(&self, metric: &Metric) -> Dimension {
        if self.per.is_some() || self.gain_over.is_some() { Dimension::Plain } else { metric.dimension() }
    }

    /// All faults of the figure, with its key before theirs.
    pub(super) fn faults(&self, key: &str, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let known: Vec<&str> = axes.iter().map(|(name, _)| name.as_str()).collect();
        for (name, axis) in [("along", Some(&self.along)), ("by", self.by.as_ref())] {
            let Some(axis) = axis.filter(|axis| !known.contains(&axis.as_str())) else { continue };
            let meant = did_you_mean(axis, known.iter().copied());
            let remedy = match &*known {
                [] => "add an [[axis]], or leave the figure out".to_owned(),
                known => format!("{meant}choose one of {}", known.join(", ")),
            };
            faults.push(Fault::new(format!("{key}.{name}"), format!("`{axis}` is no axis of this study"), remedy));
        }
        if self.by.as_ref() == Some(&self.along) {
            faults.push(Fault::new(
                format!("{key}.by"),
                "is the horizontal axis too",
                "choose another axis, or leave it out",
            ));
        }
        if self.metrics.is_empty() {
            faults.push(Fault::new(
                format!("{key}.metrics"),
                "the list is empty",
                "write e.g. metrics = [\"read.mean\"]",
            ));
        }
        if self.per.is_some() && self.gain_over.is_some() {
            faults.push(Fault::new(
                format!("{key}.gain-over"),
                "divides beside `per`, which divides too",
                "leave one of them out",
            ));
        }
        let assignments =
            [("where", Some(&self.filter)), ("per", self.per.as_ref()), ("gain-over", self.gain_over.as_ref())];
        for (name, assignment) in assignments {
            let Some(assignment) = assignment else { continue };
            check(&format!("{key}.{name}"), assignment, axes, &mut faults);
        }
        for (i, stated) in self.stated.iter().enumerate() {
            faults.extend(self.stated_faults(&format!("{key}.paper[{i}]"), stated, axes));
        }
        faults
    }

    fn stated_faults(&self, key: &str, stated: &StatedSpec, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = Vec::new();
        check(&format!("{key}.at"), &stated.at, axes, &mut faults);
        for axis in [Some(&self.along), self.by.as_ref()].into_iter().flatten() {
            let one = stated.at.get(axis).is_some_and(|labels| labels.labels().len() == 1);
            let remedy = || format!("add its label, e.g. at = {{ {axis} = ... }}");
            let known = axes.iter().any(|(name, _)| name == axis);
            if known && !one {
                faults.push(Fault::new(format!("{key}.at"), format!("names no single point of `{axis}`"), remedy()));
            }
        }
        let metric = stated.metric.as_ref().or_else(|| self.metrics.first().filter(|_| self.metrics.len() == 1));
        let Some(metric) = metric.filter(|metric| self.metrics.contains(metric)) else {
            let names: Vec<String> = self.metrics.iter().map(ToString::to_string).collect();
            let remedy = format!("choose one of {}", names.join(", "));
            faults.push(Fault::new(format!("{key}.metric"), "is no metric of the figure, or missing", remedy));
            return faults;
        };
        let unit = self.unit(metric);
        if stated.bounds(unit).is_none() {
            let message = "gives no value, or one that the metric cannot have";
            let remedy = format!(
                "write value = {0} or between = [{0}, {0}]",
                unit.example().split(" or").next().unwrap_or("1.5")
            );
            faults.push(Fault::new(format!("{key}.value"), message, remedy));
        }
        if stated.source.trim().is_empty() {
            faults.push(Fault::new(
                format!("{key}.source"),
                "is empty",
                "say where the value is stated, e.g. \"Sec. 4.2\"",
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Document, Faults};
    use crate::plan::Plan;

    const HEAD: &str = "name = \"s\"\ndevice = \"dirik-1x1\"\nworkload = \"dirik-wd\"\n\
        [[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2]\n\
        [[axis]]\nname = \"depth\"\nkey = \"run.depth\"\nvalues = [1, 4]\n\
        [[figure]]\nnumber = \"Fig. 1\"\ntitle = \"t\"\n";

    fn plan(figure: &str) -> Result<Plan, Faults> {
        let document = Document::parse(Path::new("s.toml"), format!("{HEAD}{figure}")).expect("TOML");
        Plan::new(&document)
    }

    #[test]
    fn a_figure_names_axes_and_metrics_of_its_study() {
        let sound = "metrics = [\"read.mean\"]\nalong = \"banks\"\nby = \"depth\"\nwhere = { depth = 4 }\nscale = \"log\"\n\
            paper = [{ at = { banks = 1, depth = 4 }, value = \"2ms\", source = \"Sec. 1\" }]";
        let figures = plan(sound).expect("sound").spec.figures;
        assert_eq!(figures[0].stated[0].bounds(figures[0].unit(&figures[0].metrics[0])), Some((2000.0, 2000.0)));
        for (change, to, wanted) in [
            (
                "along = \"banks\"",
                "along = \"bank\"",
                "figure[0].along: `bank` is no axis of this study; did you mean `banks`? choose one of banks, depth",
            ),
            ("by = \"depth\"", "by = \"deep\"", "figure[0].by: `deep` is no axis"),
            ("by = \"depth\"", "by = \"banks\"", "figure[0].by: is the horizontal axis too; choose another axis"),
            ("read.mean", "raed.mean", "`raed.mean` is not a metric; did you mean `read.mean`?"),
            ("[\"read.mean\"]", "[]", "figure[0].metrics: the list is empty; write e.g."),
            (
                "[\"read.mean\"]",
                "[\"read.mean\", \"write.mean\"]",
                "paper[0].metric: is no metric of the figure, or missing; choose one of read.mean, write.mean",
            ),
            ("where = { depth = 4 }", "where = { depth = 5 }", "figure[0].where.depth: has no point `5`"),
            (
                "depth = 4 }, value",
                "depth = [1, 4] }, value",
                "figure[0].paper[0].at: names no single point of `depth`",
            ),
            (
                "\"2ms\"",
                "2.5",
                "figure[0].paper[0].value: gives no value, or one that the metric cannot have; write value = \"25us\"",
            ),
            ("value = \"2ms\"", "between = [\"2ms\", \"1ms\"]", "figure[0].paper[0].value: gives no value"),
            ("\"Sec. 1\"", "\"\"", "figure[0].paper[0].source: is empty"),
            (
                "scale = \"log\"",
                "per = { depth = 1 }\ngain-over = { depth = 1 }",
                "figure[0].gain-over: divides beside `per`",
            ),
        ] {
            assert!(sound.contains(change), "{change}");
            let text = plan(&sound.replace(change, to)).expect_err(to).to_string();
            assert!(text.contains(wanted), "{to}:\n{text}");
        }
    }
}
