//! Sectors on their way from the SLC flash: to the host, to a page of the MLC flash, or into a fold. And pages of the MLC
//! flash on their way into others, where a list of its own reads them.
//!
//! The list that has read them is kept until they have been used. A slot of it names its sector, and by `at` the page or
//! unit that it is for.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, List, Observer, Slot, SlotRef};
use flash::nand::Sector;

use super::ChangFtl;
use super::slc::Slc;
use crate::port::{Flash, Owner};

/// Puts a list of reads together, a command for each page.
pub(super) struct Gatherer {
    list: Option<Handle<List>>,
    last: Option<(base::units::Ppn, Handle<flash::backend::Command>)>,
}

impl Gatherer {
    pub(super) const fn new() -> Self {
        Self { list: None, last: None }
    }

    /// Adds a sector, for the page `at`, which is the owner's.
    pub(super) fn add<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        slc: &Slc,
        cause: Cause,
        (sector, place): (u32, u32),
        (at, owner): (usize, Owner),
    ) -> SlotRef {
        let second = flash.second();
        let list = *self.list.get_or_insert_with(|| second.open_list(Class::Other, 0));
        let page = slc.geometry.page_of(Psn::new(place));
        let command =
            match self.last.filter(|(last, command)| *last == page && second.command(*command).count() < slc.slots) {
                Some((_, command)) => command,
                None => second.add_read(list, cause, slc.block_of(place)),
            };
        self.last = Some((page, command));
        // Not `expected`: its version is wanted, which is read from the spare area.
        let slot = Slot { psn: Psn::new(place), lpn: Lpn::new(sector), at: at as i32, owner, ..Slot::default() };
        second.push_slot(command, slot)
    }

    /// Adds all that the SLC flash has of a unit, for the page `at`, which is nobody's, and says which sectors those are.
    pub(super) fn add_unit<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        slc: &Slc,
        cause: Cause,
        lpn: u32,
        at: usize,
    ) -> u64 {
        let mut mask = 0;
        if slc.held[lpn as usize] == 0 {
            return mask;
        }
        let sectors = flash.backend.geometry().sectors;
        for offset in 0..sectors {
            let sector = lpn * sectors + offset;
            let Some(place) = slc.place_of(sector) else { continue };
            mask |= 1 << offset;
            self.add(flash, slc, cause, (sector, place), (at, None));
        }
        mask
    }

    pub(super) const fn list(&self) -> Option<Handle<List>> {
        self.list
    }
}

/// A sector that has been gathered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    pub(super) place: SlotRef,
    pub(super) sector: u32,
    pub(super) version: u32,
    pub(super) lost: bool,
    pub(super) at: usize,
}

impl ChangFtl {
    /// Hands each gathered sector to `then`.
    pub(super) fn each_gathered<S: Sector, O: Observer>(
        list: Option<Handle<List>>,
        flash: &mut Flash<'_, S, O>,
        mut then: impl FnMut(&mut Flash<'_, S, O>, Gathered),
    ) {
        let Some(list) = list else { return };
        let mut next = flash.second().list(list).first();
        while let Some(command) = next {
            next = flash.second().command(command).sibling();
            for i in 0..flash.second().command(command).count() {
                let (place, slot) = flash.second().slot(command, i);
                let (sector, version, lost) = (slot.lpn.get(), slot.version, slot.lost);
                then(flash, Gathered { place, sector, version, lost, at: slot.at as usize });
            }
        }
    }

    /// Copies a gathered sector into a page that is to be programmed.
    pub(super) fn hand_over<S: Sector, O: Observer>(
        flash: &mut Flash<'_, S, O>,
        from: SlotRef,
        into: SlotRef,
        sector: usize,
    ) {
        if S::PRESENT {
            let content = flash.second().payload_of(from)[0];
            flash.backend.payload_of(into)[sector] = content;
        }
    }

    /// Hands each page that was fetched from the MLC flash to `then`.
    pub(super) fn each_fetched<S: Sector, O: Observer>(
        list: Option<Handle<List>>,
        flash: &mut Flash<'_, S, O>,
        mut then: impl FnMut(&mut Flash<'_, S, O>, SlotRef, Slot),
    ) {
        let Some(list) = list else { return };
        let mut next = flash.backend.list(list).first();
        while let Some(command) = next {
            next = flash.backend.command(command).sibling();
            let (place, slot) = flash.backend.slot(command, 0);
            then(flash, place, slot);
        }
    }

    /// Copies what was fetched into a page that is to be programmed, but for the sectors that it `has`.
    pub(super) fn hand_rest_over<S: Sector, O: Observer>(
        flash: &mut Flash<'_, S, O>,
        from: SlotRef,
        into: SlotRef,
        has: u64,
    ) {
        if S::PRESENT {
            for sector in (0..flash.backend.geometry().sectors as usize).filter(|sector| has >> sector & 1 == 0) {
                let content = flash.backend.payload_of(from)[sector];
                flash.backend.payload_of(into)[sector] = content;
            }
        }
    }

    /// What was fetched has been used.
    pub(super) fn release_fetched<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        if let Some(list) = self.fetched.take() {
            flash.backend.release(list);
        }
        self.is_fetched = false;
    }

    /// What was gathered has been used.
    pub(super) fn release_gathered<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        if let Some(list) = self.gathered.take() {
            flash.second().release(list);
        }
        self.is_gathered = false;
    }
}
