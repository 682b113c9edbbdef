//! The port: the calls of a device to an FTL, and the device as an FTL sees it.

use std::any::Any;
use std::fmt::Debug;
use std::num::NonZeroU32;

use base::engine::{EventQueue, Handle};
use base::units::{Lpn, Psn, Span, Time};
use flash::backend::{Backend, CauseSet, Class, Command, List, Slot, SlotContent, SlotMut, SlotRef};
use flash::nand::{Media, Stream};

use crate::log_block::LogMerges;
use crate::sabotage::Planted;
use crate::{Event, MergeCounters, SlcMlcCounters, StreamCounters, map_unit};

/// The flash of a device at one moment, as an FTL sees it.
#[derive(Debug)]
pub struct Flash<'a> {
    /// The time.
    pub now: Time,
    /// The flash array.
    pub backend: &'a mut Backend,
    /// The SLC array beside it, if the device has one.
    pub slc_array: Option<&'a mut Backend>,
    /// The device's events to come.
    pub events: &'a mut EventQueue<Event>,
}

impl Flash<'_> {
    /// Submits a list.
    #[inline]
    pub fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, self.events);
    }

    /// The program that will probably be the `distance`-th to end from now on; none if no program's end has just been
    /// handled. For prefetching.
    #[must_use]
    #[inline]
    pub fn following_program(&self, distance: usize) -> Option<Handle<Command>> {
        match self.events.following(distance)? {
            Event::Flash(event) => self.backend.ends_program(event),
            _ => None,
        }
    }

    /// Prefetches the command that will probably be the `distance`-th to end from now on, with its slots.
    #[inline]
    pub fn fetch_following(&self, distance: usize) {
        if let Some(Event::Flash(event)) = self.events.following(distance) {
            self.backend.prefetch_ending(event);
        }
    }

    /// Submits a list whose commands run one after another; no other list runs beside it.
    #[inline]
    pub fn submit_serial(&mut self, list: Handle<List>) {
        if let Some(end) = self.backend.begin_serial(self.now, list) {
            self.events.push(end, Event::SerialEnd);
        }
    }

    /// Submits a serial list to the SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    #[inline]
    pub fn submit_slc(&mut self, list: Handle<List>) {
        let now = self.now;
        if let Some(end) = self.slc_array().begin_serial(now, list) {
            self.events.push(end, Event::SlcSerialEnd);
        }
    }

    /// Copies the sector of a slot of the SLC array to a sector of another slot.
    ///
    /// # Panics
    /// If the device has no SLC array.
    pub fn copy_slc_sector(&mut self, from: SlotRef, (into, sector): (SlotRef, u32)) {
        let slc_array = self.slc_array.as_ref().expect("the device has an SLC array");
        if slc_array.has_content() {
            self.backend.content_mut(into).put_first_as(sector as usize, slc_array.content_of(from));
        }
    }

    /// Copies a sector that the flash array stores to a slot of the SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    pub fn copy_to_slc(&mut self, (psn, sector): (Psn, u32), into: SlotRef) {
        let slc_array = self.slc_array.as_mut().expect("the device has an SLC array");
        let stored = self.backend.media().sector(psn, sector);
        slc_array.content_mut(into).put_first_as(0, SlotContent::Sectors(&stored));
    }

    /// The SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    #[inline]
    pub fn slc_array(&mut self) -> &mut Backend {
        self.slc_array.as_mut().expect("the device has an SLC array")
    }
}

/// The owner of data: a number that only the host side interprets.
pub type Owner = Option<NonZeroU32>;

/// One mapping unit to be written.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// The mapping unit.
    pub lpn: Lpn,
    /// The owner of the data.
    pub owner: Owner,
    /// The position of the mapping unit's first sector in the owner's data; negative if the data begin inside the
    /// mapping unit.
    pub at: i32,
    /// The sectors to be written, one bit each.
    pub mask: u64,
    /// The version of the write.
    pub version: u32,
    /// The place of the other sectors, if a map unit has answered.
    pub old_place: OldPlace,
    /// The stream that an FTL with several has chosen; none before.
    pub stream: Option<Stream>,
}

impl PageWrite {
    /// True if the write covers all `sectors` sectors of the mapping unit.
    #[inline]
    pub(crate) const fn is_whole(&self, sectors: u32) -> bool {
        self.mask == full_mask(sectors)
    }

    /// The slot of a program that writes the mapping unit.
    #[inline]
    pub(crate) fn slot(&self) -> Slot {
        let Self { lpn, owner, at, mask, version, .. } = *self;
        Slot { lpn, version, owner, at, mask, expected: true, ..Slot::default() }
    }

    /// The write of a slot whose program failed: its owner still has the data, and the FTL writes it again.
    pub(crate) const fn again(slot: &Slot) -> Self {
        let Slot { lpn, owner, at, mask, version, .. } = *slot;
        Self { lpn, owner, at, mask, version, old_place: OldPlace::Unasked, stream: None }
    }
}

/// The place of a partly written mapping unit when a map unit was asked. It may have moved since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldPlace {
    /// The map unit was not asked, or need not be.
    Unasked,
    /// The mapping unit has no place: its other sectors are zeros.
    Nowhere,
    /// A slot and the erase count of its superblock: after another erase the slot may hold another mapping unit.
    At {
        /// The slot.
        psn: Psn,
        /// The erase count of its superblock.
        erases: u32,
    },
}

/// Sectors of one mapping unit to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// The reader.
    pub owner: Owner,
    /// The position of the mapping unit's first sector in the owner's data; negative if the data begin inside the
    /// mapping unit.
    pub at: i32,
    /// The sectors, one bit each.
    pub mask: u64,
}

impl PageRead {
    /// The slot of a read of the mapping unit at `psn`.
    #[inline]
    pub(crate) fn slot(self, lpn: Lpn, psn: Psn) -> Slot {
        let Self { owner, at, mask } = self;
        Slot { lpn, psn, owner, at, mask, expected: true, ..Slot::default() }
    }
}

/// The waiting of a finished list, reported with each of its mapping units.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The time that the list waited for other lists.
    pub wait: Span,
    /// The time from its submission to the start of its first command.
    pub start_wait: Span,
    /// The causes of those lists.
    pub waited_for: CauseSet,
}

impl Service {
    /// No waiting.
    pub const NONE: Self = Self { wait: Span::ZERO, start_wait: Span::ZERO, waited_for: CauseSet::EMPTY };

    /// The waiting of a finished list.
    #[must_use]
    pub fn of(list: &List) -> Self {
        Self { wait: list.wait(), start_wait: list.start_wait(), waited_for: list.waited_for() }
    }
}

/// The request that data came with, as far as an FTL may ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its sectors; 0 if no request of the host brought the data.
    pub sectors: u32,
    /// The number of its submission queue.
    pub queue: u32,
}

/// Receives the mapping units that an FTL has read.
pub trait ReadSink {
    /// A mapping unit has been read.
    fn read_done(&mut self, slot: &Slot, content: SlotContent<'_>, service: Service);
    /// One sector has been read, the one at `at` of the owner's data. [`ReadSink::read_done`] reports the others of its
    /// mapping unit.
    fn read_sector(&mut self, owner: Owner, at: i32, content: SlotContent<'_>, lost: bool);
    /// A mapping unit has no place: it reads as zeros, without flash.
    fn read_nothing(&mut self, owner: Owner);
    /// A mapping unit has no place, and a flash read that returns zeros will follow.
    fn note_unmapped(&mut self) {}
}

/// Gives data to programs, and receives the ends of writes and discards.
pub trait WriteSink {
    /// Puts the sectors of a mapping unit into a slot of a program.
    fn give(&self, unit: &PageWrite, into: SlotMut<'_>);
    /// Puts the sectors of a mapping unit into a slot from sector `first` on, without gaps.
    fn pack(&self, unit: &PageWrite, into: SlotMut<'_>, first: usize);
    /// [`WriteSink::write_done`] will follow for a mapping unit of this owner: prefetches what it needs.
    #[inline]
    fn fetch(&self, _owner: Owner, _lpn: Lpn) {}
    /// It will follow sooner: prefetches what it needs and [`WriteSink::fetch`] leads to.
    #[inline]
    fn fetch_near(&self, _owner: Owner, _lpn: Lpn) {}
    /// The NVM set that the owner's writes are confined to; 0 is the whole array.
    fn set(&self, owner: Owner) -> u32;
    /// The request that the owner's data came with.
    fn origin(&self, _owner: Owner) -> Origin {
        Origin::default()
    }
    /// A mapping unit has been discarded.
    fn discard_done(&mut self, owner: Owner);
    /// A mapping unit has been programmed and the map points to it.
    fn write_done(&mut self, owner: Owner, service: Service);
    /// The FTL has no space left for a mapping unit and will not write it.
    fn write_refused(&mut self, owner: Owner);
    /// The FTL has no space left for the record of a discard: the mapping unit keeps its content.
    fn discard_refused(&mut self, owner: Owner);
    /// An FTL that refused writes accepts them again.
    fn room(&mut self);
    /// A logged flush has ended: its data are in flash, or, if `well` is false, must be written again.
    fn logged(&mut self, well: bool);
}

/// The requests whose data an FTL moves.
pub trait Owners: ReadSink + WriteSink {
    /// A flash command was issued on the owner's behalf.
    fn charge(&mut self, owner: Owner);
    /// The class of the owner's reads.
    fn read_class(&self, owner: Owner) -> Class;
}

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

/// Sectors of a mapping unit that recovery found in a log of flushes. They return to the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The mapping unit.
    pub lpn: Lpn,
    /// The sectors, one bit each.
    pub mask: u64,
    /// The page that holds them.
    pub psn: Psn,
    /// The index of the first of them in that page, where they lie without gaps.
    pub first: u32,
}

/// The counters of an FTL; each field belongs to the FTLs that have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The map unit's, since the power came on.
    pub map: Option<map_unit::Counters>,
    /// The merges of a block map, since the power came on.
    pub merges: Option<MergeCounters>,
    /// The merges of log blocks, since the power came on.
    pub log_merges: Option<LogMerges>,
    /// Those of the FTL of a hybrid SLC/MLC disk.
    pub slc_mlc: Option<Box<SlcMlcCounters>>,
    /// The streams', since the power came on, if there are several.
    pub streams: Option<Box<StreamCounters>>,
}

/// A flash translation layer.
///
/// The device calls it with mapping units to read, write and discard, and with the lists that have finished. The FTL
/// learns only from completions: a mapping changes when the program with the data has finished. Methods that only some
/// FTLs need do nothing by default.
pub trait Ftl: Any + Debug + Send + Sync {
    /// A copy, for a copy of the device.
    fn boxed(&self) -> Box<dyn Ftl>;

    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// Mapping units that recovery found.
    fn found(&self) -> u32;

    /// Free superblocks.
    fn free_blocks(&self) -> u64;

    /// The version of the latest write.
    fn latest_version(&self) -> u32;

    /// The version for the next request: all its mapping units share it.
    fn next_version(&mut self) -> u32;

    /// Reads sectors of a mapping unit for an owner. [`Ftl::end_read`] ends the request, which may have several mapping
    /// units. Returns false if the mapping unit has no place; the owner then gets no report.
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool;

    /// All mapping units of a read request have been requested.
    fn end_read(&mut self, flash: &mut Flash<'_>);

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

    /// Writes a mapping unit, or some sectors of it. No other write of it is in progress.
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite);

    /// All mapping units of a write have been handed over. With time off, a program that is not full may wait for the
    /// data of later writes, until [`Ftl::close_programs`].
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners);

    /// No more writes follow for now: programs no longer wait for data.
    fn close_programs(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// Adds the mapping units of programs that wait for the data of later writes to a list. They must not be written
    /// again before those programs end.
    fn gathered(&self, _flash: &Flash<'_>, _into: &mut Vec<Lpn>) {}

    /// Discards a mapping unit. Returns true if the FTL will report the end to the owner later.
    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool;

    /// A list has finished.
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>);

    /// Checks all invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    fn check(&self, media: &Media, slc_array: Option<&Media>);

    /// True if flash may hold data of a mapping unit; otherwise it reads as zeros, unless a write buffer has it. This
    /// neither takes time nor changes anything. An FTL that cannot say answers true.
    fn may_hold(&self, _lpn: Lpn, _media: &Media, _slc_array: Option<&Media>) -> bool {
        true
    }

    /// A request for this mapping unit will follow: the FTL may prefetch the memory it needs.
    #[inline]
    fn fetch(&self, _unit: usize, _media: &Media) {}

    /// The best number of mapping units to hand over with one write, where one command programs `slots`.
    fn batch(&self, slots: u32) -> u32 {
        slots
    }

    /// False while a write to an NVM set would only wait in the FTL, so that a buffer should keep it and absorb newer
    /// writes. `under_way` are the mapping units of the set that the buffer has handed over and flash does not have yet.
    /// [`WriteSink::room`], or the end of one of them, ends this.
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

    /// True if [`WriteSink::discard_refused`] may follow a discard whose end the FTL reports later.
    fn may_refuse_discards(&self) -> bool {
        false
    }

    /// True if a flush should write everything back: the log of flushes is full or absent.
    fn log_is_full(&self) -> bool {
        true
    }

    /// True if the log of flushes has space now, if only for a part of the flush.
    fn log_is_ready(&mut self, _flash: &mut Flash<'_>) -> bool {
        false
    }

    /// Logs the present content of a mapping unit of the buffer. Returns false if there is no space yet.
    fn log(&mut self, _unit: PageWrite) -> bool {
        false
    }

    /// All mapping units of this step of the log have been handed over: [`WriteSink::logged`] follows.
    fn end_log(&mut self, _flash: &mut Flash<'_>, _owners: &dyn Owners, _version: u32) {}

    /// Takes the data that recovery found only in the log of flushes. They return to the write buffer.
    fn take_saved(&mut self) -> Vec<Saved> {
        Vec::new()
    }

    /// The device is idle. Returns true if the FTL starts work of its own. The device calls it again after a request, a
    /// finished list or an event, but not when only phases of the flash pass.
    #[inline]
    fn on_idle(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) -> bool {
        false
    }

    /// The processor has finished a task of the FTL.
    ///
    /// # Panics
    /// By default: an FTL without processor time gets no such call.
    fn on_cpu_done(&self, _flash: &mut Flash<'_>, _token: u32) {
        unreachable!("an FTL that takes no time")
    }

    /// True if the FTL has work of its own to start now; with time off, work that is due later is due now. The device
    /// asks after a request, a finished list or an event, but not when only phases of the flash pass.
    #[inline]
    fn is_due(&self, _timed: bool) -> bool {
        false
    }

    /// Starts that work.
    fn run_due(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners) {}

    /// An [event](Event::Ftl) of the FTL has occurred.
    fn wake(&mut self, _now: Time) {}

    /// Works after such an event as long as nobody else is concerned: what is due now, and what would follow with an event
    /// each, before all other events and not after `until`. Advances the time of `flash`, and calls `stepped` for each
    /// such event, which the queue never sees. Returns true if nothing that is due remains.
    fn work_alone(&mut self, _flash: &mut Flash<'_>, _until: Time, _stepped: &mut dyn FnMut(Time)) -> bool {
        false
    }

    /// A list of the SLC array has finished.
    ///
    /// # Panics
    /// By default: an FTL without an SLC array gets no such call.
    fn finished_slc(&mut self, _flash: &mut Flash<'_>, _owners: &mut dyn Owners, _list: Handle<List>) {
        unreachable!("an FTL of one array")
    }

    /// The drive is preconditioned from now on, and switched off and on at the end. No work is in progress. What the FTL
    /// leaves on flash shall not depend on caches, which start cold after it.
    fn begin_preconditioning(&mut self, _media: &Media) {}

    /// Time is switched off or on: a drive is preconditioned with time off. No work is in progress, and a mounted FTL has
    /// time on. Flash takes no time then; what else takes time in the FTL must not take any either.
    fn set_timed(&mut self, _timed: bool) {}

    /// The power is about to go off in order: the FTL stores what only RAM holds. No other work is in progress.
    fn power_off(&mut self, _now: Time) {}

    /// The power fails now: capacitors save what they hold up.
    fn power_fails(&mut self, _flash: &mut Flash<'_>) {}

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

    /// The counters of the FTL.
    fn counters(&self, _now: Time) -> Counters {
        Counters::default()
    }

    /// Resets the counters.
    fn reset_counters(&mut self) {}
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

/// The mask of all sectors of a mapping unit.
#[must_use]
pub const fn full_mask(sectors: u32) -> u64 {
    if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 }
}
