//! Faults that a user injects into a served drive.

use std::fmt;

use flash::nand::Failing;

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
}
