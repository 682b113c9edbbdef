//! What a disk tells about itself after a run, besides its counters.

use flash::backend::{Account, Observer, Op};
use flash::nand::Sector;
use flash::units::Energy;
use ssd::Ssd;

/// A disk that can be looked into.
pub trait Inspect {
    /// Erase count of every block.
    fn erase_counts(&self) -> Vec<u32>;

    /// What the commands of an account took, by operation; those that took any.
    fn energy(&self, account: &Account) -> Vec<(String, Energy)>;
}

impl<S: Sector, O: Observer> Inspect for Ssd<S, O> {
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
