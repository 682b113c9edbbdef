//! The metrics of refresh by name.

use super::dimension::Dimension;
use crate::summary::RefreshSummary;

/// The names of the metrics after `refresh.`.
pub(super) const NAMES: [&str; 5] = ["superblocks", "age", "reads", "errors", "patrol-reads"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefreshStat(&'static str);

impl RefreshStat {
    /// The metric whose name has this part after `refresh`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|known| *known == name).map(Self)
    }

    pub(super) const fn dimension(&self) -> Dimension {
        Dimension::Count
    }

    pub(super) fn of(&self, of: &RefreshSummary) -> f64 {
        let count = match self.0 {
            "superblocks" => of.superblocks,
            "age" => of.by_age,
            "reads" => of.by_reads,
            "errors" => of.by_errors,
            _ => of.patrol_reads,
        };
        count as f64
    }
}
