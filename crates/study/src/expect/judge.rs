//! Judges an expectation by measured values.

use base::units::Ratio;

use super::values::Group;
use super::{
    AscendingOrder, Bound, BoundedRange, Condition, DifferenceExpectation, Direction, Equal, ExpectSpec, Linear,
    Monotonic, RatioExpectation, Saturates, Values, WithinRange,
};
use crate::label::Label;
use crate::metric::{Dimension, digits};

/// Verdict on an expectation, with the values that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// True if the expectation holds.
    pub holds: bool,
    /// The measured values, shortened for the table.
    pub measured: String,
    /// The places at which the expectation does not hold, one sentence for each.
    pub offenders: Vec<String>,
}

/// A change in words: in percent of the old value, or as a factor if it is large.
pub(super) fn change(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 2.0 => format!("x{}", digits(ratio)),
        ratio if (ratio - 1.0).abs() < 0.0995 => format!("{:+.1}%", (ratio - 1.0) * 100.0),
        ratio => format!("{:+.0}%", (ratio - 1.0) * 100.0),
    }
}

/// The smallest and the largest of some values in words, or the value if there is only one.
fn range(values: impl IntoIterator<Item = f64>, show: impl Fn(f64) -> String) -> String {
    let (least, most) = values.into_iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
    let (low, high) = (show(least), show(most));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Judges each group by `holds`; `show` describes a group that does not hold.
fn over(
    groups: &[Group],
    measured: impl FnOnce() -> String,
    holds: impl Fn(&Group) -> bool,
    show: impl Fn(&Group) -> String,
) -> Judgement {
    // An expectation about no value does not hold.
    let nothing = |group: &Group| group.values.is_empty() || !group.values.iter().all(|value| value.is_finite());
    if groups.is_empty() || groups.iter().any(nothing) {
        let offenders = vec!["there is no such number at these points".to_owned()];
        return Judgement { holds: false, measured: "nothing".into(), offenders };
    }
    let offenders: Vec<String> = groups
        .iter()
        .filter(|group| !holds(group))
        .map(|group| {
            let place = if group.name.is_empty() { String::new() } else { format!("{}: ", group.name) };
            format!("{place}{}", show(group))
        })
        .collect();
    Judgement { holds: offenders.is_empty(), measured: measured(), offenders }
}

impl Group {
    /// The first and the last value; `None` if there are fewer than three, because two always lie on a line.
    fn ends(&self) -> Option<(f64, f64)> {
        self.values.first().copied().zip(self.values.last().copied()).filter(|_| self.values.len() > 2)
    }

    /// The largest deviation of a value from the line between the first and the last, as a share of their difference;
    /// `None` if a label is not a number, or there are too few values for a line.
    fn bend(&self) -> Option<f64> {
        let (first, last) = self.ends()?;
        let at: Vec<f64> = self.labels.iter().map(Label::number).collect::<Option<_>>()?;
        let (from, to) = (*at.first()?, *at.last()?);
        let line = |at: f64| first + (last - first) * (at - from) / (to - from);
        let off = at.iter().zip(&self.values).map(|(at, value)| ((value - line(*at)) / (last - first)).abs());
        Some(off.fold(0.0, f64::max)).filter(|off| off.is_finite())
    }
}

fn list(group: &Group, unit: Dimension) -> String {
    group.values.iter().map(|value| unit.show(*value)).collect::<Vec<_>>().join(", ")
}

impl ExpectSpec {
    /// Judges the expectation by the values of its metric.
    ///
    /// # Panics
    /// If the expectation was not checked before: see `plan::Plan::new`.
    #[must_use]
    pub fn judge(&self, values: &Values<'_>) -> Judgement {
        let mut values = values.select(&self.filter, self.per.as_ref());
        if let Some(axis) = &self.geomean {
            values = values.geometric_mean(axis);
        }
        match self.condition().expect("it was checked to have one") {
            Condition::Within(within) => within.judge(&values),
            Condition::Bounded(bounded) => bounded.judge(&values),
            Condition::Ratio(ratio) => ratio.judge(&values),
            Condition::Difference(difference) => difference.judge(&values),
            Condition::Monotonic(monotonic) => monotonic.judge(&values),
            Condition::Linear(linear) => linear.judge(&values),
            Condition::Saturates(saturates) => saturates.judge(&values),
            Condition::Equal(equal) => equal.judge(&values),
            Condition::Order(order) => order.judge(&values),
        }
    }
}

impl WithinRange {
    /// Holds if every number lies in the range.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let (low, high) = self.bounds(unit).expect("they were checked");
        let holds = |group: &Group| group.values.iter().all(|value| (low..=high).contains(value));
        over(&values.single(), || range(values.all(), |v| unit.show(v)), holds, |group| list(group, unit))
    }
}

impl BoundedRange {
    /// Holds if every number respects the bounds.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let bound = |bound: &Bound| bound.number(unit).expect("it was checked");
        let (least, most) = (self.least.as_ref().map(bound), self.most.as_ref().map(bound));
        let holds = |group: &Group| {
            let inside = |v: &f64| least.is_none_or(|least| *v >= least) && most.is_none_or(|most| *v <= most);
            group.values.iter().all(inside)
        };
        over(&values.single(), || range(values.all(), |v| unit.show(v)), holds, |group| list(group, unit))
    }
}

impl RatioExpectation {
    /// Holds if the quotient of the numbers at two points lies between the bounds, in each combination of the other
    /// axes.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.tuples(&[&self.at, &self.to]);
        let of = |group: &Group| group.values[0] / group.values[1];
        let [low, high] = self.between;
        let holds = |group: &Group| (low..=high).contains(&of(group));
        let show = |group: &Group| {
            format!("{} ({} to {})", change(of(group)), unit.show(group.values[1]), unit.show(group.values[0]))
        };
        over(&groups, || range(groups.iter().map(of), change), holds, show)
    }
}

impl DifferenceExpectation {
    /// Holds if the difference of the numbers at two points lies between the bounds, in each combination of the other
    /// axes.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.tuples(&[&self.at, &self.to]);
        let of = |group: &Group| group.values[0] - group.values[1];
        let (low, high) = self.bounds(unit).expect("they were checked");
        let holds = |group: &Group| (low..=high).contains(&of(group));
        let show = |group: &Group| {
            let [at, to] = [0, 1].map(|i: usize| unit.show(group.values[i]));
            format!("{} ({at} less {to})", unit.show(of(group)))
        };
        over(&groups, || range(groups.iter().map(of), |v| unit.show(v)), holds, show)
    }
}

impl Monotonic {
    /// Holds if the numbers change in the required direction with each step along the axis.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.along(&self.along);
        let slack = self.slack.get();
        let step = |pair: &[f64]| pair[1] / pair[0];
        let is_enough = |group: &Group| {
            let whole = group.values[group.values.len() - 1] / group.values[0];
            match self.direction {
                Direction::Falls => whole <= 1.0 - self.by.get(),
                Direction::Rises => whole >= 1.0 + self.by.get(),
            }
        };
        // A single value has no direction.
        let holds = |group: &Group| {
            group.values.len() > 1
                && (self.by == Ratio::default() || is_enough(group))
                && group.values.windows(2).all(|pair| match self.direction {
                    Direction::Falls => step(pair) <= 1.0 + slack,
                    Direction::Rises => step(pair) >= 1.0 - slack,
                })
        };
        let measured = || match &groups[..] {
            [one] => list(one, unit),
            all => {
                let steps = all.iter().flat_map(|group| group.values.windows(2).map(step));
                format!("steps {}", range(steps, change))
            }
        };
        over(&groups, measured, holds, |group| list(group, unit))
    }
}

impl Linear {
    /// Holds if the numbers along the axis lie on the line from the first to the last.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.along(&self.along);
        let holds = |group: &Group| {
            let grows = group.ends().is_some_and(|(first, last)| match self.direction {
                Direction::Rises => last > first,
                Direction::Falls => last < first,
            });
            grows && group.bend().is_some_and(|bend| bend <= self.within.get())
        };
        let measured = || {
            let growth = |group: &Group| group.ends().map_or(f64::NAN, |(first, last)| last / first);
            let bend = |group: &Group| group.bend().unwrap_or(f64::NAN);
            let growths = range(groups.iter().map(growth), change);
            let off = range(groups.iter().map(bend), |bend| format!("{:.1}%", bend * 100.0));
            format!("{growths}, {off} off the line")
        };
        over(&groups, measured, holds, |group| list(group, unit))
    }
}

impl Saturates {
    /// Holds if the number changes up to a point of the axis, and stays constant beyond it.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.along(&self.along);
        let at = |group: &Group| group.labels.iter().position(|label| *label == self.from);
        let before = |group: &Group| at(group).map(|at| group.values[at] / group.values[0]);
        let beyond = |group: &Group| {
            let at = at(group)?;
            // The number beyond `from` that deviates most from the number at `from`.
            let ratios = group.values[at + 1..].iter().map(|value| value / group.values[at]);
            ratios.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))
        };
        let holds = |group: &Group| {
            let settled = beyond(group).is_some_and(|ratio| (ratio - 1.0).abs() <= self.within.get());
            settled && before(group).is_some_and(|ratio| (ratio - 1.0).abs() >= self.before.get())
        };
        let said = |all: &[Group]| {
            let up_to = range(all.iter().filter_map(before), change);
            format!("{up_to} up to {}, {} beyond", self.from, range(all.iter().filter_map(beyond), change))
        };
        over(&groups, || said(&groups), holds, |group| list(group, unit))
    }
}

impl Equal {
    /// Holds if the largest number exceeds the smallest by at most a share.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = match &self.along {
            Some(axis) => values.along(axis),
            None => {
                vec![Group { name: String::new(), labels: Vec::new(), values: values.all().collect() }]
            }
        };
        let spread = |group: &Group| {
            let (least, most) = group.values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
            // Numbers that are all zero are equal, too.
            if most <= least { 0.0 } else { most / least - 1.0 }
        };
        let holds = |group: &Group| group.values.len() > 1 && spread(group) <= self.within.get();
        let measured = || format!("within {}", range(groups.iter().map(spread), |s| format!("{:.1}%", s * 100.0)));
        over(&groups, measured, holds, |group| list(group, unit))
    }
}

impl AscendingOrder {
    /// Holds if each number exceeds the previous one.
    fn judge(&self, values: &Values<'_>) -> Judgement {
        let unit = values.dimension();
        let groups = values.tuples(&self.of.iter().collect::<Vec<_>>());
        let holds = |group: &Group| group.values.windows(2).all(|pair| pair[1] > pair[0] * (1.0 + self.by.get()));
        let measured = || match &groups[..] {
            [one] => one.values.iter().map(|value| unit.show(*value)).collect::<Vec<_>>().join(" < "),
            all => {
                let steps = all.iter().flat_map(|group| group.values.windows(2).map(|pair| pair[1] / pair[0]));
                format!("steps {}", range(steps, change))
            }
        };
        over(&groups, measured, holds, |group| list(group, unit))
    }
}
