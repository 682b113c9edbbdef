//! Log-block FTLs, BAST and FAST: data blocks with a map of blocks, and a few log blocks with a map of pages
//! ("hybrid-mapped", Sung, Sec. 2.3).
//!
//! A page goes to its own offset in the data block of its logical block, if nothing at or behind that offset has been
//! programmed yet. Any other write goes to a log block. The [`Policy`] chooses the log block, and the victim of a merge
//! when there is no room. A [`merge`] turns a log block into a data block, or copies the newest pages of a logical
//! block into a new one.
//!
//! The spare area of a page tells what it holds, so a data block needs no state for each page; discarded pages are
//! [kept apart](Holes). A superblock is one block, and a die is one chip.
//!
//! Rules that keep data and progress:
//!
//! * The log has precedence. A page written while its logical block is merged goes to a log block and stays there; a merge takes
//!   only the pages that it has copied out of the log.
//! * A merge is a job on one log block and makes one data block after another. It erases the old data block before it makes the next,
//!   and nothing is written to the new block in place until then, so a power cut never leaves more blocks in use than before.
//! * The host never gets one block for each job and two more, nor one for each logical block with pages in the log and no data block.
//! * A list that others wait for is submitted first, and a controller that may choose takes no list before the one it waits for.

mod address;
mod allocate;
mod awaited;
mod bast;
mod blocks;
mod check;
mod config;
mod counters;
mod family;
mod fast;
mod finish;
mod fold;
mod heap;
mod ideal;
mod logs;
mod merge;
mod mount;
mod order;
mod policy;
mod read;
mod spec;
mod waiting;
mod write;

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{DieId, Lpn, Psn, SuperblockId, Time};
use flash::backend::List;
use flash::nand::{Geometry, Media};

use crate::counters::Counters;
use crate::port::{Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle};
use crate::sabotage::Planted;
use crate::toolkit::{DieLists, Gates, Holes, Versions};

use address::{Address, Lbn};
use allocate::{Allocator, Use};
use blocks::Block;
use fold::Lists;
use ideal::Ideal;
use logs::{LogId, Logs};
use merge::Job;
use waiting::Waiting;

pub use config::LogBlockConfig;
pub use counters::LogMerges;
pub(crate) use family::LogBlockFamily;
pub(crate) use policy::Policy;
pub use spec::{Allocation, EraseWhen, LogSpec, Striping};

/// The purpose of a command list: the low bits of its tag. The bits above are the log block of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    /// Reads the old sectors for a partial write of a page.
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
    /// Queued merges, oldest first; the first `parallel` of them are under way.
    jobs: VecDeque<Job>,
    /// Ended jobs, kept to reuse their allocations.
    over: Vec<Job>,
    waiting: Waiting,
    held: Vec<Held>,
    /// Logical blocks with pages in the log and without a data block. Each will need a free block.
    orphans: u32,
    /// Blocks that recovery found without valid pages; they are to be erased.
    useless: Vec<SuperblockId>,
    versions: Versions,
    found: u32,
    /// A block or a log block has become free, or a merge has moved on: waiting writes may have a place now.
    changed_pools: bool,
    /// Submitted lists that have not finished.
    under_way: u32,
    /// The open lists of the current request.
    programming: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// The dies of the current request's data blocks.
    request_dies: Vec<DieId>,
    /// The sources of a merge's pages, by offset; empty between merges.
    sources: Vec<Option<Psn>>,
    /// The lists of the merge that is being built.
    lists: Lists,
    merges: LogMerges,
    ideal: Ideal,
    planted: Planted,
}

impl LogBlockFtl {
    /// Mounts the FTL: reads its state from the media.
    fn mount(config: &LogBlockConfig, from: &Mount<'_>) -> Self {
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
            jobs: VecDeque::new(),
            over: Vec::new(),
            waiting: Waiting::new(address.blocks()),
            held: Vec::new(),
            orphans: 0,
            useless: Vec::new(),
            versions: Versions::default(),
            found: 0,
            changed_pools: false,
            under_way: 0,
            programming: DieLists::new(geometry.die_count()),
            reading: DieLists::new(geometry.die_count()),
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
    fn place_of(&self, media: &Media, lpn: Lpn) -> Option<Psn> {
        let (lbn, offset) = self.address.split(lpn);
        if let Some(place) = self.logs.find_page(lbn, offset) {
            let (log, page) = self.logs.locate(place);
            return Some(self.geometry.slot(self.logs.log(log).superblock, page));
        }
        self.in_data_block(media, lbn, offset)
    }

    /// The page in the data block, if it holds data that has not been discarded.
    #[inline]
    fn in_data_block(&self, media: &Media, lbn: Lbn, offset: u32) -> Option<Psn> {
        let psn = self.geometry.slot(self.data[lbn as usize]?, offset);
        let holds = media.holds_data(psn) && !self.holes.contains(lbn, offset);
        holds.then_some(psn)
    }

    /// Discards a page at once.
    pub(crate) fn discard(&mut self, lpn: Lpn) {
        let (lbn, offset) = self.address.split(lpn);
        self.with_orphans(lbn, |ftl| ftl.logs.unlink(lbn, offset));
        let there = self.data[lbn as usize].is_some_and(|block| offset < self.blocks[block.index()].next);
        // A merge under way may have copied the page from any block.
        if there || self.is_folding(lbn) {
            self.holes.insert(lbn, offset);
        }
    }

    /// Applies a change to the log or the data block of a logical block, and keeps the count of orphans.
    #[inline]
    fn with_orphans<T>(&mut self, lbn: Lbn, change: impl FnOnce(&mut Self) -> T) -> T {
        let orphan = |ftl: &Self| u32::from(ftl.data[lbn as usize].is_none() && !ftl.logs.is_empty(lbn));
        let before = orphan(self);
        let result = change(self);
        self.orphans = self.orphans + orphan(self) - before;
        result
    }

    fn submit(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        self.under_way += 1;
        flash.submit(list);
    }

    /// Takes a free block, if possible on a die that the allocation method allows.
    fn take_block(&mut self, flash: &Flash<'_>, purpose: Use, beside: Option<DieId>) -> Option<SuperblockId> {
        let load = |die| flash.backend.load(die);
        let superblock = self.allocator.take(purpose, beside, load)?;
        self.blocks[superblock.index()].open();
        Some(superblock)
    }
}

impl Ftl for LogBlockFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn free_blocks(&self) -> u64 {
        u64::from(self.allocator.count())
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
    fn begin_write(&mut self, _: u32) {
        self.begin_write();
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
        self.may_hold(lpn, media)
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { log_merges: Some(self.merges), ..Counters::default() }
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl PowerCycle for LogBlockFtl {
    fn found(&self) -> u32 {
        self.found
    }

    fn power_fails(&mut self, flash: &mut Flash<'_>) {
        self.power_fails(flash);
    }
}
