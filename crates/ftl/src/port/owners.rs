//! The host side, as an FTL sees it: requests for mapping units, and who hears of their ends.

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
    /// The mapping unit.
    pub lpn: Lpn,
    /// The owner of the data.
    pub owner: Owner,
    /// The position of the mapping unit's first sector in the owner's data; negative if the data begin inside the
    /// mapping unit.
    pub at: i32,
    /// The sectors to be written, one bit each.
    pub mask: SectorMask,
    /// The version of the write.
    pub version: u32,
    /// The place of the other sectors, if a map unit has answered.
    pub old_place: OldPlace,
    /// The stream that an FTL with several has chosen; none before.
    pub stream: Option<Stream>,
}

impl PageWrite {
    /// A write of a page of the FTL's own, of all `sectors` sectors of a mapping unit.
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
    pub queue: u16,
    /// Its placement identifier.
    pub placement: PlacementId,
}

/// A direction of the host link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host.
    In,
    /// To the host.
    Out,
}

/// The requests whose data an FTL moves.
pub trait Owners {
    /// A mapping unit has been read.
    fn read_done(&mut self, slot: &Slot, content: SlotContent<'_>, service: Service);

    /// One sector has been read, the one at `at` of the owner's data. [`Owners::read_done`] reports the others of its
    /// mapping unit.
    fn read_sector(&mut self, owner: Owner, at: i32, content: SlotContent<'_>, lost: bool);

    /// A mapping unit has no place: it reads as zeros, without flash.
    fn read_nothing(&mut self, owner: Owner);

    /// A mapping unit has no place, and a flash read that returns zeros will follow.
    fn note_unmapped(&mut self) {}

    /// The class of the owner's reads.
    fn read_class(&self, owner: Owner) -> Class;

    /// Puts the sectors of a mapping unit into a slot of a program.
    fn give(&self, unit: &PageWrite, into: SlotMut<'_>);

    /// Puts the sectors of a mapping unit into a slot from sector `first` on, without gaps.
    fn pack(&self, unit: &PageWrite, into: SlotMut<'_>, first: usize);

    /// The NVM set that the owner's writes are confined to; 0 is the whole array.
    fn set(&self, owner: Owner) -> u32;

    /// The request that the owner's data came with.
    fn origin(&self, _owner: Owner) -> Origin {
        Origin::default()
    }

    /// A flash command was issued on the owner's behalf.
    fn charge(&mut self, owner: Owner);

    /// A mapping unit has been programmed and the map points to it.
    fn write_done(&mut self, owner: Owner, service: Service);

    /// The FTL has no space left for a mapping unit and will not write it.
    fn write_refused(&mut self, owner: Owner);

    /// A mapping unit has been discarded.
    fn discard_done(&mut self, owner: Owner);

    /// The FTL has no space left for the record of a discard: the mapping unit keeps its content.
    fn discard_refused(&mut self, owner: Owner);

    /// An action on a zone has ended.
    ///
    /// # Panics
    /// By default: only the owners of a drive with zones hear of one.
    fn zone_done(&mut self, _owner: Owner) {
        unreachable!("no owner has asked for an action on a zone")
    }

    /// A zone has failed, and a mapping unit that was admitted is not written, or an action does not end.
    ///
    /// # Panics
    /// By default: only the owners of a drive with zones hear of one.
    fn zone_refused(&mut self, _owner: Owner, _error: ZoneError) {
        unreachable!("no owner has written to a zone")
    }

    /// A write has replaced a mapping unit in a zone random write area, which never reaches flash.
    fn write_absorbed(&mut self) {}

    /// An FTL that refused writes accepts them again.
    fn room(&mut self);

    /// A logged flush has ended: its data are in flash, or, if `well` is false, must be written again.
    fn logged(&mut self, well: bool);

    /// The host link carries data of the FTL's own between the drive and the host's memory, behind the transfers before it.
    /// Returns the end of the transfer. By default there is no link.
    fn carry(&mut self, now: Time, _direction: Direction, _bytes: Bytes) -> Time {
        now
    }

    /// [`Owners::write_done`] will follow for a mapping unit of this owner: prefetches what it needs.
    #[inline]
    fn prefetch(&self, _owner: Owner, _lpn: Lpn) {}

    /// [`Owners::write_done`] will follow sooner: prefetches what it needs and [`Owners::prefetch`] leads to.
    #[inline]
    fn prefetch_near(&self, _owner: Owner, _lpn: Lpn) {}
}

/// The mask of all sectors of a mapping unit.
#[must_use]
pub const fn full_mask(sectors: u32) -> SectorMask {
    if sectors == SectorMask::BITS { SectorMask::MAX } else { (1 << sectors) - 1 }
}
