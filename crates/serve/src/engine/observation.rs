//! The state of a served drive at one moment, for those who watch it several times a second.
//!
//! The thread of the drive copies numbers and hands over the distributions of the time since the observation before; all
//! arithmetic is the watcher's.

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

/// Classes of erase counts.
pub(crate) const CLASSES: usize = 24;

/// The parts of an observation beside the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObservationScope {
    /// The erase counts of all blocks.
    pub(crate) wear: bool,
    /// The distributions since the last observation that asked for them: one watcher may.
    pub(crate) recent: bool,
}

/// What a drive has done until one moment.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// Since the drive was served first.
    pub(crate) uptime: Duration,
    /// The simulated time.
    pub(crate) now: Time,
    pub(crate) power: Power,
    pub(crate) pace: String,
    /// Requests of clients without an answer.
    pub(crate) outstanding: usize,
    /// The jobs by kind, in the order of [`super::tally::KINDS`].
    pub(crate) kinds: [Done; 8],
    pub(crate) counters: Counters,
    /// The counters when the drive was first switched on.
    pub(crate) start: Counters,
    pub(crate) recent: Recent,
    /// How late answers were.
    pub(crate) lag: RecentLag,
    pub(crate) power_cuts: u64,
    /// Times at which the power came on, the first one included.
    pub(crate) power_ons: u64,
    pub(crate) lost_writes: bool,
    pub(crate) health: Health,
    /// The array of each drive, and the SLC array of a single drive with two.
    pub(crate) arrays: Vec<Shape>,
    /// Missing unless it was asked for.
    pub(crate) wear: Option<Wear>,
    /// The zones of a drive that has them, and their shape; missing unless the wear was asked for.
    pub(crate) zones: Option<(Vec<ZoneReport>, ZoneShape)>,
    /// Missing unless it is a RAID.
    pub(crate) raid: Option<RaidStatus>,
    /// Missing unless it is a translation over zones.
    pub(crate) translation: Option<TranslationStatus>,
}

/// What is wrong with a drive, and what was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    /// The last write was refused: the drive is worn out.
    pub(crate) read_only: bool,
    /// Requests that failed because a sector could not be read from flash.
    pub(crate) uncorrectable_requests: u64,
    /// Reads of its files that found damaged data; missing without them.
    pub(crate) damaged_reads: Option<u64>,
    /// What its verification has compared and found; missing without it.
    pub(crate) verified: Option<Verified>,
}

/// Sectors that were compared with what clients wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Verified {
    pub(crate) sectors: u64,
    pub(crate) violations: u64,
}

/// Jobs that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) sectors: Sectors,
}

/// The dies of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The drive, if there are several.
    pub(crate) drive: Option<u32>,
    /// True for an SLC array in front of the other one.
    pub(crate) is_slc: bool,
    pub(crate) channels: u32,
    /// On each channel.
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
    /// Cycles that a block is rated for.
    pub(crate) rated: u32,
    /// Blocks by erase count, in classes of equal width from the least on.
    pub(crate) blocks: [u64; CLASSES],
    /// Erase counts in a class.
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

/// The zones of a drive, or of the one below a translation.
fn zones_of(drives: &[Ssd<Bytes512>]) -> Option<(Vec<ZoneReport>, ZoneShape)> {
    let resolved = drives[0].resolved();
    let shape = resolved.zones?;
    let size = u64::from(shape.size) * u64::from(resolved.geometry.sectors);
    let report = |zone| drives[0].zone_report(Lba::new(u64::from(zone) * size));
    Some(((0..shape.zones).filter_map(report).collect(), shape))
}

impl Core {
    /// Observes the drive; the caller knows the wall clock, the pace, the lag and the files. From the first call on that
    /// asks for recent ones, latencies are kept for the next such call.
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
            kinds: kinds.map(|kind| Done { done: kind.done, failed: kind.failed, sectors: kind.sectors }),
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
                    Verified { sectors: status.sectors, violations: status.violations }
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
