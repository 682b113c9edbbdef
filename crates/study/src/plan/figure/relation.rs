//! The relation of a figure's number to the number at another point.

use super::FigureSpec;
use crate::label::{Assignment, Label};

/// The relation of a number to the number at another point, as a figure draws it.
#[derive(Clone, Copy, Debug)]
pub enum Relation<'a> {
    /// The number divided by that at the point with these labels.
    Per(&'a Assignment),
    /// The number divided by that at the point whose labels on these axes are exchanged.
    PerExchanged(&'a [String; 2]),
    /// The number at the point with these labels divided by the number at this point.
    GainOver(&'a Assignment),
    /// The number at the point with these labels minus the number at this point.
    LessThan(&'a Assignment),
}

impl<'a> Relation<'a> {
    /// The key of the figure that asks for the relation.
    pub(super) const fn key(&self) -> &'static str {
        match self {
            Self::Per(_) => "per",
            Self::PerExchanged(_) => "per-exchanged",
            Self::GainOver(_) => "gain-over",
            Self::LessThan(_) => "less-than",
        }
    }

    /// The labels of the other point, if they do not depend on this point.
    #[must_use]
    pub const fn assignment(&self) -> Option<&'a Assignment> {
        match self {
            Self::Per(to) | Self::GainOver(to) | Self::LessThan(to) => Some(to),
            Self::PerExchanged(_) => None,
        }
    }

    /// Returns true for a quotient of two points, which has no unit; false for a difference.
    #[must_use]
    pub const fn is_quotient(&self) -> bool {
        !matches!(self, Self::LessThan(_))
    }

    /// The labels of the other point, for the point with these labels.
    #[must_use]
    pub fn other<'b>(&self, axes: impl Iterator<Item = &'b str> + Clone, labels: &[Label]) -> Vec<Label> {
        let place = |name: &String| axes.clone().position(|axis| axis == name);
        let mut other = labels.to_vec();
        match self {
            Self::Per(to) | Self::GainOver(to) | Self::LessThan(to) => {
                for (label, axis) in other.iter_mut().zip(axes) {
                    if let Some(moved) = to.get(axis).and_then(|labels| labels.labels().first()) {
                        label.clone_from(moved);
                    }
                }
            }
            Self::PerExchanged([a, b]) => {
                if let (Some(a), Some(b)) = (place(a), place(b)) {
                    other.swap(a, b);
                }
            }
        }
        other
    }

    /// The drawn number, from the numbers at both points; `None` if it is not finite.
    #[must_use]
    pub fn of(&self, here: f64, there: f64) -> Option<f64> {
        let quotient = |top: f64, bottom: f64| (bottom != 0.0).then(|| top / bottom);
        match self {
            Self::Per(_) | Self::PerExchanged(_) => quotient(here, there),
            Self::GainOver(_) => quotient(there, here),
            Self::LessThan(_) => Some(there - here),
        }
    }
}

impl FigureSpec {
    /// All relations for which the figure has a key. More than one is a fault.
    pub(super) fn relations(&self) -> Vec<Relation<'_>> {
        let all = [
            self.per.as_ref().map(Relation::Per),
            self.per_exchanged.as_ref().map(Relation::PerExchanged),
            self.gain_over.as_ref().map(Relation::GainOver),
            self.less_than.as_ref().map(Relation::LessThan),
        ];
        all.into_iter().flatten().collect()
    }

    /// The relation that the figure draws; `None` if it draws numbers as they are.
    #[must_use]
    pub fn relation(&self) -> Option<Relation<'_>> {
        self.relations().into_iter().next()
    }
}
