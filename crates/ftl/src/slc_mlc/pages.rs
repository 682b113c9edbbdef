//! Pages on their way to the MLC flash: those of the host, and those that the SLC flash gives up.
//!
//! A page takes along all that the SLC flash has of it, so nothing there is older than the page. Sectors that neither the
//! host nor the SLC flash brings are read first. Before a page is written the controller must know its logical block's
//! chain: if the mapping cache does not, the pages of the chain are looked at (Chang, Sec. 3.5 and 4.1).

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Observer, Slot, SlotRef};
use flash::nand::{Sector, Stream, Target};

use super::blocks::NONE;
use super::gather::Gatherer;
use super::mapping::{Mapping, Place};
use super::{BATCH, ChangFtl, Step};
use crate::port::{Flash, Owner, Owners, Unit, full_mask};

/// A page to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) lpn: u32,
    /// The unit of the host that it is, by its place among those of the request; `NONE` if the SLC flash gives it up.
    pub(super) unit: u32,
    pub(super) cause: Cause,
}

/// One that has a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    due: Due,
    psn: Psn,
    /// Sectors that the host brings, and sectors from the SLC flash.
    host: u64,
    slc: u64,
    version: u32,
    lost: bool,
    to: Option<SlotRef>,
}

/// Whose page it is; nobody's if the SLC flash gives it up.
fn owner_of(units: &[Unit], unit: u32) -> Owner {
    units.get(unit as usize).filter(|_| unit != NONE)?.owner
}

impl ChangFtl {
    /// Finds places for as many pages as there are spare blocks for. If there is none, a chain is folded, and if there is
    /// none to be folded, the disk is worn out.
    pub(super) fn place_batch<S: Sector>(&mut self, owners: &mut impl Owners<S>) {
        (self.is_gathered, self.is_fetched) = (false, false);
        while self.batch.len() < BATCH
            && let Some(due) = self.due.front().copied()
        {
            if due.unit == NONE && !self.holds_sectors(due.lpn) {
                // A fold that made room has taken it along.
                self.due.pop_front();
                continue;
            }
            let (lba, offset) = self.split(due.lpn);
            self.look_up(lba, true);
            let Place::At(block, page) = self.mapping.place(lba, offset) else { break };
            self.due.pop_front();
            let unit = self.units_now.get(due.unit as usize).filter(|_| due.unit != NONE);
            let (host, version) = unit.map_or((0, 0), |unit| (unit.mask, unit.version));
            self.batch.push(Placed { due, psn: self.slot(block, page), host, slc: 0, version, lost: false, to: None });
        }
        if !self.batch.is_empty() || self.due.is_empty() || self.collect() {
            return;
        }
        let Some(due) = self.due.pop_front() else { return };
        match self.units_now.get(due.unit as usize) {
            Some(unit) if due.unit != NONE => owners.write_refused(unit.owner),
            // It stays where it is.
            _ => self.stuck = true,
        }
    }

    /// Reads what the SLC flash has of the pages, and then writes them.
    pub(super) fn write_batch<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        if !self.is_gathered && self.gather_batch(flash) {
            return;
        }
        if self.mapping.is_parallel() && !self.is_fetched && self.fetch_rests(flash) {
            return;
        }
        let list = flash.backend.open_list(Class::Other, 0);
        let gathered = self.gathered;
        let mut batch = std::mem::take(&mut self.batch);
        Self::each_gathered(gathered, flash, |_, sector| {
            let page = &mut batch[sector.at];
            page.lost |= sector.lost;
            // The host's version is newer than any that is here already.
            if page.due.unit == NONE {
                page.version = page.version.max(sector.version);
            }
        });
        Self::each_fetched(self.fetched, flash, |_, _, rest| batch[rest.at as usize].lost |= rest.lost);
        self.add_looks(flash, list);
        for page in &mut batch {
            self.add_page(flash, owners, list, page);
        }
        let sectors = self.geometry.sectors;
        Self::each_gathered(gathered, flash, |flash, sector| {
            let into = batch[sector.at].to.expect("it has just been added");
            Self::hand_over(flash, sector.place, into, (sector.sector % sectors) as usize);
        });
        Self::each_fetched(self.fetched, flash, |flash, from, rest| {
            let page = &batch[rest.at as usize];
            Self::hand_rest_over(flash, from, page.to.expect("it has just been added"), page.host | page.slc);
        });
        self.batch = batch;
        self.release_gathered(flash);
        self.release_fetched(flash);
        self.submit(flash, Step::Pages, list);
    }

    /// False if the SLC flash has nothing of them.
    fn gather_batch<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) -> bool {
        let Some(slc) = &self.slc else { return false };
        let mut gatherer = Gatherer::new();
        for (i, page) in self.batch.iter_mut().enumerate() {
            if slc.held[page.due.lpn as usize] == 0 {
                continue;
            }
            let owner = owner_of(&self.units_now, page.due.unit);
            for offset in 0..self.geometry.sectors {
                let sector = page.due.lpn * self.geometry.sectors + offset;
                let Some(place) = slc.place_of(sector).filter(|_| page.host >> offset & 1 == 0) else { continue };
                page.slc |= 1 << offset;
                gatherer.add(flash, slc, Cause::Merge, (sector, place), (i, owner));
            }
        }
        match gatherer.list() {
            Some(list) => self.submit_second(flash, Step::Gather, list),
            None => self.is_gathered = true,
        }
        gatherer.list().is_some()
    }

    /// Where the old page of one that is written is, if it has sectors that nobody brings.
    fn rest_of(&self, page: &Placed) -> Option<u32> {
        let old = self.map[page.due.lpn as usize];
        (old != NONE && (page.host | page.slc) != full_mask(self.geometry.sectors)).then_some(old)
    }

    /// Reads the sectors that nobody brings by a list of their own. False if there are none.
    fn fetch_rests<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) -> bool {
        let mut list = None;
        for (i, page) in self.batch.iter().enumerate() {
            let Some(old) = self.rest_of(page) else { continue };
            let list = *list.get_or_insert_with(|| flash.backend.open_list(Class::Other, 0));
            let read = flash.backend.add_read(list, page.due.cause, SuperblockId::new(old / self.pages));
            let (psn, lpn) = (Psn::new(old), Lpn::new(page.due.lpn));
            flash.backend.push_slot(read, Slot { psn, lpn, at: i as i32, expected: true, ..Slot::default() });
        }
        self.is_fetched = true;
        if let Some(list) = list {
            self.submit(flash, Step::Fetch, list);
        }
        list.is_some()
    }

    fn add_page<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
        page: &mut Placed,
    ) {
        let Due { lpn, unit, cause } = page.due;
        self.counts.mlc_pages += 1;
        let mask = page.host | page.slc;
        let rest = self.rest_of(page).filter(|_| !self.mapping.is_parallel()).map(|old| {
            let slot = Slot { psn: Psn::new(old), lpn: Lpn::new(lpn), expected: true, ..Slot::default() };
            let read = flash.backend.add_read(list, cause, SuperblockId::new(old / self.pages));
            flash.backend.push_slot(read, slot)
        });
        let (superblock, offset) = self.geometry.locate(page.psn);
        let program = flash.backend.add_program(list, cause, Target { superblock, offset }, Stream::Host);
        if self.mapping.blocks()[superblock.get()].slc {
            flash.backend.in_slc_mode(program);
            self.counts.slc_mode_pages += 1;
        }
        let slot = Slot {
            lpn: Lpn::new(lpn),
            version: page.version,
            mask,
            expected: true,
            lost: page.lost,
            owner: owner_of(&self.units_now, unit),
            ..Slot::default()
        };
        let to = flash.backend.push_slot(program, slot);
        page.to = Some(to);
        if let Some(rest) = rest {
            flash.backend.forward_in_turn(rest, to);
        }
        if unit != NONE {
            let unit = self.units_now[unit as usize];
            owners.charge(unit.owner);
            if S::PRESENT {
                owners.give(&unit, flash.backend.payload_of(to));
            }
        }
    }

    /// Looks a logical block up in the mapping cache. If it is not there, the pages of its chain are to be looked at first.
    pub(super) fn look_up(&mut self, lba: u32, for_write: bool) {
        let Mapping::Chains(chains) = &self.mapping else { return };
        if self.cache.look_up(lba) {
            return;
        }
        self.counts.scans += 1;
        self.counts.misses += u64::from(for_write);
        let Self { looks, spec, .. } = self;
        let look = |block| (block, chains.blocks[block].programmed.min(chains.room(block)));
        if spec.scan_data_blocks {
            looks.extend(chains.chain(lba).map(look).filter(|(_, pages)| *pages > 0));
        } else {
            looks.extend(chains.logs(lba).map(look).filter(|(_, pages)| *pages > 0));
        }
    }

    /// Adds what is to be looked at to a list.
    pub(super) fn add_looks<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        for (block, pages) in self.looks.drain(..) {
            flash.backend.add_scan(list, Cause::Map, SuperblockId::new(block), pages);
            self.counts.scanned += u64::from(pages);
        }
    }

    /// The pages are there: only now the map leads to them.
    pub(super) fn pages_written<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        let mut batch = std::mem::take(&mut self.batch);
        for page in batch.drain(..) {
            let Due { lpn, unit, .. } = page.due;
            let (block, _) = self.geometry.locate(page.psn);
            if !flash.backend.media().holds_data(page.psn) {
                // It is written again, elsewhere.
                self.mapping.blocks_mut()[block.get()].failing = true;
                self.due.push_back(page.due);
                continue;
            }
            self.set_map(lpn, page.psn.get());
            // What the host has not written went along by force (Sec. 3.6).
            self.drop_sectors(lpn, !page.host);
            if unit != NONE {
                owners.write_done(self.units_now[unit as usize].owner, self.service());
            }
        }
        self.batch = batch;
        flash.backend.release(list);
    }
}
