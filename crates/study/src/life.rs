//! The life of a drive: the writes from its first until it refuses one, and the failures of its blocks.
//!
//! A life is a chain of rounds. Each round is a run. At its end the drive is switched off in order, and the next round
//! begins on a drive that was loaded from that state, with its clock at zero. So simulated time, which overflows after
//! 213 days, bounds a round and not the life. [`Life`] has the sums of all rounds and the curve. A snapshot includes
//! it, so that another session can continue the life.

mod error;

use base::units::{Bytes, Sectors, Time};
use flash::backend::{Op, Tally};
use serde::{Deserialize, Serialize};
use ssd::{Counters, ResolvedDevice};

use crate::run::programmed_units;

pub use error::LifeError;

/// The most points of a curve. A curve with more drops every second point.
const MOST_POINTS: usize = 256;

/// The number of times that erase counts and busy times are read while the host writes one capacity.
const LOOKS: u64 = 4;

/// The longest round, in simulated time or in array time of one operation: half of the range of 64 bits.
pub(crate) const LONGEST_ROUND: base::units::Span = base::units::Span::from_secs(100 * 86_400);

/// The number of writes to mapping units after which a drive is read-only because its versions run out, less the writes
/// of a round.
const MOST_VERSIONS: u64 = (1 << 32) - (1 << 25);

/// Sums over a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Bytes of the writes that the drive took.
    pub written: u64,
    /// Bytes programmed on the flash.
    pub programmed: u64,
    /// Mapping units that writes asked for.
    pub units: u64,
    /// Simulated time in seconds since the life began.
    pub seconds: f64,
}

/// A moment of the life, with the bytes written up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Milestone {
    /// Bytes of the writes that the drive had taken.
    pub written: u64,
    /// Simulated time in seconds since the life began.
    pub seconds: f64,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LifePoint {
    /// The sums up to the point.
    pub totals: Totals,
    /// Blocks that have failed since the life began.
    pub failed: u64,
    /// Mean erases of a block.
    pub mean_erases: f64,
    /// Most erases of a block.
    pub max_erases: u32,
}

/// The state of the counters at the start of a round.
#[derive(Clone, Debug, Default, PartialEq)]
struct RoundStart {
    counters: Option<Box<Counters>>,
    totals: Totals,
    next_look: u64,
    /// The time until which the drive is idle after the run, because its next request comes later.
    idle_until: Option<Time>,
}

/// A drive's life so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// The seed, which determines the endurance of blocks. Signed, because TOML has no unsigned numbers.
    seed: i64,
    capacity: u64,
    unit: u64,
    /// The number of rounds that have ended.
    pub rounds: u32,
    /// True if the drive has refused a write.
    pub worn: bool,
    /// The number of blocks of the drive.
    pub blocks: u64,
    /// The number of blocks that were bad when the life began.
    pub bad_at_start: u64,
    /// The number of blocks beyond those that the capacity fills, when the life began.
    pub spare: u64,
    /// The bytes written between two points of the curve.
    step: u64,
    failed: u64,
    /// The sums at the end of the last round.
    pub totals: Totals,
    /// The failure of the first block.
    pub first_failure: Option<Milestone>,
    /// The moment at which a hundredth of all blocks had failed.
    pub percent_failed: Option<Milestone>,
    /// The moment at which half as many blocks had failed as were spare at the start.
    pub half_spare_failed: Option<Milestone>,
    curve: Vec<LifePoint>,
    /// The point of the curve at the end of the last round.
    end: LifePoint,
    #[serde(skip)]
    round: RoundStart,
}

/// The progress of a round, given at each completion of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundProgress {
    pub(crate) now: Time,
    /// The number of sectors of the writes that succeeded.
    pub(crate) written: Sectors,
    /// True if the drive has refused a write.
    pub(crate) refused: bool,
    pub(crate) bad_blocks: u64,
}

impl Life {
    /// Creates the life of a drive that begins now. `bad_blocks` blocks are bad already.
    #[must_use]
    pub fn new(drive: &ResolvedDevice, seed: u64, bad_blocks: u64) -> Self {
        let geometry = &drive.geometry;
        let block = drive.raw_capacity().get() / u64::from(geometry.block_count()).max(1);
        let capacity = drive.capacity().bytes().get();
        let blocks = u64::from(geometry.block_count());
        Self {
            seed: seed.cast_signed(),
            capacity,
            unit: u64::from(geometry.sectors) * 512,
            rounds: 0,
            worn: false,
            blocks,
            bad_at_start: bad_blocks,
            spare: (blocks - bad_blocks).saturating_sub(capacity.div_ceil(block.max(1))),
            step: (capacity / LOOKS).max(1),
            failed: 0,
            totals: Totals::default(),
            first_failure: None,
            percent_failed: None,
            half_spare_failed: None,
            curve: Vec::new(),
            end: LifePoint::default(),
            round: RoundStart::default(),
        }
    }

    /// Seed of all random decisions of the run.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed.cast_unsigned()
    }

    /// The capacity that the host sees.
    #[must_use]
    pub const fn capacity(&self) -> Bytes {
        Bytes::new(self.capacity)
    }

    /// The number of blocks that have failed since the life began.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// The points of the curve, the end of the last round included.
    pub fn curve(&self) -> impl Iterator<Item = LifePoint> + '_ {
        let is_new = self.curve.last().is_none_or(|last| last.totals != self.end.totals);
        self.curve.iter().copied().chain(is_new.then_some(self.end))
    }

    /// Write amplification in bytes between two sums; `None` if nothing was written.
    #[must_use]
    pub fn amplification(from: Totals, to: Totals) -> Option<f64> {
        let written = to.written - from.written;
        (written > 0).then(|| (to.programmed - from.programmed) as f64 / written as f64)
    }

    /// Adds a time without power between two rounds.
    pub(crate) fn age(&mut self, seconds: u64) {
        self.totals.seconds += seconds as f64;
    }

    /// Begins a round on a drive with these counters and erase counts.
    pub(crate) fn begin(&mut self, counters: Counters, erases: &[u32]) {
        if self.rounds == 0 {
            self.add_point(LifePoint { totals: self.totals, failed: 0, ..with_erases(erases) });
        }
        let look = self.capacity / LOOKS;
        let next_look = (self.totals.written / look.max(1) + 1) * look;
        self.round =
            RoundStart { counters: Some(Box::new(counters)), totals: self.totals, next_look, idle_until: None };
    }

    /// Counts completed requests. `look` returns the drive's counters and the erases of its blocks; it is called
    /// [`LOOKS`] times while the host writes one capacity. Returns true if the round is over.
    pub(crate) fn complete(&mut self, done: RoundProgress, look: impl FnOnce() -> (Counters, Vec<u32>)) -> bool {
        let written = self.round.totals.written + done.written.bytes().get();
        if done.bad_blocks > self.bad_at_start + self.failed {
            let seconds = self.seconds(done.now);
            self.fail(done.bad_blocks - self.bad_at_start, Milestone { written, seconds });
        }
        self.worn |= done.refused;
        if self.worn || written < self.round.next_look {
            return self.worn;
        }
        let (counters, erases) = look();
        self.sum_up(&counters);
        let look = (self.capacity / LOOKS).max(1);
        self.round.next_look = (written / look + 1) * look;
        if self.curve.last().is_none_or(|last| written >= (last.totals.written / self.step + 1) * self.step) {
            self.add_point(LifePoint { totals: self.totals, failed: self.failed, ..with_erases(&erases) });
        }
        is_busy(&counters)
    }

    /// Notes that the drive is idle until `at` after the run, because its next request comes later.
    pub(crate) fn idle_until(&mut self, at: Time) {
        self.round.idle_until = Some(at);
    }

    /// The time until which the drive is idle after the run.
    pub(crate) const fn idle_end(&self) -> Option<Time> {
        self.round.idle_until
    }

    /// Ends a round.
    ///
    /// # Errors
    /// If the round wrote nothing, or the drive is read-only for another reason than failed blocks.
    pub(crate) fn finish(&mut self, counters: &Counters, erases: &[u32]) -> Result<(), LifeError> {
        let before = self.round.totals;
        self.sum_up(counters);
        let bad = counters.bad_blocks - self.bad_at_start;
        if bad > self.failed {
            self.fail(bad, Milestone { written: self.totals.written, seconds: self.totals.seconds });
        }
        self.rounds += 1;
        self.end = LifePoint { totals: self.totals, failed: self.failed, ..with_erases(erases) };
        if self.worn && (self.failed == 0 || self.totals.units > MOST_VERSIONS) {
            return Err(LifeError::Versions);
        }
        if !self.worn && self.totals.written == before.written {
            return Err(LifeError::NoWrites);
        }
        Ok(())
    }

    fn seconds(&self, now: Time) -> f64 {
        let start = self.round.counters.as_ref().map_or(Time::ZERO, |start| start.at);
        self.round.totals.seconds + now.saturating_since(start).as_secs_f64()
    }

    /// Adds the counts since the start of the round to the sums.
    fn sum_up(&mut self, now: &Counters) {
        let Some(start) = &self.round.counters else { return };
        let before = self.round.totals;
        self.totals = Totals {
            written: before.written + Sectors::new(now.sectors_written() - start.sectors_written()).bytes().get(),
            programmed: before.programmed + programmed_units(start, now) * self.unit,
            units: before.units + (now.host_slots - start.host_slots),
            seconds: self.seconds(now.at),
        };
    }

    /// Notes the moment for each milestone that the number of failed blocks has reached.
    fn fail(&mut self, failed: u64, at: Milestone) {
        self.failed = failed;
        let percent = self.blocks.div_ceil(100);
        let half = self.spare.div_ceil(2).max(1);
        for (milestone, blocks) in
            [(&mut self.first_failure, 1), (&mut self.percent_failed, percent), (&mut self.half_spare_failed, half)]
        {
            if failed >= blocks {
                milestone.get_or_insert(at);
            }
        }
    }

    fn add_point(&mut self, point: LifePoint) {
        self.curve.push(point);
        if self.curve.len() > MOST_POINTS {
            let mut index = 0;
            self.curve.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.step *= 2;
        }
    }
}

/// True if the array time of an operation has reached the array time of the longest round, so that sums of times stay
/// within 64 bits.
fn is_busy(counters: &Counters) -> bool {
    Op::ALL.into_iter().any(|op| {
        let Tally { array, bus, .. } = counters.flash.op(op);
        array.max(bus) >= LONGEST_ROUND
    })
}

/// The point of the curve with these erases of the blocks.
fn with_erases(erases: &[u32]) -> LifePoint {
    let sum: u64 = erases.iter().map(|count| u64::from(*count)).sum();
    let max_erases = erases.iter().copied().max().unwrap_or(0);
    LifePoint { mean_erases: sum as f64 / erases.len().max(1) as f64, max_erases, ..LifePoint::default() }
}
