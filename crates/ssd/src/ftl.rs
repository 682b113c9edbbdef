//! Where things go: flash translation layers.

pub(crate) mod chang;
pub(crate) mod family;
pub(crate) mod hybrid;
pub(crate) mod hydra;
pub mod map_unit;
pub(crate) mod page;
pub(crate) mod placement;
pub(crate) mod victim;

use std::num::NonZeroU32;

use base::engine::{EventQueue, Handle};
use base::units::{Lpn, Psn, Span, Time};
use flash::backend::{Backend, CauseSet, List, Observer, Slot};
use flash::nand::Sector;

use crate::device::Event;

/// The backend at one moment, as an FTL sees it.
pub(crate) struct Flash<'a, S, O> {
    pub(crate) now: Time,
    pub(crate) backend: &'a mut Backend<S, O>,
    /// The small array beside it, if there is one.
    pub(crate) second: Option<&'a mut Backend<S>>,
    pub(crate) events: &'a mut EventQueue<Event>,
}

impl<S: Sector, O: Observer> Flash<'_, S, O> {
    #[inline]
    pub(crate) fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, self.events);
    }

    /// Hands in a list whose commands are carried out one after another, and nothing beside them.
    #[inline]
    pub(crate) fn submit_in_turn(&mut self, list: Handle<List>) {
        if let Some(end) = self.backend.begin_in_turn(self.now, list) {
            self.events.push(end, Event::Turn);
        }
    }

    /// The same on the second array.
    #[inline]
    pub(crate) fn submit_second(&mut self, list: Handle<List>) {
        let now = self.now;
        if let Some(end) = self.second().begin_in_turn(now, list) {
            self.events.push(end, Event::SecondTurn);
        }
    }

    /// The second array.
    ///
    /// # Panics
    /// If the device has none.
    #[inline]
    pub(crate) fn second(&mut self) -> &mut Backend<S> {
        self.second.as_mut().expect("a device with a second array")
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
    /// Sectors of a unit were read, of which [`Owners::read_done`] will tell the rest: so many from its first on.
    fn read_part(&mut self, owner: Owner, at: i32, payload: &[S], lost: bool);
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
