//! Log-block FTLs: data blocks with a block-level map, and a few log blocks with a page-level map (Sung, Sec. 2.3).
//!
//! The first write of a page goes to its own offset in the data block of its logical block, if no later page of that
//! block has been programmed. Any other write goes to a log block; the [`Policy`] chooses it, and the log block to
//! merge if none has space. A [`merge`] turns a log block into a data block, or copies the newest pages of a logical
//! block into a new block.
//!
//! Spare areas name the content of data blocks, so the FTL keeps no state for their pages except [discards](Holes). A
//! superblock is one block, and a die is one chip.

mod address;
mod allocate;
mod bast;
mod blocks;
mod check;
mod config;
mod counters;
mod family;
mod fast;
mod finish;
mod fold;
mod ideal;
mod logs;
mod merge;
mod mount;
mod policy;
mod port;
mod read;
mod spec;
mod write;

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{DieId, Lpn, Psn, SuperblockId};
use flash::backend::{List, Observer};
use flash::nand::{Geometry, Media, Sector};

use crate::port::{Flash, Mount, PageRead, PageWrite};
use crate::sabotage::Planted;
use crate::toolkit::{DieLists, Gates, Holes, Versions};

use address::{Address, Lbn};
use allocate::{Allocator, Use};
use blocks::Block;
use fold::Lists;
use ideal::Ideal;
use logs::{LogId, Logs};
use merge::Job;

pub use config::LogBlockConfig;
pub use counters::LogMerges;
pub(crate) use family::LogBlockFamily;
pub(crate) use policy::Policy;
pub use spec::{Allocation, EraseWhen, LogSpec, Striping};

/// The purpose of a list: the low bits of its tag. The bits above are the log block of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    /// Reads the other sectors of a partly written page.
    OldPlace,
    Write,
    Merge,
    Erase,
}

impl Kind {
    const BITS: u32 = 3;

    fn of(list: &List) -> (Self, LogId) {
        let kinds = [Self::Read, Self::OldPlace, Self::Write, Self::Merge, Self::Erase];
        (kinds[(list.tag() & ((1 << Self::BITS) - 1)) as usize], list.tag() >> Self::BITS)
    }

    const fn tag(self, log: LogId) -> u32 {
        log << Self::BITS | self as u32
    }
}

/// A read that waits for a merge which has already erased its sources.
#[derive(Clone, Copy, Debug)]
struct Held {
    lpn: Lpn,
    wanted: PageRead,
}

/// A log-block FTL.
#[derive(Clone, Debug)]
pub struct LogBlockFtl {
    geometry: Geometry,
    /// Pages of a block.
    pages: u32,
    address: Address,
    policy: Policy,
    spec: LogSpec,
    units: u32,
    blocks: Vec<Block>,
    /// The data block of each logical block.
    data: Vec<Option<SuperblockId>>,
    holes: Holes,
    logs: Logs,
    allocator: Allocator,
    gates: Gates<SuperblockId>,
    /// Wanted merges, oldest first; the first of them are in progress.
    jobs: Vec<Job>,
    /// Ended merges, kept for reuse.
    over: Vec<Job>,
    /// Pages that have no place at present.
    waiting: VecDeque<PageWrite>,
    held: Vec<Held>,
    /// Logical blocks that have pages in the log and no data block: each will need one.
    orphans: u32,
    /// Blocks that recovery found useless and that will be erased.
    useless: Vec<SuperblockId>,
    versions: Versions,
    found: u32,
    /// True if a change may let waiting pages continue.
    changed_pools: bool,
    /// Lists in progress.
    under_way: u32,
    /// The open lists of the present request.
    programming: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// Logical blocks whose pages found no place in the present pass.
    refused_blocks: Vec<Lbn>,
    /// The dies of the data blocks of the present request.
    request_dies: Vec<DieId>,
    /// The places of the pages of a merge, by offset; empty between merges.
    sources: Vec<Option<Psn>>,
    /// The lists of the merge under assembly.
    lists: Lists,
    merges: LogMerges,
    ideal: Ideal,
    planted: Planted,
}

impl LogBlockFtl {
    fn mount<S: Sector>(config: &LogBlockConfig, from: &Mount<'_, S>) -> Self {
        let geometry = config.geometry.clone();
        let spec = config.spec.clone();
        let pages = geometry.superblock_slots();
        let address = Address::new(config.units, pages, spec.width(&geometry));
        let mut ftl = Self {
            pages,
            address,
            policy: config.policy,
            units: config.units,
            blocks: vec![Block::default(); geometry.superblock_count() as usize],
            data: vec![None; address.blocks() as usize],
            holes: Holes::new(address.blocks(), pages),
            logs: Logs::new(address.blocks(), pages, spec.blocks, spec.parallel),
            allocator: Allocator::new(spec.allocation, config.wear.dynamic, config.controllers, &geometry),
            gates: Gates::default(),
            jobs: Vec::new(),
            over: Vec::new(),
            waiting: VecDeque::new(),
            held: Vec::new(),
            orphans: 0,
            useless: Vec::new(),
            versions: Versions::default(),
            found: 0,
            changed_pools: false,
            under_way: 0,
            programming: DieLists::new(geometry.die_count()),
            reading: DieLists::new(geometry.die_count()),
            refused_blocks: Vec::new(),
            request_dies: Vec::new(),
            sources: vec![None; pages as usize],
            lists: Lists::default(),
            merges: LogMerges::default(),
            ideal: Ideal::new(&config.timing),
            planted: from.planted,
            geometry,
            spec,
        };
        ftl.recover_state(from.media);
        ftl
    }

    /// The place of the newest copy of a page.
    #[inline]
    fn place_of<S: Sector>(&self, media: &Media<S>, lpn: Lpn) -> Option<Psn> {
        let (lbn, offset) = self.address.split(lpn);
        if let Some(place) = self.logs.find_page(lbn, offset) {
            let (log, page) = self.logs.locate(place);
            return Some(self.geometry.slot(self.logs.log(log).superblock, page));
        }
        self.in_data_block(media, lbn, offset)
    }

    /// The place of a page in the data block, if it holds data there and was not discarded.
    #[inline]
    fn in_data_block<S: Sector>(&self, media: &Media<S>, lbn: Lbn, offset: u32) -> Option<Psn> {
        let psn = self.geometry.slot(self.data[lbn as usize]?, offset);
        let holds = media.holds_data(psn) && !self.holes.contains(lbn, offset);
        holds.then_some(psn)
    }

    /// Discards a page, at once.
    pub(crate) fn discard(&mut self, lpn: Lpn) {
        let (lbn, offset) = self.address.split(lpn);
        self.with_orphans(lbn, |ftl| ftl.logs.unlink(lbn, offset));
        let there = self.data[lbn as usize].is_some_and(|block| offset < self.blocks[block.index()].next);
        // A merge in progress may have copied the page from any place.
        if there || self.is_folding(lbn) {
            self.holes.insert(lbn, offset);
        }
    }

    /// Applies a change that may add or remove the data block of a logical block or its only page in the log, and
    /// counts the orphans anew.
    #[inline]
    fn with_orphans<T>(&mut self, lbn: Lbn, change: impl FnOnce(&mut Self) -> T) -> T {
        let orphan = |ftl: &Self| u32::from(ftl.data[lbn as usize].is_none() && !ftl.logs.is_empty(lbn));
        let before = orphan(self);
        let result = change(self);
        self.orphans = self.orphans + orphan(self) - before;
        result
    }

    fn submit<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        self.under_way += 1;
        flash.submit(list);
    }

    /// Takes a free block; the allocation method chooses its die.
    fn take_block<S: Sector, O: Observer>(
        &mut self,
        flash: &Flash<'_, S, O>,
        purpose: Use,
        beside: Option<DieId>,
    ) -> Option<SuperblockId> {
        let load = |die| flash.backend.load(die);
        let superblock = self.allocator.take(purpose, beside, load)?;
        self.blocks[superblock.index()].open();
        Some(superblock)
    }
}
