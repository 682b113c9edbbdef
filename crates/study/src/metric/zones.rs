//! The metrics of zones by name.

use super::dimension::Dimension;
use crate::summary::ZonesSummary;

/// The names of the metrics after `zones.`. Those of random write areas have a value only on a drive with such areas.
pub(super) const NAMES: [&str; 10] = [
    "resets",
    "finishes",
    "padded-bytes",
    "active",
    "open",
    "overwritten-bytes",
    "unwritten-bytes",
    "implicit-flushes",
    "explicit-flushes",
    "zrwa",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ZonesStat(&'static str);

impl ZonesStat {
    /// The metric whose name has this part after `zones`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|known| *known == name).map(Self)
    }

    pub(super) const fn dimension(&self) -> Dimension {
        Dimension::Count
    }

    pub(super) fn of(&self, of: &ZonesSummary) -> Option<f64> {
        let zrwa = of.zrwa.as_ref();
        let count = match self.0 {
            "resets" => of.resets,
            "finishes" => of.finishes,
            "padded-bytes" => of.padded_bytes,
            "active" => u64::from(of.active),
            "open" => u64::from(of.open),
            "overwritten-bytes" => zrwa?.overwritten_bytes,
            "unwritten-bytes" => zrwa?.unwritten_bytes,
            "implicit-flushes" => zrwa?.implicit_flushes,
            "explicit-flushes" => zrwa?.explicit_flushes,
            _ => u64::from(zrwa?.zones),
        };
        Some(count as f64)
    }
}
