//! The expectations of a study.
//!
//! An expectation has a metric, a selection of points and one condition. The condition is judged in every combination
//! of the axes that it does not name; the expectation holds if all of these judgements do.

mod beyond;
mod judge;
mod sharp;
mod values;

use base::fault::Fault;
use base::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::label::{Assignment, Label};
use crate::metric::{Dimension, Metric};

pub use judge::Judgement;
pub use sharp::Sharpness;
pub use values::Values;

/// One expectation: a metric and one of the conditions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectSpec {
    /// Metric whose values are judged.
    pub metric: Metric,
    /// The points to judge; all if missing.
    #[serde(default, rename = "where", skip_serializing_if = "Assignment::is_empty")]
    pub filter: Assignment,
    /// Divides each number by the number at the same point with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Assignment>,
    /// Judges the geometric mean along this axis instead of its points. PCMark05's HDD score, for example, is 300 times
    /// the geometric mean of the rates of its five components (Seong et al., Sec. 4.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geomean: Option<String>,
    /// The paper's statement, shortened for the table.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub paper: String,
    /// The known reason why the expectation does not hold. The expectation is judged nevertheless; if it holds, the
    /// study has an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// The paper's words, if they ask for no more than a bound on one side, or than an order without a margin. Without
    /// these words such an expectation is printed as loose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_no_more: Option<String>,
    /// The numbers to which the inputs of this expectation were fitted; the claim's `calibrated` if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<CalibrationTarget>,
    /// True if the difference must also be larger than the spread over the seeds: the 95 % interval of the mean
    /// difference between runs with the same seed (paired t-test) must not contain zero. For `ratio`, `difference`,
    /// each step of `order`, and the ends of `monotonic`; needs at least two seeds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_spread: bool,
    /// Points of the paper's range that `where` leaves out, because the paper itself makes an exception of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutSpec>,
    /// The number lies in a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<WithinRange>,
    /// The ratio of the number at one point to the number at another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<RatioExpectation>,
    /// The difference between the numbers at two points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<DifferenceExpectation>,
    /// The numbers rise or fall with each step along an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic: Option<Monotonic>,
    /// The numbers lie on a line along an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear: Option<Linear>,
    /// The number changes up to a point of an axis, and stays constant beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturates: Option<Saturates>,
    /// The number respects a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounded: Option<BoundedRange>,
    /// All numbers must be equal, within a tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<Equal>,
    /// The numbers must ascend in this order of points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<AscendingOrder>,
}

/// The numbers to which the inputs of a measurement were fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Calibrated", rename_all = "kebab-case")]
pub enum CalibrationTarget {
    /// The inputs were not fitted: each is stated in the paper, or assumed before anything was measured.
    No,
    /// The inputs were fitted to numbers of the paper that the claim is not about.
    Other,
    /// The inputs were fitted to the numbers of the claim, or chosen with its outcome known.
    This,
    /// The expectation restates an input: the verdict says nothing about the model.
    Input,
}

impl CalibrationTarget {
    /// The name of the kind of fitting, as in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Other => "other",
            Self::This => "this",
            Self::Input => "input",
        }
    }
}

/// Points that an expectation leaves out. The expectation is judged at these points as well: if it holds there, or its
/// value differs from `measured`, the study has an error.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOutSpec {
    /// The points: these labels replace those in the expectation's `where`.
    #[serde(rename = "where")]
    pub filter: Assignment,
    /// The measured value at these points, as the study prints it.
    pub measured: String,
    /// The reason for the exception: the paper's own statement about these points.
    pub reason: String,
}

/// A bound: a number, or a text with a unit of measure (`"1.2ms"`).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Bound {
    /// A number without a unit of measure.
    Number(f64),
    /// A number with a unit of measure.
    Text(String),
}

/// `within`: the number lies between two bounds, or within a tolerance of a value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Within", deny_unknown_fields)]
pub struct WithinRange {
    /// The two bounds, both included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[Bound; 2]>,
    /// The value that the number should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bound>,
    /// The largest deviation from the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Ratio>,
}

/// `ratio`: the number at `at` divided by the number at `to`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "RatioOf", deny_unknown_fields)]
pub struct RatioExpectation {
    /// The point of the dividend.
    pub at: Assignment,
    /// The point of the divisor.
    pub to: Assignment,
    /// The bounds of the quotient, both included.
    pub between: [f64; 2],
}

/// `difference`: the number at `at` minus the number at `to`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "DifferenceOf", deny_unknown_fields)]
pub struct DifferenceExpectation {
    /// The point of the minuend.
    pub at: Assignment,
    /// The point of the subtrahend.
    pub to: Assignment,
    /// The bounds, both included.
    pub between: [Bound; 2],
}

/// The direction in which a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From smaller to larger numbers.
    Rises,
    /// From larger to smaller numbers.
    Falls,
}

/// `monotonic`: the numbers change in one direction with each step along an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Monotonic {
    /// The axis that is followed.
    pub along: String,
    /// Direction in which the numbers must change along the axis.
    pub direction: Direction,
    /// The largest step in the other direction that is accepted.
    #[serde(default)]
    pub slack: Ratio,
    /// The least change from the first number to the last.
    #[serde(default)]
    pub by: Ratio,
}

/// `linear`: the numbers lie on the straight line from the first to the last point of an axis whose labels are numbers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// The axis that is followed.
    pub along: String,
    /// Direction in which the numbers must change along the axis.
    pub direction: Direction,
    /// The largest deviation from the line, as a share of the difference between the last number and the first.
    pub within: Ratio,
}

/// `saturates`: the number stays constant beyond a point of an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saturates {
    /// The axis that is followed.
    pub along: String,
    /// The point from which on the number is constant.
    pub from: Label,
    /// The largest deviation of later numbers from the number at the point.
    pub within: Ratio,
    /// The least deviation of the number at the point from the first number.
    #[serde(default)]
    pub before: Ratio,
}

/// `bounded`: the number is at least `least`, at most `most`, or both.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Bounded", deny_unknown_fields)]
pub struct BoundedRange {
    /// The least value that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Bound>,
    /// The largest value that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Bound>,
}

/// `equal`: the largest number exceeds the smallest by at most a share.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Equal {
    /// The axis whose points are compared with each other; if missing, all points are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<String>,
    /// The largest excess, as a share of the smallest number.
    pub within: Ratio,
}

/// `order`: each number exceeds the previous one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Ascending", deny_unknown_fields)]
pub struct AscendingOrder {
    /// The points, in order of their numbers, smallest first.
    pub of: Vec<Assignment>,
    /// The least excess over the previous number.
    #[serde(default)]
    pub by: Ratio,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition<'a> {
    Within(&'a WithinRange),
    Ratio(&'a RatioExpectation),
    Difference(&'a DifferenceExpectation),
    Monotonic(&'a Monotonic),
    Linear(&'a Linear),
    Saturates(&'a Saturates),
    Bounded(&'a BoundedRange),
    Equal(&'a Equal),
    Order(&'a AscendingOrder),
}

impl Bound {
    /// The value of the bound as a number of this dimension; `None` if its unit of measure is missing or does not fit.
    pub(crate) fn number(&self, unit: Dimension) -> Option<f64> {
        match self {
            // In a dimension with units of measure, a bare number would be ambiguous.
            Self::Number(_) if matches!(unit, Dimension::Time | Dimension::Rate | Dimension::PerSecond) => None,
            Self::Number(number) => Some(*number),
            Self::Text(text) => unit.parse(text),
        }
    }
}

impl DifferenceExpectation {
    /// Both bounds as numbers of this dimension; `None` if a unit of measure is missing or does not fit.
    pub(crate) fn bounds(&self, unit: Dimension) -> Option<(f64, f64)> {
        let [low, high] = &self.between;
        Some((low.number(unit)?, high.number(unit)?)).filter(|(low, high)| low <= high)
    }
}

impl WithinRange {
    /// Both bounds as numbers of this dimension; `None` if a unit of measure is missing or does not fit.
    pub(crate) fn bounds(&self, unit: Dimension) -> Option<(f64, f64)> {
        match (&self.between, &self.value, self.tolerance) {
            (Some([low, high]), None, None) => Some((low.number(unit)?, high.number(unit)?)),
            (None, Some(value), Some(tolerance)) => {
                let (value, tolerance) = (value.number(unit)?, tolerance.get());
                Some((value * (1.0 - tolerance), value * (1.0 + tolerance)))
            }
            _ => None,
        }
        .filter(|(low, high)| low <= high)
    }
}

impl ExpectSpec {
    /// The condition of the expectation; `None` if it has none or more than one.
    pub(crate) fn condition(&self) -> Option<Condition<'_>> {
        let all = [
            self.within.as_ref().map(Condition::Within),
            self.ratio.as_ref().map(Condition::Ratio),
            self.difference.as_ref().map(Condition::Difference),
            self.monotonic.as_ref().map(Condition::Monotonic),
            self.linear.as_ref().map(Condition::Linear),
            self.saturates.as_ref().map(Condition::Saturates),
            self.bounded.as_ref().map(Condition::Bounded),
            self.equal.as_ref().map(Condition::Equal),
            self.order.as_ref().map(Condition::Order),
        ];
        let mut given = all.into_iter().flatten();
        given.next().filter(|_| given.next().is_none())
    }

    /// The dimension of the compared numbers: the metric's, or [`Dimension::Plain`] for quotients (`per`).
    pub(crate) const fn dimension(&self) -> Dimension {
        if self.per.is_some() { Dimension::Plain } else { self.metric.dimension() }
    }

    /// All assignments of labels in the expectation, each with its key.
    pub(crate) fn assignments(&self) -> Vec<(String, &Assignment)> {
        let mut all = vec![("where".to_owned(), &self.filter)];
        let left_out = self.left_out.iter().enumerate();
        all.extend(left_out.map(|(i, out)| (format!("left-out[{i}].where"), &out.filter)));
        all.extend(self.per.iter().map(|per| ("per".to_owned(), per)));
        if let Some(RatioExpectation { at, to, .. }) = &self.ratio {
            all.extend([("ratio.at".to_owned(), at), ("ratio.to".to_owned(), to)]);
        }
        if let Some(DifferenceExpectation { at, to, .. }) = &self.difference {
            all.extend([("difference.at".to_owned(), at), ("difference.to".to_owned(), to)]);
        }
        if let Some(order) = &self.order {
            all.extend(order.of.iter().enumerate().map(|(i, of)| (format!("order.of[{i}]"), of)));
        }
        all
    }

    /// The axis that the condition follows, if it follows one.
    fn along(&self) -> Option<&str> {
        match self.condition()? {
            Condition::Monotonic(Monotonic { along, .. })
            | Condition::Linear(Linear { along, .. })
            | Condition::Saturates(Saturates { along, .. })
            | Condition::Equal(Equal { along: Some(along), .. }) => Some(along),
            _ => None,
        }
    }

    /// Checks the axis along which the mean is taken. Returns the fault, if any.
    fn mean_fault(&self, axes: &[(String, Vec<Label>)]) -> Option<Fault> {
        let mean = self.geomean.as_ref()?;
        if axes.iter().all(|(name, _)| name != mean) {
            return Some(Fault::new("geomean", format!("there is no axis `{mean}`"), "name one of the study's axes"));
        }
        // `where` and `per` select points before the mean is taken, so they may name the axis.
        let assignments = self.assignments();
        let mut behind = assignments.iter().filter(|(key, _)| key.starts_with("ratio") || key.starts_with("order"));
        let named = self.along() == Some(mean) || behind.any(|(_, assignment)| assignment.contains_key(mean));
        let message = format!("is the mean over `{mean}`, but the condition names single points of it");
        named.then(|| Fault::new("geomean", message, "choose them in `where`"))
    }

    /// The expectation at the points that it leaves out.
    #[must_use]
    pub(crate) fn at(&self, out: &LeftOutSpec) -> Self {
        let mut moved = Self { left_out: Vec::new(), ..self.clone() };
        moved.filter.extend(out.filter.clone());
        moved
    }

    /// The first given key that has a meaning only in an expectation, and not in a measurement that isolates a reason.
    pub(crate) fn only_expected(&self) -> Option<&'static str> {
        let keys = [
            (self.known.is_some(), "known"),
            (self.calibrated.is_some(), "calibrated"),
            (!self.left_out.is_empty(), "left-out"),
        ];
        keys.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Checks the texts of the expectation: reasons and the paper's words. Returns the fault, if any.
    fn words_fault(&self) -> Option<Fault> {
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        if is_empty(&self.asks_no_more) {
            return Some(Fault::new("asks-no-more", "is empty", "give the paper's words, or leave it out"));
        }
        let is_idle = self.asks_no_more.is_some() && !self.is_open();
        let message = "has no effect here: the expectation has a margin, or bounds on both sides";
        is_idle.then(|| Fault::new("asks-no-more", message, "leave it out"))
    }

    /// All faults of the expectation except unknown labels.
    pub(crate) fn faults(&self, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults = self.condition_faults(axes);
        if faults.is_empty() {
            faults.extend(self.words_fault());
        }
        faults
    }

    fn condition_faults(&self, axes: &[(String, Vec<Label>)]) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.mean_fault(axes).into_iter().collect();
        let mut axis = |key: &str, name: &str, label: Option<&Label>| {
            let Some((_, labels)) = axes.iter().find(|(other, _)| other == name) else {
                faults.push(Fault::new(key, format!("there is no axis `{name}`"), "name one of the study's axes"));
                return;
            };
            if let Some(label) = label.filter(|label| !labels.contains(label)) {
                let message = format!("the axis `{name}` has no point `{label}`");
                faults.push(Fault::new(key, message, "name one of its points"));
            }
        };
        let unit = self.dimension();
        match self.condition() {
            None => {
                let remedy =
                    "give one of within, ratio, difference, monotonic, linear, saturates, bounded, equal, order";
                faults.push(Fault::new("metric", "has no condition, or several", remedy));
            }
            Some(Condition::Monotonic(monotonic)) => axis("monotonic.along", &monotonic.along, None),
            Some(Condition::Linear(linear)) => {
                axis("linear.along", &linear.along, None);
                let labels = axes.iter().find(|(name, _)| *name == linear.along).map(|(_, labels)| labels);
                if let Some(label) = labels.and_then(|labels| labels.iter().find(|label| label.number().is_none())) {
                    let message = format!("the point `{label}` of `{}` is not a number", linear.along);
                    faults.push(Fault::new("linear.along", message, "name an axis of numbers"));
                }
            }
            Some(Condition::Saturates(saturates)) => axis("saturates.from", &saturates.along, Some(&saturates.from)),
            Some(Condition::Equal(Equal { along: Some(along), .. })) => axis("equal.along", along, None),
            Some(Condition::Equal(_)) => {}
            Some(Condition::Within(within)) if within.bounds(unit).is_none() => {
                let remedy =
                    format!("give between = [low, high] or value and tolerance, written as {}", unit.example());
                faults.push(Fault::new("within", "is not a range of this metric", remedy));
            }
            Some(Condition::Bounded(bounded)) => {
                let bounds: Vec<_> = bounded.least.iter().chain(&bounded.most).collect();
                if bounds.is_empty() || bounds.iter().any(|bound| bound.number(unit).is_none()) {
                    let remedy = format!("give least or most, written as {}", unit.example());
                    faults.push(Fault::new("bounded", "is not a bound of this metric", remedy));
                }
            }
            Some(Condition::Ratio(ratio)) if ratio.between[0] > ratio.between[1] => {
                faults.push(Fault::new("ratio.between", "its first bound is the larger one", "swap them"));
            }
            Some(Condition::Difference(difference)) if difference.bounds(unit).is_none() => {
                let remedy = format!("give two, the lower one first, written as {}", unit.example());
                faults.push(Fault::new("difference.between", "are not bounds of this metric", remedy));
            }
            Some(Condition::Order(order)) if order.of.len() < 2 => {
                faults.push(Fault::new("order.of", "has fewer than two points", "name at least two points"));
            }
            Some(Condition::Within(_) | Condition::Ratio(_) | Condition::Difference(_) | Condition::Order(_)) => {}
        }
        faults
    }
}

#[cfg(test)]
mod tests;
