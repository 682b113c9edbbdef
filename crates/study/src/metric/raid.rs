//! The metrics of a RAID by name.

use super::dimension::Dimension;
use crate::summary::RaidSummary;

/// The names of the metrics after `raid.`.
pub(super) const NAMES: [&str; 18] = [
    "waf",
    "read-amplification",
    "drive-waf",
    "full-updates",
    "modify-updates",
    "reconstruct-updates",
    "recover-updates",
    "recovered-bytes",
    "rewritten-bytes",
    "rebuilt-bytes",
    "repaired-bytes",
    "rebuild-end",
    "lost-chunks",
    "failed-drives",
    "journal-records",
    "journal-bytes",
    "journal-checkpoints",
    "journal-waits",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RaidStat {
    name: &'static str,
    dimension: Dimension,
}

impl RaidStat {
    /// The metric whose name has this part after `raid`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let dimension = match name {
            "waf" | "read-amplification" | "drive-waf" => Dimension::Plain,
            "rebuild-end" => Dimension::Time,
            _ => Dimension::Count,
        };
        Some(Self { name, dimension })
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    pub(super) fn of(&self, of: &RaidSummary) -> Option<f64> {
        let count = match self.name {
            "waf" => return of.write_amplification,
            "read-amplification" => return of.read_amplification,
            "drive-waf" => return of.drive_write_amplification,
            "rebuild-end" => return of.rebuilt_s.map(|seconds| seconds * 1e6),
            "full-updates" => of.full_updates,
            "modify-updates" => of.modify_updates,
            "reconstruct-updates" => of.reconstruct_updates,
            "recover-updates" => of.recover_updates,
            "recovered-bytes" => of.recovered_bytes,
            "rewritten-bytes" => of.rewritten_bytes,
            "rebuilt-bytes" => of.rebuilt_bytes,
            "repaired-bytes" => of.repaired_bytes,
            "lost-chunks" => of.lost_chunks,
            "failed-drives" => of.failed_drives() as u64,
            "journal-records" => of.journal.as_ref()?.records,
            "journal-bytes" => of.journal.as_ref()?.bytes,
            "journal-checkpoints" => of.journal.as_ref()?.checkpoints,
            _ => of.journal.as_ref()?.waits,
        };
        Some(count as f64)
    }
}
