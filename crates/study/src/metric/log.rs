//! The metrics of merges of log blocks by name.

use super::dimension::Dimension;
use crate::summary::LogSummary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogStat {
    Merges,
    Switch,
    Partial,
    Full,
    K,
    PagesOfPartial,
    PagesOfFull,
    Erases,
    Saving,
}

impl LogStat {
    /// The metric whose name has these parts after `log`.
    pub(super) fn parse(name: &[&str]) -> Option<Self> {
        Some(match name {
            ["merges"] => Self::Merges,
            ["switch"] => Self::Switch,
            ["partial"] => Self::Partial,
            ["full"] => Self::Full,
            ["k"] => Self::K,
            ["pages", "partial"] => Self::PagesOfPartial,
            ["pages", "full"] => Self::PagesOfFull,
            ["erases"] => Self::Erases,
            ["saving"] => Self::Saving,
            _ => return None,
        })
    }

    pub(super) const fn dimension(self) -> Dimension {
        match self {
            Self::Saving => Dimension::Time,
            _ => Dimension::Count,
        }
    }

    pub(super) fn of(self, merges: &LogSummary) -> Option<f64> {
        let count = match self {
            Self::K => return merges.k,
            Self::PagesOfPartial => return merges.pages_of_partial,
            Self::PagesOfFull => return merges.pages_of_full,
            Self::Saving => return Some(merges.saving_s * 1e6),
            Self::Merges => merges.switch + merges.partial + merges.full,
            Self::Erases => merges.erases,
            Self::Switch => merges.switch,
            Self::Partial => merges.partial,
            Self::Full => merges.full,
        };
        Some(count as f64)
    }
}
