//! Faults that a user injects into a served drive.

use std::fmt;

use base::units::DieId;
use flash::nand::Failing;

use super::command::Refused;
use super::core::Core;

/// Operations of the flash that will fail: the next ones of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of operation.
    pub operation: Failing,
    /// Operations of this kind that succeed first.
    pub after: u64,
    /// How many fail then, one after another.
    pub count: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, after, count } = self;
        let behind = if *after > 0 { format!(" behind the next {after}") } else { String::new() };
        let s = if *count == 1 { "" } else { "s" };
        write!(f, "{count} {}{s}{behind} will fail", operation.name())
    }
}

impl Core {
    /// Plans a fault of the main array. It outlives a power cut.
    pub fn plan(&mut self, fault: Fault) {
        let faults = self.drive.media_mut().faults_mut();
        for number in 0..fault.count {
            faults.fail_soon(fault.operation, fault.after + number);
        }
        self.tally.faults += fault.count;
    }

    /// Lets a die of the main array fail as a whole, for good. Returns its number.
    pub(super) fn fail_die(&mut self, die: u32) -> Result<u32, Refused> {
        let dies = self.drive.geometry().die_count();
        if die >= dies {
            return Err(Refused::NoSuchDie { die, dies });
        }
        if !self.drive.resolved().spec.ftl.parity {
            return Err(Refused::NoParity);
        }
        self.drive.media_mut().fail_die(DieId::new(die));
        self.tally.faults += 1;
        Ok(die)
    }
}
