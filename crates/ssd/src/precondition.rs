//! Preconditioning: brings a drive into a used state, by writes through its own FTL that take no simulated time.

mod model;
mod text;
mod upcoming;

use std::ops::ControlFlow;

use base::engine::Rng;
use base::fault::Fault;
use base::units::{Bytes, Lpn, Sectors, Time};
use flash::backend::{Account, Op};
use flash::nand::Sector;

use crate::counters::Counts;
use crate::device::slc_seed;
use crate::host::PreconditioningCounts;
use crate::{ResolvedDevice, Ssd};
use ftl::{OldPlace, PageWrite, Sabotage, full_mask};

pub use text::ParsePreconditionError;

use upcoming::NextUnits;

/// The most capacities that a step overwrites: enough, because a drive reaches its steady state after a few.
const MOST_TIMES: f64 = 1000.0;

/// Progress is reported every 2^12 mapping units. A user who cancels then waits for some hundredths of a second at
/// most, even if every write costs a merge of 256 pages.
const PROGRESS_BITS: u32 = 12;

/// One step of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Writes every mapping unit once, in the order of addresses.
    Fill,
    /// Writes the beginning of the drive once, in the order of addresses, as requests of one size. A workload that
    /// reads before it writes needs this data.
    Preload {
        /// The size of a request; rounded up to mapping units.
        piece: Bytes,
        /// The bytes to write; rounded up to mapping units.
        extent: Bytes,
    },
    /// Overwrites random units: this many times the capacity.
    RandomOverwrite(f64),
    /// Overwrites random units until write amplification has settled: until its values in three successive tenths of
    /// the capacity agree within 2 %. Ends after ten times the capacity in any case.
    Steady,
    /// Lays out a new drive in the steady state of random overwrites that a model of garbage collection predicts, and
    /// overwrites random units from there until write amplification has settled: until its values in three successive
    /// windows agree within 2 %. A window is a fortieth of the capacity, or four superblocks for each pool if that is
    /// more. For the page-mapped FTL with its map in RAM. The erase counts begin at zero. MODEL.md compares the result
    /// with that of [`Precondition::Steady`].
    SteadyModel,
}

impl Precondition {
    /// The reason for which this step is impossible on such a drive; `None` if it is possible.
    #[must_use]
    pub fn fault(&self, drive: &ResolvedDevice) -> Option<Fault> {
        let fault = |message: String, remedy: &str| Some(Fault::new("precondition", message, remedy));
        match self {
            Self::Preload { piece, .. } if piece.get() == 0 => {
                fault("a piece of 0 bytes writes nothing".into(), "use a size above zero, e.g. 26KiB")
            }
            Self::Preload { extent, .. } if *extent > drive.capacity().bytes() => {
                let capacity = drive.capacity().bytes();
                fault(
                    format!("the extent of {extent} is larger than the drive, {capacity}"),
                    "use a smaller extent, or a larger drive",
                )
            }
            Self::RandomOverwrite(_) | Self::Steady | Self::SteadyModel if drive.zones.is_some() => {
                fault("a drive with zones takes no random overwrites".into(), "use fill or preload, or leave it out")
            }
            Self::SteadyModel => {
                let why = drive.family.no_steady_state()?;
                fault(why.into(), "use fill,steady")
            }
            Self::RandomOverwrite(times) if !(*times > 0.0 && *times <= MOST_TIMES) => {
                fault(format!("cannot overwrite {times} capacities"), "give a number above 0, at most 1000")
            }
            _ => None,
        }
    }

    /// The first of these steps that is impossible on such a drive, with the reason. `is_new` tells whether the drive
    /// is empty before the steps.
    ///
    /// The state before a step matters: an empty drive copies nothing while it fills up, so its write amplification
    /// settles long before its steady state.
    #[must_use]
    pub fn first_fault(steps: &[Self], drive: &ResolvedDevice, is_new: bool) -> Option<(Self, Fault)> {
        let (mut is_full, mut is_used) = (!is_new, !is_new);
        steps.iter().find_map(|step| {
            is_full |= matches!(step, Self::Fill | Self::SteadyModel);
            let late = std::mem::replace(&mut is_used, true) && *step == Self::SteadyModel;
            if late {
                let message = "the drive is not new, and this step lays out all of its flash";
                return Some((*step, Fault::new("precondition", message, "make it the first step, on a new drive")));
            }
            let early = || {
                let message = "the drive has empty mapping units, and write amplification settles too early";
                Fault::new("precondition", message, "fill the drive first: use fill,steady")
            };
            let fault = step.fault(drive).or_else(|| (*step == Self::Steady && !is_full).then(early))?;
            Some((*step, fault))
        })
    }
}

/// The writes of preconditioning, and the write amplification that they reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreconditioningResult {
    /// The number of mapping units written, without those that a computed state begins with.
    pub units: u64,
    /// Mapping units programmed per mapping unit written.
    pub write_amplification: f64,
    /// The number of units of the last write that the drive refused, because it has lost too many blocks and is
    /// read-only; the step ended there. 0 if the step completed.
    pub refused: u64,
}

impl<S: Sector> Ssd<S> {
    /// Runs one step. `progress` receives the units done and, if it is known, the units to do. At the end the drive
    /// is switched off and on once, so that its media alone define its state; its counters are zero. A step ends
    /// early if the drive refuses a write.
    ///
    /// # Panics
    /// If requests are under way, or the step has a [fault](Precondition::fault) on this drive.
    pub fn precondition(&mut self, step: Precondition, progress: &mut dyn FnMut(u64, u64)) -> PreconditioningResult {
        let mut go_on = |done, total| {
            progress(done, total);
            ControlFlow::Continue(())
        };
        self.precondition_while(step, &mut go_on).expect("nobody breaks off")
    }

    /// Runs a step as [`Ssd::precondition`] does, until `progress` asks to stop. Returns `None` in that case, and the
    /// drive is of no further use: it is between two writes, with time switched off.
    ///
    /// # Panics
    ///
    /// As [`Ssd::precondition`].
    pub fn precondition_while(
        &mut self,
        step: Precondition,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<PreconditioningResult> {
        self.precondition_to_rest(step, progress, &mut |_| ())
    }

    /// Runs a step as [`Ssd::precondition_while`] does. If no write was refused, `at_rest` gets the drive while it is
    /// off at the end, before its recovery writes anything. A drive [saved](Ssd::save) in that state and loaded becomes
    /// this drive again, even if this drive is not [as mounted](Ssd::is_as_mounted), unless the flash [may
    /// fail](Ssd::cannot_fail).
    ///
    /// # Panics
    ///
    /// As [`Ssd::precondition`].
    pub fn precondition_to_rest(
        &mut self,
        step: Precondition,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
        at_rest: &mut dyn FnMut(&Self),
    ) -> Option<PreconditioningResult> {
        assert!(self.outstanding() == 0, "a drive is preconditioned while nobody uses it");
        assert!(step.fault(&self.resolved).is_none(), "{step:?} on a drive for which it is wrong");
        self.drain(&mut Vec::new());
        let before = self.now;
        if let Some(ftl) = self.ftl.preconditioning() {
            ftl.begin(self.backend.media());
        }
        self.set_timed(false);
        self.backend.reset_account();
        let units = u64::from(self.ftl.units());
        let request = self.ftl.batch(self.backend.slots_per_command()) as usize;
        let mut done = 0;
        self.host.preconditioning = PreconditioningCounts::default();
        let end = match step {
            Precondition::Fill => self.write_in_order(units, request, &mut done, progress),
            Precondition::Preload { piece, extent } => {
                let unit = Sectors::new(u64::from(self.resolved.geometry.sectors)).bytes().get();
                let (piece, extent) = (piece.get().div_ceil(unit), extent.get().div_ceil(unit));
                self.write_in_order(extent, piece as usize, &mut done, progress)
            }
            Precondition::RandomOverwrite(times) => {
                let total = (units as f64 * times).round() as u64;
                let mut upcoming = NextUnits::random(self.precondition_stream(), units);
                self.write_untimed((total, request), &mut upcoming, &mut done, &mut |done| progress(done, total))
            }
            Precondition::Steady => self.overwrite_until_steady((units / 10).max(1), units * 10, &mut done, progress),
            Precondition::SteadyModel => {
                if self.lay_out_steady(before) {
                    let window = self.settling_window();
                    self.overwrite_until_steady(window, window * 10, &mut done, progress)
                } else {
                    self.host.preconditioning.refused = units;
                    ControlFlow::Continue(())
                }
            }
        };
        if end.is_break() {
            return None;
        }
        let account = self.backend.account(self.now);
        let programmed = account.op(Op::Program).slots + account.op(Op::CopyBack).slots;
        self.restart(before, at_rest);
        let refused = self.host.preconditioning.refused;
        // Later faults must not depend on how the drive was preconditioned.
        self.backend.media_mut().faults_mut().restart(self.seed);
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.media_mut().faults_mut().restart(slc_seed(self.seed));
        }
        self.reset_counters();
        Some(PreconditioningResult {
            units: done,
            write_amplification: programmed as f64 / done.max(1) as f64,
            refused,
        })
    }

    /// Switches the drive off and on, so that its media alone define its state. Time is switched off meanwhile and then
    /// set back to `before`: the host link may have taken time for the flush before power-off.
    fn restart(&mut self, before: Time, at_rest: &mut dyn FnMut(&Self)) {
        self.power_off();
        self.set_timed(true);
        self.start_at(before);
        if self.host.preconditioning.refused == 0 {
            at_rest(self);
        }
        self.power_on(before);
        self.recover_untimed();
    }

    fn recover_untimed(&mut self) {
        let before = self.changes_of_media();
        self.events.clear();
        self.set_timed(false);
        self.recover();
        self.run_ready();
        self.set_timed(true);
        (self.scanned, self.ready) = (true, true);
        self.as_mounted = self.changes_of_media() == before;
    }

    /// The number of commands so far that have changed the media.
    fn changes_of_media(&self) -> u64 {
        let changes = |account: &Account| {
            Op::ALL.iter().filter(|op| **op != Op::Read).map(|op| account.op(*op).commands).sum::<u64>()
        };
        let slc_array = self.slc_array.as_ref().map_or(0, |slc_array| changes(&slc_array.account(self.now)));
        changes(&self.backend.account(self.now)) + slc_array
    }

    /// True if no operation of the flash can fail.
    #[must_use]
    pub fn cannot_fail(&self) -> bool {
        let slc_array = self.slc_array.as_ref();
        self.backend.media().cannot_fail() && slc_array.is_none_or(|slc_array| slc_array.media().cannot_fail())
    }

    /// True if a drive that loads this one's state is equal to it, because the recovery that ended preconditioning
    /// wrote nothing. Writes of recovery (stale translation pages, copies of a collection) leave open superblocks, and
    /// a mount would close them.
    #[must_use]
    pub const fn is_as_mounted(&self) -> bool {
        self.as_mounted
    }

    /// Makes a loaded drive equal to the drive that was saved after its preconditioning: a run has the same events on
    /// both, at the same times. Without this call the first requests of the loaded drive wait until it has recovered.
    #[must_use]
    pub fn as_preconditioned(mut self) -> Self {
        self.recover_untimed();
        self.reset_counters();
        self
    }

    /// Sets the time of a drive on which nothing is under way.
    fn start_at(&mut self, now: Time) {
        self.now = now;
        self.host.link.reset(now);
        self.host.ram.reset(now);
        self.backend.cut_power(now);
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.cut_power(now);
        }
    }

    fn set_timed(&mut self, timed: bool) {
        if let Some(ftl) = self.ftl.preconditioning() {
            ftl.set_timed(timed);
        }
        self.backend.set_timed(timed);
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.set_timed(timed);
        }
    }

    /// The random stream of a step, named after the latest version on the media: two successive steps overwrite
    /// different units, and a step does the same on a drive and on a snapshot of it.
    fn precondition_stream(&self) -> Rng {
        Rng::stream(self.history_seed, &format!("precondition.{}", self.ftl.latest_version()))
    }

    /// Writes the first `count` units as requests of `request` units.
    fn write_in_order(
        &mut self,
        count: u64,
        request: usize,
        done: &mut u64,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.write_untimed((count, request), &mut NextUnits::in_order(), done, &mut |done| progress(done, count))
    }

    /// Overwrites random units until three successive windows of `window` units agree. `progress` receives an estimate
    /// of the units to do.
    fn overwrite_until_steady(
        &mut self,
        window: u64,
        estimate: u64,
        done: &mut u64,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut upcoming = NextUnits::random(self.precondition_stream(), u64::from(self.ftl.units()));
        let request = self.ftl.batch(self.backend.slots_per_command()) as usize;
        let mut recent: Vec<f64> = Vec::new();
        for _ in 0..100 {
            let before = self.programmed();
            self.write_untimed((window, request), &mut upcoming, done, &mut |done| progress(done, estimate))?;
            recent.push((self.programmed() - before) as f64 / window as f64);
            let last = &recent[recent.len().saturating_sub(3)..];
            let (least, most) = last.iter().fold((f64::MAX, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
            // Before the first garbage collection, write amplification has not settled yet.
            if self.host.preconditioning.refused > 0 || last.len() == 3 && most <= least * 1.02 && most > 1.001 {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    fn programmed(&self) -> u64 {
        let account = self.backend.account(self.now);
        account.op(Op::Program).slots + account.op(Op::CopyBack).slots
    }

    /// Writes the next `count` units, as requests of `request` units. One-shot programs gather requests until they are
    /// full, as under a host with many requests under way; the last programs are closed at the end.
    fn write_untimed(
        &mut self,
        (count, request): (u64, usize),
        upcoming: &mut NextUnits,
        done: &mut u64,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mask = full_mask(self.resolved.geometry.sectors);
        let request = request.min(count as usize);
        let mut batch: Vec<Lpn> = Vec::with_capacity(request);
        // The units of programs that wait for more data.
        let mut held: Vec<Lpn> = Vec::new();
        let mut left = count;
        while left > 0 && self.host.preconditioning.refused == 0 {
            batch.clear();
            // A unit occurs once in a batch, because all units of a batch have one version; and only one program of it
            // is under way, because two may end in either order.
            while batch.len() < request && left > 0 {
                let lpn = upcoming.next(|lpn| self.ftl.prefetch(lpn.index(), self.backend.media()));
                left -= 1;
                let is_gap = self.resolved.zones.is_some_and(|shape| lpn.get() % shape.size >= shape.capacity);
                if is_gap {
                    continue;
                }
                if upcoming.is_in_order() || !(batch.contains(&lpn) || held.contains(&lpn)) {
                    batch.push(lpn);
                }
            }
            let version = self.ftl.next_version();
            self.ftl.begin_write(0);
            for lpn in &batch {
                let unit = PageWrite {
                    lpn: *lpn,
                    owner: None,
                    at: 0,
                    mask,
                    version,
                    old_place: OldPlace::Unasked,
                    stream: None,
                };
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                self.ftl.write(&mut flash, &mut self.host, unit);
            }
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.end_write(&mut flash, &mut self.host);
            let before = *done >> PROGRESS_BITS;
            *done += batch.len() as u64;
            self.run_ready();
            let overtaken = std::mem::take(&mut held);
            if self.unfinished(*done) > 0 {
                self.list_gathered(&mut held);
                if self.unfinished(*done) > held.len() as u64 {
                    // The write waits for space, which the ends of the gathered programs may make.
                    self.close_programs(*done);
                    held.clear();
                }
            }
            if let Some(history) = &mut self.history {
                history.note(self.ftl.units(), &batch, version);
                if self.host.preconditioning.refused > 0 {
                    history.doubt(self.ftl.units(), &batch);
                    history.doubt(self.ftl.units(), &overtaken);
                }
            }
            if self.resolved.planted.is(Sabotage::HeldOvertaken) {
                held.clear();
            }
            if *done >> PROGRESS_BITS > before {
                progress(*done)?;
            }
        }
        self.close_programs(*done);
        if let Some(history) = self.history.as_mut().filter(|_| self.host.preconditioning.refused > 0) {
            history.doubt(self.ftl.units(), &held);
        }
        ControlFlow::Continue(())
    }

    /// The number of units, of `done` units handed to the FTL, that it has neither written nor refused.
    const fn unfinished(&self, done: u64) -> u64 {
        let PreconditioningCounts { written, refused } = self.host.preconditioning;
        done - written - refused
    }

    /// Adds the units of programs that wait for the data of later writes to `held`.
    fn list_gathered(&mut self, held: &mut Vec<Lpn>) {
        if let Some(ftl) = self.ftl.preconditioning() {
            let flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            ftl.gathered(&flash, held);
        }
    }

    /// Makes the FTL finish all of `done` units, with padding where a program waits for more data.
    fn close_programs(&mut self, done: u64) {
        // Units of a program that fails are written again, and may wait for more data again.
        let mut held = Vec::new();
        loop {
            if let Some(ftl) = self.ftl.preconditioning() {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                ftl.close_programs(&mut flash, &mut self.host);
            }
            self.run_ready();
            self.list_gathered(&mut held);
            if held.is_empty() {
                break;
            }
            held.clear();
        }
        let PreconditioningCounts { written, refused } = self.host.preconditioning;
        assert!(written + refused == done, "of {done} units {written} are written and {refused} are refused");
    }

    /// Sets all counters of the drive to zero, as after preconditioning; its state does not change.
    pub fn reset_counters(&mut self) {
        self.backend.reset_account();
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.reset_account();
        }
        self.ftl.reset_counters();
        self.host.link.reset_count();
        self.host.ram.reset_count();
        self.reset_power();
        self.host.counts = Counts::default();
        self.hash = base::engine::EventHash::default();
    }
}
