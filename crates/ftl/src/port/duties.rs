//! The duties that only some FTLs have, a trait for each. [`Ftl`](super::Ftl) says which of them an FTL has.

use base::engine::Handle;
use base::io::PlacementId;
use base::units::{Bytes, Lpn, Psn, Time};
use flash::backend::List;
use flash::nand::{Media, SectorMask};

use super::{Flash, Owners, PageWrite};

/// Work beside that for requests: a map unit's, records of discards, wear levelling, a second array.
pub trait Background {
    /// The device is idle. Returns true if the FTL starts work of its own. The device calls it again after a request, a
    /// finished list or an event, but not when only phases of the flash pass.
    fn on_idle(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) -> bool {
        false
    }

    /// Starts the work that [is due](super::Ftl::is_due).
    fn run_due(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// An [event](crate::Event::Ftl) of the FTL has occurred.
    fn wake(&mut self, _now: Time) {}

    /// Lets the FTL work after such an event as long as nobody else is concerned: on what is due now, and on what would
    /// follow with an event each, before all other events and not after `until`. Advances the time of `flash`, and calls `stepped` for each
    /// such event, which the queue never sees. Returns true if nothing that is due remains.
    fn work_alone(&mut self, _flash: &mut Flash<'_>, _until: Time, _stepped: &mut dyn FnMut(Time)) -> bool {
        false
    }

    /// The processor has finished a task of the FTL.
    ///
    /// # Panics
    /// By default: an FTL without processor time gets no such call.
    fn on_cpu_done(&self, _flash: &mut Flash<'_>, _token: u32) {
        unreachable!("an FTL that takes no time")
    }

    /// A list of the SLC array has finished.
    ///
    /// # Panics
    /// By default: an FTL without an SLC array gets no such call.
    fn finished_slc(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners, _list: Handle<List>) {
        unreachable!("an FTL of one array")
    }
}

/// The use of memory that the host gives to the drive.
pub trait HostMemoryBuffer {
    /// The host gives so much, in place of what it gave before; nothing, to take it back. After a power-on the drive has none.
    /// Returns the time from which on the drive no longer reads what it had before.
    fn give_host_memory(&mut self, now: Time, size: Bytes) -> Time;
}

/// The reclaim unit handles of Flexible Data Placement, beside the writes that name them.
pub trait ReclaimUnitHandles {
    /// A write command names a placement identifier.
    fn note_identifier(&mut self, now: Time, id: PlacementId);

    /// True if a placement identifier names a handle that the drive has.
    fn has_handle(&self, id: PlacementId) -> bool;

    /// The handle that a placement identifier names leaves the superblocks that it has open in an NVM set: its next write opens an empty
    /// one.
    fn update_handle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, set: u32, id: PlacementId);
}

/// A log of flushes: the data of a flush go to a few pages at once, and to their places later.
pub trait FlushLog {
    /// True if a flush should write everything back, because the log is full.
    fn is_full(&self) -> bool;

    /// True if the log has space now, if only for a part of the flush.
    fn is_ready(&mut self, flash: &mut Flash<'_>) -> bool;

    /// Logs the present content of a mapping unit of the buffer. Returns false if there is no space yet.
    fn log(&mut self, unit: PageWrite) -> bool;

    /// All mapping units of this step of the log have been handed over: [`Owners::logged`] follows.
    fn end_log(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, version: u32);

    /// Takes the data that recovery found only in the log. They return to the write buffer.
    fn take_saved(&mut self) -> Vec<Saved>;
}

/// Sectors of a mapping unit that recovery found in a log of flushes. They return to the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The mapping unit.
    pub lpn: Lpn,
    /// The sectors, one bit each.
    pub mask: SectorMask,
    /// The page that holds them.
    pub psn: Psn,
    /// The index of the first of them in that page, where they lie without gaps.
    pub first: u32,
}

/// The end and the return of the power, beyond [reading the state from the media](crate::Config::mount).
pub trait PowerCycle {
    /// Mapping units that recovery found.
    fn found(&self) -> u32;

    /// True while recovery still writes: the device accepts no request meanwhile.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Translation pages that recovery found stale.
    fn stale_pages(&self) -> u32 {
        0
    }

    /// The scan of recovery has ended: the FTL starts the writes that recovery needs.
    fn recover(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// The power is about to go off in order: the FTL stores what only RAM holds. No other work is in progress.
    fn power_off(&mut self, _now: Time) {}

    /// The power fails now: capacitors save what they hold up.
    fn power_fails(&mut self, _flash: &mut Flash<'_>) {}
}

/// Preconditioning, with time off: more than writing as always.
pub trait Preconditioning {
    /// The drive is preconditioned from now on, and switched off and on at the end. No work is in progress. What the FTL
    /// leaves on flash shall not depend on caches, which start cold after it.
    fn begin(&mut self, media: &Media);

    /// Time is switched off or on. No work is in progress, and a mounted FTL has time on. Flash takes no time then; what else
    /// takes time in the FTL must not take any either.
    fn set_timed(&mut self, timed: bool);

    /// No more writes follow for now: programs no longer wait for data.
    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners);

    /// Adds the mapping units of programs that wait for the data of later writes to a list. They must not be written
    /// again before those programs end.
    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>);
}
