//! What is on its way: pages to the MLC flash, from one of its blocks to another, and sectors to the SLC flash. And the
//! vectors that tasks keep them in.

use std::collections::VecDeque;

use base::units::Psn;
use flash::backend::SlotRef;

use super::requests::PendingRead;
use super::slc::SectorAt;
use crate::port::{Owner, PageWrite};

/// A page that is to be written to the MLC flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) lpn: u32,
    /// The unit of the host that it is; none if the SLC flash gives it up.
    pub(super) unit: Option<PageWrite>,
}

impl Due {
    /// Whose page it is; nobody's if the SLC flash gives it up.
    pub(super) fn owner(&self) -> Owner {
        self.unit?.owner
    }

    /// Sectors that the host brings.
    pub(super) fn mask(&self) -> u64 {
        self.unit.map_or(0, |unit| unit.mask)
    }
}

/// One that has a place there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) due: Due,
    pub(super) psn: Psn,
    /// Sectors that come from the SLC flash.
    pub(super) slc: u64,
    pub(super) version: u32,
    pub(super) lost: bool,
    /// The slot of its program.
    pub(super) slot: Option<SlotRef>,
}

impl Placed {
    pub(super) fn new(due: Due, psn: Psn) -> Self {
        let version = due.unit.map_or(0, |unit| unit.version);
        Self { due, psn, slc: 0, version, lost: false, slot: None }
    }

    /// Sectors that the host or the SLC flash brings.
    pub(super) fn mask(&self) -> u64 {
        self.due.mask() | self.slc
    }
}

/// A valid page of the MLC flash that is copied to another block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageCopy {
    pub(super) lpn: u32,
    pub(super) from: Psn,
    /// None until a block for it has been found.
    pub(super) to: Option<Psn>,
    /// Sectors that come from the SLC flash, and whether one of them was lost.
    pub(super) slc: u64,
    pub(super) lost: bool,
    /// The slot of its program.
    pub(super) slot: Option<SlotRef>,
}

impl PageCopy {
    pub(super) const fn new(lpn: u32, from: Psn, to: Option<Psn>) -> Self {
        Self { lpn, from, to, slc: 0, lost: false, slot: None }
    }

    /// Where it goes.
    ///
    /// # Panics
    /// If no block has been found.
    pub(super) const fn target(&self) -> Psn {
        self.to.expect("a block for each copy")
    }
}

/// A sector that is to be written to the SLC flash, with the place of its unit in the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallSector {
    pub(super) sector: u32,
    pub(super) unit: u32,
}

/// The vectors of tasks that have ended, for those that begin: no request allocates. All are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Vectors {
    pub(super) reads: Vec<PendingRead>,
    pub(super) units: Vec<PageWrite>,
    pub(super) smalls: Vec<SmallSector>,
    pub(super) due: VecDeque<Due>,
    pub(super) batch: Vec<Placed>,
    pub(super) lpns: Vec<u32>,
    pub(super) copies: Vec<PageCopy>,
    pub(super) blocks: Vec<u32>,
    pub(super) tail: Vec<SectorAt>,
    pub(super) slots: Vec<SlotRef>,
}

/// Empties a vector and leaves it for the next task.
pub(super) fn put_back<T>(place: &mut Vec<T>, mut vector: Vec<T>) {
    vector.clear();
    *place = vector;
}
