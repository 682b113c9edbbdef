//! Injectable faults, by a rate or at a planned operation.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::engine::Rng;
use base::units::{DieId, Ratio, Span, Time};

/// Rates of injected flash faults. All are zero by default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FaultSpec {
    /// Share of page programs that fail; the block is then retired.
    pub program_failures: Ratio,
    /// Share of block erases that fail; the block is then retired.
    pub erase_failures: Ratio,
    /// Share of page reads that stay uncorrectable.
    pub uncorrectable_reads: Ratio,
    /// Share of blocks marked bad by the factory.
    pub initial_bad_blocks: Ratio,
    /// Whether an erase fails once its block has reached the part's endurance.
    pub wear_out: bool,
    /// Dies that fail as a whole while the drive runs: reads of such a die are uncorrectable, and its programs and erases fail.
    /// Needs `ftl.parity`, which rebuilds the data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dies: Vec<DieFailure>,
}

/// The failure of a whole die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DieFailure {
    /// The number of the die, channel by channel, from 0 on.
    pub die: u32,
    /// Simulated time of the failure: the first request that reaches the drive then or later finds the die failed.
    #[schemars(extend("examples" = ["2s"]))]
    pub at: Span,
}

impl FaultSpec {
    /// The dies that fail as a whole at `now` or before.
    pub fn dies_due(&self, now: Time) -> impl Iterator<Item = DieId> + '_ {
        let due = move |failure: &&DieFailure| Time::ZERO + failure.at <= now;
        self.dies.iter().filter(due).map(|failure| DieId::new(failure.die))
    }

    /// The time at which the next die fails as a whole: after `behind`, or the first of all.
    #[must_use]
    pub fn next_die_failure(&self, behind: Option<Time>) -> Option<Time> {
        let times = self.dies.iter().map(|failure| Time::ZERO + failure.at);
        times.filter(|at| behind.is_none_or(|behind| *at > behind)).min()
    }
}

/// Decides which operations fail. Draws no random number while all faults are off.
#[derive(Clone, Debug)]
pub struct Faults {
    spec: FaultSpec,
    rng: Rng,
    /// Draws the factory's bad blocks. A separate stream, so that a loaded array need not repeat these draws.
    factory: Rng,
    counts: [u64; 3],
    planned: [BTreeSet<u64>; 3],
    active: bool,
    suspended: bool,
}

/// A kind of operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A page program; the block is then retired.
    Program,
    /// A block erase; the block is then retired.
    Erase,
    /// A page read; the page then stays uncorrectable.
    Read,
}

impl FaultKind {
    /// All kinds of operations that can fail.
    pub const ALL: [Self; 3] = [Self::Program, Self::Erase, Self::Read];

    /// The kind's name in messages and commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Erase => "erase",
            Self::Read => "read",
        }
    }
}

impl Faults {
    /// Faults at the rates of `spec`.
    #[must_use]
    pub fn new(spec: &FaultSpec, seed: u64) -> Self {
        let active =
            [spec.program_failures, spec.erase_failures, spec.uncorrectable_reads].iter().any(|r| r.get() > 0.0);
        Self {
            spec: spec.clone(),
            rng: Rng::stream(seed, "nand.faults"),
            factory: Rng::stream(seed, "nand.factory"),
            counts: [0; 3],
            planned: Default::default(),
            active,
            suspended: false,
        }
    }

    /// Suspends or resumes all faults. While suspended, operations are not counted.
    pub(crate) const fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// Starts the draws and counts again, as [`Faults::new`] does, but keeps the planned faults.
    pub fn restart(&mut self, seed: u64) {
        self.rng = Rng::stream(seed, "nand.faults");
        self.counts = [0; 3];
    }

    /// Makes the `nth` page program fail. Operations are counted from zero. If any failure has a rate, the count begins
    /// with the run, otherwise at the moment at which the first failure was planned.
    pub fn fail_program(&mut self, nth: u64) {
        self.plan(FaultKind::Program, nth);
    }

    /// Makes the `nth` block erase fail, counted like [programs](Self::fail_program).
    pub fn fail_erase(&mut self, nth: u64) {
        self.plan(FaultKind::Erase, nth);
    }

    /// Makes the `nth` page read uncorrectable, and all later reads of that page. Counted like
    /// [programs](Self::fail_program).
    pub fn fail_read(&mut self, nth: u64) {
        self.plan(FaultKind::Read, nth);
    }

    /// Makes an operation of this kind fail after `after` more of them have succeeded.
    pub fn fail_soon(&mut self, kind: FaultKind, after: u64) {
        self.plan(kind, self.counts[kind as usize] + after);
    }

    fn plan(&mut self, kind: FaultKind, nth: u64) {
        self.planned[kind as usize].insert(nth);
        self.active = true;
    }

    /// True if an operation may fail, or operations are counted for a planned fault.
    #[inline]
    pub(crate) const fn are_active(&self) -> bool {
        self.active
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly faults are off.
    fn draw(&mut self, kind: FaultKind) -> bool {
        if !self.active || self.suspended {
            return false;
        }
        let rate = match kind {
            FaultKind::Program => self.spec.program_failures,
            FaultKind::Erase => self.spec.erase_failures,
            FaultKind::Read => self.spec.uncorrectable_reads,
        };
        let nth = self.counts[kind as usize];
        self.counts[kind as usize] += 1;
        (rate.get() > 0.0 && self.rng.chance(rate.get())) || self.planned[kind as usize].remove(&nth)
    }

    pub(crate) fn program_fails(&mut self) -> bool {
        self.draw(FaultKind::Program)
    }

    /// True if blocks fail after the cycles that they endure.
    pub(crate) const fn wear_out(&self) -> bool {
        self.spec.wear_out
    }

    pub(crate) fn erase_fails(&mut self, is_worn_out: bool) -> bool {
        self.draw(FaultKind::Erase) || is_worn_out
    }

    #[inline]
    pub(crate) fn read_fails(&mut self) -> bool {
        self.draw(FaultKind::Read)
    }

    pub(crate) fn initially_bad(&mut self) -> bool {
        self.spec.initial_bad_blocks.get() > 0.0 && self.factory.chance(self.spec.initial_bad_blocks.get())
    }

    /// Draws whether a page of a program survives a power loss: one page in four does.
    pub(crate) fn survives_cut(&mut self) -> bool {
        self.rng.chance(0.25)
    }
}
