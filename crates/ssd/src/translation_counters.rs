//! Counters of a translation over zones, beside the counters of the drive below it.

use base::units::Span;

/// Counters of a translation over zones since it was created. Units are mapping units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounters {
    /// The number of units of the host that were written to zones; a partly written unit counts once.
    pub written: u64,
    /// The number of units that collection copied.
    pub copied: u64,
    /// The number of units of summaries.
    pub summaries: u64,
    /// The number of copied units that the host wrote or discarded before the copy ended.
    pub vain_copies: u64,
    /// The number of units that were read for the rest of a partial write.
    pub rest_reads: u64,
    /// The number of zones that collection has emptied and reset.
    pub collected_zones: u64,
    /// The number of zones without valid data, which were reset without a copy.
    pub dead_zones: u64,
    /// The number of zones that took no more data before they were full, or could not be reset.
    pub failed_zones: u64,
    /// The number of units that could not be read when they were to be copied.
    pub lost_units: u64,
    /// The number of units that the mounts after power cuts read.
    pub mount_reads: u64,
    /// The number of writes that waited for a zone.
    pub stalled_writes: u64,
    /// The sum of these waits.
    pub stalled: Span,
    /// The number of free zones at the time of the snapshot.
    pub free_zones: u32,
    /// Units that users can address.
    pub units: u64,
    /// The number of mapped units at the time of the snapshot.
    pub mapped: u64,
}

impl TranslationCounters {
    /// The counts since `from`; free zones and mapped units are taken from `self`.
    #[must_use]
    pub fn since(&self, from: &Self) -> Self {
        Self {
            written: self.written - from.written,
            copied: self.copied - from.copied,
            summaries: self.summaries - from.summaries,
            vain_copies: self.vain_copies - from.vain_copies,
            rest_reads: self.rest_reads - from.rest_reads,
            collected_zones: self.collected_zones - from.collected_zones,
            dead_zones: self.dead_zones - from.dead_zones,
            failed_zones: self.failed_zones - from.failed_zones,
            lost_units: self.lost_units - from.lost_units,
            mount_reads: self.mount_reads - from.mount_reads,
            stalled_writes: self.stalled_writes - from.stalled_writes,
            stalled: self.stalled - from.stalled,
            free_zones: self.free_zones,
            units: self.units,
            mapped: self.mapped,
        }
    }
}
