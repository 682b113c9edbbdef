//! Checks of the controllers in a description.

use base::fault::Faults;
use base::units::Span;

use super::FlashSpec;
use crate::backend::{Controllers, Transfer};

/// More controllers than any array has dies for; each takes memory.
const CONTROLLERS_MAX: u32 = 65_536;

impl FlashSpec {
    /// Checks the controllers and how they move data.
    pub fn check_controllers(&self, faults: &mut Faults) {
        match self.controllers {
            Controllers::Shared(0) => {
                faults.add("flash.controllers", "no shared unit: nothing would ever be done", "use at least one");
            }
            Controllers::Background(0) => {
                faults.add(
                    "flash.controllers",
                    "no background unit: nothing would ever be written",
                    "use at least one",
                );
            }
            Controllers::Shared(count) | Controllers::Background(count) if count > CONTROLLERS_MAX => {
                faults.add("flash.controllers", format!("{count} units"), format!("use at most {CONTROLLERS_MAX}"));
            }
            _ => {}
        }
        if self.transfer == Transfer::Controller {
            let remedy = "use per-die, per-channel or shared units, or leave it out";
            match self.controllers {
                Controllers::None => faults.add("flash.transfer", "data is moved by units, and there are none", remedy),
                Controllers::Background(_) => faults.add("flash.transfer", "units of two kinds use the buses", remedy),
                _ if self.arbitration.hold => {
                    let message = "no bus can be held where units move the data";
                    faults.add("flash.arbitration.hold", message, "leave it out, or flash.transfer");
                }
                _ => {}
            }
        }
        if self.software_controllers.is_some_and(Span::is_zero) {
            let remedy = "leave it out: the units are then hardware, which takes no time";
            faults.add("flash.software-controllers", "the processor takes no time for a command", remedy);
        }
    }
}
