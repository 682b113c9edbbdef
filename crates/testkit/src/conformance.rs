//! The conformance suite: checks that every setting of every policy, placement and buffer must pass.
//!
//! The [`settings()`] are generated from the registries of the policies (`VictimSpec::EVERY`, `PlacementSpec::every`
//! and so on), so the registry line of a new policy adds it to the suite. A [`Check`] tests one property under one kind
//! of stress. A failure names the check, the setting, and the seed that replays it. Planted bugs show that the checks
//! find such bugs: `tests/sabotage.rs`.

mod books;
mod determinism;
mod faults;
mod integrity;
mod order;
mod placement;
mod power;
mod precondition;
mod refusals;
mod script;
mod settings;
mod wear;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::nand::Stamp;
use ssd::{Precondition, ResolvedDevice, Ssd};

use crate::{Host, sabotaged};

pub(crate) use settings::{
    STYLES, capped, changing, density, evicting, hot, in_host_memory, limited, short, states, varied, with_errors,
};
pub use settings::{Setting, settings, settings_of};

/// The amount of work of each check.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Name of the effort in the line that replays a failure.
    pub name: &'static str,
    /// The number of requests of a script.
    pub requests: u32,
    /// The number of requests of a script with power cuts at every moment.
    pub cut_requests: u32,
    /// The number of moments of a script per power cut; the seed chooses the first. Odd, so that cuts alternate between
    /// events and the middles between events.
    pub stride: u64,
    /// The stride for a drive with a paged map, whose scripts have several times as many events, most of them alike.
    pub paged_stride: u64,
    /// The number of successive power cuts of one drive.
    pub lives: u32,
    /// The number of failing operations, each in its own run.
    pub failures: u64,
    /// The least number of operations between the two failures of a drive with a shared log. Such a drive reserves two
    /// superblocks of each pool, not three, and two pools that fail at once cannot help each other.
    pub apart: u64,
    /// The average number of erases of each block in a wear test.
    pub erases: u32,
    /// The number of ways to precondition a drive with each kind of fault.
    pub ways: u32,
    /// The number of drives that become read-only.
    pub refusals: u32,
}

impl Effort {
    /// The effort of `make test`. Each setting has its own seed, so together the settings are cut at every moment.
    pub const TEST: Self = Self {
        name: "test",
        stride: 5,
        paged_stride: 25,
        lives: 75,
        failures: 12,
        apart: 1,
        refusals: 1,
        ..Self::WHOLE
    };
    /// The effort of the whole suite, with which `make soak` begins.
    pub const WHOLE: Self = Self {
        name: "whole",
        requests: 500,
        cut_requests: 36,
        stride: 1,
        paged_stride: 5,
        lives: 300,
        failures: 24,
        apart: 200,
        erases: 60,
        ways: 1,
        refusals: 3,
    };
    /// The effort of one round of the soak.
    pub const SOAK: Self = Self {
        name: "soak",
        requests: 3000,
        cut_requests: 200,
        stride: 1,
        paged_stride: 1,
        lives: 3000,
        failures: 120,
        apart: 200,
        erases: 200,
        ways: 15,
        refusals: 30,
    };

    /// Finds an effort by name: `test`, `whole` or `soak`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::TEST, Self::WHOLE, Self::SOAK].into_iter().find(|effort| effort.name == name)
    }
}

/// The device and the seed that a check runs with.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The resolved device under test.
    pub resolved: &'a ResolvedDevice,
    /// Seed of all random decisions of the check.
    pub seed: u64,
    /// The effort of the check.
    pub effort: Effort,
}

impl Trial<'_> {
    fn drive(&self) -> Ssd<Stamp> {
        Ssd::new(self.resolved, sabotaged::seed(self.resolved, self.seed))
    }

    fn host(&self) -> Host {
        Host::new(self.drive())
    }

    /// Creates a full drive and its host, so that garbage collection begins early.
    fn filled(&self) -> Host {
        let mut ssd = self.drive();
        ssd.precondition(Precondition::Fill, &mut |_, _| {});
        Host::new(ssd)
    }

    /// The number of sectors of the drive.
    fn capacity(&self) -> u64 {
        self.resolved.capacity().get()
    }
}

/// Counts of a check's requests, cuts and failures, which show that the check did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of requests completed.
    pub requests: u64,
    /// The number of power cuts that the drive recovered from.
    pub cuts: u64,
    /// The number of operations made to fail.
    pub failures: u64,
}

impl Work {
    fn of(host: &Host) -> Self {
        Self { requests: host.requests().iter().sum(), ..Self::default() }
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, rhs: Self) {
        self.requests += rhs.requests;
        self.cuts += rhs.cuts;
        self.failures += rhs.failures;
    }
}

/// A property of drives, tested under one kind of stress.
#[derive(Clone, Copy)]
pub struct Check {
    /// Name of the check in failures.
    pub name: &'static str,
    /// Function that tests the property and panics if it does not hold.
    check: fn(&Trial<'_>) -> Work,
}

/// Passes the registry of checks to a macro: for each check, the test that applies it to every setting, its name and
/// its function.
#[macro_export]
macro_rules! checks {
    ($to:ident) => {
        $to! {
            reads_return_the_newest_write: "integrity", integrity::integrity;
            the_counters_reconcile: "books", books::books;
            two_runs_of_a_seed_are_equal: "determinism", determinism::determinism;
            no_write_overtakes_another: "order", order::order;
            wear_is_bounded: "wear", wear::wear;
            failing_programs_lose_nothing: "program failures", faults::program_failures;
            failing_reads_lose_nothing: "read failures", faults::read_failures;
            a_failed_die_loses_nothing: "die failures", faults::die_failures;
            failing_erases_lose_nothing: "erase failures", faults::erase_failures;
            preconditioning_with_faults_loses_nothing: "preconditioning", precondition::precondition;
            power_cuts_of_a_new_drive_lose_nothing: "power cuts, new", power::cuts_of_a_new_drive;
            power_cuts_of_a_full_drive_lose_nothing: "power cuts, full", power::cuts_of_a_full_drive;
            repeated_power_cuts_lose_nothing: "power cuts, one after another", power::cuts_one_after_another;
            a_power_cut_after_each_flush_loses_nothing: "power cuts, after flushes", power::cuts_after_flushes;
            power_cuts_among_discards_lose_nothing: "power cuts, among discards", power::cuts_among_discards;
            read_only_drives_lose_nothing: "refusals", refusals::refusals;
            data_of_handles_lie_apart: "placement", placement::placement;
        }
    };
}

macro_rules! suite {
    ($($test:ident: $name:literal, $check:path;)*) => {
        /// The checks of the suite, in the order in which they run.
        pub const CHECKS: &[Check] = &[$(Check { name: $name, check: $check }),*];
    };
}

checks!(suite);

/// Finds a check of the conformance suite by name.
#[must_use]
pub fn check(name: &str) -> Option<Check> {
    CHECKS.iter().copied().find(|check| check.name == name)
}

/// A failed check, with the setting and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name of the check.
    pub check: &'static str,
    /// Name of the setting.
    pub setting: String,
    /// Seed of the failed run.
    pub seed: u64,
    /// Name of the effort.
    pub effort: &'static str,
    /// Message of the panic.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, setting, seed, effort, message } = self;
        write!(f, "check `{check}` fails for setting `{setting}` with seed {seed}: {message}; replay with ")?;
        write!(f, "`make soak CHECK='{check}' SETTING='{setting}' SEED={seed} EFFORT={effort}`")
    }
}

impl std::error::Error for Failure {}

impl Check {
    /// Applies the check to a device called `setting`.
    ///
    /// # Errors
    /// If the property does not hold.
    pub fn run(&self, setting: &str, trial: &Trial<'_>) -> Result<Work, Failure> {
        catch_unwind(AssertUnwindSafe(|| (self.check)(trial))).map_err(|panic| {
            let message = message_of(&*panic).to_owned();
            let Trial { seed, effort, .. } = *trial;
            Failure { check: self.name, setting: setting.into(), seed, effort: effort.name, message }
        })
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// Applies a check to a setting, both by name, as the line that replays a failure does; `None` if a name is unknown.
#[must_use]
pub fn replay(name: &str, setting: &str, seed: u64, effort: &str) -> Option<Result<Work, Failure>> {
    let (check, effort) = (check(name)?, Effort::named(effort)?);
    let found = settings().into_iter().find(|known| known.name == setting)?;
    let resolved = found.spec.resolve().expect("every setting is valid");
    Some(check.run(&found.name, &Trial { resolved: &resolved, seed, effort }))
}

/// Applies every check to all settings, with seeds from 0 on; with `step` above 1, each check takes every `step`-th
/// setting, and the checks start at different settings.
///
/// # Errors
/// All failed checks.
pub fn run(settings: &[Setting], effort: Effort, step: usize) -> Result<Work, Vec<Failure>> {
    let (mut work, mut failures) = (Work::default(), Vec::new());
    for (number, check) in CHECKS.iter().enumerate() {
        for (i, setting) in settings.iter().enumerate().skip(number % step.max(1)).step_by(step.max(1)) {
            let resolved = setting.spec.resolve().expect("every setting is valid");
            match check.run(&setting.name, &Trial { resolved: &resolved, seed: i as u64, effort }) {
                Ok(done) => work += done,
                Err(failure) => failures.push(failure),
            }
        }
    }
    if failures.is_empty() { Ok(work) } else { Err(failures) }
}

/// Runs all checks on one setting with one seed, as the soak does.
///
/// # Errors
/// The first failed check.
pub fn soak(seed: u64) -> Result<Work, Failure> {
    let settings = settings();
    let setting = &settings[(seed % settings.len() as u64) as usize];
    let resolved = setting.spec.resolve().expect("every setting is valid");
    let trial = Trial { resolved: &resolved, seed, effort: Effort::SOAK };
    let mut work = Work::default();
    for check in CHECKS {
        work += check.run(&setting.name, &trial)?;
    }
    Ok(work)
}
