//! Records the wear of a drive during a run that is a round of a life.

use base::units::Time;
use ssd::Drive;

use super::result::RunSums;
use crate::life::{Life, RoundProgress};

/// Functions of a drive that a run needs beyond [`Drive`], or calls to inform the drive's owner.
pub(crate) struct Hooks<D> {
    /// Called when the warm-up is over.
    pub(crate) measure: fn(&mut D, Time),
    pub(crate) bad_blocks: fn(&D) -> u64,
    /// Returns the erases of each block.
    pub(crate) erases: fn(&D) -> Vec<u32>,
}

impl<D> Hooks<D> {
    /// The hooks of a drive that offers only requests and counters.
    pub(crate) fn none() -> Self {
        Self { measure: |_, _| {}, bad_blocks: |_| 0, erases: |_| Vec::new() }
    }
}

/// Reports the requests of a drive to its life.
pub(super) struct WearWatch<'l, D> {
    life: &'l mut Life,
    hooks: Hooks<D>,
}

impl<'l, D> WearWatch<'l, D> {
    pub(super) const fn new(life: &'l mut Life, hooks: Hooks<D>) -> Self {
        Self { life, hooks }
    }

    /// Reports the requests that have completed. Returns true if the round is over.
    pub(super) fn note<S>(&mut self, drive: &D, now: Time, result: &RunSums) -> bool
    where
        D: Drive<S>,
    {
        let (written, refused) = result.writes();
        let done = RoundProgress { now, written, refused, bad_blocks: (self.hooks.bad_blocks)(drive) };
        self.life.complete(done, || (drive.counters(), (self.hooks.erases)(drive)))
    }

    /// Reports that the next request comes after the end of the round.
    pub(super) fn idle_until(&mut self, at: Time) {
        self.life.idle_until(at);
    }
}
