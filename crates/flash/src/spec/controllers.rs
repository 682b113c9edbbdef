//! Controllers in the description of an array.

use base::fault::Faults;
use base::units::Span;

use super::FlashSpec;
use crate::backend::{Controllers, Transfer};

/// More high-level units than any array has dies for; each takes memory.
const UNITS_MAX: u32 = 65_536;

impl FlashSpec {
    /// Faults of the controllers and of how they move data.
    pub fn check_controllers(&self, faults: &mut Faults) {
        match self.units {
            Controllers::Shared(0) => {
                faults.add("flash.units", "no shared unit: nothing would ever be done", "use at least one");
            }
            Controllers::Background(0) => {
                faults.add("flash.units", "no background unit: nothing would ever be written", "use at least one");
            }
            Controllers::Shared(count) | Controllers::Background(count) if count > UNITS_MAX => {
                faults.add("flash.units", format!("{count} units"), format!("use at most {UNITS_MAX}"));
            }
            _ => {}
        }
        if self.transfer == Transfer::Unit {
            let remedy = "use per-die, per-channel or shared units, or leave it out";
            match self.units {
                Controllers::None => faults.add("flash.transfer", "data is moved by units, and there are none", remedy),
                Controllers::Background(_) => faults.add("flash.transfer", "units of two kinds use the buses", remedy),
                _ if self.order.hold => {
                    let message = "no bus can be held where units move the data";
                    faults.add("flash.order.hold", message, "leave it out, or flash.transfer");
                }
                _ => {}
            }
        }
        if self.software_units.is_some_and(Span::is_zero) {
            let remedy = "leave it out: the units are then hardware, which takes no time";
            faults.add("flash.software-units", "the processor takes no time for a command", remedy);
        }
    }
}
