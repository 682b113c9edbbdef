//! The metrics of an SLC cache by name.

use super::dimension::Dimension;
use crate::summary::SlcCacheSummary;

/// The names of the metrics after `slc-cache.`.
pub(super) const NAMES: [&str; 5] = ["share", "cached", "direct", "superblocks", "limit"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlcCacheStat {
    name: &'static str,
    dimension: Dimension,
}

impl SlcCacheStat {
    /// The metric whose name has this part after `slc-cache`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let dimension = if name == "share" { Dimension::Share } else { Dimension::Count };
        Some(Self { name, dimension })
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    pub(super) fn of(&self, of: &SlcCacheSummary) -> f64 {
        match self.name {
            "share" => of.share,
            "cached" => of.cached as f64,
            "direct" => of.direct as f64,
            "superblocks" => of.superblocks as f64,
            _ => of.limit as f64,
        }
    }
}
