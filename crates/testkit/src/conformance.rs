//! The conformance suite: what every setting of every policy, placement and buffer has to pass.
//!
//! The [`settings()`] are made from the registries beside the policies (`VictimSpec::EVERY`,
//! `PlacementSpec::every` and so on), so a new policy is in the suite by its registry line. A [`Check`] is one
//! property under one kind of stress, and its name is in the failure, beside the setting and the seed that
//! replay it. That the checks find what they are for is shown with planted bugs: `tests/sabotage.rs`.

mod books;
mod determinism;
mod faults;
mod integrity;
mod order;
mod power;
mod precondition;
mod script;
mod settings;
mod wear;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use flash::nand::Stamp;
use ssd::{Precondition, Resolved, Ssd};

use crate::Host;

pub use settings::{Setting, settings};

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Requests of a script.
    pub requests: u32,
    /// Requests of a script whose every moment is a power cut.
    pub cut_requests: u32,
    /// Of the moments of a script so many follow one another uncut, and then comes a cut; the seed says which. Odd, so
    /// that ends and middles of events both have their turn.
    pub stride: u64,
    /// The same of a drive whose map is paged, which has several times the events, most of them like others.
    pub paged_stride: u64,
    /// Power cuts of one drive, one after another.
    pub lives: u32,
    /// Operations of which each one fails once.
    pub failures: u64,
    /// Erases that each block of a wear test is good for.
    pub erases: u32,
    /// Ways to precondition a drive with each kind of fault.
    pub ways: u32,
}

impl Effort {
    /// What `make test` has time for. Settings have seeds of their own, so that between them they are cut at every moment.
    pub const TEST: Self = Self { stride: 5, paged_stride: 25, lives: 75, failures: 12, ..Self::WHOLE };
    /// The whole suite, which is the first that `make soak` does.
    pub const WHOLE: Self = Self {
        requests: 500,
        cut_requests: 36,
        stride: 1,
        paged_stride: 5,
        lives: 300,
        failures: 24,
        erases: 60,
        ways: 1,
    };
    /// What the soak has time for.
    pub const SOAK: Self = Self {
        requests: 3000,
        cut_requests: 200,
        stride: 1,
        paged_stride: 1,
        lives: 3000,
        failures: 120,
        erases: 200,
        ways: 15,
    };
}

/// What a check is applied to.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The device.
    pub resolved: &'a Resolved,
    /// What everything random is drawn from.
    pub seed: u64,
    /// How much of everything.
    pub effort: Effort,
}

impl Trial<'_> {
    /// A new drive and its host.
    fn host(&self) -> Host {
        Host::new(Ssd::<Stamp>::new(self.resolved, self.seed))
    }

    /// A drive that is full, so that collection begins early.
    fn filled(&self) -> Host {
        let mut ssd = Ssd::<Stamp>::new(self.resolved, self.seed);
        ssd.precondition(Precondition::Fill, &mut |_, _| {});
        Host::new(ssd)
    }

    /// Sectors of the drive.
    fn capacity(&self) -> u64 {
        self.resolved.capacity().get()
    }
}

/// What a check did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Requests completed.
    pub requests: u64,
    /// Power cuts recovered from.
    pub cuts: u64,
    /// Operations made to fail.
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

/// One property under one kind of stress.
#[derive(Clone, Copy)]
pub struct Check {
    /// What a failure calls it.
    pub name: &'static str,
    /// Panics if the property does not hold.
    check: fn(&Trial<'_>) -> Work,
}

/// Hands the registry of checks to a macro: for each the test that applies it to every setting, its name and its
/// function.
#[macro_export]
macro_rules! checks {
    ($to:ident) => {
        $to! {
            reads_return_the_newest_write: "integrity", integrity::integrity;
            the_books_balance: "books", books::books;
            two_runs_are_one: "determinism", determinism::determinism;
            no_write_overtakes_another: "order", order::order;
            wear_is_bounded: "wear", wear::wear;
            failing_programs_lose_nothing: "program failures", faults::program_failures;
            failing_erases_lose_nothing: "erase failures", faults::erase_failures;
            preconditioning_with_faults_loses_nothing: "preconditioning", precondition::precondition;
            cuts_of_a_new_drive: "power cuts, new", power::cuts_of_a_new_drive;
            cuts_of_a_full_drive: "power cuts, full", power::cuts_of_a_full_drive;
            one_cut_after_another: "power cuts, one after another", power::cuts_one_after_another;
            a_cut_behind_each_flush: "power cuts, after flushes", power::cuts_after_flushes;
        }
    };
}

macro_rules! suite {
    ($($test:ident: $name:literal, $check:path;)*) => {
        /// The suite.
        pub const CHECKS: &[Check] = &[$(Check { name: $name, check: $check }),*];
    };
}

checks!(suite);

/// The check of that name.
#[must_use]
pub fn check(name: &str) -> Option<Check> {
    CHECKS.iter().copied().find(|check| check.name == name)
}

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub check: &'static str,
    /// Of which device.
    pub setting: String,
    /// With which seed.
    pub seed: u64,
    /// What was found.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, setting, seed, message } = self;
        write!(f, "check `{check}` fails for setting `{setting}` with seed {seed}: {message}")
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
            Failure { check: self.name, setting: setting.into(), seed: trial.seed, message }
        })
    }
}

/// What a panic says.
fn message_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// All checks of one setting with one seed, as the soak runs them.
///
/// # Errors
/// The first that does not hold.
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
