//! What a disk tells about itself after a run, besides its counters.

use flash::backend::{Account, Op};
use flash::nand::Sector;
use flash::units::Energy;
use ssd::Ssd;

use crate::watch::Watcher;
use crate::watch::timeline::Timeline;

/// A disk that can be looked into.
pub trait Inspect {
    /// What happened in a window of the run, if somebody watched.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// Erase count of every block.
    fn erase_counts(&self) -> Vec<u32>;

    /// What the commands of an account took, by operation; those that took any.
    fn energy(&self, account: &Account) -> Vec<(String, Energy)>;
}

impl<S: Sector, O: Watcher> Inspect for Ssd<S, O> {
    fn timeline(&self) -> Option<&Timeline> {
        self.observer().timeline()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.erase_counts()
    }

    fn energy(&self, account: &Account) -> Vec<(String, Energy)> {
        let of = |op: Op| {
            let mut alone = Account::default();
            account.rows().filter(|row| row.0 == op).for_each(|(op, cause, tally)| *alone.at(op, cause) = tally);
            (op.name().to_owned(), self.energy(&alone))
        };
        Op::ALL.into_iter().map(of).filter(|(_, energy)| energy.as_joules() > 0.0).collect()
    }
}
