//! The port: the calls of a device to an FTL, and the device as an FTL sees it.
//!
//! An FTL never sees the content of a sector. It names the source and the destination of data (a host write, a slot
//! that was read, a copy), and the device moves the data.

mod device;
mod duties;

mod owners;
mod zones;

use std::any::Any;
use std::fmt::Debug;

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use flash::nand::Media;

use crate::counters::Counters;
use crate::sabotage::PlantedBug;

pub use device::Flash;
pub use duties::{
    Background, FlushLog, HostMemoryBuffer, PowerCycle, Preconditioning, ReclaimUnitHandles, SavedSectors,
};
pub use owners::{Direction, OldPlace, Origin, Owner, Owners, PageRead, PageWrite, Service, full_mask};
pub use zones::{ZoneReport, ZoneWrite, Zones};

/// The state of a device from which an FTL mounts when the power comes on.
#[derive(Debug)]
pub struct Mount<'a> {
    /// The array that holds the host's data.
    pub media: &'a Media,
    /// The SLC array beside `media`, if the device has one.
    pub slc_array: Option<&'a Media>,
    /// The seed from which all random numbers of the FTL come.
    pub seed: u64,
    /// The bug that a test has planted; none elsewhere.
    pub planted: PlantedBug,
}

/// A flash translation layer.
///
/// The device calls it with mapping units to read, write and discard, and with the lists that have finished. The FTL
/// learns only from completions: a mapping changes when the program with the data has finished. Eight methods are
/// enough for an FTL. The last methods lead to traits with duties that only some FTLs have.
pub trait Ftl: Any + Debug + Send + Sync {
    /// A copy, for a copy of the device.
    fn boxed(&self) -> Box<dyn Ftl>;

    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// The version of the latest write.
    fn latest_version(&self) -> u32;

    /// The version for the next request: all its mapping units share it.
    fn next_version(&mut self) -> u32;

    /// Reads sectors of a mapping unit for an owner. [`Ftl::end_read`] ends the request, which may have several mapping
    /// units. Returns false if the mapping unit has no place and reads as zeros; the owner then gets no report.
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool;

    /// Writes a mapping unit, or some of its sectors. No other write of the mapping unit is in progress.
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite);

    /// Discards a mapping unit. Returns true if the FTL will report the end to the owner later.
    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool;

    /// Handles a command list that has finished.
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>);

    /// Ends a read request: all its mapping units have been requested.
    fn end_read(&mut self, _flash: &mut Flash<'_>) {}

    /// Reads sectors of the only mapping unit of a request, as [`Ftl::read`] and [`Ftl::end_read`] together do.
    #[inline]
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let mapped = self.read(flash, owners, wanted, lpn);
        if mapped {
            self.end_read(flash);
        }
        mapped
    }

    /// Begins a write request of an owner in an NVM set; its mapping units follow.
    fn begin_write(&mut self, _set: u32) {}

    /// Ends a write request: all its mapping units have been handed over. With time off, a program that is not full may
    /// wait for the data of later writes, until [`Preconditioning::close_programs`].
    fn end_write(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// The best number of mapping units to hand over with one write, if one command programs `slots`.
    fn batch(&self, slots: u32) -> u32 {
        slots
    }

    /// False while a write to an NVM set would only wait in the FTL, so that a buffer should keep the data and absorb
    /// newer writes. `under_way` is the number of the set's mapping units that the buffer has handed over and flash
    /// does not have yet. The answer may change at [`Owners::room`], or when one of these mapping units is on flash.
    fn takes_writes(&self, _set: u32, _under_way: u32) -> bool {
        true
    }

    /// True if the FTL reports by [`Owners::room`] each moment at which it takes writes again. Otherwise the buffer
    /// asks at each write.
    fn announces_room(&self) -> bool {
        true
    }

    /// True if a discard may wait behind earlier writes.
    fn discards_in_order(&self) -> bool {
        false
    }

    /// True if [`Owners::discard_refused`] may follow a discard whose end the FTL reports later.
    fn may_refuse_discards(&self) -> bool {
        false
    }

    /// True if flash may hold data of a mapping unit; otherwise it reads as zeros, unless a write buffer has it. The
    /// call takes no simulated time and changes nothing. An FTL that cannot say answers true.
    fn may_hold(&self, _lpn: Lpn, _media: &Media, _slc_array: Option<&Media>) -> bool {
        true
    }

    /// Announces a request for this mapping unit: the FTL may prefetch the memory that the request needs.
    #[inline]
    fn prefetch(&self, _unit: usize, _media: &Media) {}

    /// Checks all invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    fn check(&self, _media: &Media, _slc_array: Option<&Media>) {}

    /// The number of free superblocks of all pools.
    fn free_blocks(&self) -> u64 {
        0
    }

    /// The counters of the FTL, up to the present time.
    fn counters(&self, _now: Time) -> Counters {
        Counters::default()
    }

    /// Sets all counters of the FTL to zero, when measurement begins.
    fn reset_counters(&mut self) {}

    /// True if the FTL has [background] work to start now. With time off, work that is due later counts as well. The
    /// device asks after a request, a finished list or an event, but not when only phases of the flash pass.
    ///
    /// [background]: Background::run_due
    #[inline]
    fn is_due(&self, _timed: bool) -> bool {
        false
    }

    /// The FTL's work beside requests, if it has any.
    fn background(&mut self) -> Option<&mut dyn Background> {
        None
    }

    /// The FTL's log, to which a flush writes data that fills no row; `None` if the FTL has no such log.
    fn flush_log(&mut self) -> Option<&mut dyn FlushLog> {
        None
    }

    /// The FTL's use of the host's memory, if it asks for some.
    fn host_memory_buffer(&mut self) -> Option<&mut dyn HostMemoryBuffer> {
        None
    }

    /// Its reclaim unit handles, if it has Flexible Data Placement.
    fn reclaim_unit_handles(&mut self) -> Option<&mut dyn ReclaimUnitHandles> {
        None
    }

    /// The FTL's work at the end and the return of the power, if it has any.
    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        None
    }

    /// The FTL's zones; `None` if the host addresses sectors in any order.
    fn zones(&mut self) -> Option<&mut dyn Zones> {
        None
    }

    /// The state of the zone of a mapping unit, if the FTL has zones.
    fn zone_report(&self, _lpn: Lpn) -> Option<ZoneReport> {
        None
    }

    /// The FTL's work while a drive is preconditioned, if it has any.
    fn preconditioning(&mut self) -> Option<&mut dyn Preconditioning> {
        None
    }
}

impl dyn Ftl {
    /// The FTL as an `F`; `None` if it has another type.
    #[must_use]
    pub fn downcast_ref<F: Ftl>(&self) -> Option<&F> {
        (self as &dyn Any).downcast_ref()
    }

    /// The FTL as an `F`, to change it; `None` if it has another type.
    pub fn downcast_mut<F: Ftl>(&mut self) -> Option<&mut F> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl Clone for Box<dyn Ftl> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}
