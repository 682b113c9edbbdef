//! The host side, as an FTL sees it: requests for mapping units, and reports of their ends.

use std::num::NonZeroU32;

use base::io::PlacementId;
use base::units::{Bytes, Lpn, Psn, Span, Time};
use flash::backend::{CauseSet, Class, List, Slot, SlotContent, SlotMut};
use flash::nand::{SectorMask, Stream};

use crate::zone::ZoneError;

/// The owner of data: a number that only the host side interprets.
pub type Owner = Option<NonZeroU32>;

/// One mapping unit to be written.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(8))] // Without the alignment of its mask it takes less memory.
pub struct PageWrite {
    /// The number of the mapping unit to write.
    pub lpn: Lpn,
    /// The owner of the data, which gets the report; none for the FTL's own.
    pub owner: Owner,
    /// The position of the mapping unit's first sector in the owner's data; negative if the data begin inside the
    /// mapping unit.
    pub at: i32,
    /// The sectors to be written, one bit each.
    pub mask: SectorMask,
    /// The version of the write, for the spare area.
    pub version: u32,
    /// The place of the mapping unit's other sectors, if a map unit has answered.
    pub old_place: OldPlace,
    /// The stream that an FTL with several streams has chosen; none before its choice.
    pub stream: Option<Stream>,
}

impl PageWrite {
    /// A write of a page of the FTL's own, with all `sectors` sectors of a mapping unit.
    pub(crate) const fn of_ftl(lpn: Lpn, version: u32, sectors: u32) -> Self {
        let mask = full_mask(sectors);
        Self { lpn, owner: None, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None }
    }

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

/// The place of a partly written mapping unit when a map unit was asked. The mapping unit may have moved since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldPlace {
    /// No map unit was asked, or the question was not needed.
    Unasked,
    /// The mapping unit has no place: its other sectors are zeros.
    Nowhere,
    /// The place at the time of the answer.
    At {
        /// The slot that held the mapping unit.
        psn: Psn,
        /// The erase count of the slot's superblock at that time: after another erase the slot may hold another mapping
        /// unit.
        erases: u32,
    },
}

/// Sectors of one mapping unit to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// The owner that gets the data.
    pub owner: Owner,
    /// The position of the mapping unit's first sector in the owner's data; negative if the data begin inside the
    /// mapping unit.
    pub at: i32,
    /// The sectors to be read, one bit each.
    pub mask: SectorMask,
}

impl PageRead {
    /// The slot of a read of the mapping unit at `psn`.
    #[inline]
    pub(crate) fn slot(self, lpn: Lpn, psn: Psn) -> Slot {
        let Self { owner, at, mask } = self;
        Slot { lpn, psn, owner, at, mask, expected: true, ..Slot::default() }
    }
}

/// The waiting times of a finished list, reported with each of its mapping units.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The time that the list waited for other lists.
    pub wait: Span,
    /// The time from the list's submission to the start of its first command.
    pub start_wait: Span,
    /// The causes of the command lists for which the service waited.
    pub waited_for: CauseSet,
}

impl Service {
    /// No time waited.
    pub const NONE: Self = Self { wait: Span::ZERO, start_wait: Span::ZERO, waited_for: CauseSet::EMPTY };

    /// The waiting times of a finished list.
    #[must_use]
    pub fn of(list: &List) -> Self {
        Self { wait: list.wait(), start_wait: list.start_wait(), waited_for: list.waited_for() }
    }
}

/// The request that data came with, as far as an FTL may know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The size of the request in sectors; 0 if no request of the host brought the data.
    pub sectors: u32,
    /// The number of the request's submission queue.
    pub queue: u16,
    /// The request's placement identifier.
    pub placement: PlacementId,
}

/// A direction of the host link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host to the drive.
    In,
    /// From the drive to the host.
    Out,
}

/// The requests whose data an FTL moves, and to which it reports.
pub trait Owners {
    /// Reports that a mapping unit has been read.
    fn read_done(&mut self, slot: &Slot, content: SlotContent<'_>, service: Service);

    /// Reports that one sector has been read, the sector at `at` of the owner's data. [`Owners::read_done`] reports the
    /// other sectors of its mapping unit.
    fn read_sector(&mut self, owner: Owner, at: i32, content: SlotContent<'_>, lost: bool);

    /// Reports that a mapping unit has no place: it reads as zeros, without flash.
    fn read_nothing(&mut self, owner: Owner);

    /// Reports that a mapping unit has no place; a flash read that returns zeros will follow.
    fn note_unmapped(&mut self) {}

    /// The service class of the owner's reads in the backend.
    fn read_class(&self, owner: Owner) -> Class;

    /// Puts the sectors of a mapping unit into a slot of a program.
    fn give(&self, unit: &PageWrite, into: SlotMut<'_>);

    /// Puts the sectors of a mapping unit into a slot from sector `first` on, without gaps.
    fn pack(&self, unit: &PageWrite, into: SlotMut<'_>, first: usize);

    /// The NVM set that the owner's writes are confined to; 0 is the whole array.
    fn set(&self, owner: Owner) -> u32;

    /// The request that brought the owner's data.
    fn origin(&self, _owner: Owner) -> Origin {
        Origin::default()
    }

    /// Reports that a flash command was issued on the owner's behalf.
    fn charge(&mut self, owner: Owner);

    /// Reports that a mapping unit has been programmed and the map points to it.
    fn write_done(&mut self, owner: Owner, service: Service);

    /// Reports that the FTL has no space left for a mapping unit and will not write it.
    fn write_refused(&mut self, owner: Owner);

    /// Reports that a mapping unit has been discarded.
    fn discard_done(&mut self, owner: Owner);

    /// Reports that the FTL has no space left for the record of a discard: the mapping unit keeps its content.
    fn discard_refused(&mut self, owner: Owner);

    /// Reports that an action on a zone has ended.
    ///
    /// # Panics
    ///
    /// By default: only the owners of a drive with zones get this report.
    fn zone_done(&mut self, _owner: Owner) {
        unreachable!("no owner has asked for an action on a zone")
    }

    /// Reports that a zone has failed: a mapping unit that was admitted is not written, or an action does not end.
    ///
    /// # Panics
    ///
    /// By default: only the owners of a drive with zones get this report.
    fn zone_refused(&mut self, _owner: Owner, _error: ZoneError) {
        unreachable!("no owner has written to a zone")
    }

    /// Reports that a write has replaced a mapping unit in a zone random write area, so that the older data never
    /// reaches flash.
    fn write_absorbed(&mut self) {}

    /// Reports that an FTL that did not take writes takes them again.
    fn room(&mut self);

    /// Reports that a logged flush has ended: its data are on flash, or must be written again if `well` is false.
    fn logged(&mut self, well: bool);

    /// Sends data of the FTL's own over the host link, between the drive and the host's memory, behind the transfers
    /// before it. Returns the end of the transfer. By default there is no link.
    fn carry(&mut self, now: Time, _direction: Direction, _bytes: Bytes) -> Time {
        now
    }

    /// Prefetches the memory that [`Owners::write_done`] needs, which will follow for a mapping unit of this owner.
    #[inline]
    fn prefetch(&self, _owner: Owner, _lpn: Lpn) {}

    /// Prefetches the memory that [`Owners::write_done`] reaches through the data of [`Owners::prefetch`]; the call
    /// follows sooner.
    #[inline]
    fn prefetch_near(&self, _owner: Owner, _lpn: Lpn) {}
}

/// The mask of all sectors of a mapping unit.
#[must_use]
pub const fn full_mask(sectors: u32) -> SectorMask {
    if sectors == SectorMask::BITS { SectorMask::MAX } else { (1 << sectors) - 1 }
}
