//! The metrics of a translation over zones by name.

use super::dimension::Dimension;
use crate::summary::TranslationSummary;

/// The names of the metrics after `translation.`.
pub(super) const NAMES: [&str; 16] = [
    "waf",
    "drive-waf",
    "written",
    "copied",
    "summaries",
    "vain-copies",
    "rest-reads",
    "collected-zones",
    "dead-zones",
    "failed-zones",
    "lost-units",
    "mount-reads",
    "stalled-writes",
    "stall-time",
    "free-zones",
    "map-bytes",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TranslationStat {
    name: &'static str,
    dimension: Dimension,
}

impl TranslationStat {
    /// The metric whose name has this part after `translation`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let dimension = match name {
            "waf" | "drive-waf" => Dimension::Plain,
            "stall-time" => Dimension::Time,
            _ => Dimension::Count,
        };
        Some(Self { name, dimension })
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    pub(super) fn of(&self, of: &TranslationSummary) -> Option<f64> {
        let count = match self.name {
            "waf" => return of.write_amplification,
            "drive-waf" => return of.drive_write_amplification,
            "stall-time" => return Some(of.stalled_us),
            "written" => of.written,
            "copied" => of.copied,
            "summaries" => of.summaries,
            "vain-copies" => of.vain_copies,
            "rest-reads" => of.rest_reads,
            "collected-zones" => of.collected_zones,
            "dead-zones" => of.dead_zones,
            "failed-zones" => of.failed_zones,
            "lost-units" => of.lost_units,
            "mount-reads" => of.mount_reads,
            "stalled-writes" => of.stalled_writes,
            "free-zones" => u64::from(of.free_zones),
            _ => of.map_bytes,
        };
        Some(count as f64)
    }
}
