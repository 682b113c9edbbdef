//! Log-block FTLs, BAST and FAST: data blocks with a map of blocks, and a few log blocks with a map of pages
//! ("hybrid-mapped", Sung, Sec. 2.3).
//!
//! A page goes to its own offset in the data block of its logical block, if nothing at or behind that offset has been
//! programmed yet. Any other write goes to a log block. The [`Policy`] chooses the log block, and the victim of a merge
//! when there is no room. A [`merge`] turns a log block into a data block, or copies the newest pages of a logical
//! block into a new one.
//!
//! The spare area of a page tells what it holds, so a data block needs no state for each page; discarded pages are
//! [kept apart](crate::toolkit::Holes). A superblock is one block, and a die is one chip.
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
mod block_manager;
mod check;
mod config;
mod counters;
mod family;
mod fast;
mod finish;
mod fold;
mod heap;
mod ideal;
mod lists;
mod logs;
mod mapping;
mod merge;
mod mount;
mod order;
mod policy;
mod reader;
mod spec;
mod waiting;
mod write;

use base::engine::Handle;
use base::units::{Lpn, Psn, Time};
use flash::backend::List;
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle};
use crate::toolkit::DieLists;

use awaited::AwaitedEvent;
use block_manager::BlockManager;
use logs::LogId;
use mapping::Mapping;
use merge::{Merger, Merges};
use reader::{DeferredRead, Reader};
use waiting::WaitingWrites;
use write::Writer;

pub use config::LogBlockConfig;
pub use counters::LogMerges;
pub(crate) use family::LogBlockFamily;
pub(crate) use policy::Policy;
pub use spec::{Allocation, EraseTiming, LogSpec, Striping};

/// The purpose of a command list: the low bits of its tag. The bits above are the log block of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum ListTag {
    Read,
    /// Reads the old sectors for a partial write of a page.
    OldPlace,
    Write,
    Merge,
    Erase,
}

impl ListTag {
    const BITS: u32 = 3;

    fn of(list: &List) -> (Self, LogId) {
        let kinds = [Self::Read, Self::OldPlace, Self::Write, Self::Merge, Self::Erase];
        (kinds[(list.tag() & ((1 << Self::BITS) - 1)) as usize], list.tag() >> Self::BITS)
    }

    const fn tag(self, log: LogId) -> u32 {
        log << Self::BITS | self as u32
    }
}

/// The FTL of BAST and FAST: a map of blocks, and log blocks with a map of pages.
#[derive(Clone, Debug)]
pub struct LogBlockFtl {
    blocks: BlockManager,
    mapping: Mapping,
    merges: Merges,
    writer: Writer,
    reader: Reader,
}

impl LogBlockFtl {
    /// Bytes of the simulator's memory that the FTL of a drive with this configuration takes.
    fn memory(config: &LogBlockConfig) -> u64 {
        let geometry = &config.geometry;
        BlockManager::memory(geometry)
            + Mapping::memory(config)
            + WaitingWrites::memory(config.address().blocks().into())
            + 2 * DieLists::<Handle<List>>::memory(geometry.die_count().into())
            + u64::from(geometry.superblock_slots()) * size_of::<Option<Psn>>() as u64
    }

    /// Mounts the FTL: reads its state from the media.
    fn mount(config: &LogBlockConfig, from: &Mount<'_>) -> Self {
        let mut blocks = BlockManager::new(config);
        Self {
            mapping: Mapping::recover(&mut blocks, config, from),
            blocks,
            merges: Merges::new(config),
            writer: Writer::new(config),
            reader: Reader::new(config.geometry.die_count()),
        }
    }

    /// Lends the parts of the FTL that merges work on.
    fn merger(&mut self) -> Merger<'_> {
        let Self { merges, blocks, mapping, writer, .. } = self;
        Merger { merges, blocks, mapping, waiting: &mut writer.waiting }
    }
}

impl Ftl for LogBlockFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.mapping.units
    }

    fn free_blocks(&self) -> u64 {
        u64::from(self.blocks.allocator.count())
    }

    fn latest_version(&self) -> u32 {
        self.mapping.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.mapping.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        if self.merges.is_in_buffer(self.mapping.address.split(lpn).0) {
            self.reader.held.push(DeferredRead { lpn, wanted });
            return true;
        }
        let Some(psn) = self.mapping.place_of(flash.backend.media(), lpn) else { return false };
        self.reader.read_at(&mut self.blocks, flash, owners, wanted, lpn, psn);
        true
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.reader.submit(&mut self.blocks, flash);
    }

    #[inline]
    fn begin_write(&mut self, _: u32) {
        self.writer.request_dies.clear();
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        // Pages of a logical block stay in order: a waiting first page must not break a sequence.
        let (lbn, _) = self.mapping.address.split(unit.lpn);
        let behind = self.writer.waiting.has(lbn);
        let placed = if behind { Err(AwaitedEvent::Nothing) } else { self.place(flash, owners, &unit) };
        if let Err(awaited) = placed {
            self.writer.waiting.push(lbn, unit, awaited);
        }
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.writer.send(&mut self.blocks, flash);
        self.advance_merges(flash, owners);
    }

    /// Sixteen programs for each die. The address decides the die, so with fewer a die would often be idle while others
    /// have several programs to do: of dies chosen by chance, sixteen in seventeen have one.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 16 * self.blocks.geometry.die_count() * self.blocks.geometry.row_slots()
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        let (lbn, offset) = self.mapping.address.split(lpn);
        self.mapping.with_orphans(lbn, |mapping| mapping.logs.unlink(lbn, offset));
        let there = self.mapping.data[lbn as usize].is_some_and(|block| offset < self.blocks[block].next);
        // A merge under way may have copied the page already.
        if there || self.merges.is_folding(lbn) {
            self.mapping.holes.insert(lbn, offset);
        }
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.blocks.under_way -= 1;
        let (kind, log) = ListTag::of(flash.backend.list(list));
        match kind {
            ListTag::Read | ListTag::OldPlace => self.read_finished(flash, owners, list, kind == ListTag::Read),
            ListTag::Write => self.write_finished(flash, owners, list),
            ListTag::Merge => self.merger().finished(flash, log, list),
            ListTag::Erase => self.erase_finished(flash, list),
        }
        self.advance_merges(flash, owners);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        self.merges.is_in_buffer(self.mapping.address.split(lpn).0) || self.mapping.place_of(media, lpn).is_some()
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { log_merges: Some(self.merges.counters), ..Counters::default() }
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl PowerCycle for LogBlockFtl {
    fn found(&self) -> u32 {
        self.mapping.found
    }

    fn power_fails(&mut self, flash: &mut Flash<'_>) {
        self.merger().power_fails(flash);
    }
}
