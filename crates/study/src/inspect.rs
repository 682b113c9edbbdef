//! What a disk tells about itself after a run, besides its counters.

use base::units::Energy;
use flash::backend::{Account, Op};
use flash::nand::Sector;
use ssd::{Counters, Ssd};

use crate::watch::Watcher;
use crate::watch::explain::Explained;
use crate::watch::timeline::Timeline;

/// A disk that can be looked into.
pub trait Inspect {
    /// What happened in a window of the run, if somebody watched.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// Where the time of the requests went since this was last asked, if somebody watched.
    fn explained(&mut self) -> Vec<Explained> {
        Vec::new()
    }

    /// Erase count of every block.
    fn erase_counts(&self) -> Vec<u32>;

    /// What the commands that were counted took, by operation and array; those that took any.
    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)>;
}

impl<S: Sector, O: Watcher> Inspect for Ssd<S, O> {
    fn timeline(&self) -> Option<&Timeline> {
        self.observer().timeline()
    }

    fn explained(&mut self) -> Vec<Explained> {
        self.observer_mut().explained()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.erase_counts()
    }

    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        let alone = |account: &Account, op: Op| {
            let mut alone = Account::default();
            account.rows().filter(|row| row.0 == op).for_each(|(op, cause, tally)| *alone.at(op, cause) = tally);
            alone
        };
        let first = Op::ALL.into_iter().map(|op| (op.name().to_owned(), self.energy(&alone(&counted.flash, op))));
        let second = counted.second.iter().flat_map(|second| {
            let of = move |op| self.second_energy(&alone(&second.flash, op));
            Op::ALL.into_iter().map(move |op| (format!("SLC {}", op.name()), of(op)))
        });
        first.chain(second).filter(|(_, energy)| energy.as_joules() > 0.0).collect()
    }
}
