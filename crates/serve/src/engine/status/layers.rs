//! The status of a RAID and of a translation over zones, in addition to the status of every drive.

use base::units::SECTOR;
use flash::backend::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{Counters, Drive, RaidCounters};

use super::super::served::ServedDrive;

/// The counts of a RAID since the drive was served first.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RaidStatus {
    /// The RAID level: `raid0`, `raid1`, `raid5`, ...
    pub level: String,
    /// Bytes that the RAID wrote to its drives for each byte that clients wrote; missing before the first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Drives that have failed.
    pub failed: u32,
    /// Places in the stripes without a drive: a drive failed, and no spare was left.
    pub empty_places: u32,
    /// The share of the stripes whose parity or mirrors are repaired; missing unless a repair is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<f64>,
    /// Chunks that a rebuild could not recover.
    pub lost_chunks: u64,
    /// Bytes of reads that were computed from other drives.
    pub recovered_bytes: u64,
    /// The drives of the stripes, then the spares, then the drive of the journal.
    pub drives: Vec<DriveStatus>,
}

/// A drive of a RAID.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DriveStatus {
    /// The drive's part in the RAID.
    pub state: DriveState,
    /// The share of the stripes that are rebuilt; missing unless the drive is being rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<f64>,
    /// Requests that the RAID sent to the drive.
    pub requests: u64,
    /// Bytes that the RAID read from the drive.
    pub read_bytes: u64,
    /// Bytes that the RAID wrote to the drive.
    pub written_bytes: u64,
    /// Mapping units that the drive programmed per mapping unit that the RAID wrote to the drive; missing before the
    /// first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Free blocks of the drive's FTL.
    pub free_blocks: u64,
    /// The drive's retired blocks, factory-marked ones included.
    pub bad_blocks: u64,
}

/// The part that a drive has in its RAID.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveState {
    /// The drive holds its chunk of every stripe.
    Whole,
    /// The drive was a spare, and is being rebuilt.
    Rebuilt,
    /// The drive is a spare: it stands by for a drive that fails.
    Spare,
    /// The drive holds the journal.
    Journal,
    /// The drive has failed as a whole.
    Failed,
}

impl DriveState {
    /// The name of the state in JSON, tables and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Rebuilt => "rebuilt",
            Self::Spare => "spare",
            Self::Journal => "journal",
            Self::Failed => "failed",
        }
    }
}

fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

impl RaidStatus {
    /// The status of a RAID with counts since the counters `start`; `None` for other devices.
    pub(in super::super) fn of(drive: &dyn ServedDrive, start: &Counters) -> Option<Self> {
        let raid = drive.raid()?;
        let counters = drive.counters();
        let counted = counters.raid.as_deref()?.since(start.raid.as_deref()?);
        let places = raid.places();
        let bytes = |sectors: u64| (SECTOR * sectors).get();
        let share = |stripes: u64| stripes as f64 / raid.stripes() as f64;
        let state = |number: u32| match places.iter().find(|place| place.drive == Some(number)) {
            _ if raid.has_failed(number) => (DriveState::Failed, None),
            None if raid.journal_drive() == Some(number) => (DriveState::Journal, None),
            None => (DriveState::Spare, None),
            Some(place) if place.stripes < raid.stripes() => (DriveState::Rebuilt, Some(share(place.stripes))),
            Some(_) => (DriveState::Whole, None),
        };
        let each = (0..).zip(&counted.drives).zip(raid.drives()).map(|((number, of), drive)| {
            let ((state, rebuilt), own) = (state(number), drive.counters());
            DriveStatus {
                state,
                rebuilt,
                requests: of.requests,
                read_bytes: bytes(of.read_sectors),
                written_bytes: bytes(of.written_sectors),
                write_amplification: ratio(of.programmed_slots, of.host_slots.saturating_sub(of.absorbed_slots)),
                free_blocks: own.free_blocks,
                bad_blocks: own.bad_blocks,
            }
        });
        let written = counters.sectors_written() - start.sectors_written();
        let RaidCounters { drives, lost_chunks, recovered_sectors, .. } = &counted;
        let unrepaired = raid.unrepaired_stripes();
        Some(Self {
            level: raid.spec().level.name().to_owned(),
            write_amplification: ratio(drives.iter().map(|drive| drive.written_sectors).sum(), written),
            failed: drives.iter().filter(|drive| drive.has_failed).count() as u32,
            empty_places: raid.empty_places(),
            repaired: (unrepaired > 0).then(|| share(raid.stripes() - unrepaired)),
            lost_chunks: *lost_chunks,
            recovered_bytes: bytes(*recovered_sectors),
            drives: each.collect(),
        })
    }
}

/// The counts of a translation over zones since the drive was served first.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TranslationStatus {
    /// Mapping units that the translation wrote to zones per mapping unit that clients wrote; missing before the first
    /// write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Mapping units that the drive below programmed per mapping unit that the translation wrote; missing before the
    /// first write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_write_amplification: Option<f64>,
    /// The number of zones of the drive below the translation.
    pub zones: u32,
    /// Zones that hold no data and take the next writes.
    pub free_zones: u32,
    /// Zones that took no more data before they were full, or could not be reset.
    pub failed_zones: u64,
    /// Zones that were emptied and reset.
    pub collected_zones: u64,
    /// Writes that waited for a zone.
    pub stalled_writes: u64,
    /// True while the translation reads its map from the zones; requests wait until the map is read.
    pub mounting: bool,
}

impl TranslationStatus {
    /// The status of a translation with counts since the counters `start`; `None` for other devices.
    pub(in super::super) fn of(drive: &dyn ServedDrive, start: &Counters) -> Option<Self> {
        let translation = drive.translation()?;
        let counters = drive.counters();
        let counted = counters.translation.as_deref()?.since(start.translation.as_deref()?);
        let to_zones = counted.written + counted.copied + counted.summaries;
        let programmed = counters.flash.since(&start.flash).op(Op::Program).slots;
        Some(Self {
            write_amplification: ratio(to_zones, counted.written),
            drive_write_amplification: ratio(programmed, to_zones),
            zones: translation.zones(),
            free_zones: counted.free_zones,
            failed_zones: counted.failed_zones,
            collected_zones: counted.collected_zones + counted.dead_zones,
            stalled_writes: counted.stalled_writes,
            mounting: translation.is_mounting(),
        })
    }
}
