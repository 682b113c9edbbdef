//! A used state of the zones, for preconditioning: the writes change only the log, and the final state is laid out on
//! the drive.

use std::ops::ControlFlow;

use base::engine::Rng;
use base::units::{Bytes, SECTOR};
use flash::nand::Sector;
use ssd::{Precondition, PreconditioningResult, ResolvedDevice, Ssd, TranslationSpec};

use crate::log::{Log, UnitMetadata, Usage};

/// Progress is reported every 2^12 units.
const PROGRESS_BITS: u32 = 12;

/// The most bytes that one request of the layout writes. The result does not depend on it.
const PIECE: Bytes = Bytes::new(1 << 20);

/// Zones with the data of preconditioning.
#[derive(Clone, Debug)]
pub struct UsedZones {
    spec: TranslationSpec,
    pub(crate) log: Log,
    /// The open zones of user data and of copies.
    open: [Option<u32>; 2],
    seed: u64,
    steps: u64,
    programmed: u64,
    is_used: bool,
}

/// The data that a zone takes.
#[derive(Clone, Copy)]
enum ZoneContent {
    User,
    Copies,
}

impl UsedZones {
    /// Creates empty zones for the translation of `resolved`.
    ///
    /// # Panics
    ///
    /// If the description has no translation.
    #[must_use]
    pub fn new(resolved: &ResolvedDevice, seed: u64) -> Self {
        let shape = resolved.translation.expect("a translation");
        let spec = resolved.spec.translation.clone().expect("a translation");
        Self {
            spec,
            log: Log::new(shape, u64::from(resolved.geometry.sectors)),
            open: [None, None],
            seed,
            steps: 0,
            programmed: 0,
            is_used: false,
        }
    }

    /// Applies the writes of a step to the log. All random writes come from one random stream. `progress` receives the
    /// units done and to do, and may cancel.
    pub fn precondition(
        &mut self,
        step: Precondition,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<PreconditioningResult> {
        let units = u64::from(self.log.shape().units);
        let mut rng = Rng::stream(self.seed, &format!("translation.precondition.{}", self.steps));
        self.steps += 1;
        self.is_used = true;
        let before = self.programmed;
        let unit = self.log.unit() * SECTOR.get();
        let mut done = 0;
        let mut write = |log: &mut Self, unit: u64, total: u64| {
            log.write(ZoneContent::User, unit as u32, None);
            done += 1;
            if done % (1 << PROGRESS_BITS) == 0 { progress(done, total) } else { ControlFlow::Continue(()) }
        };
        match step {
            Precondition::Fill | Precondition::Preload { .. } => {
                let count = match step {
                    Precondition::Preload { extent, .. } => extent.get().div_ceil(unit).min(units),
                    _ => units,
                };
                for next in 0..count {
                    write(self, next, count).is_continue().then_some(())?;
                }
            }
            Precondition::RandomOverwrite(times) => {
                let total = (units as f64 * times).round() as u64;
                for _ in 0..total {
                    write(self, rng.below(units), total).is_continue().then_some(())?;
                }
            }
            Precondition::Steady | Precondition::SteadyModel => {
                let window = (units / 10).max(1);
                let mut recent: Vec<f64> = Vec::new();
                for _ in 0..100 {
                    let from = self.programmed;
                    for _ in 0..window {
                        write(self, rng.below(units), window * 10).is_continue().then_some(())?;
                    }
                    recent.push((self.programmed - from) as f64 / window as f64);
                    let last = &recent[recent.len().saturating_sub(3)..];
                    let (least, most) = last.iter().fold((f64::MAX, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
                    if last.len() == 3 && most <= least * 1.02 && most > 1.001 {
                        break;
                    }
                }
            }
        }
        let write_amplification = (self.programmed - before) as f64 / done.max(1) as f64;
        Some(PreconditioningResult { units: done, write_amplification, refused: 0 })
    }

    fn write(&mut self, of: ZoneContent, unit: u32, copied: Option<(u32, UnitMetadata)>) {
        let zone = match self.open[of as usize] {
            Some(zone) => zone,
            None => self.open_zone(of),
        };
        let at = self.log.zone(zone).taken;
        self.log.zone_mut(zone).taken += 1;
        self.programmed += 1;
        let place = self.log.place(zone, at);
        match copied {
            Some((from, record)) => _ = self.log.record_copy(from, place, record),
            None => {
                let version = self.log.next_version().expect("preconditioning ends before versions do");
                self.log.record(place, UnitMetadata { unit, version });
            }
        }
        if at + 1 == self.log.shape().data {
            self.programmed += u64::from(self.log.shape().summary());
            self.log.zone_mut(zone).usage = Usage::Full;
            self.open[of as usize] = None;
        }
    }

    fn open_zone(&mut self, of: ZoneContent) -> u32 {
        if matches!(of, ZoneContent::User) {
            self.collect();
        }
        let zone = self.log.open().expect("collection leaves a zone");
        self.open[of as usize] = Some(zone);
        zone
    }

    /// Empties zones until enough are free for a drive not to collect.
    fn collect(&mut self) {
        while self.log.free_zones() <= self.spec.zones_per_stream + self.spec.gc.start {
            let Some(victim) = self.log.victim(self.spec.gc.victim) else { return };
            for at in 0..self.log.shape().data {
                let place = self.log.place(victim, at);
                if let Some(record) = self.log.valid_at(place) {
                    self.write(ZoneContent::Copies, record.unit, Some((place, record)));
                }
            }
            self.log.reset(victim);
        }
    }

    /// Writes the zones to a new drive. Zones with data are full from now on, and have the first numbers. Returns the
    /// number of units that the drive refused; the rest was then not written.
    pub(crate) fn lay_out<S: Sector>(
        &mut self,
        drive: &mut Ssd<S>,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<u64> {
        if !std::mem::take(&mut self.is_used) {
            return Some(0);
        }
        // Zones that are closed here were free before, so collection may leave fewer free zones than it normally does.
        self.open = [None, None];
        self.log.settle();
        self.collect();
        self.open = [None, None];
        let full = self.log.settle();
        let unit = SECTOR.get() * self.log.unit();
        let zones = self.log.shape().zones;
        let extent = Bytes::new(u64::from(full) * u64::from(zones.size) * unit);
        let piece = Bytes::new(u64::from(zones.capacity) * unit).min(PIECE).max(Bytes::new(unit));
        let step = Precondition::Preload { piece, extent };
        drive.precondition_while(step, progress).map(|done| done.refused)
    }
}
