//! Firmware time of the FTL with its map in RAM: a processor prepares each command list before it is submitted.
//!
//! Lists pass the processor in the order in which the FTL builds them, so programs of a superblock keep their order.
//! Erases take no firmware time, and neither do reads that need no flash.

use base::engine::Handle;
use base::units::Span;
use flash::backend::{List, Op};

use crate::page::FirmwareSpec;
use crate::port::Flash;

/// The processor that prepares command lists.
#[derive(Clone, Debug)]
pub(in crate::page) struct Firmware {
    /// The times of the description; none if firmware takes no time.
    spec: Option<FirmwareSpec>,
    /// Firmware time of requests that is not yet charged to a list.
    owed: Span,
}

impl Firmware {
    pub(in crate::page) const fn new(spec: Option<FirmwareSpec>) -> Self {
        Self { spec, owed: Span::ZERO }
    }

    /// Charges a request of the host or the buffer to the next list.
    #[inline]
    pub(in crate::page) fn charge_request(&mut self) {
        if let Some(firmware) = self.spec {
            self.owed += firmware.request;
        }
    }

    /// Submits a list of host data after the firmware time of its requests and mapping units.
    #[inline]
    pub(in crate::page) fn dispatch(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let owed = std::mem::take(&mut self.owed);
        self.dispatch_after(flash, list, owed);
    }

    /// Submits a list after `owed` and the firmware time of its mapping units. With time off it is submitted at once.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Mostly time is off: a call would cost a list 20 instructions.
    pub(in crate::page) fn dispatch_after(&self, flash: &mut Flash<'_>, list: Handle<List>, owed: Span) {
        match self.spec {
            Some(firmware) if flash.backend.is_timed() => {
                let time = owed + firmware.unit * moved(flash, list);
                flash.backend.use_cpu(flash.now, time, list.number().get(), flash.events);
            }
            _ => flash.submit(list),
        }
    }

    /// Submits a list that the processor has prepared.
    pub(in crate::page) fn prepared(flash: &mut Flash<'_>, token: u32) {
        let number = std::num::NonZeroU32::new(token).expect("the number of a list");
        flash.submit(Handle::from_number(number));
    }
}

/// The number of mapping units that a list programs or copies; if none, the number that it reads.
fn moved(flash: &Flash<'_>, list: Handle<List>) -> u64 {
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
