//! Bringing a drive into a used state: the same FTL, with time switched off.

use flash::backend::{Observer, Op};
use flash::engine::Rng;
use flash::nand::Sector;
use flash::units::Lpn;

use crate::Ssd;
use crate::device::Counts;
use crate::ftl::Unit;
use crate::ftl::full_mask;

/// One step of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Writes every mapping unit once, in the order of their addresses.
    Fill,
    /// Overwrites random units, so many times the capacity.
    RandomOverwrite(f64),
    /// Overwrites random units until write amplification has settled: until three tenths of the capacity
    /// in a row agree within 2 %, at most ten times the capacity.
    Steady,
}

/// What preconditioning came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preconditioned {
    /// Mapping units written.
    pub units: u64,
    /// Units programmed for each of them.
    pub write_amplification: f64,
}

impl<S: Sector, O: Observer> Ssd<S, O> {
    /// Runs one step. `progress` hears of units done and, as far as it is known, units to do. Afterwards the
    /// drive has been switched off and on once, so that it is in the state that its media alone define, and
    /// its counters are zero.
    ///
    /// # Panics
    /// If requests are under way.
    pub fn precondition(&mut self, step: Precondition, progress: &mut dyn FnMut(u64, u64)) -> Preconditioned {
        assert!(self.outstanding() == 0, "a drive is preconditioned while nobody uses it");
        self.drain(&mut Vec::new());
        self.backend.set_timed(false);
        self.backend.reset_account();
        let units = u64::from(self.ftl.units());
        let mut done = 0;
        match step {
            Precondition::Fill => {
                let mut next = 0;
                let mut source = || {
                    next += 1;
                    Lpn::new(next - 1)
                };
                self.write_untimed(units, &mut source, &mut done, &mut |done| progress(done, units));
            }
            Precondition::RandomOverwrite(times) => {
                let total = (units as f64 * times).round() as u64;
                let mut rng = self.precondition_stream();
                let mut source = || Lpn::new(rng.below(units) as u32);
                self.write_untimed(total, &mut source, &mut done, &mut |done| progress(done, total));
            }
            Precondition::Steady => self.overwrite_until_steady(units, &mut done, progress),
        }
        let account = self.backend.account(self.now);
        let programmed = account.op(Op::Program).slots + account.op(Op::CopyBack).slots;
        self.backend.set_timed(true);
        self.power_off();
        self.power_on(self.now);
        self.ready = true;
        self.events.clear();
        // What fails from here on must not depend on how the drive got here.
        self.backend.media_mut().faults_mut().restart(self.seed);
        self.reset_counters();
        Preconditioned { units: done, write_amplification: programmed as f64 / done.max(1) as f64 }
    }

    /// A stream for each step, so that two steps in turn do not overwrite the same units. It is named by the
    /// latest write on the media, so that a step does the same on a drive and on a snapshot of it.
    fn precondition_stream(&self) -> Rng {
        Rng::stream(self.seed, &format!("precondition.{}", self.ftl.latest_version()))
    }

    fn overwrite_until_steady(&mut self, units: u64, done: &mut u64, progress: &mut dyn FnMut(u64, u64)) {
        let mut rng = self.precondition_stream();
        let mut source = || Lpn::new(rng.below(units) as u32);
        let window = (units / 10).max(1);
        let mut recent: Vec<f64> = Vec::new();
        for _ in 0..100 {
            let before = self.programmed();
            self.write_untimed(window, &mut source, done, &mut |done| progress(done, units * 10));
            recent.push((self.programmed() - before) as f64 / window as f64);
            let last = &recent[recent.len().saturating_sub(3)..];
            let (least, most) = last.iter().fold((f64::MAX, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
            // Before the first collection nothing has settled yet.
            if last.len() == 3 && most <= least * 1.02 && most > 1.001 {
                return;
            }
        }
    }

    fn programmed(&self) -> u64 {
        let account = self.backend.account(self.now);
        account.op(Op::Program).slots + account.op(Op::CopyBack).slots
    }

    /// Writes `count` units that `source` names, a program's worth at a time.
    fn write_untimed(
        &mut self,
        count: u64,
        source: &mut dyn FnMut() -> Lpn,
        done: &mut u64,
        progress: &mut dyn FnMut(u64),
    ) {
        let mask = full_mask(self.resolved.geometry.sectors);
        let mut batch: Vec<Lpn> = Vec::with_capacity(self.backend.slots_per_command() as usize);
        let mut left = count;
        while left > 0 {
            batch.clear();
            // A unit occurs once in a batch: all of a batch have one version.
            while batch.len() < batch.capacity() && left > 0 {
                let lpn = source();
                if !batch.contains(&lpn) {
                    batch.push(lpn);
                }
                left -= 1;
            }
            let version = self.ftl.next_version();
            self.ftl.begin_write();
            for lpn in &batch {
                let unit = Unit { lpn: *lpn, owner: None, at: 0, mask, version };
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.events);
                self.ftl.write(&mut flash, &mut self.clients, unit);
            }
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.events);
            self.ftl.end_write(&mut flash, &mut self.clients);
            *done += batch.len() as u64;
            self.pump();
            if (*done).is_multiple_of(1 << 16) {
                progress(*done);
            }
        }
    }

    /// Forgets everything counted.
    pub fn reset_counters(&mut self) {
        self.backend.reset_account();
        self.link.reset_count();
        self.counts = Counts::default();
        self.hash = flash::engine::EventHash::default();
    }
}
