//! The port: the calls of a device to an FTL, and the device as an FTL sees it.
//!
//! An FTL never sees the content of a sector. It names where data comes from and where it goes (a host write, a slot that was
//! read, a copy), and the device moves it.

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
use crate::sabotage::Planted;

pub use device::Flash;
pub use duties::{Background, FlushLog, HostMemoryBuffer, PowerCycle, Preconditioning, ReclaimUnitHandles, Saved};
pub use owners::{Direction, OldPlace, Origin, Owner, Owners, PageRead, PageWrite, Service, full_mask};
pub use zones::{ZoneReport, ZoneWrite, Zones};

/// What an FTL mounts from when the power comes on.
#[derive(Debug)]
pub struct Mount<'a> {
    /// The flash array.
    pub media: &'a Media,
    /// The SLC array beside it, if the device has one.
    pub slc_array: Option<&'a Media>,
    /// The seed of all random numbers of the FTL.
    pub seed: u64,
    /// The bug that a test has planted; none elsewhere.
    pub planted: Planted,
}

/// A flash translation layer.
///
/// The device calls it with mapping units to read, write and discard, and with the lists that have finished. The FTL
/// learns only from completions: a mapping changes when the program with the data has finished. Eight methods are enough for
/// an FTL; what only some do is in the traits that the last methods lead to.
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
    /// units. Returns false if the mapping unit has no place; the owner then gets no report.
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool;

    /// Writes a mapping unit, or some sectors of it. No other write of it is in progress.
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite);

    /// Discards a mapping unit. Returns true if the FTL will report the end to the owner later.
    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool;

    /// A list has finished.
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>);

    /// All mapping units of a read request have been requested.
    fn end_read(&mut self, _flash: &mut Flash<'_>) {}

    /// Reads sectors of the only mapping unit of a request: the same as [`Ftl::read`] and [`Ftl::end_read`].
    #[inline]
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let mapped = self.read(flash, owners, wanted, lpn);
        if mapped {
            self.end_read(flash);
        }
        mapped
    }

    /// Begins a write of several mapping units by an owner in an NVM set.
    fn begin_write(&mut self, _set: u32) {}

    /// All mapping units of a write have been handed over. With time off, a program that is not full may wait for the
    /// data of later writes, until [`Preconditioning::close_programs`].
    fn end_write(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// The best number of mapping units to hand over with one write, where one command programs `slots`.
    fn batch(&self, slots: u32) -> u32 {
        slots
    }

    /// False while a write to an NVM set would only wait in the FTL, so that a buffer should keep it and absorb newer
    /// writes. `under_way` are the mapping units of the set that the buffer has handed over and flash does not have yet.
    /// [`Owners::room`], or the end of one of them, ends this.
    fn takes_writes(&self, _set: u32, _under_way: u32) -> bool {
        true
    }

    /// True if the buffer hears of each moment at which the FTL takes writes again. Otherwise it asks at each write.
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

    /// True if flash may hold data of a mapping unit; otherwise it reads as zeros, unless a write buffer has it. This
    /// neither takes time nor changes anything. An FTL that cannot say answers true.
    fn may_hold(&self, _lpn: Lpn, _media: &Media, _slc_array: Option<&Media>) -> bool {
        true
    }

    /// A request for this mapping unit will follow: the FTL may prefetch the memory it needs.
    #[inline]
    fn prefetch(&self, _unit: usize, _media: &Media) {}

    /// Checks all invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    fn check(&self, _media: &Media, _slc_array: Option<&Media>) {}

    /// Free superblocks.
    fn free_blocks(&self) -> u64 {
        0
    }

    /// The counters of the FTL.
    fn counters(&self, _now: Time) -> Counters {
        Counters::default()
    }

    /// Resets the counters.
    fn reset_counters(&mut self) {}

    /// True if the FTL has [background] work to start now; with time off, work that is due later is due now. The device
    /// asks after a request, a finished list or an event, but not when only phases of the flash pass.
    ///
    /// [background]: Background::run_due
    #[inline]
    fn is_due(&self, _timed: bool) -> bool {
        false
    }

    /// Its work beside requests, if it has any.
    fn background(&mut self) -> Option<&mut dyn Background> {
        None
    }

    /// Its log of flushes, if it has one.
    fn flush_log(&mut self) -> Option<&mut dyn FlushLog> {
        None
    }

    /// Its use of the host's memory, if it asks for some.
    fn host_memory_buffer(&mut self) -> Option<&mut dyn HostMemoryBuffer> {
        None
    }

    /// Its reclaim unit handles, if it has Flexible Data Placement.
    fn reclaim_unit_handles(&mut self) -> Option<&mut dyn ReclaimUnitHandles> {
        None
    }

    /// The work of the FTL when the power goes and comes, if it has any.
    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        None
    }

    /// Its zones, if it has any.
    fn zones(&mut self) -> Option<&mut dyn Zones> {
        None
    }

    /// The state of the zone of a mapping unit, if the FTL has zones.
    fn zone_report(&self, _lpn: Lpn) -> Option<ZoneReport> {
        None
    }

    /// The work of the FTL while a drive is preconditioned, if it has any.
    fn preconditioning(&mut self) -> Option<&mut dyn Preconditioning> {
        None
    }
}

impl dyn Ftl {
    /// The FTL, if it is an `F`.
    #[must_use]
    pub fn downcast_ref<F: Ftl>(&self) -> Option<&F> {
        (self as &dyn Any).downcast_ref()
    }

    /// The FTL, if it is an `F`.
    pub fn downcast_mut<F: Ftl>(&mut self) -> Option<&mut F> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl Clone for Box<dyn Ftl> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}
