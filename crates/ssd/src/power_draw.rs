//! The energy that a drive spends: its flash by the electrical figures of the parts, its controller and power states by
//! `[power]`.

use base::units::{Energy, Span};
use flash::backend::{Account, Op, Supply};
use flash::nand::Part;

use crate::counters::Counters;
use crate::power_manager::PowerCounters;
use crate::spec::{PowerSpec, ResolvedDevice};

/// The electrical figures of a drive, which turn counters into energy. They can be used after the drive is dropped.
#[derive(Clone, Debug)]
pub struct PowerDraw {
    part: Part,
    gang: u32,
    /// The part of the SLC array, if there is one.
    slc_part: Option<Part>,
    power: Option<PowerSpec>,
}

impl PowerDraw {
    pub(crate) fn new(resolved: &ResolvedDevice) -> Self {
        let slc_part = resolved.slc_array.as_ref().map(|slc_array| slc_array.part.clone());
        let power = resolved.spec.power.clone();
        Self { part: resolved.part.clone(), gang: resolved.gang, slc_part, power }
    }

    /// The energy of the drive between two snapshots of the counters.
    #[must_use]
    pub fn between(&self, from: &Counters, to: &Counters) -> Energy {
        let first = array_energy(&self.part, self.gang, &to.flash.since(&from.flash));
        let second = match (&self.slc_part, &from.slc_array, &to.slc_array) {
            (Some(part), Some(from), Some(to)) => array_energy(part, 1, &to.flash.since(&from.flash)),
            _ => Energy::ZERO,
        };
        let power = from.power.as_deref().zip(to.power.as_deref());
        let rest =
            power.map(|(from, to)| self.beside_arrays(&to.since(from)).into_iter().map(|(_, energy)| energy).sum());
        first + second + rest.unwrap_or(Energy::ZERO)
    }

    /// The mean power in watts between two snapshots of the counters; `None` if no time passed or the result is not a
    /// finite number.
    #[must_use]
    pub fn mean_power(&self, from: &Counters, to: &Counters) -> Option<f64> {
        let seconds = (to.at - from.at).as_secs_f64();
        Some(self.between(from, to).as_joules() / seconds).filter(|watts| watts.is_finite())
    }

    /// The energy that the drive spent in the counted time beside the commands of its flash, by name. Empty without
    /// `[power]`.
    #[must_use]
    pub fn beside_arrays(&self, counted: &PowerCounters) -> Vec<(&'static str, Energy)> {
        let Some(power) = &self.power else { return Vec::new() };
        let idle = [("idle flash", idle_energy(&self.part, self.gang, counted.idle_dies))];
        counted.energies(power).into_iter().chain(idle).collect()
    }

    /// True if `[power]` describes more than the flash.
    #[must_use]
    pub const fn has_controller(&self) -> bool {
        self.power.is_some()
    }
}

/// The energy of the commands of an array: volts x amperes x array time, plus the bus energy of each byte. In a
/// multi-plane operation, each plane beyond the first draws its share of the current for the time of the operation.
pub(crate) fn array_energy(part: &Part, gang: u32, account: &Account) -> Energy {
    let electrical = &part.electrical;
    let ops = Op::ALL.into_iter().map(|op| {
        let (current, tally) = (Supply::current(electrical, op), account.op(op));
        let one_plane = Energy::of(electrical.voltage, current, tally.array);
        let further = Energy::of(electrical.voltage, current, tally.further_planes) * electrical.further_plane.get();
        (one_plane + further) * f64::from(gang) + part.bus_energy(tally.bytes)
    });
    ops.sum()
}

/// The energy of idle dies. `idle_dies` is the sum of the idle times of all dies.
pub(crate) fn idle_energy(part: &Part, gang: u32, idle_dies: Span) -> Energy {
    let electrical = &part.electrical;
    Energy::of(electrical.voltage, electrical.idle_current, idle_dies) * f64::from(gang)
}
