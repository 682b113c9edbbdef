//! The metrics of Flexible Data Placement by name.

use super::dimension::Dimension;
use crate::summary::FdpSummary;

/// The names of the metrics after `fdp.`.
pub(super) const NAMES: [&str; 6] =
    ["host-bytes", "media-bytes", "erased-bytes", "moved-bytes", "partial-superblocks", "invalid-identifiers"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FdpStat(&'static str);

impl FdpStat {
    /// The metric whose name has this part after `fdp`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        Some(Self(name))
    }

    pub(super) const fn dimension(&self) -> Dimension {
        Dimension::Count
    }

    pub(super) fn of(&self, of: &FdpSummary) -> f64 {
        let count = match self.0 {
            "host-bytes" => of.host_bytes,
            "media-bytes" => of.media_bytes,
            "erased-bytes" => of.erased_bytes,
            "moved-bytes" => of.moved_bytes(),
            "partial-superblocks" => of.partial_superblocks(),
            _ => of.invalid_identifiers,
        };
        count as f64
    }
}
