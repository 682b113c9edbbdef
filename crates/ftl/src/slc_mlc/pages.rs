//! Stores, which write pages to the MLC flash: pages of the host, and pages whose sectors leave the SLC flash.
//!
//! A page takes along all its sectors in the SLC flash, so no sector there is older than the page. Sectors that come
//! neither from the host nor from the SLC flash are read from the old page first. Before the write the controller must
//! know the chain of the logical block: on a miss of the mapping cache it scans the pages of the chain (Chang, Sec. 3.5
//! and 4.1).

use std::collections::VecDeque;

use base::engine::Handle;
use base::nonmax::NonMaxU32;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Mode, Stream};

use super::disk::Disk;
use super::due::{DuePage, PlacedPage, put_back};
use super::gather::{Gatherer, Program, add_program, each_gathered, hand_over, hand_rest_over};
use super::mlc::Mlc;
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use super::place::PagePlace;
use super::reclaim::{Reclaim, Space, level, make_room};
use crate::port::{Flash, Owners, PageWrite, Service, full_mask};
use crate::sabotage::Sabotage;
use crate::toolkit::{Slots, add_read, give_unit};

/// The most pages that one list programs.
const BATCH: usize = 256;

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The host, with the waiting times that its owners are told.
    Host(Service),
    /// The SLC flash, and the reason why the pages leave it.
    Slc(Cause),
}

impl Source {
    const fn cause(self) -> Cause {
        match self {
            Self::Host(_) => Cause::Host,
            Self::Slc(cause) => cause,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StorePhase {
    /// The pages have no places yet; a task may be making room.
    Placing,
    /// The pages' sectors in the SLC flash are being read.
    Gathering,
    /// The missing sectors are being read from the old pages.
    Fetching { gathered: Option<Handle<List>> },
    /// The pages are being written.
    Writing,
}

/// A store: the task that writes pages, batch by batch.
#[derive(Clone, Debug)]
pub(super) struct Store {
    source: Source,
    phase: StorePhase,
    /// The mapping units of the host's request.
    units: Vec<PageWrite>,
    /// Pages without a place.
    due: VecDeque<DuePage>,
    batch: Vec<PlacedPage>,
}

impl Store {
    fn new(disk: &mut Disk, source: Source) -> Self {
        let (due, batch) = (std::mem::take(&mut disk.vectors.due), std::mem::take(&mut disk.vectors.batch));
        Self { source, phase: StorePhase::Placing, units: Vec::new(), due, batch }
    }

    /// Begins the store of a request's mapping units. At its end their vector goes back to the disk's vectors.
    pub(super) fn of_units(disk: &mut Disk, units: Vec<PageWrite>, service: Service) -> Self {
        let mut store = Self::new(disk, Source::Host(service));
        let numbers = (0..).map(|number| Some(NonMaxU32::new(number)));
        store.due.extend(units.iter().zip(numbers).map(|(unit, number)| DuePage { lpn: unit.lpn.get(), unit: number }));
        store.units = units;
        store
    }

    /// Begins the store of the pages of sectors that leave the SLC flash, each page once.
    pub(super) fn of_sectors(disk: &mut Disk, sectors: impl Iterator<Item = u32>, cause: Cause) -> Self {
        let mut store = Self::new(disk, Source::Slc(cause));
        let lpns = &mut disk.vectors.lpns;
        lpns.extend(sectors.map(|sector| sector / disk.mlc.geometry.sectors));
        lpns.sort_unstable();
        lpns.dedup();
        store.due.extend(lpns.drain(..).map(|lpn| DuePage { lpn, unit: None }));
        store
    }

    /// Runs the next step of the store.
    pub(super) fn step(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wakeup: Wakeup,
    ) -> Next<Reclaim> {
        match (self.phase, wakeup) {
            (StorePhase::Placing, Wakeup::Ended(TaskOutcome::Reclaimed)) => match level(disk) {
                Some(above) => Next::First(above),
                None => self.place(disk, flash, owners),
            },
            (StorePhase::Placing, _) => self.place(disk, flash, owners),
            (StorePhase::Gathering, _) => self.read_missing(disk, flash, owners, Some(wakeup.list())),
            (StorePhase::Fetching { gathered }, _) => self.write(disk, flash, owners, gathered, Some(wakeup.list())),
            (StorePhase::Writing, _) => self.written(disk, flash, owners, wakeup.list()),
        }
    }

    /// Finds places for as many pages as possible. If no page has a place, makes room; if that is impossible, refuses
    /// the page.
    fn place(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> Next<Reclaim> {
        while self.batch.len() < BATCH
            && let Some(due) = self.due.front().copied()
        {
            if due.unit.is_none() && !disk.holds_sectors(due.lpn) {
                // The fold that made room has taken this page along.
                self.due.pop_front();
                continue;
            }
            let (lba, offset) = disk.mlc.split(due.lpn);
            disk.counts.misses += u64::from(!disk.look_up(lba));
            let PagePlace::At(block, page) = disk.mlc.mapping.place(lba, offset) else { break };
            self.due.pop_front();
            self.batch.push(PlacedPage::new(due, due.unit(&self.units), disk.mlc.slot(block, page)));
        }
        if !self.batch.is_empty() {
            if let Some(list) = self.gather(disk, flash) {
                self.phase = StorePhase::Gathering;
                return Next::List(ArrayKind::Slc, list);
            }
            return self.read_missing(disk, flash, owners, None);
        }
        if self.due.is_empty() {
            disk.vectors.due = std::mem::take(&mut self.due);
            put_back(&mut disk.vectors.batch, &mut self.batch);
            if matches!(self.source, Source::Host(_)) {
                put_back(&mut disk.vectors.units, &mut self.units);
            }
            return Next::Ended(TaskOutcome::Done);
        }
        match make_room(disk) {
            Space::After(above) => return Next::First(above),
            Space::MakeDo => {}
            Space::None => match self.due.pop_front().and_then(|due| due.unit(&self.units)) {
                Some(unit) => owners.write_refused(unit.owner),
                // The sectors of the page stay in the SLC flash.
                None => disk.slc_mut().is_stuck = true,
            },
        }
        Next::Again
    }

    /// Reads the sectors of the pages that are in the SLC flash, except those that the host writes.
    fn gather(&mut self, disk: &Disk, flash: &mut Flash<'_>) -> Option<Handle<List>> {
        let slc = disk.slc.as_ref()?;
        let mut gatherer = Gatherer::new();
        for (i, page) in self.batch.iter_mut().enumerate() {
            let (lacks, owner) = (!page.given(), page.due.unit(&self.units).and_then(|unit| unit.owner));
            let PlacedPage { due, slc: found, rest, .. } = page;
            *found = gatherer.add_unit(flash, slc, Cause::Merge, (due.lpn, lacks), (i, owner));
            if !disk.planted.is(Sabotage::RestOfWriteLeft) {
                *rest = disk.interrupted.iter().copied().find(|unit| unit.lpn.get() == due.lpn);
            }
        }
        gatherer.list()
    }

    /// Reads the missing sectors with a list of their own, if the commands of a list run in parallel.
    fn read_missing(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        gathered: Option<Handle<List>>,
    ) -> Next<Reclaim> {
        let mut list = None;
        if disk.mlc.mapping.is_parallel() {
            for (i, page) in self.batch.iter().enumerate() {
                let Some(old) = rest_of(&disk.mlc, page) else { continue };
                let list = *list.get_or_insert_with(|| flash.backend.open_list(Class::Other, 0));
                let slot = Slot { at: i as i32, ..slot_of(page, old) };
                add_read(flash.backend, list, self.source.cause(), slot);
            }
        }
        match list {
            Some(list) => {
                self.phase = StorePhase::Fetching { gathered };
                Next::List(ArrayKind::Mlc, list)
            }
            None => self.write(disk, flash, owners, gathered, None),
        }
    }

    fn write(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        gathered: Option<Handle<List>>,
        fetched: Option<Handle<List>>,
    ) -> Next<Reclaim> {
        let sectors = disk.mlc.geometry.sectors;
        let list = flash.backend.open_list(Class::Other, 0);
        each_gathered(flash, gathered, |_, _, sector| {
            let page = &mut self.batch[sector.at as usize];
            page.lost |= sector.lost;
            // The host's version is newer than any on flash.
            if page.due.unit.is_none() {
                page.version = page.version.max(sector.version);
            }
            if let Some(rest) = page.rest.as_mut().filter(|rest| rest.version == sector.version) {
                rest.mask &= !(1 << (sector.lpn.get() % sectors));
            }
        });
        for page in &mut self.batch {
            // Only a page with the version of the interrupted write may take the write's content along.
            page.rest = page.rest.filter(|rest| rest.version == page.version);
        }
        let rests = fetched.map(|fetched| Slots::of(flash.backend, fetched));
        let mut lost = rests;
        while let Some((_, rest)) = lost.as_mut().and_then(|rests| rests.next(flash.backend)) {
            self.batch[rest.at as usize].lost |= rest.lost;
        }
        disk.add_spare_scans(flash, list);
        self.phase = StorePhase::Writing;
        for page in &mut self.batch {
            let unit = page.due.unit(&self.units);
            add_page(disk, flash, owners, (list, self.source.cause()), (page, unit));
        }
        hand_over(flash, gathered, |at| self.batch[at].slot);
        let mut rests = rests;
        while let Some((from, rest)) = rests.as_mut().and_then(|rests| rests.next(flash.backend)) {
            let page = &self.batch[rest.at as usize];
            hand_rest_over(flash.backend, from, page.slot.expect("it has just been added"), page.mask());
        }
        if let Some(fetched) = fetched {
            flash.backend.release(fetched);
        }
        if flash.backend.has_content() {
            for (rest, slot) in self.batch.iter().filter_map(|page| page.rest.zip(page.slot)) {
                owners.give(&rest, flash.backend.content_mut(slot));
            }
        }
        Next::List(ArrayKind::Mlc, list)
    }

    /// Maps the pages, which are on flash.
    fn written(
        &mut self,
        disk: &mut Disk,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        list: Handle<List>,
    ) -> Next<Reclaim> {
        for page in self.batch.drain(..) {
            let lpn = page.due.lpn;
            if !flash.backend.media().holds_data(page.psn) {
                // The page is written again, to another block.
                let block = disk.mlc.block_of(page.psn);
                disk.mlc.mapping.blocks_mut()[block].failing = true;
                self.due.push_back(page.due);
                continue;
            }
            disk.mlc.set(lpn, Some(page.psn));
            // Sectors that the host has not written have left the SLC flash by force (Sec. 3.6).
            disk.drop_sectors(lpn, !page.given());
            if let (Some(unit), Source::Host(service)) = (page.due.unit(&self.units), self.source) {
                owners.write_done(unit.owner, service);
            }
        }
        flash.backend.release(list);
        self.phase = StorePhase::Placing;
        Next::Again
    }
}

/// The slot of the old page, if it has sectors that the new page still lacks.
fn rest_of(mlc: &Mlc, page: &PlacedPage) -> Option<Psn> {
    mlc.psn_of(page.due.lpn).filter(|_| page.mask() != full_mask(mlc.geometry.sectors))
}

fn slot_of(page: &PlacedPage, old: Psn) -> Slot {
    Slot { psn: old, lpn: Lpn::new(page.due.lpn), expected: true, ..Slot::default() }
}

fn add_page(
    disk: &mut Disk,
    flash: &mut Flash<'_>,
    owners: &mut dyn Owners,
    (list, cause): (Handle<List>, Cause),
    (page, unit): (&mut PlacedPage, Option<&PageWrite>),
) {
    disk.counts.mlc_pages += 1;
    let rest = rest_of(&disk.mlc, page).filter(|_| !disk.mlc.mapping.is_parallel());
    let mode = disk.mlc.mapping.blocks()[disk.mlc.block_of(page.psn)].mode;
    disk.counts.slc_mode_pages += u64::from(mode == Mode::Slc);
    let slot = Slot {
        lpn: Lpn::new(page.due.lpn),
        version: page.version,
        mask: page.mask() | page.rest.map_or(0, |rest| rest.mask),
        expected: true,
        lost: page.lost,
        owner: unit.and_then(|unit| unit.owner),
        ..Slot::default()
    };
    let program = Program { to: page.psn, mode, stream: Stream::HOST, slot };
    let to = add_program(flash.backend, list, cause, rest.map(|old| slot_of(page, old)), program);
    page.slot = Some(to);
    if let Some(unit) = unit {
        owners.charge(unit.owner);
        give_unit(flash, owners, unit, to);
    }
}
