//! Data in transfer: pages to the MLC flash, pages between its blocks, and sectors to the SLC flash. Also the vectors
//! in which tasks keep them, for reuse.

use flash::nand::SectorMask;
use std::collections::VecDeque;

use base::nonmax::NonMaxU32;
use base::units::Psn;
use flash::backend::SlotRef;

use super::requests::PendingRead;
use super::slc::SectorSlot;
use crate::port::PageWrite;

/// A page to write to the MLC flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct DuePage {
    pub(super) lpn: u32,
    /// The index of the host's mapping unit in the request; none if the page comes from the SLC flash.
    pub(super) unit: Option<NonMaxU32>,
}

impl DuePage {
    /// The host's mapping unit among the units of the request; none if the page comes from the SLC flash.
    pub(super) fn unit<'a>(&self, units: &'a [PageWrite]) -> Option<&'a PageWrite> {
        self.unit.map(|unit| &units[unit.get() as usize])
    }
}

/// A page that has a place in the MLC flash, to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedPage {
    pub(super) due: DuePage,
    pub(super) psn: Psn,
    /// Sectors that come from the host.
    given: SectorMask,
    /// Sectors that come from the SLC flash.
    pub(super) slc: SectorMask,
    /// The interrupted write from which the page takes sectors along; the mask has those that are not in the SLC flash
    /// yet.
    pub(super) rest: Option<PageWrite>,
    pub(super) version: u32,
    pub(super) lost: bool,
    /// The slot of the page's program.
    pub(super) slot: Option<SlotRef>,
}

impl PlacedPage {
    pub(super) fn new(due: DuePage, unit: Option<&PageWrite>, psn: Psn) -> Self {
        let (given, version) = unit.map_or((0, 0), |unit| (unit.mask, unit.version));
        Self { due, psn, given, slc: 0, rest: None, version, lost: false, slot: None }
    }

    /// Sectors that come from the host.
    pub(super) const fn given(&self) -> SectorMask {
        self.given
    }

    /// Sectors that come from the host or the SLC flash.
    pub(super) fn mask(&self) -> SectorMask {
        self.given | self.slc
    }
}

/// A valid page of the MLC flash to be copied to another block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageCopy {
    pub(super) lpn: u32,
    pub(super) from: Psn,
    /// The target, once a block has been found.
    pub(super) to: Option<Psn>,
    /// The sectors that come from the SLC flash, their newest version, and true if one of them is lost.
    pub(super) slc: SectorMask,
    pub(super) newest: u32,
    pub(super) lost: bool,
    pub(super) slot: Option<SlotRef>,
}

impl PageCopy {
    pub(super) const fn new(lpn: u32, from: Psn, to: Option<Psn>) -> Self {
        Self { lpn, from, to, slc: 0, newest: 0, lost: false, slot: None }
    }

    /// The slot to which the page is copied.
    ///
    /// # Panics
    ///
    /// If no block has been found for the copy.
    pub(super) const fn target(&self) -> Psn {
        self.to.expect("a block for each copy")
    }
}

/// A sector to be written to the SLC flash, with the index of its mapping unit in the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallSector {
    pub(super) sector: u32,
    pub(super) unit: u32,
}

/// Empty vectors that ended tasks leave for new tasks, so that requests allocate nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Vectors {
    pub(super) reads: Vec<PendingRead>,
    pub(super) units: Vec<PageWrite>,
    pub(super) smalls: Vec<SmallSector>,
    pub(super) due: VecDeque<DuePage>,
    pub(super) batch: Vec<PlacedPage>,
    pub(super) lpns: Vec<u32>,
    pub(super) copies: Vec<PageCopy>,
    pub(super) blocks: Vec<u32>,
    pub(super) tail: Vec<SectorSlot>,
    pub(super) slots: Vec<SlotRef>,
}

/// Empties a vector and keeps its memory for the next task.
pub(super) fn put_back<T>(place: &mut Vec<T>, vector: &mut Vec<T>) {
    vector.clear();
    std::mem::swap(place, vector);
}
