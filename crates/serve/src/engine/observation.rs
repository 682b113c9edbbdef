//! The state of a served drive at one moment, for observers that read it several times a second.
//!
//! The thread of the drive only copies numbers and hands over the distributions since the last observation. The observer does all
//! arithmetic.

use std::time::Duration;

use base::units::{Lba, Sectors, Time};
use flash::nand::Bytes512;
use flash::nand::Geometry;
use serde::Serialize;
use ssd::{Counters, Ssd, ZoneReport, ZoneShape};

use super::core::Core;
use super::lag::RecentLag;
use super::status::{Power, RaidStatus, TranslationStatus};
use super::tally::Recent;

/// The number of classes of erase counts.
pub(crate) const CLASSES: usize = 24;

/// The parts of an observation beside the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObservationScope {
    /// True to observe the erase counts of all blocks.
    pub(crate) wear: bool,
    /// True for the distributions since the last observation that asked for them. Only one observer may ask.
    pub(crate) recent: bool,
}

/// The state and the counters of a drive at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// Time of the wall clock since the drive was first served.
    pub(crate) uptime: Duration,
    pub(crate) now: Time,
    pub(crate) power: Power,
    pub(crate) pace: String,
    /// Requests of clients that are not answered yet.
    pub(crate) outstanding: usize,
    /// The jobs by kind, in the order of [`super::tally::KINDS`].
    pub(crate) kinds: [EndedJobs; 8],
    pub(crate) counters: Counters,
    /// The counters when the drive was first switched on.
    pub(crate) start: Counters,
    pub(crate) recent: Recent,
    /// The lateness of answers since the last observation.
    pub(crate) lag: RecentLag,
    pub(crate) power_cuts: u64,
    /// Times at which the power came on, the first one included.
    pub(crate) power_ons: u64,
    pub(crate) lost_writes: bool,
    pub(crate) health: Health,
    /// The array of each drive, and the SLC array of a single drive with two.
    pub(crate) arrays: Vec<Shape>,
    /// The erase counts; none unless asked for.
    pub(crate) wear: Option<Wear>,
    /// The zones of a drive that has zones, and their shape; none unless the wear was asked for.
    pub(crate) zones: Option<(Vec<ZoneReport>, ZoneShape)>,
    /// The state of a RAID; none for other devices.
    pub(crate) raid: Option<RaidStatus>,
    /// The state of a translation over zones; none for other devices.
    pub(crate) translation: Option<TranslationStatus>,
}

/// The failures of a drive, and the counts of its verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    /// True if the last write was refused because the drive is worn out.
    pub(crate) read_only: bool,
    /// Requests that failed because a sector could not be read from flash.
    pub(crate) uncorrectable_requests: u64,
    /// Reads of the drive's files that found damaged data; none for a drive in memory.
    pub(crate) damaged_reads: Option<u64>,
    /// The counts of the verification; none if the drive is not verified.
    pub(crate) verified: Option<VerificationCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct VerificationCounts {
    pub(crate) sectors: u64,
    pub(crate) violations: u64,
}

/// The jobs of one kind that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndedJobs {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) sectors: Sectors,
}

/// The dies of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The drive, if there are several.
    pub(crate) drive: Option<u32>,
    /// True for the SLC array in front of the main array.
    pub(crate) is_slc: bool,
    pub(crate) channels: u32,
    pub(crate) dies: u32,
}

impl Shape {
    const fn of(geometry: &Geometry, drive: Option<u32>, is_slc: bool) -> Self {
        Self { drive, is_slc, channels: geometry.channels, dies: geometry.chips * geometry.dies }
    }
}

/// The erase counts of all blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wear {
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) mean: f64,
    /// Program/erase cycles that a block is rated for.
    pub(crate) rated: u32,
    /// Blocks by erase count, in classes of equal width from the least on.
    pub(crate) blocks: [u64; CLASSES],
    /// The number of erase counts in a class.
    pub(crate) width: u32,
}

impl Wear {
    /// The wear of the arrays of all drives, without SLC arrays.
    fn of(drives: &[Ssd<Bytes512>]) -> Self {
        let rated = drives[0].resolved().part.endurance;
        let all = || drives.iter().flat_map(|drive| drive.media().all_erases());
        let (mut least, mut most, mut sum, mut count) = (u32::MAX, 0, 0_u64, 0_u64);
        for erases in all() {
            least = least.min(erases);
            most = most.max(erases);
            sum += u64::from(erases);
            count += 1;
        }
        let width = (most - least) / CLASSES as u32 + 1;
        let mut blocks = [0; CLASSES];
        for erases in all() {
            blocks[((erases - least) / width) as usize] += 1;
        }
        Self { least, most, mean: sum as f64 / count as f64, rated, blocks, width }
    }
}

/// The zones of a drive, or of the drive below a translation.
fn zones_of(drives: &[Ssd<Bytes512>]) -> Option<(Vec<ZoneReport>, ZoneShape)> {
    let resolved = drives[0].resolved();
    let shape = resolved.zones?;
    let size = u64::from(shape.size) * u64::from(resolved.geometry.sectors);
    let report = |zone| drives[0].zone_report(Lba::new(u64::from(zone) * size));
    Some(((0..shape.zones).filter_map(report).collect(), shape))
}

impl Core {
    /// Observes the drive; the caller adds the wall clock, the pace, the lag and the files. Recent latencies are collected only
    /// after the first call that asks for them.
    pub(super) fn observe(&mut self, scope: ObservationScope) -> Observation {
        let kinds = self.tally.kinds.each_ref();
        let (drive, drives) = (&self.drive, self.drive.drives());
        let number = |number: u32| (drives.len() > 1).then_some(number);
        let main = (0..).zip(drives).map(|(i, drive)| Shape::of(drive.media().geometry(), number(i), false));
        let slc = (0..).zip(drives).filter_map(|(i, drive)| Some((i, drive.slc_media()?)));
        let slc = slc.map(|(i, media)| Shape::of(media.geometry(), number(i), true));
        Observation {
            uptime: Duration::ZERO,
            now: self.now(),
            power: if self.is_on() { Power::On } else { Power::Off },
            pace: String::new(),
            outstanding: self.outstanding(),
            kinds: kinds.map(|kind| EndedJobs { done: kind.done, failed: kind.failed, sectors: kind.sectors }),
            counters: drive.counters(),
            start: self.tally.start.clone(),
            lag: RecentLag::default(),
            power_cuts: self.tally.cuts,
            power_ons: self.tally.power_ons,
            lost_writes: self.lost_writes,
            health: Health {
                read_only: self.tally.is_read_only,
                uncorrectable_requests: self.tally.uncorrectable,
                damaged_reads: None,
                verified: self.verifier.as_ref().map(|verifier| {
                    let status = verifier.status();
                    VerificationCounts { sectors: status.sectors, violations: status.violations }
                }),
            },
            arrays: main.chain(slc).collect(),
            wear: scope.wear.then(|| Wear::of(drives)),
            zones: if scope.wear { zones_of(drives) } else { None },
            raid: RaidStatus::of(&**drive, &self.tally.start),
            translation: TranslationStatus::of(&**drive, &self.tally.start),
            recent: match scope.recent {
                true => self.tally.recent.replace(Recent::default()).unwrap_or_default(),
                false => Recent::default(),
            },
        }
    }
}
