//! The wear of a drive during a run, for the life of which the run is a round.

use base::units::Time;
use ssd::Drive;

use super::result::Collected;
use crate::life::{Life, RoundProgress};

/// What a run asks of a drive beyond [`Drive`], or tells its owner.
pub(crate) struct Hooks<D> {
    /// The warm-up is over.
    pub(crate) measure: fn(&mut D, Time),
    /// The number of bad blocks.
    pub(crate) bad_blocks: fn(&D) -> u64,
    /// The erases of each block.
    pub(crate) erases: fn(&D) -> Vec<u32>,
}

impl<D> Hooks<D> {
    /// Those of a drive of which only requests and counters are known.
    pub(crate) fn none() -> Self {
        Self { measure: |_, _| {}, bad_blocks: |_| 0, erases: |_| Vec::new() }
    }
}

/// Tells a life what happens to its drive.
pub(super) struct WearWatch<'l, D> {
    life: &'l mut Life,
    hooks: Hooks<D>,
}

impl<'l, D> WearWatch<'l, D> {
    pub(super) const fn new(life: &'l mut Life, hooks: Hooks<D>) -> Self {
        Self { life, hooks }
    }

    /// Notes the requests that have completed. Returns true if the round is over.
    pub(super) fn note<S>(&mut self, drive: &D, now: Time, result: &Collected) -> bool
    where
        D: Drive<S>,
    {
        let (written, refused) = result.writes();
        let done = RoundProgress { now, written, refused, bad_blocks: (self.hooks.bad_blocks)(drive) };
        self.life.complete(done, || (drive.counters(), (self.hooks.erases)(drive)))
    }

    /// The next request comes after the end of the round.
    pub(super) fn idle_until(&mut self, at: Time) {
        self.life.idle_until(at);
    }
}
