//! The block-mapped FTL with replacement blocks, the textbook FTL (Ban, US patent 5,937,425; Chung et al., "A Survey of
//! Flash Translation Layer", Journal of Systems Architecture 55, 2009; Sung, Sec. 2.3).
//!
//! The map has an entry for each logical block; a page always has its own offset in a block. An overwrite goes to the
//! same offset of a *replacement block*. A logical block is a [chain](mapping): its data block and the replacement
//! blocks behind it. A [merge] makes one block of a chain when the chain has reached its limit, or when its die has no
//! free block for another replacement. Without replacement blocks each overwrite is a merge, which writes the new data
//! itself (Sung, Sec. 2.3).
//!
//! Logical block `l` lives on die `l` modulo the number of dies, so dies share neither free blocks nor merges. The
//! spare area of a page tells what it holds, so the FTL has no state for each page except for discarded ones.

mod block_manager;
mod check;
mod config;
mod family;
mod finish;
mod mapping;
mod merge;
mod mount;
mod spec;
#[cfg(test)]
mod tests;
mod write;

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::{Cause, List, Slot};
use flash::nand::Media;

use crate::port::{Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle};
use crate::toolkit::{DieLists, Gates, add_read};

use block_manager::BlockManager;
use mapping::Mapping;

pub use config::BlockConfig;
pub(crate) use family::BlockFamily;
pub use spec::BlockSpec;

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
enum ListTag {
    Read,
    Write,
    Merge,
    Erase,
}

impl ListTag {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Merge, Self::Erase][list.tag() as usize]
    }
}

/// A block-mapped FTL: the map has one entry for each logical block, and replacement blocks take the overwrites.
#[derive(Clone, Debug)]
pub struct BlockFtl {
    blocks: BlockManager,
    mapping: Mapping,
    gates: Gates<Lbn>,
    /// The open lists of the current request.
    writing: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// Dies at which mapping units of the current request wait.
    stalled: Vec<usize>,
    /// The writes that a merge takes along, by offset; empty between merges.
    along: Vec<Option<PageWrite>>,
    /// The writes that the ending merge has taken along; empty between merges.
    taken: Vec<Slot>,
}

impl BlockFtl {
    /// Bytes of the simulator's memory that the FTL of a drive with this configuration takes.
    fn memory(config: &BlockConfig) -> u64 {
        BlockManager::memory(&config.geometry)
            + Mapping::memory(config)
            + 2 * DieLists::<Handle<List>>::memory(config.geometry.die_count().into())
            + u64::from(config.geometry.superblock_slots()) * size_of::<Option<PageWrite>>() as u64
    }

    /// Recovers the FTL from the media.
    fn mount(config: &BlockConfig, from: &Mount<'_>) -> Self {
        let mut blocks = BlockManager::new(config);
        let dies = config.geometry.die_count();
        Self {
            mapping: Mapping::recover(&mut blocks, config, from),
            gates: Gates::default(),
            writing: DieLists::new(dies),
            reading: DieLists::new(dies),
            stalled: Vec::new(),
            along: vec![None; blocks.pages as usize],
            taken: Vec::new(),
            blocks,
        }
    }
}

impl Ftl for BlockFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.mapping.units
    }

    fn free_blocks(&self) -> u64 {
        self.blocks.dies.iter().map(|die| u64::from(die.free.len())).sum()
    }

    fn latest_version(&self) -> u32 {
        self.mapping.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.mapping.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let (lbn, offset) = self.mapping.split(lpn);
        let Some(psn) = self.mapping.place_of(&self.blocks, flash.backend.media(), lbn, offset) else { return false };
        let (superblock, _) = self.blocks.geometry.locate(psn);
        let die = self.blocks.geometry.die_of(superblock);
        self.blocks[superblock].pins += 1;
        let list = self.reading.list(flash.backend, die, (owners.read_class(wanted.owner), ListTag::Read as u32));
        add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        owners.charge(wanted.owner);
        true
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.reading.pop_first() {
            let die = self.blocks.die_of(flash, list);
            self.blocks.submit(flash, die, list);
        }
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        let (lbn, _) = self.mapping.split(unit.lpn);
        let die = self.blocks.home(lbn);
        // Pages of a logical block stay in order: a waiting first page must not break a sequence.
        let behind = self.blocks.dies[die].waiting_for(lbn).is_some();
        if behind || !self.place(flash, owners, &unit) {
            self.blocks.dies[die].wait(lbn, unit, false);
            if !self.stalled.contains(&die) {
                self.stalled.push(die);
            }
        }
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.send(flash);
        while let Some(die) = self.stalled.pop() {
            self.start_next(flash, owners, die);
        }
    }

    /// Sixteen programs for each die. The address decides the die, so with fewer a die would often be idle while others
    /// have several programs to do: of dies chosen by chance, sixteen in seventeen have one.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 16 * self.blocks.geometry.die_count() * self.blocks.geometry.row_slots()
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.mapping.discard(&self.blocks, lpn);
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let die = self.blocks.die_of(flash, list);
        self.blocks.dies[die].under_way -= 1;
        match ListTag::of(flash.backend.list(list)) {
            ListTag::Read => self.read_finished(flash, owners, list),
            ListTag::Write => self.write_finished(flash, owners, die, list),
            ListTag::Merge => self.merge_finished(flash, owners, die, list),
            ListTag::Erase => self.erase_finished(flash, list),
        }
        self.start_next(flash, owners, die);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        let (lbn, offset) = self.mapping.split(lpn);
        self.mapping.place_of(&self.blocks, media, lbn, offset).is_some()
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl PowerCycle for BlockFtl {
    fn found(&self) -> u32 {
        self.mapping.found
    }
}
