//! The port: what a device asks of an FTL, and what an FTL sees of the device.

use std::fmt::Debug;
use std::num::NonZeroU32;

use base::engine::{EventQueue, Handle};
use base::units::{Lpn, Psn, Span, Time};
use flash::backend::{Backend, CauseSet, List, Observer, Slot};
use flash::nand::{Media, Sector};

use crate::family::Config;
use crate::log_block::LogMerges;
use crate::sabotage::Planted;
use crate::{Event, MergeCounters, SlcMlcCounters, map_unit};

/// The backend at one moment, as an FTL sees it.
#[derive(Debug)]
pub struct Flash<'a, S, O> {
    /// The time.
    pub now: Time,
    /// The flash array.
    pub backend: &'a mut Backend<S, O>,
    /// The small array beside it, if there is one.
    pub slc_array: Option<&'a mut Backend<S>>,
    /// What will happen.
    pub events: &'a mut EventQueue<Event>,
}

impl<S: Sector, O: Observer> Flash<'_, S, O> {
    /// Hands in a list.
    #[inline]
    pub fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, self.events);
    }

    /// Hands in a list whose commands are carried out one after another, and nothing beside them.
    #[inline]
    pub fn submit_serial(&mut self, list: Handle<List>) {
        if let Some(end) = self.backend.begin_serial(self.now, list) {
            self.events.push(end, Event::SerialEnd);
        }
    }

    /// The same on the second array.
    ///
    /// # Panics
    /// If the device has none.
    #[inline]
    pub fn submit_slc(&mut self, list: Handle<List>) {
        let now = self.now;
        if let Some(end) = self.slc_array().begin_serial(now, list) {
            self.events.push(end, Event::SlcSerialEnd);
        }
    }

    /// The second array.
    ///
    /// # Panics
    /// If the device has none.
    #[inline]
    pub fn slc_array(&mut self) -> &mut Backend<S> {
        self.slc_array.as_mut().expect("a device with a second array")
    }
}

/// Whose data it is: a number that only the host side understands.
pub type Owner = Option<NonZeroU32>;

/// One mapping unit that somebody wants written.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Which unit.
    pub lpn: Lpn,
    /// Who wants it written.
    pub owner: Owner,
    /// Where the unit's first sector stands in the owner's data; negative if that begins inside.
    pub at: i32,
    /// The sectors to be written, one bit each.
    pub mask: u64,
    /// The version of the write.
    pub version: u32,
    /// Where the other sectors are, as far as a map unit has said.
    pub old_place: OldPlace,
}

impl PageWrite {
    /// True if all its sectors are to be written, of which there are so many.
    #[inline]
    pub(crate) const fn is_whole(&self, sectors: u32) -> bool {
        self.mask == full_mask(sectors)
    }

    /// What a program of the unit carries.
    #[inline]
    pub(crate) fn slot(&self) -> Slot {
        let Self { lpn, owner, at, mask, version, .. } = *self;
        Slot { lpn, version, owner, at, mask, expected: true, ..Slot::default() }
    }

    /// The unit of a program that failed: the data is still with its owner, and is written again.
    pub(crate) const fn again(slot: &Slot) -> Self {
        let Slot { lpn, owner, at, mask, version, .. } = *slot;
        Self { lpn, owner, at, mask, version, old_place: OldPlace::Unasked }
    }
}

/// Where a unit that is written in part was when a map unit was asked. It may have been moved since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldPlace {
    /// Nobody has asked, or nobody need ask.
    Unasked,
    /// Nowhere: the other sectors are zeros.
    Nowhere,
    /// In a slot, whose superblock had been erased so often: the same slot later may be another unit's.
    At {
        /// The slot.
        psn: Psn,
        /// The erases of its superblock.
        erases: u32,
    },
}

/// Sectors of one mapping unit that an owner wants read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// Who wants them.
    pub owner: Owner,
    /// Where the unit's first sector stands in the owner's data; negative if that begins inside.
    pub at: i32,
    /// The sectors, one bit each.
    pub mask: u64,
}

impl PageRead {
    /// What a read of the unit, which is there, carries.
    #[inline]
    pub(crate) fn slot(self, lpn: Lpn, psn: Psn) -> Slot {
        let Self { owner, at, mask } = self;
        Slot { lpn, psn, owner, at, mask, expected: true, ..Slot::default() }
    }
}

/// What a finished list tells of each of its units.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// How long the list waited for others.
    pub wait: Span,
    /// What they did.
    pub waited_for: CauseSet,
}

impl Service {
    /// Nobody was waited for.
    pub const NONE: Self = Self { wait: Span::ZERO, waited_for: CauseSet::EMPTY };

    /// What a finished list tells.
    #[must_use]
    pub fn of(list: &List) -> Self {
        Self { wait: list.wait(), waited_for: list.waited_for() }
    }
}

/// Those who want units read.
pub trait ReadSink<S> {
    /// A unit was read.
    fn read_done(&mut self, slot: &Slot, payload: &[S], service: Service);
    /// Sectors of a unit were read, of which [`ReadSink::read_done`] will tell the rest: so many from its first on.
    fn read_part(&mut self, owner: Owner, at: i32, payload: &[S], lost: bool);
    /// A unit is nowhere, and reads as zeros without flash.
    fn read_nothing(&mut self, owner: Owner);
}

/// Those who want units written or forgotten.
pub trait WriteSink<S> {
    /// Copies the sectors of a unit into a program.
    fn give(&self, unit: &PageWrite, into: &mut [S]);
    /// Copies the sectors of a unit behind one another, without gaps, to `first` and what follows.
    fn pack(&self, unit: &PageWrite, into: &mut [S], first: usize);
    /// The NVM set that the owner's writes are confined to; 0 is the whole array.
    fn set(&self, owner: Owner) -> u32;
    /// A unit has been forgotten.
    fn discard_done(&mut self, owner: Owner);
    /// A unit was programmed and the map leads to it.
    fn write_done(&mut self, owner: Owner, service: Service);
    /// A unit cannot be written any more: there is no room.
    fn write_refused(&mut self, owner: Owner);
    /// An FTL that did not take writes takes them again.
    fn room(&mut self);
    /// What was flushed without a merge is on flash, or, not `well`, has to be written again.
    fn logged(&mut self, well: bool);
}

/// Those whose data the FTL moves.
pub trait Owners<S>: ReadSink<S> + WriteSink<S> {
    /// A flash command was issued on the owner's behalf.
    fn charge(&mut self, owner: Owner);
}

/// What an FTL finds when the power comes.
#[derive(Debug)]
pub struct Mount<'a, S> {
    /// The flash array.
    pub media: &'a Media<S>,
    /// The small array beside it, if there is one.
    pub slc_array: Option<&'a Media<S>>,
    /// All its randomness comes from here.
    pub seed: u64,
    /// The bug that a test has planted; none in everything else.
    pub planted: Planted,
}

/// Sectors of a unit that recovery found in a log of flushes: the buffer gets them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The unit.
    pub lpn: Lpn,
    /// The sectors, one bit each.
    pub mask: u64,
    /// The page that they are in.
    pub psn: Psn,
    /// The first of its sectors that is meant: they lie without gaps.
    pub first: u32,
}

/// What FTLs count; each that which it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// What the map unit did since the power came.
    pub map: Option<map_unit::Counters>,
    /// What the merges of a block map did since the power came.
    pub merges: Option<MergeCounters>,
    /// The merges of log blocks since the power came.
    pub log_merges: Option<LogMerges>,
    /// What the FTL of a hybrid SLC/MLC disk did.
    pub slc_mlc: Option<Box<SlcMlcCounters>>,
}

/// A flash translation layer.
///
/// The device hands it units to read, write and forget, and the lists that have finished. It learns only from completions:
/// a mapping changes when the program that carries the data is done. What only some FTLs do has a default here, which is
/// that nothing happens.
pub trait Ftl: Clone + Debug {
    /// What it is built from.
    type Config: Config;

    /// The FTL of a device, with its state read from the media: a new drive is one where nothing is found.
    fn mount<S: Sector>(config: &Self::Config, from: &Mount<'_, S>) -> Self;

    /// The time that reading this state takes.
    fn scan_time<S: Sector>(config: &Self::Config, media: &Media<S>, slc_array: Option<&Media<S>>) -> Span;

    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// Units that recovery found.
    fn found(&self) -> u32;

    /// Free superblocks.
    fn free_blocks(&self) -> u64;

    /// The version of the latest write.
    fn latest_version(&self) -> u32;

    /// The version for the next request: all its units share it.
    fn next_version(&mut self) -> u32;

    /// Reads sectors of a unit for an owner, as one of several units that [`Ftl::end_read`] ends. False if the unit is
    /// nowhere: the owner is then told nothing.
    fn read<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        wanted: PageRead,
        lpn: Lpn,
    ) -> bool;

    /// All units of a request have been asked for.
    fn end_read<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>);

    /// Begins a write of several units by an owner in an NVM set.
    fn begin_write(&mut self, _set: u32) {}

    /// Writes a unit, or some sectors of it. No other write of this unit is under way.
    fn write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        unit: PageWrite,
    );

    /// All units of the write have been handed over.
    fn end_write<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>);

    /// Forgets a unit. True if the owner will be told later that it is done.
    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool;

    /// A list has finished.
    fn finished<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    );

    /// Checks everything that must hold between two events.
    ///
    /// # Panics
    /// If something does not hold.
    fn check<S: Sector>(&self, media: &Media<S>, slc_array: Option<&Media<S>>);

    /// A request for this unit will come: whatever memory that takes may be fetched.
    #[inline]
    fn fetch(&self, _unit: usize) {}

    /// Units that a write had best hand over at once, where one command programs `slots`.
    fn batch(&self, slots: u32) -> u32 {
        slots
    }

    /// False while a write that was handed over would only wait, and a buffer had better keep it. When that is over,
    /// [`WriteSink::room`] is called.
    fn takes_writes(&self) -> bool {
        true
    }

    /// True if a discard may wait behind writes that were handed over before it.
    fn discards_in_order(&self) -> bool {
        false
    }

    /// True if a flush had better write everything back: its log has no room, or there is none.
    fn log_is_full(&self) -> bool {
        true
    }

    /// True if the log of flushes can be written now, or some of it.
    fn log_is_ready<S: Sector, O: Observer>(&mut self, _flash: &mut Flash<'_, S, O>) -> bool {
        false
    }

    /// A unit of the buffer that is to be logged as it is now. False if there is no room for it yet.
    fn log(&mut self, _unit: PageWrite) -> bool {
        false
    }

    /// All units that are to be logged at once have been handed over: [`WriteSink::logged`] follows.
    fn end_log<S: Sector, O: Observer>(
        &mut self,
        _flash: &mut Flash<'_, S, O>,
        _owners: &impl Owners<S>,
        _version: u32,
    ) {
    }

    /// What recovery found in the log of flushes and not in its place: the buffer gets it back.
    fn take_saved(&mut self) -> Vec<Saved> {
        Vec::new()
    }

    /// The device has nothing to do. True if the FTL begins something of its own. Asked again after a request, a finished
    /// list or an event, but not when only phases of the flash pass.
    #[inline]
    fn on_idle<S: Sector, O: Observer>(&mut self, _flash: &mut Flash<'_, S, O>, _owners: &mut impl Owners<S>) -> bool {
        false
    }

    /// The processor has finished a thought of the FTL.
    ///
    /// # Panics
    /// By default: an FTL that gives the processor nothing to do is told of nothing.
    fn on_cpu_done<S: Sector, O: Observer>(&self, _flash: &mut Flash<'_, S, O>, _token: u32) {
        unreachable!("an FTL that takes no time")
    }

    /// True if it has something to do now on its own account; with time off whatever is due later is due now. Asked after
    /// a request, a finished list or an event, but not when only phases of the flash pass.
    #[inline]
    fn is_due(&self, _timed: bool) -> bool {
        false
    }

    /// Does it.
    fn run_due<S: Sector, O: Observer>(&mut self, _flash: &mut Flash<'_, S, O>, _owners: &mut impl Owners<S>) {}

    /// An [event](Event::Ftl) of its own has come.
    fn wake(&mut self, _now: Time) {}

    /// A list of the second array has finished.
    ///
    /// # Panics
    /// By default: an FTL that hands nothing to a second array is told of nothing.
    fn finished_slc<S: Sector, O: Observer>(
        &mut self,
        _flash: &mut Flash<'_, S, O>,
        _owners: &mut impl Owners<S>,
        _list: Handle<List>,
    ) {
        unreachable!("an FTL of one array")
    }

    /// The power goes in order: what it keeps in RAM only is to be stored. Nothing else is under way.
    fn power_off(&mut self, _now: Time) {}

    /// The power goes at this moment: what capacitors hold up is saved.
    fn power_fails<S: Sector, O: Observer>(&mut self, _flash: &mut Flash<'_, S, O>) {}

    /// True while recovery writes something: no request is taken meanwhile.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Translation pages that recovery found to be out of date.
    fn stale_pages(&self) -> u32 {
        0
    }

    /// The scan of recovery is over, and what it has to write is to be written.
    fn recover<S: Sector, O: Observer>(&mut self, _flash: &mut Flash<'_, S, O>, _owners: &mut impl Owners<S>) {}

    /// What it has counted.
    fn counters(&self, _now: Time) -> Counters {
        Counters::default()
    }

    /// Forgets what was counted.
    fn reset_counters(&mut self) {}
}

/// The sectors of a whole mapping unit.
#[must_use]
pub const fn full_mask(sectors: u32) -> u64 {
    if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 }
}
