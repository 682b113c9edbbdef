//! The FTL of a hybrid disk: a small SLC flash in front of a large MLC flash (Chang, "A Hybrid Approach to
//! NAND-Flash-Based Solid-State Disks", IEEE Trans. Computers 59(10), 2010).
//!
//! Small writes go to the SLC flash as long as they are updated often enough, all others to the [chains] of the MLC
//! flash. Without SLC flash it is the paper's conventional SSD.
//!
//! In front of a [map of pages](page_map) instead it is a mixture, which the paper does not have.
//!
//! Nothing works beside anything else (Sec. 5.1; but see [`MappingSpec::Pages`]), and nothing is kept in volatile memory
//! but tables that the spare areas tell (Sec. 3.1). So requests are worked on one after another, each with whatever
//! cleaning, folding and looking it causes before it, and a step is one command list on one of the two arrays. [`ChangFtl::next`] says what the next step
//! is, from the innermost thing that has been begun to the outermost.

mod blocks;
mod cache;
mod chains;
mod check;
mod clean;
mod collect;
mod config;
mod counters;
mod density;
mod family;
mod filter;
mod fold;
mod gather;
mod log;
mod mapping;
mod model;
mod mount;
mod page_map;
mod pages;
mod port;
mod read;
mod slc;
mod small;
mod spec;
mod table;
mod throttle;
mod valve;
mod wear;

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{Lpn, Psn, Span, SuperblockId, Time};
use flash::backend::{Cause, CauseSet, List, Observer};
use flash::nand::{Geometry, Sector};

use crate::port::{Flash, Owner, Owners, Service, Unit, Wanted as Asked};
use crate::sabotage::Planted;

use blocks::NONE;
use cache::MapCache;
use clean::Clean;
use collect::{Collection, Spares};
use density::Density;
use fold::Fold;
use mapping::Mapping;
use pages::{Due, Placed};
use read::Wanted;
use slc::{Slc, Verdict};
use wear::DualPool;

pub use config::ChangConfig;
pub use counters::{ArrayShape, HybridCounters};
pub use density::DensitySpec;
pub(crate) use family::ChangFamily;
pub use filter::ThresholdBy;
pub use mapping::MappingSpec;
pub use model::{PageTimes, WriteCost};
pub use spec::ChangSpec;
pub use table::Probing;

/// The list that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    None,
    /// Erases of what recovery found useless.
    Scrub,
    /// Sectors are read from the SLC flash.
    Gather,
    /// Pages are written to the MLC flash.
    Pages,
    /// Pages that others are made of are read from the MLC flash.
    Fetch,
    /// A fold or a collection copies, or erases what it has copied.
    Copy,
    Erase,
    /// A write to the SLC flash.
    Small,
    /// The tail of the SLC log is copied to its head, or erased.
    Tail,
    TailErase,
    /// A read of the MLC flash.
    Read,
}

/// A request that waits for its turn. The units of reads and writes are in queues of their own.
#[derive(Clone, Copy, Debug)]
enum Item {
    Read { units: u32, since: Time },
    Write { units: u32, since: Time },
    Discard { owner: Owner, lpn: Lpn },
}

/// The request whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    None,
    Read,
    /// Its units go to the MLC flash.
    Large,
    /// Its sectors go to the SLC flash.
    Small,
}

/// The FTL of a disk with MLC flash, and SLC flash before it if there is any.
#[derive(Clone, Debug)]
pub struct ChangFtl {
    geometry: Geometry,
    spec: ChangSpec,
    /// Pages of an MLC block.
    pages: u32,
    units: u32,
    endurance: u32,
    /// Where each page is in the MLC flash: what the second-level mapping leads to.
    map: Vec<u32>,
    mapping: Mapping,
    cache: MapCache,
    wear: Option<DualPool>,
    /// Dynamic density control, if there is any.
    density: Option<Density>,
    /// Sum of all erases of the MLC flash.
    erases: u64,
    slc: Option<Box<Slc>>,

    queue: VecDeque<Item>,
    wanted: VecDeque<Wanted>,
    incoming: VecDeque<Unit>,
    /// Units at the end of these queues whose request is not complete.
    open_reads: u32,
    open_writes: u32,

    step: Step,
    work: Work,
    /// How long the request whose turn it is has waited for it.
    waited: Span,
    reads_now: Vec<Wanted>,
    units_now: Vec<Unit>,
    /// The sectors of a small write, each with the place of its unit in `units_now`; those before `small_done` are written.
    smalls: Vec<(u32, u32)>,
    small_done: usize,
    /// Pages to be written to the MLC flash, and those that have a place there.
    due: VecDeque<Due>,
    batch: Vec<Placed>,
    /// Blocks whose spare areas are looked at before the batch is written, and how many pages of each.
    looks: Vec<(u32, u32)>,
    /// Sectors read from the SLC flash, whose list is kept until they have been used.
    gathered: Option<Handle<List>>,
    /// Nothing is to be gathered, or has been.
    is_gathered: bool,
    /// The same of pages read from the MLC flash, where those that are written need a list before theirs.
    fetched: Option<Handle<List>>,
    is_fetched: bool,
    fold: Option<Fold>,
    collection: Option<Collection>,
    clean: Option<Clean>,
    /// Those of the last fold, to be used again.
    spare_vectors: (Vec<fold::Copy>, Vec<u32>),
    spare_moves: Spares,
    /// Blocks that recovery found useless, to be erased.
    useless: Vec<u32>,
    /// No spare block is left for a fold: what needs one is refused.
    worn_out: bool,
    /// The tail of the SLC log cannot be cleaned any more.
    stuck: bool,
    counts: HybridCounters,
    version: u32,
    found: u32,
    planted: Planted,
}

/// Pages that one list programs at most.
const BATCH: usize = 256;

impl ChangFtl {
    pub(crate) fn free_blocks(&self) -> u64 {
        u64::from(self.mapping.blocks().spare())
    }

    /// Units that a request had best have: those of a block.
    pub(crate) const fn batch(&self) -> u32 {
        self.pages
    }

    /// The version for the next request: all its units share it.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub(crate) fn next_version(&mut self) -> u32 {
        self.version = self.version.checked_add(1).expect("2^32 writes: versions in the spare areas are used up");
        self.version
    }

    pub(crate) fn counters(&self) -> HybridCounters {
        let (threshold, k) = self.slc.as_ref().map_or((0, 0), |slc| (slc.filter.threshold(), slc.throttle.k()));
        let slc_mode = self.density.as_ref().map_or(0, |density| density.count);
        HybridCounters { threshold, k, slc_mode, ..self.counts }
    }

    pub(crate) fn reset_counters(&mut self) {
        let HybridCounters { mlc, slc, table_bytes, .. } = self.counts;
        self.counts = HybridCounters { mlc, slc, table_bytes, ..HybridCounters::default() };
    }

    /// The logical block of a page, and its offset there.
    #[inline]
    const fn split(&self, lpn: u32) -> (u32, u32) {
        (lpn / self.pages, lpn % self.pages)
    }

    /// The sectors of a mapping unit.
    fn sectors_of(&self, lpn: u32) -> std::ops::Range<u32> {
        let sectors = self.geometry.sectors;
        lpn * sectors..(lpn + 1) * sectors
    }

    fn holds_sectors(&self, lpn: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.held[lpn as usize] > 0)
    }

    /// The map leads to this place from now on, or to none.
    fn set_map(&mut self, lpn: u32, psn: u32) {
        let old = std::mem::replace(&mut self.map[lpn as usize], psn);
        for (place, valid) in [(old, false), (psn, true)] {
            if place != NONE {
                self.mapping.count(place / self.pages, valid);
            }
        }
    }

    /// Takes a unit of the write that is being handed over.
    pub(crate) fn write(&mut self, unit: Unit) {
        self.incoming.push_back(unit);
        self.open_writes += 1;
    }

    /// All units of the write have been handed over.
    pub(crate) fn end_write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        let units = std::mem::take(&mut self.open_writes);
        if units > 0 {
            self.queue.push_back(Item::Write { units, since: flash.now });
        }
        self.go(flash, owners);
    }

    /// Takes a unit of a read. False if it is nowhere.
    pub(crate) fn read<S: Sector, O: Observer>(
        &mut self,
        _: &mut Flash<'_, S, O>,
        _: &mut impl Owners<S>,
        Asked { owner, at, mask }: Asked,
        lpn: Lpn,
    ) -> bool {
        if self.map[lpn.index()] == NONE && !self.holds_sectors(lpn.get()) {
            return false;
        }
        self.wanted.push_back(Wanted { owner, at, mask, lpn: lpn.get(), slc: 0, from_mlc: false });
        self.open_reads += 1;
        true
    }

    /// All units of the read have been asked for; it begins in [`ChangFtl::begin_due`].
    pub(crate) fn end_read<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let units = std::mem::take(&mut self.open_reads);
        if units > 0 {
            self.queue.push_back(Item::Read { units, since: flash.now });
        }
    }

    /// Forgets a unit when its turn has come; true if that is not now.
    pub(crate) fn discard(&mut self, owner: Owner, lpn: Lpn) -> bool {
        if self.is_at_rest() {
            self.forget(lpn);
            return false;
        }
        self.queue.push_back(Item::Discard { owner, lpn });
        true
    }

    fn is_at_rest(&self) -> bool {
        self.step == Step::None && self.work == Work::None && self.queue.is_empty()
    }

    fn forget(&mut self, lpn: Lpn) {
        self.set_map(lpn.get(), NONE);
        self.drop_sectors(lpn.get(), 0);
    }

    /// The SLC flash does not have the sectors of a unit any more; those in `forced` leave a virtual entry.
    fn drop_sectors(&mut self, lpn: u32, forced: u64) {
        if !self.holds_sectors(lpn) {
            return;
        }
        let sectors = self.sectors_of(lpn);
        let slc = self.slc.as_mut().expect("it holds some");
        for (i, sector) in sectors.enumerate() {
            slc.drop_sector(sector, lpn, forced >> i & 1 != 0);
        }
    }

    /// True if there is something to begin that nobody has begun.
    pub(crate) fn is_due(&self) -> bool {
        self.step == Step::None && !self.queue.is_empty()
    }

    /// Begins it.
    pub(crate) fn begin_due<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        self.go(flash, owners);
    }

    /// A list of the MLC flash is done.
    pub(crate) fn finished<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        match std::mem::replace(&mut self.step, Step::None) {
            Step::Scrub => self.scrubbed(flash, list),
            Step::Pages => self.pages_written(flash, owners, list),
            Step::Fetch => (self.fetched, self.is_fetched) = (Some(list), true),
            Step::Copy if self.collection.is_some() => self.moved(flash, list),
            Step::Copy => self.copied(flash, list),
            Step::Erase => self.fold_erased(flash, list),
            Step::Read => self.read_from_mlc(flash, owners, list),
            step => unreachable!("{step:?} is no list of the MLC flash"),
        }
        self.go(flash, owners);
    }

    /// A list of the SLC flash is done.
    pub(crate) fn finished_second<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        match std::mem::replace(&mut self.step, Step::None) {
            Step::Gather => (self.gathered, self.is_gathered) = (Some(list), true),
            Step::Small => self.small_written(flash, list),
            Step::Tail => self.tail_copied(flash, list),
            Step::TailErase => self.tail_erased(flash, list),
            step => unreachable!("{step:?} is no list of the SLC flash"),
        }
        self.go(flash, owners);
    }

    fn submit<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, step: Step, list: Handle<List>) {
        self.step = step;
        if self.mapping.is_parallel() {
            flash.submit(list);
        } else {
            flash.submit_in_turn(list);
        }
    }

    fn submit_second<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, step: Step, list: Handle<List>) {
        self.step = step;
        flash.submit_second(list);
    }

    /// Goes on until a list is under way, or there is nothing to do.
    fn go<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        while self.step == Step::None && self.next(flash, owners) {}
    }

    /// Takes one step of the innermost thing that has been begun. False if there is none, and no request either.
    fn next<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) -> bool {
        if self.fold.is_some() {
            self.fold_on(flash);
        } else if self.collection.is_some() {
            self.collect_on(flash);
        } else if !self.batch.is_empty() {
            self.write_batch(flash, owners);
        } else if !self.due.is_empty() {
            self.place_batch(owners);
        } else if self.clean.is_some() {
            self.clean_on(flash);
        } else {
            match self.work {
                Work::Small => self.small_on(flash, owners),
                Work::Large => self.work = Work::None,
                Work::Read => self.read_on(flash, owners),
                Work::None => return self.begin(flash, owners),
            }
        }
        true
    }

    /// Begins what is next in the queue, after what recovery has left to be done.
    fn begin<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        if !self.useless.is_empty() {
            self.scrub(flash);
            return true;
        }
        if !self.stuck && self.take_in_homeless() {
            return true;
        }
        match self.queue.pop_front() {
            Some(Item::Read { units, since }) => {
                self.waited = flash.now.saturating_since(since);
                self.reads_now.clear();
                self.reads_now.extend(self.wanted.drain(..units as usize));
                self.accessed(true);
                self.is_gathered = false;
                self.work = Work::Read;
            }
            Some(Item::Write { units, since }) => {
                self.waited = flash.now.saturating_since(since);
                self.units_now.clear();
                self.units_now.extend(self.incoming.drain(..units as usize));
                self.accessed(false);
                self.begin_write();
            }
            Some(Item::Discard { owner, lpn }) => {
                self.forget(lpn);
                owners.discard_done(owner);
            }
            None => {}
        }
        true
    }

    /// Counts which logical blocks the request accesses whose turn it is, if somebody wants to know.
    fn accessed(&mut self, is_read: bool) {
        let Some(density) = &mut self.density else { return };
        let mut last = NONE;
        let mut access = |lpn: u32| {
            let lba = lpn / self.pages;
            if std::mem::replace(&mut last, lba) != lba {
                density.access(lba, |lba| self.mapping.chains().is_slc(lba));
            }
        };
        if is_read {
            self.reads_now.iter().for_each(|read| access(read.lpn));
        } else {
            self.units_now.iter().for_each(|unit| access(unit.lpn.get()));
        }
    }

    /// Says where a write goes (Sec. 3.1).
    fn begin_write(&mut self) {
        let count: u32 = self.units_now.iter().map(|unit| unit.mask.count_ones()).sum();
        self.counts.writes += 1;
        self.counts.sectors += u64::from(count);
        let verdict = self.judge(count);
        self.counts.small += u64::from(self.slc.is_some() && verdict != Verdict::Large);
        match verdict {
            Verdict::Accepted => {
                let update = self
                    .smalls
                    .iter()
                    .all(|(sector, _)| self.slc.as_ref().is_some_and(|slc| slc.place_of(*sector).is_some()));
                self.counts.accepted += 1;
                self.counts.updates += u64::from(update);
                self.slc.as_mut().expect("it accepts").valve.taken(update);
                self.small_done = 0;
                self.work = Work::Small;
                return;
            }
            Verdict::Throttled => self.counts.throttled += 1,
            Verdict::Unplaced => self.counts.unplaced += 1,
            Verdict::Large => {}
        }
        self.write_large();
    }

    /// The units of the write go to the MLC flash.
    fn write_large(&mut self) {
        let units = self.units_now.iter().enumerate();
        self.due.extend(units.map(|(i, unit)| Due { lpn: unit.lpn.get(), unit: i as u32, cause: Cause::Host }));
        self.work = Work::Large;
    }

    /// Asks the SLC side about a write; its sectors are in `smalls` then.
    fn judge(&mut self, count: u32) -> Verdict {
        let Some(slc) = &mut self.slc else { return Verdict::Large };
        let sectors = self.geometry.sectors;
        self.smalls.clear();
        slc.filter.record(count);
        if count <= slc.filter.threshold() {
            for (i, unit) in self.units_now.iter().enumerate() {
                let covered = (0..sectors).filter(|sector| unit.mask >> sector & 1 != 0);
                self.smalls.extend(covered.map(|sector| (unit.lpn.get() * sectors + sector, i as u32)));
            }
        }
        let blocks = self.geometry.superblock_count();
        let mlc = throttle::Wear { erases: self.erases, blocks, endurance: self.endurance };
        slc.judge(count, mlc, self.smalls.iter().map(|(sector, _)| *sector))
    }

    /// What the units of the request whose turn it is are told.
    const fn service(&self) -> Service {
        Service { wait: self.waited, waited_for: CauseSet::EMPTY }
    }

    /// A block of the MLC flash has been erased, or could not be.
    fn erased<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, block: u32, failed: bool) {
        self.erases += 1;
        if let Some(wear) = &mut self.wear {
            wear.erased(block);
        }
        if failed {
            self.retire(flash, block);
        } else {
            self.worn_out = false;
            self.mapping.put(block, flash.backend.media().erases(SuperblockId::new(block)));
        }
    }

    /// A block is bad.
    fn lost(&mut self, block: u32) {
        self.mapping.blocks_mut()[block].lba = NONE;
        if let Some(wear) = &mut self.wear {
            wear.lost(block);
        }
    }

    /// A block is given up, because a program or an erase failed and nothing is left there.
    fn retire<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, block: u32) {
        flash.backend.media_mut().retire(SuperblockId::new(block));
        self.lost(block);
    }

    /// The MLC slot of a page of a block.
    fn slot(&self, block: u32, page: u32) -> Psn {
        self.geometry.slot(SuperblockId::new(block), page)
    }
}
