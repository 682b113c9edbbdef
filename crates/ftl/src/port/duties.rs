//! The duties that only some FTLs have, a trait for each. [`Ftl`](super::Ftl) says which of them an FTL has.

use base::engine::Handle;
use base::io::PlacementId;
use base::units::{Bytes, Lpn, Psn, Time};
use flash::backend::List;
use flash::nand::{Media, SectorMask};

use super::{Flash, Owners, PageWrite};

/// Work beside requests: of a map unit, for records of discards, for wear levelling, or on a second array.
pub trait Background {
    /// Tells that the device is idle. Returns true if the FTL starts work of its own. The device calls it again after a
    /// request, a finished list or an event, but not when only phases of the flash pass.
    fn on_idle(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) -> bool {
        false
    }

    /// Starts the work that [is due](super::Ftl::is_due).
    fn run_due(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// Tells that an [event](crate::Event::Ftl) of the FTL has occurred.
    fn wake(&mut self, _now: Time) {}

    /// Runs the FTL's own steps, from those that are due now up to `until` or the next event of the queue, without
    /// queueing an event for each step. Advances the time of `flash`, and calls `stepped` with the time of each step in
    /// place of its event. Returns true if no step is due any more.
    fn work_alone(&mut self, _flash: &mut Flash<'_>, _until: Time, _stepped: &mut dyn FnMut(Time)) -> bool {
        false
    }

    /// Tells that the processor has finished a task of the FTL.
    ///
    /// # Panics
    ///
    /// By default: an FTL without processor time gets no such call.
    fn on_cpu_done(&self, _flash: &mut Flash<'_>, _token: u32) {
        unreachable!("an FTL that takes no time")
    }

    /// Handles a list of the SLC array that has finished.
    ///
    /// # Panics
    ///
    /// By default: an FTL without an SLC array gets no such call.
    fn finished_slc(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners, _list: Handle<List>) {
        unreachable!("an FTL of one array")
    }
}

/// The use of a host memory buffer: memory that the host gives to the drive.
pub trait HostMemoryBuffer {
    /// Takes `size` bytes of host memory in place of the memory that the host gave before; zero takes it back. After a
    /// power-on the drive has none. Returns the time from which the drive no longer reads the previous memory.
    fn give_host_memory(&mut self, now: Time, size: Bytes) -> Time;
}

/// The reclaim unit handles of Flexible Data Placement, beside the writes that name them.
pub trait ReclaimUnitHandles {
    /// Notes the placement identifier of a write command.
    fn note_identifier(&mut self, now: Time, id: PlacementId);

    /// True if a placement identifier names a handle that the drive has.
    fn has_handle(&self, id: PlacementId) -> bool;

    /// The handle that a placement identifier names leaves the superblocks that it has open in an NVM set: its next write opens an empty
    /// one.
    fn update_handle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, set: u32, id: PlacementId);
}

/// A log of flushes: the data of a flush go to a few pages at once, and are merged to their places later.
pub trait FlushLog {
    /// True if a flush should write everything back, because the log has no room.
    fn is_full(&self) -> bool;

    /// True if the log has space now, at least for a part of a flush.
    fn is_ready(&mut self, flash: &mut Flash<'_>) -> bool;

    /// Logs the present content of a mapping unit of the buffer. Returns false if there is no space yet.
    fn log(&mut self, unit: PageWrite) -> bool;

    /// Ends a step of the log: all its mapping units have been handed over, and [`Owners::logged`] follows.
    fn end_log(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, version: u32);

    /// Takes the data that recovery found only in the log. The device returns them to the write buffer.
    fn take_saved(&mut self) -> Vec<SavedSectors>;
}

/// Sectors of a mapping unit that recovery found in a log of flushes, and that return to the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSectors {
    /// The number of the mapping unit.
    pub lpn: Lpn,
    /// The sectors, one bit each.
    pub mask: SectorMask,
    /// The slot of the page that holds the sectors.
    pub psn: Psn,
    /// The index of the first of the sectors in that page, where they lie without gaps.
    pub first: u32,
}

/// The FTL's part in the end and the return of the power, beyond [reading the state from the
/// media](crate::Config::mount).
pub trait PowerCycle {
    /// Mapping units for which recovery found data.
    fn found(&self) -> u32;

    /// True while recovery still writes: the device accepts no request meanwhile.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Translation pages that recovery found stale.
    fn stale_pages(&self) -> u32 {
        0
    }

    /// Starts the writes that recovery needs; the scan of recovery has ended.
    fn recover(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// Stores the data that only RAM holds, because the power is about to go off in order. No other work is in
    /// progress.
    fn power_off(&mut self, _now: Time) {}

    /// Carries out, at a power failure, the commands for which capacitors hold energy.
    fn power_fails(&mut self, _flash: &mut Flash<'_>) {}
}

/// The FTL's part in preconditioning, which writes with time off.
pub trait Preconditioning {
    /// Begins preconditioning, which ends with a power-off and a power-on. No work is in progress. The flash that the
    /// FTL leaves must not depend on caches, which start cold after it.
    fn begin(&mut self, media: &Media);

    /// Switches time off or on. No work is in progress, and a mounted FTL has time on. With time off neither the flash
    /// nor any work of the FTL may take time.
    fn set_timed(&mut self, timed: bool);

    /// Sends programs that wait for data, because no more writes follow for now.
    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners);

    /// Appends to `into` the mapping units of programs that wait for the data of later writes. They must not be written
    /// again before those programs end.
    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>);
}
