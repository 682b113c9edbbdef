//! Records the wear of a drive during a run that is a round of a life.

use base::units::Time;
use ssd::Drive;

use super::result::RunSums;
use crate::inspect::Inspect;
use crate::life::{Life, RoundProgress};

/// Inputs of a run beyond [`Drive`]: functions of the drive's owner, and the life of which the run is a round.
pub(crate) struct Hooks<'l, D> {
    /// Called when the warm-up is over.
    pub(crate) end_warm_up: fn(&mut D, Time),
    pub(crate) bad_blocks: fn(&D) -> u64,
    pub(crate) erases: fn(&D) -> Vec<u32>,
    /// The life that records the drive's wear.
    pub(crate) life: Option<&'l mut Life>,
}

impl<'l, D: Inspect> Hooks<'l, D> {
    /// The hooks of a drive whose state can be inspected, in a run that may be a round of a life.
    pub(crate) fn new(life: Option<&'l mut Life>) -> Self {
        Self { end_warm_up: D::end_warm_up, bad_blocks: D::bad_blocks, erases: D::erase_counts, life }
    }
}

impl<D> Hooks<'_, D> {
    /// The hooks of a drive that offers only requests and counters.
    pub(crate) fn none() -> Self {
        Self { end_warm_up: |_, _| {}, bad_blocks: |_| 0, erases: |_| Vec::new(), life: None }
    }
}

/// Reports the requests of a drive to its life.
pub(super) struct WearWatch<'l, D> {
    life: &'l mut Life,
    bad_blocks: fn(&D) -> u64,
    erases: fn(&D) -> Vec<u32>,
}

impl<'l, D> WearWatch<'l, D> {
    /// Creates the watch of a run that is a round of a life; `None` for any other run.
    pub(super) fn new(hooks: Hooks<'l, D>) -> Option<Self> {
        let Hooks { bad_blocks, erases, life, .. } = hooks;
        life.map(|life| Self { life, bad_blocks, erases })
    }

    /// Reports the requests that have completed. Returns true if the round is over.
    pub(super) fn note<S>(&mut self, drive: &D, now: Time, result: &RunSums) -> bool
    where
        D: Drive<S>,
    {
        let (written, refused) = result.writes();
        let done = RoundProgress { now, written, refused, bad_blocks: (self.bad_blocks)(drive) };
        self.life.complete(done, || (drive.counters(), (self.erases)(drive)))
    }

    /// Reports that the next request comes after the end of the round.
    pub(super) fn idle_until(&mut self, at: Time) {
        self.life.idle_until(at);
    }
}
