//! The energy of flash commands, from the electrical figures of the parts.

use base::units::Energy;
use flash::backend::{Account, Op};
use flash::nand::Part;

use crate::counters::Counters;
use crate::spec::Resolved;

/// The electrical figures of a drive's flash. They turn counters into energy after the drive is gone.
#[derive(Clone, Debug)]
pub struct PowerDraw {
    part: Part,
    gang: u32,
    /// The part of the SLC array, if there is one.
    slc_part: Option<Part>,
}

impl PowerDraw {
    pub(crate) fn of(resolved: &Resolved) -> Self {
        let slc_part = resolved.slc_array.as_ref().map(|slc_array| slc_array.part.clone());
        Self { part: resolved.part.clone(), gang: resolved.gang, slc_part }
    }

    /// The energy of the commands of both arrays between two snapshots of the counters.
    #[must_use]
    pub fn between(&self, from: &Counters, to: &Counters) -> Energy {
        let first = array_energy(&self.part, self.gang, &to.flash.since(&from.flash));
        let (Some(part), Some(from), Some(to)) = (&self.slc_part, &from.slc_array, &to.slc_array) else { return first };
        first + array_energy(part, 1, &to.flash.since(&from.flash))
    }
}

/// The energy of the commands of an array: volts x amperes x array time, plus the bus energy of each byte.
pub(crate) fn array_energy(part: &Part, gang: u32, account: &Account) -> Energy {
    let electrical = &part.electrical;
    let ops = Op::ALL.into_iter().map(|op| {
        let current = match op {
            Op::Read => electrical.read_current,
            Op::Program | Op::CopyBack => electrical.program_current,
            Op::Erase => electrical.erase_current,
        };
        let tally = account.op(op);
        Energy::of(electrical.voltage, current, tally.array) * f64::from(gang) + part.bus_energy(tally.bytes)
    });
    ops.sum()
}
