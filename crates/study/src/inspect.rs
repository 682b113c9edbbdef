//! What a disk tells about itself before and after a run, besides its counters.

use base::units::{Energy, Time};
use flash::backend::{Account, Op};
use flash::nand::Sector;
use ssd::{Counters, History, Ssd};

use crate::watch::explain::Explained;
use crate::watch::timeline::Timeline;
use crate::watch::{Watch, Watcher};

/// A disk that can be looked into.
pub trait Inspect {
    /// What preconditioning has written, if that was noted.
    fn history(&self) -> Option<&History> {
        None
    }

    /// Whoever watches hears that the run begins: what came before, preconditioning for example, is forgotten.
    fn begin(&mut self, _at: Time) {}

    /// Whoever watches hears that the warm-up is over: what is under way goes on, and what came before is forgotten.
    fn measure(&mut self, _at: Time) {}

    /// Gives away all that was seen, if somebody watched.
    fn take_watch(&mut self) -> Option<Watch> {
        None
    }

    /// Checks all its invariants.
    ///
    /// # Panics
    /// If one is broken.
    fn check(&self) {}

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

impl<S: Sector, O: Watcher, F: ftl::Ftl> Inspect for Ssd<S, O, F> {
    fn history(&self) -> Option<&History> {
        self.history()
    }

    fn begin(&mut self, at: Time) {
        self.observer_mut().begin(at);
    }

    fn measure(&mut self, at: Time) {
        self.observer_mut().measure(at);
    }

    fn take_watch(&mut self) -> Option<Watch> {
        self.observer_mut().take()
    }

    fn check(&self) {
        self.check();
    }

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
        let second = counted.slc_array.iter().flat_map(|second| {
            let of = move |op| self.slc_energy(&alone(&second.flash, op));
            Op::ALL.into_iter().map(move |op| (format!("SLC {}", op.name()), of(op)))
        });
        first.chain(second).filter(|(_, energy)| energy.as_joules() > 0.0).collect()
    }
}
