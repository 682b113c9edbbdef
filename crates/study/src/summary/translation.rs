//! A translation over zones in a summary.

use flash::backend::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::TranslationCounters;

use super::Report;

/// Bytes of a unit in the map of a translation: the number of its place on the drive.
const MAP_ENTRY: u64 = 4;

/// Counters of a translation over zones. Units are mapping units.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct TranslationSummary {
    /// Units that the translation wrote to zones for each unit that users wrote: data, copies and summaries. The run's
    /// own `write_amplification` covers the translation and the drive together.
    pub write_amplification: Option<f64>,
    /// Units that the drive programmed for each unit that the translation wrote.
    pub drive_write_amplification: Option<f64>,
    /// The number of units that users wrote.
    pub written: u64,
    /// The number of units that collection copied.
    pub copied: u64,
    /// The number of units of the summaries of zones.
    pub summaries: u64,
    /// The number of copied units that users wrote or discarded before the copy ended.
    pub vain_copies: u64,
    /// The number of reads for the rest of a partly written first or last unit.
    pub rest_reads: u64,
    /// The number of zones that collection emptied.
    pub collected_zones: u64,
    /// The number of zones without valid data, which were reset without a copy.
    pub dead_zones: u64,
    /// The number of zones that took no more data before they were full, or could not be reset.
    pub failed_zones: u64,
    /// The number of units that could not be read when they were to be copied.
    pub lost_units: u64,
    /// The number of mapping units that mounts read to rebuild the map.
    pub mount_reads: u64,
    /// The number of writes of users that waited for a zone.
    pub stalled_writes: u64,
    /// The sum of these waits, in microseconds.
    pub stalled_us: f64,
    /// The number of free zones at the end.
    pub free_zones: u32,
    /// Bytes of the map in the host's RAM: four for each unit.
    pub map_bytes: u64,
}

impl TranslationSummary {
    pub(super) fn new(report: &Report<'_>, counters: &TranslationCounters) -> Self {
        let to_zones = (counters.written + counters.copied + counters.summaries) as f64;
        let counted = report.result.counters();
        let programmed = counted.flash.op(Op::Program).slots as f64;
        let ratio = |part: f64, of: f64| (of > 0.0).then(|| part / of);
        Self {
            write_amplification: ratio(to_zones, counters.written as f64),
            drive_write_amplification: ratio(programmed, to_zones),
            written: counters.written,
            copied: counters.copied,
            summaries: counters.summaries,
            vain_copies: counters.vain_copies,
            rest_reads: counters.rest_reads,
            collected_zones: counters.collected_zones,
            dead_zones: counters.dead_zones,
            failed_zones: counters.failed_zones,
            lost_units: counters.lost_units,
            mount_reads: counters.mount_reads,
            stalled_writes: counters.stalled_writes,
            stalled_us: counters.stalled.as_us_f64(),
            free_zones: counters.free_zones,
            map_bytes: MAP_ENTRY * counters.units,
        }
    }
}
