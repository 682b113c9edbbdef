//! Counters of a RAID, beside the counters of its drives.

use base::units::Time;

/// Counters of a RAID since it was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaidCounters {
    /// Counters of each drive: the drives of the stripes, the spares, and the drive of the journal.
    pub drives: Vec<RaidDriveCounters>,
    /// The number of pieces of stripes whose parity was computed from new data alone.
    pub full_updates: u64,
    /// The number of pieces whose parity was computed from the old data and the old parity (read-modify-write).
    pub modify_updates: u64,
    /// The number of pieces whose parity was computed from new data and the rest of the stripe (reconstruct-write).
    pub reconstruct_updates: u64,
    /// The number of pieces with old data that had to be recovered from parity first.
    pub recover_updates: u64,
    /// The number of sectors of host reads that were computed from the other drives.
    pub recovered_sectors: u64,
    /// The number of sectors that a drive could not read, and that were written again with data from the other drives.
    pub rewritten_sectors: u64,
    /// The number of sectors that rebuilds wrote to spares.
    pub rebuilt_sectors: u64,
    /// The number of sectors of each drive whose parity or mirrors were repaired after a power cut.
    pub repaired_sectors: u64,
    /// The number of chunks that a rebuild lost, because too many drives could not read their part.
    pub lost_chunks: u64,
    /// The end of the last rebuild; `None` if none has ended.
    pub rebuilt_at: Option<Time>,
    /// Counters of the journal, if there is one.
    pub journal: Option<RaidJournalCounters>,
}

/// Counters of the journal that closes the write hole of a RAID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaidJournalCounters {
    /// The number of records written.
    pub records: u64,
    /// The number of sectors written: records with their headers, and tails.
    pub sectors: u64,
    /// The number of checkpoints that have ended.
    pub checkpoints: u64,
    /// The number of records that waited for room.
    pub waits: u64,
    /// The number of records that were written to their places after a power cut.
    pub replayed: u64,
    /// The number of records that could not be read after a power cut.
    pub unreadable: u64,
}

impl RaidJournalCounters {
    /// The counts since `from`.
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

/// Counters of the requests that a RAID sends to one of its drives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaidDriveCounters {
    /// True if the drive has failed, whether or not a spare took its place.
    pub has_failed: bool,
    /// The number of reads, writes, discards and flushes sent to the drive.
    pub requests: u64,
    /// The number of sectors read from the drive, for the host and for the RAID itself.
    pub read_sectors: u64,
    /// The number of sectors written to the drive, for the host and for the RAID itself.
    pub written_sectors: u64,
    /// The number of mapping units of these writes.
    pub host_slots: u64,
    /// The number of these units that the drive's buffer absorbed.
    pub absorbed_slots: u64,
    /// The number of mapping units that the drive programmed.
    pub programmed_slots: u64,
    /// The number of host requests that waited for this drive last.
    pub last: u64,
}

impl RaidCounters {
    /// The counts since `from`.
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
