//! Counters of a translation over zones, beside those of the drive below it.

use base::units::Span;

/// What a translation over zones did since it was made. Units are mapping units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounters {
    /// Units of the host that were written to zones, with the rest of partly written units.
    pub written: u64,
    /// Units that collection copied.
    pub copied: u64,
    /// Units of summaries.
    pub summaries: u64,
    /// Copies that were in vain: the host wrote or discarded the unit before they ended.
    pub vain_copies: u64,
    /// Units that the rest of a partial write was read from.
    pub rest_reads: u64,
    /// Zones that collection has emptied and reset.
    pub collected_zones: u64,
    /// Zones that nothing valid was left in: they were reset without a copy.
    pub dead_zones: u64,
    /// Zones that took no more data before they were full, or could not be reset.
    pub failed_zones: u64,
    /// Units that could not be read when they were to be copied.
    pub lost_units: u64,
    /// Units that the mounts after power cuts read.
    pub mount_reads: u64,
    /// Writes that waited for a zone.
    pub stalled_writes: u64,
    /// How long they waited, added up.
    pub stalled: Span,
    /// Zones that are free now.
    pub free_zones: u32,
    /// Units that users can address.
    pub units: u64,
    /// Units that are mapped now.
    pub mapped: u64,
}

impl TranslationCounters {
    /// What was counted since `from`; numbers of the moment stay.
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
