//! When things happen: command lists, units, dies and buses.

mod account;
mod cause;

pub use account::{Account, Tally};
pub use cause::{Cause, CauseSet, Op};
