//! The values of one metric at the points of a study.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::label::{Assignment, Label};
use crate::metric::Dimension;

/// The values of a metric. The keys are the positions of the points on the axes, so the values are in the order of the
/// axes.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    axes: Cow<'a, [(String, Vec<Label>)]>,
    at: BTreeMap<Vec<usize>, f64>,
    unit: Dimension,
}

/// Numbers that are judged together, in the order of their axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// The labels that all points of the group have.
    pub(crate) name: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) values: Vec<f64>,
}

impl<'a> Values<'a> {
    /// The values of a metric of this dimension. Points without a value or outside the axes are left out.
    pub fn new(
        axes: &'a [(String, Vec<Label>)],
        unit: Dimension,
        values: impl IntoIterator<Item = (Vec<Label>, Option<f64>)>,
    ) -> Self {
        let place = |labels: Vec<Label>| {
            let pairs = axes.iter().zip(&labels);
            pairs.map(|((_, all), label)| all.iter().position(|other| other == label)).collect::<Option<Vec<_>>>()
        };
        let at = values.into_iter().filter_map(|(labels, value)| Some((place(labels)?, value?))).collect();
        Self { axes: Cow::Borrowed(axes), at, unit }
    }

    /// The dimension that an expectation's bounds must have, e.g. a time or a plain number.
    #[must_use]
    pub const fn dimension(&self) -> Dimension {
        self.unit
    }

    fn label(&self, axis: usize, place: &[usize]) -> &Label {
        &self.axes[axis].1[place[axis]]
    }

    fn matches(&self, assignment: &Assignment, place: &[usize]) -> bool {
        let axes = self.axes.iter().enumerate();
        axes.filter_map(|(axis, (name, _))| Some((axis, assignment.get(name)?)))
            .all(|(axis, wanted)| wanted.labels().contains(self.label(axis, place)))
    }

    /// The values at points that match `filter`, each divided by the value at the same point with the labels of `per`.
    pub(crate) fn select(&self, filter: &Assignment, per: Option<&Assignment>) -> Self {
        let value = |place: &Vec<usize>, value: f64| match per {
            None => Some(value),
            Some(per) => self.at.get(&self.moved(place, per)).filter(|by| **by != 0.0).map(|by| value / by),
        };
        let kept = self.at.iter().filter(|(place, _)| self.matches(filter, place));
        let at = kept.filter_map(|(place, v)| Some((place.clone(), value(place, *v)?))).collect();
        Self { axes: self.axes.clone(), at, unit: if per.is_some() { Dimension::Plain } else { self.unit } }
    }

    /// The names of the points with a value above zero, among the points that [`Values::select`] uses for these
    /// assignments.
    pub(crate) fn above_zero(&self, filter: &Assignment, per: Option<&Assignment>) -> Vec<String> {
        let mut names = Vec::new();
        for place in self.at.keys().filter(|place| self.matches(filter, place)) {
            let divisor = per.map(|per| self.moved(place, per));
            for looked_at in [Some(place), divisor.as_ref()].into_iter().flatten() {
                let name = self.name(looked_at, |_| false);
                if self.at.get(looked_at).is_some_and(|value| *value > 0.0) && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The geometric means along an axis; the result does not have that axis. Combinations of the other axes with fewer
    /// points than others are left out.
    pub(crate) fn geometric_mean(mut self, axis: &str) -> Self {
        let Some(at) = self.axes.iter().position(|(name, _)| name == axis) else { return self };
        let mut logarithms: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        for (place, value) in &self.at {
            let mut others = place.clone();
            others.remove(at);
            logarithms.entry(others).or_default().push(value.ln());
        }
        let most = logarithms.values().map(Vec::len).max().unwrap_or(0);
        logarithms.retain(|_, all| all.len() == most);
        let mean = |all: Vec<f64>| (all.iter().sum::<f64>() / all.len() as f64).exp();
        self.at = logarithms.into_iter().map(|(place, all)| (place, mean(all))).collect();
        self.axes.to_mut().remove(at);
        self
    }

    /// The value at a point, and the value at the same point with the labels of `to`.
    #[must_use]
    pub fn beside(&self, labels: &[Label], to: &Assignment) -> Option<(f64, f64)> {
        let pairs = self.axes.iter().zip(labels);
        let place: Option<Vec<usize>> =
            pairs.map(|((_, all), label)| all.iter().position(|other| other == label)).collect();
        let place = place?;
        Some((*self.at.get(&place)?, *self.at.get(&self.moved(&place, to))?))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.at.values().copied()
    }

    /// The position of a point after the labels of an assignment have replaced its own.
    fn moved(&self, place: &[usize], to: &Assignment) -> Vec<usize> {
        let moved = |(axis, (name, all)): (usize, &(String, Vec<Label>))| {
            let wanted = to.get(name).and_then(|wanted| wanted.labels().first());
            wanted.and_then(|label| all.iter().position(|other| other == label)).unwrap_or(place[axis])
        };
        self.axes.iter().enumerate().map(moved).collect()
    }

    /// For each combination of the axes that no assignment names: the values at all assignments, in their order.
    /// Combinations with a missing value are left out.
    pub(crate) fn tuples(&self, of: &[&Assignment]) -> Vec<Group> {
        let Some(first) = of.first() else { return Vec::new() };
        let mut groups = Vec::new();
        for place in self.at.keys().filter(|place| self.matches(first, place)) {
            // The point may have any label on an axis that only other assignments name; the check below counts it once.
            let values: Option<Vec<f64>> = of.iter().map(|to| self.at.get(&self.moved(place, to)).copied()).collect();
            let Some(values) = values else { continue };
            let named = |name: &str| of.iter().any(|assignment| assignment.contains_key(name));
            let group = Group { name: self.name(place, named), labels: Vec::new(), values };
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// For each combination of the other axes: the values along this axis, in its order.
    pub(crate) fn along(&self, axis: &str) -> Vec<Group> {
        let Some(at) = self.axes.iter().position(|(name, _)| name == axis) else { return Vec::new() };
        let mut groups: BTreeMap<Vec<usize>, Group> = BTreeMap::new();
        for (place, value) in &self.at {
            let mut others = place.clone();
            others.remove(at);
            let group = groups.entry(others).or_insert_with(|| Group {
                name: self.name(place, |name| name == axis),
                labels: Vec::new(),
                values: Vec::new(),
            });
            group.labels.push(self.label(at, place).clone());
            group.values.push(*value);
        }
        groups.into_values().collect()
    }

    /// Each value in its own group.
    pub(crate) fn single(&self) -> Vec<Group> {
        let group = |(place, value): (&Vec<usize>, &f64)| Group {
            name: self.name(place, |_| false),
            labels: Vec::new(),
            values: vec![*value],
        };
        self.at.iter().map(group).collect()
    }

    fn name(&self, place: &[usize], leave_out: impl Fn(&str) -> bool) -> String {
        let axes = self.axes.iter().enumerate();
        let kept = axes.filter(|(_, (name, all))| !leave_out(name) && all.len() > 1);
        kept.map(|(axis, (name, _))| format!("{name} {}", self.label(axis, place))).collect::<Vec<_>>().join(", ")
    }
}
