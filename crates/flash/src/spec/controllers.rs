//! Checks of the controllers in a description.

use base::fault::Faults;
use base::units::Span;

use super::FlashSpec;
use crate::backend::{Completion, Controllers, Transfer};

/// The most controllers: more than any array has dies for. Each takes memory.
const CONTROLLERS_MAX: u32 = 65_536;

/// The shortest pause between polls. A status byte with its cycles takes some 130 ns of the channel (`status` of the
/// parts), so shorter pauses would mean polls without a gap, thousands of them in each program.
const POLLING_MIN: Span = Span::from_ns(200);

impl FlashSpec {
    /// Checks the controllers and the path of their data.
    pub fn check_controllers(&self, faults: &mut Faults) {
        match self.controllers {
            Controllers::Shared(0) => {
                faults.add("flash.controllers", "no shared controller: no command would ever run", "use at least one");
            }
            Controllers::Background(0) => {
                faults.add(
                    "flash.controllers",
                    "no background controller: no write would ever run",
                    "use at least one",
                );
            }
            Controllers::Shared(count) | Controllers::Background(count) if count > CONTROLLERS_MAX => {
                faults.add(
                    "flash.controllers",
                    format!("{count} controllers"),
                    format!("use at most {CONTROLLERS_MAX}"),
                );
            }
            _ => {}
        }
        if let Completion::Polling(interval) = self.completion
            && interval < POLLING_MIN
        {
            let message = format!("polls every {interval}, and to read a status takes the channel as long or longer");
            faults.add(
                "flash.completion",
                message,
                format!("use at least {POLLING_MIN}, e.g. {{ polling = \"10us\" }}"),
            );
        }
        if self.transfer == Transfer::Controller {
            let remedy = "use per-die, per-channel or shared controllers, or leave it out";
            match self.controllers {
                Controllers::None => faults.add("flash.transfer", "there are no controllers to move the data", remedy),
                Controllers::Background(_) => {
                    faults.add("flash.transfer", "foreground and background controllers share the buses", remedy);
                }
                _ if self.arbitration.hold => {
                    let message = "conflicts with flash.transfer: controllers move the data, and commands hold no bus";
                    faults.add("flash.arbitration.hold", message, "leave it out, or flash.transfer");
                }
                _ => {}
            }
        }
        if self.software_controllers.is_some_and(Span::is_zero) {
            let remedy = "leave it out for controllers in hardware, which take no time";
            faults.add("flash.software-controllers", "the processor takes no time for a command", remedy);
        }
    }
}
