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
mod mapping;
mod merge;
mod merges;
mod mount;
mod spec;
mod spread;
mod superblocks;
mod wear;

use base::engine::Handle;
use base::nonmax::NonMaxU32;
use base::units::{Lpn, Span, Time};
use flash::backend::{Cause, Command, List};
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{
    self, Background, Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, PowerCycle, SavedSectors, Service,
};
use crate::sabotage::Sabotage;
use crate::toolkit::{Slots, add_read};

use flush_log::FlushLog;
use journal::{Journal, JournalRecord};
use mapping::{Mapping, RowPlace};
use merges::Merges;
use superblocks::Superblocks;
use wear::WearLeveller;

pub(crate) use address::Layout;
pub use config::HydraConfig;
pub use counters::MergeCounters;
pub(crate) use family::HydraFamily;
pub(crate) use journal::Areas;
pub use spec::{HydraSpec, ProcessorSpec};

/// The purpose of a command list. Together with a number it makes the tag of the list in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPurpose {
    Read,
    /// The erases of a merge.
    Erase,
    /// The copies and programs of a merge.
    Copy,
    /// A list of a reserved area: the log and map areas come first, the strips of the flush log after them.
    Area,
}

impl ListPurpose {
    const fn tag(self, number: u32) -> u32 {
        number << 2 | self as u32
    }

    const fn of(tag: u32) -> (Self, u32) {
        ([Self::Read, Self::Erase, Self::Copy, Self::Area][tag as usize & 3], tag >> 2)
    }
}

/// Indices into `cpu_time`: the processor works for a read request or for a merge.
const READ: usize = 0;
const MERGE: usize = 1;

/// The read request that is being collected.
#[derive(Clone, Debug)]
struct CollectedRead {
    list: Option<Handle<List>>,
    /// The latest command of the list, for each die of a superchip.
    last: Vec<Option<Handle<Command>>>,
}

/// The block-mapped FTL of Hydra (Seong et al., 2010).
#[derive(Clone, Debug)]
pub struct HydraFtl {
    superblocks: Superblocks,
    mapping: Mapping,
    journal: Journal,
    /// Present if flushes are logged instead of merged.
    flush_log: Option<FlushLog>,
    merges: Merges,
    /// The mapping units of the host write that is being collected.
    gathering: Vec<PageWrite>,
    reader: CollectedRead,
    /// Log records that have become durable, before the FTL commits their merges.
    logged: Vec<JournalRecord>,
    /// Processor time of a read request and of a merge (Sec. 4.2.3, Figs. 17 and 18).
    cpu_time: [Span; 2],
    wear: WearLeveller,
    /// Counts since power-on.
    counters: MergeCounters,
}

impl HydraFtl {
    /// Recovers the FTL from the media. A new drive has empty media.
    fn mount(config: &HydraConfig, from: &Mount<'_>) -> Self {
        let (media, layout) = (from.media, config.layout);
        let (journal, mut found) = Journal::mount(&layout, &config.areas, media, |area| ListPurpose::Area.tag(area));
        if from.planted.is(Sabotage::LogUnread) {
            found.records.clear();
        }
        if from.planted.is(Sabotage::JournalShort) {
            found.records.pop();
        }
        if from.planted.is(Sabotage::ReplacementForgotten) {
            found.records.retain(|record| matches!(record, JournalRecord::Mapped { .. }));
        }
        let mut superblocks = Superblocks::new(layout, media.geometry(), config.wear.dynamic);
        let mut mapping = Mapping::new(config, found.version);
        mapping.replay(&mut superblocks, &found, from.planted);
        superblocks.take_stock(media, mapping.map.iter().flatten().map(|superblock| superblock.get()));
        mapping.found = mapping.count_rows(&superblocks, media);
        let merged = |lpn| mapping.row_version(&superblocks, media, lpn);
        let flush_log = FlushLog::mount(&layout, &config.areas, media, merged);
        if let Some((_, newest)) = flush_log
            && !from.planted.is(Sabotage::FlushesUnversioned)
        {
            mapping.versions.note(newest);
        }
        let mut ftl = Self {
            superblocks,
            mapping,
            journal,
            flush_log: flush_log.map(|(log, _)| log),
            merges: Merges::new(config.at_once),
            gathering: Vec::new(),
            reader: CollectedRead { list: None, last: vec![None; layout.chips as usize] },
            logged: Vec::new(),
            cpu_time: config.cpu_time,
            wear: WearLeveller::new(&config.wear, layout.superchips),
            counters: MergeCounters::default(),
        };
        ftl.log_replacements();
        ftl.counters = MergeCounters::default();
        ftl
    }

    /// Submits a list after the processor time that its preparation takes.
    fn use_cpu(&self, flash: &mut Flash<'_>, list: Handle<List>, what: usize) {
        if self.cpu_time[what].is_zero() {
            return flash.submit(list);
        }
        flash.backend.use_cpu(flash.now, self.cpu_time[what], list.number().get(), flash.events);
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
        match log.finished(flash, area, list, |media, lpn| self.mapping.row_version(&self.superblocks, media, lpn)) {
            Some(well) => owners.logged(well),
            None => owners.room(),
        }
        self.flush_log = Some(log);
        self.start(flash, owners);
    }

    /// Writes the pending log records, and the map if it is due.
    fn write_journal(&mut self, flash: &mut Flash<'_>) {
        if self.journal.wants_map() {
            let version = self.mapping.versions.next();
            let (superblocks, mapping) = (&self.superblocks, &self.mapping);
            self.journal.store_map(flash, version, |words| {
                mapping.store(superblocks, words);
                words.extend(superblocks.all_erases());
                words.extend(superblocks.stand_ins().iter().copied().map(NonMaxU32::to_word));
            });
        }
        let versions = &mut self.mapping.versions;
        self.journal.advance(flash, || versions.next());
    }
}

impl Ftl for HydraFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.mapping.units
    }

    fn free_blocks(&self) -> u64 {
        self.superblocks.free_count()
    }

    fn latest_version(&self) -> u32 {
        self.mapping.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.mapping.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let Some(RowPlace { superblock, chip, psn }) =
            self.mapping.place_of_row(&self.superblocks, lpn, flash.backend.media())
        else {
            return false;
        };
        self.superblocks.pin(superblock);
        let class = owners.read_class(wanted.owner);
        let list = *self.reader.list.get_or_insert_with(|| flash.backend.open_list(class, ListPurpose::Read.tag(0)));
        let (command, _) = add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        flash.backend.set_sectors(command, self.mapping.layout.bus_sectors(wanted.mask));
        // A controller works on one superchip at a time (Sec. 3.3). It reads a chip's next page after it has sent the
        // previous one.
        if let Some(before) = self.reader.last[chip as usize].replace(command) {
            flash.backend.depend(before, command);
        }
        owners.charge(wanted.owner);
        true
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        if let Some(list) = self.reader.list.take() {
            self.reader.last.fill(None);
            self.use_cpu(flash, list, READ);
        }
    }

    #[inline]
    fn write(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, unit: PageWrite) {
        self.gathering.push(unit);
    }

    /// Queues a merge for each logical superblock in the host write.
    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let mut units = std::mem::take(&mut self.gathering);
        units.sort_unstable_by_key(|unit| unit.lpn);
        let layout = self.mapping.layout;
        for same in units.chunk_by(|a, b| layout.split(a.lpn).0 == layout.split(b.lpn).0) {
            let logical = layout.split(same[0].lpn).0;
            self.merges.queue(logical, Cause::Host, same.iter().copied());
        }
        units.clear();
        self.gathering = units;
        self.start(flash, owners);
    }

    /// A discarded row reads as zeros, and merges no longer copy it. A power cut may undo the discard.
    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        if let Some(log) = &mut self.flush_log {
            log.forget(lpn);
        }
        self.mapping.forget(lpn);
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        match ListPurpose::of(flash.backend.list(list).tag()) {
            (ListPurpose::Read, _) => self.read_finished(flash, owners, list),
            (ListPurpose::Erase, number) => self.erase_finished(flash, owners, number, list),
            (ListPurpose::Copy, number) => self.copy_finished(flash, owners, number, list),
            (ListPurpose::Area, area) if !self.journal.has(area) => self.log_finished(flash, owners, area, list),
            (ListPurpose::Area, area) => {
                let mut logged = std::mem::take(&mut self.logged);
                self.journal.finished(flash, area, list, &mut logged);
                for record in logged.drain(..) {
                    if let JournalRecord::Mapped { logical, .. } = record {
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

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        self.mapping.place_of_row(&self.superblocks, lpn, media).is_some()
    }

    /// Rows of a superblock: the most rows that one merge writes.
    fn batch(&self, _: u32) -> u32 {
        self.mapping.layout.rows()
    }

    /// False: a merge that waits may begin without telling the buffer that there is room.
    fn announces_room(&self) -> bool {
        false
    }

    /// True if a write would begin at once. Until then the buffer keeps the data and absorbs newer writes.
    fn takes_writes(&self, _: u32, _: u32) -> bool {
        !self.merges.is_any_waiting() && self.merges.has_controller()
    }

    fn counters(&self, _: Time) -> Counters {
        let (log_pages, maps) = self.journal.written();
        let flush_pages = self.flush_log.as_ref().map_or(0, FlushLog::written);
        let erase_spread = self.superblocks.erase_spread();
        let merges = MergeCounters { log_pages, maps, flush_pages, erase_spread, ..self.counters };
        Counters { merges: Some(merges), ..Counters::default() }
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

    fn take_saved(&mut self) -> Vec<SavedSectors> {
        self.flush_log.as_mut().map_or_else(Vec::new, FlushLog::take_saved)
    }
}

impl Background for HydraFtl {
    #[inline]
    fn on_idle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> bool {
        if !self.wear.is_on() || self.merges.read_only || !self.merges.is_empty() {
            return false;
        }
        let mut begun = false;
        for superchip in 0..self.mapping.layout.superchips {
            if !self.merges.has_controller() {
                break;
            }
            if let Some((logical, target)) = self.wear.next_move(&self.superblocks, &self.mapping, superchip) {
                self.superblocks.take_this(target);
                let number = self.merges.add(logical, Cause::Wear);
                self.merges.working += 1;
                self.begin(flash, owners, number, target);
                begun = true;
            }
        }
        begun
    }

    /// The processor has prepared a list: submits that list.
    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        let number = std::num::NonZeroU32::new(token).expect("the number of a list");
        flash.submit(Handle::from_number(number));
    }
}

impl PowerCycle for HydraFtl {
    fn found(&self) -> u32 {
        self.mapping.found
    }
}
