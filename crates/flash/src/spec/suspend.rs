//! Checks of suspension, of reads by single planes and of the differences between blocks in a description.

use base::fault::Faults;

use super::FlashSpec;
use crate::backend::{Completion, Controllers, Order, PlaneReadSpec, Transfer, VariationSpec};
use crate::nand::Part;

impl FlashSpec {
    /// Checks that reads can reach a die that is at work, and that the values have an effect.
    pub fn check_suspend(&self, faults: &mut Faults) {
        let Some(suspend) = &self.suspend else { return };
        let path = "flash.suspend";
        match self.controllers {
            Controllers::PerDie | Controllers::PerChannel => {
                let message =
                    "a controller executes one list at a time, so no read reaches a die that works for another list";
                faults.add(path, message, "leave it out, or set flash.controllers = \"none\" or { background = 2 }");
            }
            Controllers::None | Controllers::Shared(_) | Controllers::Background(_) => {}
        }
        if self.transfer == Transfer::Controller {
            let message = "a controller that moves the data of its list has the list's chips alone, so no read reaches a die at work";
            faults.add(path, message, "leave it out, or flash.transfer");
        }
        if self.arbitration.hold {
            let message = "with flash.arbitration.hold a command keeps its channel, and no read reaches a die at work";
            faults.add(path, message, "leave it out, or flash.arbitration.hold");
        }
        if self.arbitration.commands == Order::CollectionFirst {
            let message =
                "commands that may suspend go first at the dies, and flash.arbitration.commands has collection first";
            faults.add(path, message, "leave it out, or use \"fifo\" or \"read-first\" there");
        }
        if self.completion != Completion::ReadyBusy {
            let message = "a controller that polls the status does not see that an array has stopped";
            faults.add(path, message, "leave it out, or flash.completion");
        }
        for (key, steps) in [("program-steps", suspend.program_steps), ("erase-steps", suspend.erase_steps)] {
            if steps == 0 {
                faults.add(&format!("{path}.{key}"), "is 0", "use at least 1");
            }
        }
        if suspend.limit == Some(0) {
            faults.add(&format!("{path}.limit"), "is 0: no operation is ever suspended", "leave flash.suspend out");
        }
    }

    /// Checks that a die has planes that can read by themselves, and that such reads can reach them.
    pub fn check_plane_reads(&self, part: &Part, faults: &mut Faults) {
        let Some(PlaneReadSpec { at_once, .. }) = self.plane_reads else { return };
        let (path, planes) = ("flash.plane-reads", part.geometry.planes_per_die);
        if planes == 1 {
            faults.add(path, "a die has one plane", "leave it out, or use more planes");
        } else if let Some(at_once) = at_once.filter(|at_once| !(2..=planes).contains(at_once)) {
            faults.within("flash.plane-reads.at-once", at_once, 2..=planes);
        }
        if self.gang > 1 {
            faults.add(path, "ganged chips read as one", "leave it out, or flash.gang");
        }
        if let Controllers::PerDie = self.controllers {
            let message =
                "a controller for each die executes one list at a time, so only one read reaches the planes of a die";
            faults.add(path, message, "leave it out, or set flash.controllers = \"none\"");
        }
        if self.arbitration.hold {
            let message = "with flash.arbitration.hold a command keeps its channel while a plane reads";
            faults.add(path, message, "leave it out, or flash.arbitration.hold");
        }
        if self.completion != Completion::ReadyBusy {
            faults.add(path, "a status is that of a die, not of a plane", "leave it out, or flash.completion");
        }
    }

    /// Checks that all array times stay positive.
    pub fn check_variation(&self, faults: &mut Faults) {
        let Some(variation) = self.variation else { return };
        if variation == VariationSpec::default() {
            faults.add(
                "flash.variation",
                "changes nothing: all its values are 0 %",
                "leave it out, or set one of them",
            );
        }
        let VariationSpec { read, program, erase, program_wear, .. } = variation;
        let spreads = [("read", read), ("program", program), ("erase", erase), ("program-wear", program_wear)];
        for (key, spread) in spreads.into_iter().filter(|(_, spread)| spread.get() > VariationSpec::MOST) {
            let most = 100.0 * VariationSpec::MOST;
            faults.add(&format!("flash.variation.{key}"), format!("is {spread}"), format!("use at most {most}%"));
        }
    }
}
