//! Where things go: flash translation layers.

pub(crate) mod family;
pub(crate) mod hydra;
pub mod map_unit;
pub(crate) mod page;
pub(crate) mod placement;
pub(crate) mod victim;

use std::num::NonZeroU32;

use flash::backend::{Backend, CauseSet, List, Observer, Slot};
use flash::engine::{EventQueue, Handle};
use flash::nand::Sector;
use flash::units::{Lpn, Psn, Span, Time};

use crate::device::Event;

/// The backend at one moment, as an FTL sees it.
pub(crate) struct Flash<'a, S, O> {
    pub(crate) now: Time,
    pub(crate) backend: &'a mut Backend<S, O>,
    pub(crate) events: &'a mut EventQueue<Event>,
}

impl<S: Sector, O: Observer> Flash<'_, S, O> {
    #[inline]
    pub(crate) fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, self.events);
    }
}

/// Whose data it is: a number that only the host side understands.
pub(crate) type Owner = Option<NonZeroU32>;

/// One mapping unit that somebody wants written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) lpn: Lpn,
    pub(crate) owner: Owner,
    /// Where the unit's first sector stands in the owner's data; negative if that begins inside.
    pub(crate) at: i32,
    /// The sectors to be written, one bit each.
    pub(crate) mask: u64,
    pub(crate) version: u32,
    /// Where the other sectors are, as far as a map unit has said.
    pub(crate) rest: Rest,
}

/// Where a unit that is written in part was when a map unit was asked. It may have been moved since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nobody has asked, or nobody need ask.
    Unasked,
    /// Nowhere: the other sectors are zeros.
    Nowhere,
    /// In a slot, whose superblock had been erased so often: the same slot later may be another unit's.
    At { psn: Psn, erases: u32 },
}

/// What a finished list tells of each of its units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) wait: Span,
    pub(crate) waited_for: CauseSet,
}

impl Service {
    /// Nobody was waited for.
    pub(crate) const NONE: Self = Self { wait: Span::ZERO, waited_for: CauseSet::EMPTY };
}

/// Those whose data the FTL moves.
pub(crate) trait Owners<S> {
    /// Copies the sectors of a unit into a program.
    fn give(&self, unit: &Unit, into: &mut [S]);
    /// Copies the sectors of a unit behind one another, without gaps, to `first` and what follows.
    fn pack(&self, unit: &Unit, into: &mut [S], first: usize);
    /// The NVM set that the owner's writes are confined to; 0 is the whole array.
    fn set(&self, owner: Owner) -> u32;
    /// A flash command was issued on the owner's behalf.
    fn charge(&mut self, owner: Owner);
    /// A unit was read.
    fn read_done(&mut self, slot: &Slot, payload: &[S], service: Service);
    /// A unit is nowhere, and reads as zeros without flash.
    fn read_nothing(&mut self, owner: Owner);
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

/// The sectors of a whole mapping unit.
pub(crate) const fn full_mask(sectors: u32) -> u64 {
    if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 }
}
