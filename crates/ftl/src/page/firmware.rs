//! Firmware time of the FTL with its map in RAM: a processor prepares each command list before it is submitted.
//!
//! Lists pass the processor in the order in which the FTL builds them, so programs of a superblock keep their order. An
//! erase costs nothing, and neither does a read that needs no flash.

use base::engine::Handle;
use base::fault::Faults;
use base::units::Span;
use flash::backend::{List, Observer, Op};
use flash::nand::Sector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PageFtl;
use crate::family::Site;
use crate::map_unit::MapSpec;
use crate::port::Flash;

/// Firmware time of a page-mapped FTL with its map in RAM, on one processor (`flash.software-controllers` shares it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FirmwareSpec {
    /// Time for each read or write that reaches flash: of the host (of each of its pieces, if `host.chop` cuts it), or of
    /// a write buffer.
    pub request: Span,
    /// Time for each mapping unit that is read, written or copied.
    pub unit: Span,
}

impl FirmwareSpec {
    /// Checks the firmware of a description with a page-mapped FTL.
    pub(super) fn check(site: &Site<'_>, faults: &mut Faults) {
        let Some(firmware) = site.ftl.firmware else { return };
        if firmware == Self::default() {
            faults.add("ftl.firmware", "takes no time", "give it a time, e.g. { unit = \"1us\" }, or leave it out");
        }
        if site.ftl.map != MapSpec::Ram {
            let message = "conflicts with ftl.map: a map unit has times of its own";
            faults.add("ftl.firmware", message, "leave it out, or set ftl.map = { kind = \"ram\" }");
        }
    }
}

impl PageFtl {
    /// Charges a request of the host or the buffer to the next list.
    #[inline]
    pub(super) fn charge_request(&mut self) {
        if let Some(firmware) = self.firmware {
            self.owed += firmware.request;
        }
    }

    /// Submits a list of host data behind the firmware time of its requests and mapping units.
    #[inline]
    pub(super) fn dispatch<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        let owed = std::mem::take(&mut self.owed);
        self.dispatch_after(flash, list, owed);
    }

    /// Submits a list behind `owed` and the firmware time of its mapping units. With time off, at once.
    #[inline]
    pub(super) fn dispatch_after<S: Sector, O: Observer>(
        &self,
        flash: &mut Flash<'_, S, O>,
        list: Handle<List>,
        owed: Span,
    ) {
        match self.firmware {
            Some(firmware) if flash.backend.is_timed() => {
                let time = owed + firmware.unit * moved(flash, list);
                flash.backend.use_cpu(flash.now, time, list.number().get(), flash.events);
            }
            _ => flash.submit(list),
        }
    }

    /// The processor has prepared a list: submits it.
    pub(super) fn prepared<S: Sector, O: Observer>(flash: &mut Flash<'_, S, O>, token: u32) {
        let number = std::num::NonZeroU32::new(token).expect("the number of a list");
        flash.submit(Handle::from_number(number));
    }
}

/// Mapping units that a list programs or copies, or if there are none, reads.
fn moved<S: Sector, O: Observer>(flash: &Flash<'_, S, O>, list: Handle<List>) -> u64 {
    let (mut written, mut read) = (0, 0);
    let mut next = flash.backend.list(list).first();
    while let Some(handle) = next {
        let command = flash.backend.command(handle);
        next = command.sibling();
        match command.op {
            Op::Program | Op::CopyBack => written += command.count(),
            Op::Read => read += command.count(),
            Op::Erase => {}
        }
    }
    u64::from(if written > 0 { written } else { read })
}
