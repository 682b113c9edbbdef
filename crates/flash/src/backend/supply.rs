//! The power that operations of the arrays draw.

use base::engine::Handle;
use base::units::{Current, Power, Span};

use super::{Backend, Command, Op, PowerCapSpec};
use crate::nand::{Electrical, Part};

/// The power of an operation of a die, by operation and number of planes, and the cap on the sum of these powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// The power of an operation on one plane of each chip of a gang.
    powers: [Power; Op::COUNT],
    /// Power of each further plane, as a share of the power of the first plane.
    further_plane: f64,
    /// The cap on the power of all arrays together; none if the power is not limited.
    pub(super) cap: Option<PowerCapSpec>,
}

impl Supply {
    /// The powers of the operations of a part whose chips work in gangs of `gang`, without a cap.
    #[must_use]
    pub fn new(part: &Part, gang: u32) -> Self {
        let electrical = &part.electrical;
        // Millivolts times microamperes are nanowatts.
        let power = |op| {
            let nanowatts = u128::from(electrical.voltage.as_mv()) * u128::from(Self::current(electrical, op).as_ua());
            Power::from_uw(u64::try_from(nanowatts * u128::from(gang) / 1000).unwrap_or(u64::MAX))
        };
        Self { powers: Op::ALL.map(power), further_plane: electrical.further_plane.get(), cap: None }
    }

    /// Sets the cap on the power of all arrays together.
    #[must_use]
    pub const fn with_cap(mut self, cap: Option<PowerCapSpec>) -> Self {
        self.cap = cap;
        self
    }

    /// The cap on the power of all arrays together; none if the power is not limited.
    #[must_use]
    pub const fn cap(&self) -> Option<PowerCapSpec> {
        self.cap
    }

    /// The current of an operation on one plane; a copy-back draws the current of a program.
    #[must_use]
    pub const fn current(electrical: &Electrical, op: Op) -> Current {
        match op {
            Op::Read => electrical.read_current,
            Op::Program | Op::CopyBack => electrical.program_current,
            Op::Erase => electrical.erase_current,
        }
    }

    /// True if further planes draw power, so that the number of planes matters.
    pub(super) fn counts_planes(&self) -> bool {
        self.further_plane > 0.0
    }

    /// The power of an operation on `planes` planes.
    #[must_use]
    pub fn power(&self, op: Op, planes: u64) -> Power {
        let further = self.further_plane * planes.saturating_sub(1) as f64;
        Power::from_uw((self.powers[op as usize].as_uw() as f64 * (1.0 + further)) as u64)
    }

    /// The most operations on `planes` planes that the cap lets work at the same time: at any moment by its peak, on
    /// average by its mean power. `None` without a cap.
    #[must_use]
    pub fn operations_at_once(&self, op: Op, planes: u64) -> Option<f64> {
        let (cap, power) = (self.cap?, self.power(op, planes).as_uw() as f64);
        let at_peak = cap.peak.map(|peak| (peak.as_uw() as f64 / power).floor());
        let in_the_mean = cap.average.map(|average| average.as_uw() as f64 / power);
        at_peak.into_iter().chain(in_the_mean).reduce(f64::min)
    }
}

impl Backend {
    /// The number of planes on which a command works at the same time.
    pub(super) fn planes_of(&self, handle: Handle<Command>) -> u64 {
        let geometry = self.media.geometry();
        let pages = self.rules.pages_of(&self.table, handle, geometry);
        let planes = pages.clamp(1, u64::from((geometry.stripe / self.rules.timing.gang).max(1)));
        // If a page covers several planes of a chip, the command works on all of them.
        planes * u64::from(geometry.planes_per_unit)
    }

    /// The array time of a command times its planes after the first; zero if further planes draw no power.
    #[cold]
    pub(super) fn further_plane_time(&self, handle: Handle<Command>, worked: Span) -> Span {
        match &self.rules.supply {
            Some(supply) if supply.counts_planes() => worked * (self.planes_of(handle) - 1),
            _ => Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::Ratio;

    use super::*;
    use crate::nand::Part;

    #[test]
    fn a_further_plane_draws_its_share() {
        // Chang, Table 1: 3.3 V x 15 mA.
        let mut part = Part::preset("K9GAG08U0M").expect("a preset").clone();
        assert_eq!(Supply::new(&part, 1).power(Op::Program, 2), Power::from_uw(49_500));
        part.electrical.further_plane = Ratio::new(0.5);
        let supply = Supply::new(&part, 2);
        assert_eq!([1, 2, 4].map(|planes| supply.power(Op::Program, planes).as_uw()), [99_000, 148_500, 247_500]);
    }
}
