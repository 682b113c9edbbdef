//! A RAID in a summary.

use base::units::{SECTOR, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{RaidCounters, RaidDriveCounters};

use super::Report;

/// Counters of a RAID of drives.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RaidSummary {
    /// Bytes that the RAID wrote to its drives for each byte that the host wrote: data, parity, mirrors, rebuilds and
    /// repairs. The run's own `write_amplification` covers the RAID and its drives together, in mapping units.
    pub write_amplification: Option<f64>,
    /// Bytes that the RAID read from its drives for each byte that the host read.
    pub read_amplification: Option<f64>,
    /// Mapping units that the drives programmed for each unit that the RAID wrote and no buffer absorbed.
    pub drive_write_amplification: Option<f64>,
    /// Counters of each drive: the drives of the stripes, the spares, and the drive of the journal.
    pub drives: Vec<RaidDriveSummary>,
    /// The number of parts of stripes that were written as a whole: nothing was read for their parity.
    pub full_updates: u64,
    /// The number of parts of stripes whose parity came from old data and old parity (read-modify-write).
    pub modify_updates: u64,
    /// The number of parts of stripes whose parity came from the rest of the stripe (reconstruct-write).
    pub reconstruct_updates: u64,
    /// The number of parts of stripes with old data that had to be recovered first.
    pub recover_updates: u64,
    /// Bytes of reads of the host that were computed from other drives.
    pub recovered_bytes: u64,
    /// Bytes that a drive could not read, and that were written again.
    pub rewritten_bytes: u64,
    /// Bytes that rebuilds wrote to spares.
    pub rebuilt_bytes: u64,
    /// Bytes of parity and mirrors that were repaired after a power cut.
    pub repaired_bytes: u64,
    /// The number of chunks that a rebuild could not recover.
    pub lost_chunks: u64,
    /// The end of the last rebuild, in seconds from the beginning of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt_s: Option<f64>,
    /// Counters of the journal, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<RaidJournalSummary>,
}

/// Counters of the journal that closes the write hole of a RAID.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RaidJournalSummary {
    /// The number of records written to the journal.
    pub records: u64,
    /// Bytes written: records with their headers, and tails.
    pub bytes: u64,
    /// The number of checkpoints: flushes of all drives that made room in the journal.
    pub checkpoints: u64,
    /// The number of records that waited for room.
    pub waits: u64,
}

/// Counters of the requests that the RAID sent to one of its drives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct RaidDriveSummary {
    /// True if the drive has failed, whether or not a spare took its place.
    pub has_failed: bool,
    /// The number of requests to the drive, for the host and for the RAID itself.
    pub requests: u64,
    /// Bytes read from the drive, for the host and for the RAID itself.
    pub read_bytes: u64,
    /// Bytes written to the drive, for the host and for the RAID itself.
    pub written_bytes: u64,
    /// The number of mapping units that the drive programmed.
    pub programmed_slots: u64,
    /// The number of requests of the host for which this drive was the last to answer.
    pub last: u64,
}

impl RaidSummary {
    pub(super) fn new(report: &Report<'_>, counters: &RaidCounters) -> Self {
        let sum = |of: fn(&RaidDriveCounters) -> u64| counters.drives.iter().map(of).sum::<u64>() as f64;
        let counted = report.result.counters();
        let ratio = |part: f64, of: f64| (of > 0.0).then(|| part / of);
        let bytes = |sectors: u64| (SECTOR * sectors).get();
        let drive = |drive: &RaidDriveCounters| RaidDriveSummary {
            has_failed: drive.has_failed,
            requests: drive.requests,
            read_bytes: bytes(drive.read_sectors),
            written_bytes: bytes(drive.written_sectors),
            programmed_slots: drive.programmed_slots,
            last: drive.last,
        };
        Self {
            write_amplification: ratio(sum(|drive| drive.written_sectors), counted.sectors_written() as f64),
            read_amplification: ratio(
                sum(|drive| drive.read_sectors),
                counted.sectors[base::io::IoKind::Read as usize] as f64,
            ),
            drive_write_amplification: ratio(
                sum(|drive| drive.programmed_slots),
                sum(|drive| drive.host_slots - drive.absorbed_slots),
            ),
            drives: counters.drives.iter().map(drive).collect(),
            full_updates: counters.full_updates,
            modify_updates: counters.modify_updates,
            reconstruct_updates: counters.reconstruct_updates,
            recover_updates: counters.recover_updates,
            recovered_bytes: bytes(counters.recovered_sectors),
            rewritten_bytes: bytes(counters.rewritten_sectors),
            rebuilt_bytes: bytes(counters.rebuilt_sectors),
            repaired_bytes: bytes(counters.repaired_sectors),
            lost_chunks: counters.lost_chunks,
            journal: counters.journal.map(|journal| RaidJournalSummary {
                records: journal.records,
                bytes: bytes(journal.sectors),
                checkpoints: journal.checkpoints,
                waits: journal.waits,
            }),
            rebuilt_s: counters.rebuilt_at.map(|at| (at - Time::ZERO).as_secs_f64()),
        }
    }

    /// The number of drives that have failed, whether or not spares took their places.
    #[must_use]
    pub fn failed_drives(&self) -> usize {
        self.drives.iter().filter(|drive| drive.has_failed).count()
    }
}
