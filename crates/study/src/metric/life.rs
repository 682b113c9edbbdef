//! The metrics of a drive's life by name.

use super::dimension::Dimension;
use crate::summary::{LifeMilestone, LifeSummary};

/// The names of the metrics after `life.`.
pub(super) const NAMES: [&str; 10] =
    ["tbw", "dwpd", "waf", "time", "bad-blocks", "spare", "first-failure", "percent-bad", "half-spare", "rounds"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LifeStat {
    name: &'static str,
    dimension: Dimension,
}

impl LifeStat {
    /// The metric whose name has this part after `life`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let dimension = match name {
            "dwpd" | "waf" => Dimension::Plain,
            "time" => Dimension::Time,
            "spare" => Dimension::Share,
            _ => Dimension::Count,
        };
        Some(Self { name, dimension })
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    pub(super) fn of(&self, of: &LifeSummary) -> Option<f64> {
        let written = |at: Option<LifeMilestone>| at.map(|at| at.written_bytes as f64);
        match self.name {
            "tbw" => of.worn.then_some(of.written_bytes as f64),
            "dwpd" => of.drive_writes_per_day,
            "waf" => of.write_amplification,
            "time" => Some(of.seconds * 1e6),
            "bad-blocks" => Some(of.failed_blocks as f64),
            "spare" => Some(of.spare_left),
            "first-failure" => written(of.first_failure),
            "percent-bad" => written(of.percent_failed),
            "half-spare" => written(of.half_spare_failed),
            _ => Some(f64::from(of.rounds)),
        }
    }
}
