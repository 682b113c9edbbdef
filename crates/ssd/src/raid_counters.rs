//! Counters of a RAID, beside those of its drives.

use base::units::Time;

/// What a RAID did since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaidCounters {
    /// Each drive: those of the stripes, the spares, and that of the journal.
    pub drives: Vec<RaidDriveCounters>,
    /// Pieces of stripes whose parity was computed from new data alone.
    pub full_updates: u64,
    /// Pieces whose parity was computed from the old data and the old parity (read-modify-write).
    pub modify_updates: u64,
    /// Pieces whose parity was computed from new data and the rest of the stripe (reconstruct-write).
    pub reconstruct_updates: u64,
    /// Pieces of which old data had to be recovered from parity first.
    pub recover_updates: u64,
    /// Sectors of host reads that were computed from the other drives.
    pub recovered_sectors: u64,
    /// Sectors that a drive could not read, and that were written again with what the other drives hold.
    pub rewritten_sectors: u64,
    /// Sectors that rebuilds wrote to spares.
    pub rebuilt_sectors: u64,
    /// Sectors of each drive whose parity or mirrors were repaired after a power cut.
    pub repaired_sectors: u64,
    /// Chunks that nothing could bring back during a rebuild.
    pub lost_chunks: u64,
    /// When the last rebuild ended, if one has ended.
    pub rebuilt_at: Option<Time>,
    /// The journal, if there is one.
    pub journal: Option<RaidJournalCounters>,
}

/// The journal of a RAID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaidJournalCounters {
    /// Records written.
    pub records: u64,
    /// Sectors written: records with their headers, and tails.
    pub sectors: u64,
    /// Checkpoints that have ended.
    pub checkpoints: u64,
    /// Records that waited for room.
    pub waits: u64,
    /// Records that were written to their places after a power cut.
    pub replayed: u64,
    /// Records that could not be read then.
    pub unreadable: u64,
}

impl RaidJournalCounters {
    /// What was counted since `from`.
    #[must_use]
    pub const fn since(&self, from: &Self) -> Self {
        Self {
            records: self.records - from.records,
            sectors: self.sectors - from.sectors,
            checkpoints: self.checkpoints - from.checkpoints,
            waits: self.waits - from.waits,
            replayed: self.replayed - from.replayed,
            unreadable: self.unreadable - from.unreadable,
        }
    }
}

/// A drive of a RAID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaidDriveCounters {
    /// True if the drive has failed.
    pub has_failed: bool,
    /// Requests of reads, writes, discards and flushes to the drive.
    pub requests: u64,
    /// Sectors read from the drive.
    pub read_sectors: u64,
    /// Sectors written to the drive.
    pub written_sectors: u64,
    /// Mapping units that the writes asked for.
    pub host_slots: u64,
    /// Of these, the number that the drive's buffer absorbed.
    pub absorbed_slots: u64,
    /// Mapping units that the drive programmed.
    pub programmed_slots: u64,
    /// Host requests that ended with this drive: it was the last one that they waited for.
    pub last: u64,
}

impl RaidCounters {
    /// What was counted since `from`.
    #[must_use]
    pub fn since(&self, from: &Self) -> Self {
        Self {
            drives: self.drives.iter().zip(&from.drives).map(|(to, from)| to.since(from)).collect(),
            full_updates: self.full_updates - from.full_updates,
            modify_updates: self.modify_updates - from.modify_updates,
            reconstruct_updates: self.reconstruct_updates - from.reconstruct_updates,
            recover_updates: self.recover_updates - from.recover_updates,
            recovered_sectors: self.recovered_sectors - from.recovered_sectors,
            rewritten_sectors: self.rewritten_sectors - from.rewritten_sectors,
            rebuilt_sectors: self.rebuilt_sectors - from.rebuilt_sectors,
            repaired_sectors: self.repaired_sectors - from.repaired_sectors,
            lost_chunks: self.lost_chunks - from.lost_chunks,
            rebuilt_at: self.rebuilt_at,
            journal: self.journal.zip(from.journal).map(|(to, from)| to.since(&from)),
        }
    }
}

impl RaidDriveCounters {
    fn since(&self, from: &Self) -> Self {
        Self {
            has_failed: self.has_failed,
            requests: self.requests - from.requests,
            read_sectors: self.read_sectors - from.read_sectors,
            written_sectors: self.written_sectors - from.written_sectors,
            host_slots: self.host_slots - from.host_slots,
            absorbed_slots: self.absorbed_slots - from.absorbed_slots,
            programmed_slots: self.programmed_slots - from.programmed_slots,
            last: self.last - from.last,
        }
    }
}
