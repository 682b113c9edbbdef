//! The values of one metric at the points of a study.

use std::collections::BTreeMap;

use crate::metric::Unit;
use crate::plan::{Assignment, Label};

/// A metric's values, by the labels of their points.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    axes: &'a [(String, Vec<Label>)],
    at: BTreeMap<Vec<Label>, f64>,
    unit: Unit,
}

/// Numbers that are looked at together, in the order of their axis, and what they have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// The labels that all of them share.
    pub(crate) name: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) values: Vec<f64>,
}

impl<'a> Values<'a> {
    /// The values of a metric of this unit. Points without one are left out.
    pub fn new(
        axes: &'a [(String, Vec<Label>)],
        unit: Unit,
        values: impl IntoIterator<Item = (Vec<Label>, Option<f64>)>,
    ) -> Self {
        let at = values.into_iter().filter_map(|(labels, value)| Some((labels, value?))).collect();
        Self { axes, at, unit }
    }

    /// What they count.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    fn matches(&self, assignment: &Assignment, labels: &[Label]) -> bool {
        crate::plan::matches(assignment, self.axes, labels)
    }

    /// Those that match `filter`, each divided by the value at the same point moved to `per`.
    pub(crate) fn select(&self, filter: &Assignment, per: Option<&Assignment>) -> Self {
        let value = |labels: &Vec<Label>, value: f64| match per {
            None => Some(value),
            Some(per) => self.at.get(&self.moved(labels, per)).filter(|by| **by != 0.0).map(|by| value / by),
        };
        let kept = self.at.iter().filter(|(labels, _)| self.matches(filter, labels));
        let at = kept.filter_map(|(labels, v)| Some((labels.clone(), value(labels, *v)?))).collect();
        Self { axes: self.axes, at, unit: if per.is_some() { Unit::Plain } else { self.unit } }
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.at.values().copied()
    }

    /// The labels of a point, with those of an assignment in their place.
    fn moved(&self, labels: &[Label], to: &Assignment) -> Vec<Label> {
        let pair = self.axes.iter().zip(labels);
        pair.map(|((name, _), label)| to.get(name).and_then(|wanted| wanted.labels().first()).unwrap_or(label).clone())
            .collect()
    }

    /// For each combination of the axes that no assignment names: the values at all the assignments, in
    /// their order. Combinations in which one is missing are left out.
    pub(crate) fn tuples(&self, of: &[&Assignment]) -> Vec<Group> {
        let Some(first) = of.first() else { return Vec::new() };
        let mut groups = Vec::new();
        for labels in self.at.keys().filter(|labels| self.matches(first, labels)) {
            // A point in which an axis that only others name has any label: it counts once, below.
            let places: Vec<Vec<Label>> = of.iter().map(|to| self.moved(labels, to)).collect();
            let values: Option<Vec<f64>> = places.iter().map(|place| self.at.get(place).copied()).collect();
            let Some(values) = values else { continue };
            let named = |name: &str| of.iter().any(|assignment| assignment.contains_key(name));
            let group = Group { name: self.name(labels, named), labels: Vec::new(), values };
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// For each combination of the other axes: the values along this one, in its order.
    pub(crate) fn along(&self, axis: &str) -> Vec<Group> {
        let Some(at) = self.axes.iter().position(|(name, _)| name == axis) else { return Vec::new() };
        let mut groups: BTreeMap<Vec<Label>, Group> = BTreeMap::new();
        let order = |label: &Label| self.axes[at].1.iter().position(|other| other == label);
        let mut points: Vec<_> = self.at.iter().collect();
        points.sort_by_key(|(labels, _)| order(&labels[at]));
        for (labels, value) in points {
            let mut others = labels.clone();
            let label = others.remove(at);
            let group = groups.entry(others).or_insert_with(|| Group {
                name: self.name(labels, |name| name == axis),
                labels: Vec::new(),
                values: Vec::new(),
            });
            group.labels.push(label);
            group.values.push(*value);
        }
        groups.into_values().collect()
    }

    /// Each value alone.
    pub(crate) fn single(&self) -> Vec<Group> {
        let group = |(labels, value): (&Vec<Label>, &f64)| Group {
            name: self.name(labels, |_| false),
            labels: Vec::new(),
            values: vec![*value],
        };
        self.at.iter().map(group).collect()
    }

    fn name(&self, labels: &[Label], leave_out: impl Fn(&str) -> bool) -> String {
        let pairs = self.axes.iter().zip(labels);
        let kept = pairs.filter(|((name, all), _)| !leave_out(name) && all.len() > 1);
        kept.map(|((name, _), label)| format!("{name} {label}")).collect::<Vec<_>>().join(", ")
    }
}
