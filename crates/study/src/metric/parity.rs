//! The metrics of parity by name.

use super::dimension::Dimension;
use crate::summary::ParitySummary;

/// The names of the metrics after `parity.`.
pub(super) const NAMES: [&str; 4] = ["rebuilt", "lost", "superblocks", "waiting"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParityStat(&'static str);

impl ParityStat {
    /// The metric whose name has this part after `parity`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|known| *known == name).map(Self)
    }

    pub(super) const fn dimension(&self) -> Dimension {
        Dimension::Count
    }

    pub(super) fn of(&self, of: &ParitySummary) -> f64 {
        let count = match self.0 {
            "rebuilt" => of.rebuilt,
            "lost" => of.lost,
            "superblocks" => of.superblocks,
            _ => of.waiting,
        };
        count as f64
    }
}
