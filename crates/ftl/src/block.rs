//! The block-mapped FTL with replacement blocks, the textbook FTL (Ban, US patent 5,937,425; Chung et al., "A Survey of
//! Flash Translation Layer", Journal of Systems Architecture 55, 2009; Sung, Sec. 2.3).
//!
//! The map has an entry for each logical block; a page always has its own offset in a block. An overwrite goes to the
//! same offset of a *replacement block*. A logical block is a [chain](chains): its data block and the replacement
//! blocks behind it. A [merge] makes one block of a chain when the chain has reached its limit, or when its die has no
//! free block for another replacement. Without replacement blocks each overwrite is a merge, which writes the new data
//! itself (Sung, Sec. 2.3).
//!
//! Logical block `l` lives on die `l` modulo the number of dies, so dies share neither free blocks nor merges. The
//! spare area of a page tells what it holds, so the FTL has no state for each page except for discarded ones.

mod chains;
mod check;
mod config;
mod dies;
mod family;
mod finish;
mod merge;
mod mount;
mod read;
mod spec;
#[cfg(test)]
mod tests;
mod write;

use base::engine::Handle;
use base::units::{Divisor, Lpn, SuperblockId, Time};
use flash::backend::{List, Slot};
use flash::nand::{Geometry, Media};

use crate::port::{Flash, Ftl, Owner, Owners, PageRead, PageWrite, PowerCycle};
use crate::sabotage::Planted;
use crate::toolkit::{DieLists, Gates, Holes, Versions};

use chains::{Block, Chain};
use dies::Die;

pub use config::BlockConfig;
pub(crate) use family::BlockFamily;
pub use spec::BlockSpec;

/// The number of a logical block.
type Lbn = u32;

/// Blocks of each die that never become replacement blocks: one is the target of merges, one may be held by a merge
/// that had taken writes along when the power failed, and two replace failing blocks.
///
/// Why a die with two failures and one such power cut refuses no write:
/// * While a chain has replacement blocks, no block is opened out of the reserve. So at least four are free when merges
///   begin. The three events take one free block each, and the fourth is the target of a merge, which frees a block or
///   more.
/// * If no chain has replacement blocks, the logical blocks use one block each, and `BlockFamily` leaves four more. A die
///   with fewer free blocks than a new data block needs above the reserve has lost some to failures. So the new data
///   block may take one of the two that replace those ([`FAILURES`]), and the target and the held block remain.
const RESERVE: u32 = 4;

/// Blocks of the reserve that replace failing blocks.
const FAILURES: u32 = 2;

/// The purpose of a command list: its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    Write,
    Merge,
    Erase,
}

impl Kind {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Merge, Self::Erase][list.tag() as usize]
    }
}

/// A block-mapped FTL.
#[derive(Clone, Debug)]
pub struct BlockFtl {
    geometry: Geometry,
    /// Pages of a block.
    pages: Divisor,
    units: u32,
    /// Replacement blocks behind a data block, at most.
    replacements: u32,
    blocks: Vec<Block>,
    /// The chain of each logical block.
    chains: Vec<Chain>,
    dies: Vec<Die>,
    holes: Holes,
    gates: Gates<Lbn>,
    /// Blocks that mount found without new pages; they are to be erased.
    useless: Vec<SuperblockId>,
    versions: Versions,
    found: u32,
    /// The open lists of the current request.
    writing: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// Dies at which mapping units of the current request wait.
    stalled: Vec<usize>,
    /// The writes that a merge takes along, by offset; empty between merges.
    along: Vec<Option<PageWrite>>,
    /// The writes that the ending merge has taken along; empty between merges.
    taken: Vec<Slot>,
    planted: Planted,
}

impl BlockFtl {
    /// The logical block of a page, and the page's offset there.
    #[inline]
    const fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        self.pages.split(lpn.get())
    }

    /// The die of a logical block.
    #[inline]
    fn home(&self, lbn: Lbn) -> usize {
        lbn as usize % self.dies.len()
    }

    fn block(&mut self, superblock: SuperblockId) -> &mut Block {
        &mut self.blocks[superblock.index()]
    }

    fn submit(&mut self, flash: &mut Flash<'_>, die: usize, list: Handle<List>) {
        self.dies[die].under_way += 1;
        flash.submit(list);
    }
}

impl Ftl for BlockFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn free_blocks(&self) -> u64 {
        self.dies.iter().map(|die| u64::from(die.free.len())).sum()
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.end_read(flash);
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.write(flash, owners, unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.end_write(flash, owners);
    }

    /// Sixteen programs for each die. The address decides the die, so with fewer a die would often be idle while others
    /// have several programs to do: of dies chosen by chance, sixteen in seventeen have one.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 16 * self.geometry.die_count() * self.geometry.row_slots()
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.discard(lpn);
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.finished(flash, owners, list);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        let (lbn, offset) = self.split(lpn);
        self.place_of(media, lbn, offset).is_some()
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl PowerCycle for BlockFtl {
    fn found(&self) -> u32 {
        self.found
    }
}
