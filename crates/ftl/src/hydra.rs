//! The block-mapped FTL of Hydra (Seong et al., IEEE Trans. Computers 59(7), 2010).
//!
//! The map gives each logical superblock a physical one of the same superchip; a sector has a fixed place in its
//! superblock ([`address`]). A [`merge`] copies the old superblock and the new sectors into another superblock. Reads
//! go to the old superblock until a log record on flash names the new one ([`journal`]). A merge leaves no garbage. The
//! write buffer decides how many rows one merge writes.
//!
//! A merge is an erase, the rows and a log record. Until the record is durable, reads go to the source, a second merge of the
//! superblock waits, and so does the acknowledgement; a source becomes free after its last reader. A read is one list that goes chip
//! by chip: the next page in the superchip waits for this page, because a controller works on one superchip at a time. The FTL takes
//! no more writes than controllers can begin. A mount reads the reserved areas and not the rows: a target without a record is free.

mod address;
mod area;
mod check;
mod config;
mod counters;
mod family;
mod flush_log;
mod free;
mod journal;
mod merge;
mod mount;
mod spec;
mod spread;
mod superblocks;
mod wear;

use std::collections::VecDeque;

use base::engine::Handle;
use base::nonmax::NonMaxU32;
use base::units::{Lpn, Psn, Span, Time};
use flash::backend::{Cause, Command, List};
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{self, Background, Flash, Ftl, Owner, Owners, PageRead, PageWrite, PowerCycle, Saved, Service};
use crate::toolkit::recovery::version_of;
use crate::toolkit::{Slots, Versions, WearSpec, add_read};

use flush_log::FlushLog;
use journal::{Journal, Record};
use merge::Merge;
use superblocks::Superblocks;
use wear::WearCheck;

pub(crate) use address::Layout;
pub use config::HydraConfig;
pub use counters::MergeCounters;
pub(crate) use family::HydraFamily;
pub(crate) use journal::Areas;
pub use spec::{HydraSpec, ProcessorSpec};

/// The purpose of a command list; with a number it makes the list's tag in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    /// The erases of a merge.
    Erase,
    /// The copies and programs of a merge.
    Copy,
    /// A list of a reserved area: the log and map areas come first, the strips of the flush log after them.
    Area,
}

impl Kind {
    const fn tag(self, number: u32) -> u32 {
        number << 2 | self as u32
    }

    const fn of(tag: u32) -> (Self, u32) {
        ([Self::Read, Self::Erase, Self::Copy, Self::Area][tag as usize & 3], tag >> 2)
    }
}

/// The place of a row.
#[derive(Clone, Copy, Debug)]
struct RowPlace {
    superblock: u32,
    chip: u32,
    psn: Psn,
}

/// Processor work: indices into `cpu_time`.
const READ: usize = 0;
const MERGE: usize = 1;

/// The block-mapped FTL of Hydra.
#[derive(Clone, Debug)]
pub struct HydraFtl {
    layout: Layout,
    /// Rows the host can address.
    units: u32,
    superblocks: Superblocks,
    /// The physical superblock of each logical one.
    map: Vec<Option<NonMaxU32>>,
    /// Discarded rows that the mapped superblock still holds: one bit a row, for superblocks that have any. Empty until
    /// the first discard.
    forgotten: Vec<Option<Box<[u64]>>>,
    journal: Journal,
    /// Present if flushes are logged instead of merged.
    flush_log: Option<FlushLog>,
    saved: Vec<Saved>,
    versions: Versions,
    merges: Vec<Merge>,
    /// Free places in `merges`.
    idle: Vec<u32>,
    waiting: VecDeque<u32>,
    /// Merges that controllers work on, and the limit: the number of controllers, or of superchips if it is not given.
    working: u32,
    at_once: u32,
    /// The mapping units of the host write that is being collected.
    gathering: Vec<PageWrite>,
    /// The list of the read request that is being collected.
    reading: Option<Handle<List>>,
    /// The latest command of that list, for each die of a superchip.
    read_chain: Vec<Option<Handle<Command>>>,
    /// The latest command of the list that is being built, for each die of the superchip.
    chain: Vec<Option<Handle<Command>>>,
    /// The blocks of the merge that is being built, by die of its superchip.
    blocks: Vec<merge::Blocks>,
    /// Records that have just become durable.
    logged: Vec<Record>,
    /// Processor time of a read request and of a merge (Sec. 4.2.3, Figs. 17 and 18).
    cpu_time: [Span; 2],
    wear: WearSpec,
    wear_checks: Vec<WearCheck>,
    /// The FTL refuses writes, because it cannot write its log.
    read_only: bool,
    found: u32,
    /// Counts since power-on.
    counts: MergeCounters,
}

impl HydraFtl {
    /// Counts since power-on.
    pub(crate) fn counters(&self) -> MergeCounters {
        let (log_pages, maps) = self.journal.written();
        let flush_pages = self.flush_log.as_ref().map_or(0, FlushLog::written);
        let erase_spread = self.superblocks.erase_spread();
        MergeCounters { log_pages, maps, flush_pages, erase_spread, ..self.counts }
    }

    /// Rows of a superblock: the most that one merge writes.
    pub(crate) const fn batch(&self) -> u32 {
        self.layout.rows()
    }

    /// True if a write handed over now would begin at once. Until then the buffer keeps it and absorbs newer writes.
    pub(crate) fn takes_writes(&self) -> bool {
        self.waiting.is_empty() && self.working < self.at_once
    }

    /// Reads sectors of a row for an owner. Returns false if the row holds no data.
    #[inline]
    pub(crate) fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let Some(RowPlace { superblock, chip, psn }) = self.place_of_row(lpn, flash.backend.media()) else {
            return false;
        };
        self.superblocks.pin(superblock);
        let class = owners.read_class(wanted.owner);
        let list = *self.reading.get_or_insert_with(|| flash.backend.open_list(class, Kind::Read.tag(0)));
        let (command, _) = add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        flash.backend.set_sectors(command, self.layout.bus_sectors(wanted.mask));
        // A controller works on one superchip at a time (Sec. 3.3). It reads a chip's next page after it has sent the
        // previous one.
        if let Some(before) = self.read_chain[chip as usize].replace(command) {
            flash.backend.depend(before, command);
        }
        owners.charge(wanted.owner);
        true
    }

    /// The place of a row; none if it holds no data.
    #[inline]
    fn place_of_row(&self, lpn: Lpn, media: &Media) -> Option<RowPlace> {
        let (logical, row) = self.layout.split(lpn);
        let superblock = self.place_of(logical)?;
        if self.is_forgotten(logical, row) {
            return None;
        }
        let (chip, page) = self.layout.chip_and_page(row);
        let block = self.superblocks.block(superblock, chip);
        let psn = media.geometry().slot(block, page);
        // A real drive would have to read an erased page to know that it is empty; here that takes no time.
        media.holds_data(psn).then_some(RowPlace { superblock, chip, psn })
    }

    /// Submits the list of a complete read request.
    #[inline]
    pub(crate) fn end_read(&mut self, flash: &mut Flash<'_>) {
        if let Some(list) = self.reading.take() {
            self.read_chain.fill(None);
            self.use_cpu(flash, list, READ);
        }
    }

    /// Submits a list after the processor time that its preparation takes.
    fn use_cpu(&self, flash: &mut Flash<'_>, list: Handle<List>, what: usize) {
        if self.cpu_time[what].is_zero() {
            return flash.submit(list);
        }
        flash.backend.use_cpu(flash.now, self.cpu_time[what], list.number().get(), flash.events);
    }

    /// The processor has prepared a list: submits it.
    pub(crate) fn on_cpu_done(flash: &mut Flash<'_>, token: u32) {
        let number = std::num::NonZeroU32::new(token).expect("the number of a list");
        flash.submit(Handle::from_number(number));
    }

    /// Adds a mapping unit to the host write that is being collected.
    pub(crate) fn write(&mut self, unit: PageWrite) {
        self.gathering.push(unit);
    }

    /// Ends a host write: queues a merge for each logical superblock in it.
    pub(crate) fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let mut units = std::mem::take(&mut self.gathering);
        units.sort_unstable_by_key(|unit| unit.lpn);
        let layout = self.layout;
        for same in units.chunk_by(|a, b| layout.split(a.lpn).0 == layout.split(b.lpn).0) {
            let logical = layout.split(same[0].lpn).0;
            self.queue(logical, Cause::Host, same.iter().copied());
        }
        units.clear();
        self.gathering = units;
        self.start(flash, owners);
    }

    /// Discards a row: it reads as zeros, and merges no longer copy it. After a power cut the row may be back.
    pub(crate) fn discard(&mut self, lpn: Lpn) {
        if let Some(log) = &mut self.flush_log {
            log.forget(lpn);
        }
        let (logical, row) = self.layout.split(lpn);
        let words = self.layout.rows().div_ceil(64) as usize;
        if self.map[logical as usize].is_some() {
            if self.forgotten.is_empty() {
                self.forgotten.resize(self.map.len(), None);
            }
            let rows = self.forgotten[logical as usize].get_or_insert_with(|| vec![0; words].into());
            rows[row as usize / 64] |= 1 << (row % 64);
        }
    }

    /// True if a row of a logical superblock may have been discarded.
    #[inline]
    fn forgets(&self, logical: u32) -> bool {
        self.forgotten.get(logical as usize).is_some_and(Option::is_some)
    }

    fn is_forgotten(&self, logical: u32, row: u32) -> bool {
        self.forgotten
            .get(logical as usize)
            .and_then(Option::as_ref)
            .is_some_and(|rows| rows[row as usize / 64] >> (row % 64) & 1 != 0)
    }

    /// Clears the discard of a row that has been written again.
    fn remember(&mut self, lpn: Lpn) {
        let (logical, row) = self.layout.split(lpn);
        if let Some(Some(rows)) = self.forgotten.get_mut(logical as usize) {
            rows[row as usize / 64] &= !(1 << (row % 64));
        }
    }

    /// Dispatches a finished list by its kind.
    pub(crate) fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        match Kind::of(flash.backend.list(list).tag()) {
            (Kind::Read, _) => self.read_finished(flash, owners, list),
            (Kind::Erase, number) => self.erase_finished(flash, owners, number, list),
            (Kind::Copy, number) => self.copy_finished(flash, owners, number, list),
            (Kind::Area, area) if !self.journal.has(area) => self.log_finished(flash, owners, area, list),
            (Kind::Area, area) => {
                let mut logged = std::mem::take(&mut self.logged);
                self.journal.finished(flash, area, list, &mut logged);
                for record in logged.drain(..) {
                    if let Record::Mapped { logical, .. } = record {
                        self.commit(owners, logical);
                    }
                }
                self.logged = logged;
                if let Some(log) = &mut self.flush_log {
                    log.release(flash.backend.media());
                }
                self.write_journal(flash);
                self.start(flash, owners);
            }
        }
    }

    fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        let mut freed = false;
        while let Some((place, slot)) = slots.next(flash.backend) {
            let (block, _) = flash.backend.geometry().locate(slot.psn);
            freed |= self.superblocks.unpin(self.superblocks.of_block(block));
            owners.read_done(&slot, flash.backend.content_of(place), service);
        }
        flash.backend.release(list);
        if freed {
            self.start(flash, owners);
        }
    }

    fn log_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, area: u32, list: Handle<List>) {
        let mut log = self.flush_log.take().expect("a list of the log");
        match log.finished(flash, area, list, |media, lpn| self.row_version(media, lpn)) {
            Some(well) => owners.logged(well),
            None => owners.room(),
        }
        self.flush_log = Some(log);
        self.start(flash, owners);
    }

    /// The version of a row in its mapped superblock.
    fn row_version(&self, media: &Media, lpn: Lpn) -> Option<u32> {
        let (logical, row) = self.layout.split(lpn);
        let superblock = self.place_of(logical)?;
        let (chip, page) = self.layout.chip_and_page(row);
        version_of(media, media.geometry().slot(self.superblocks.block(superblock, chip), page))
    }

    /// The physical superblock of a logical one.
    #[inline]
    fn place_of(&self, logical: u32) -> Option<u32> {
        self.map[logical as usize].map(NonMaxU32::get)
    }

    /// Writes the pending log records, and the map if it is due.
    fn write_journal(&mut self, flash: &mut Flash<'_>) {
        if self.journal.wants_map() {
            let version = self.versions.next();
            let (superblocks, map) = (&self.superblocks, &self.map);
            self.journal.store_map(flash, version, |words| {
                // A logical superblock stays in its superchip, so its position needs no division.
                let superchips = self.layout.superchips as usize;
                let before = words.len();
                words.resize(before + map.len(), u32::MAX);
                let rows = words[before..].chunks_mut(superchips).zip(map.chunks(superchips));
                for ((word, at), superchip) in rows.flat_map(|(words, row)| words.iter_mut().zip(row).zip(0..)) {
                    *word = at.map_or(u32::MAX, |at| at.get() - superblocks.join(superchip, 0));
                }
                words.extend(superblocks.all_erases());
                words.extend(superblocks.stand_ins().iter().copied().map(NonMaxU32::to_word));
            });
        }
        let versions = &mut self.versions;
        self.journal.advance(flash, || versions.next());
    }
}

impl Ftl for HydraFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn free_blocks(&self) -> u64 {
        self.superblocks.free_count()
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
    fn write(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, unit: PageWrite) {
        self.write(unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.end_write(flash, owners);
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
        self.place_of_row(lpn, media).is_some()
    }

    fn batch(&self, _: u32) -> u32 {
        self.batch()
    }

    /// A merge that waits may begin without a word to the buffer.
    fn announces_room(&self) -> bool {
        false
    }

    fn takes_writes(&self, _: u32, _: u32) -> bool {
        self.takes_writes()
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { merges: Some(self.counters()), ..Counters::default() }
    }

    fn background(&mut self) -> Option<&mut dyn Background> {
        Some(self)
    }

    fn flush_log(&mut self) -> Option<&mut dyn port::FlushLog> {
        if self.flush_log.is_some() { Some(self) } else { None }
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl port::FlushLog for HydraFtl {
    fn is_full(&self) -> bool {
        self.flush_log.as_ref().is_none_or(FlushLog::is_full)
    }

    fn is_ready(&mut self, flash: &mut Flash<'_>) -> bool {
        let Some(log) = self.flush_log.as_mut().filter(|log| !log.is_writing()) else { return false };
        log.prepare(flash);
        log.room() > 0
    }

    fn log(&mut self, unit: PageWrite) -> bool {
        self.flush_log.as_mut().is_some_and(|log| log.take(unit))
    }

    fn end_log(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, version: u32) {
        if let Some(log) = &mut self.flush_log {
            log.write(flash, owners, version);
        }
    }

    fn take_saved(&mut self) -> Vec<Saved> {
        std::mem::take(&mut self.saved)
    }
}

impl Background for HydraFtl {
    #[inline]
    fn on_idle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> bool {
        self.on_idle(flash, owners)
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        Self::on_cpu_done(flash, token);
    }
}

impl PowerCycle for HydraFtl {
    fn found(&self) -> u32 {
        self.found
    }
}
