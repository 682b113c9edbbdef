//! The attempts of reads with errors.

use base::engine::Handle;

use super::{Command, Config};
use crate::nand::Attempt;

/// The attempts of a read, which the draw of its errors has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempts {
    /// The step of the retry table with which the first attempt reads.
    pub(super) first: u8,
    /// The number of attempts that have failed so far.
    pub(super) failed: u8,
    /// The number of attempts that will have failed when the read ends.
    pub(super) retries: u8,
    pub(super) last: Attempt,
}

impl Attempts {
    /// The only attempt of a read without errors.
    pub(super) const FIRST: Self = Self { first: 0, failed: 0, retries: 0, last: Attempt::Step(0) };

    /// True for an attempt after the first.
    pub(super) const fn is_retry(self) -> bool {
        self.failed > 0
    }

    /// True if the present attempt is decoded softly.
    pub(super) const fn is_soft(self) -> bool {
        !matches!(self.last, Attempt::Step(_)) && self.failed == self.retries
    }
}

/// The attempts of all reads with errors, by the index of their commands; empty without errors. They are no part of
/// [`Command`], because most drives have no errors.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAttempts(Vec<Attempts>);

impl ReadAttempts {
    /// Bytes of the table for each command.
    pub(super) const fn memory(config: &Config) -> u64 {
        if config.errors.is_some() { size_of::<Attempts>() as u64 } else { 0 }
    }

    pub(super) fn of(&self, handle: Handle<Command>) -> Attempts {
        self.0.get(handle.index()).copied().unwrap_or(Attempts::FIRST)
    }

    pub(super) fn set(&mut self, handle: Handle<Command>, attempts: Attempts) {
        if self.0.len() <= handle.index() {
            self.0.resize(handle.index() + 1, Attempts::FIRST);
        }
        self.0[handle.index()] = attempts;
    }

    /// Forgets all commands, at a power cut.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
