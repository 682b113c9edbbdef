//! Gathered sectors: sectors read from the SLC flash for the host, for a page of the MLC flash, or for a copy. Old
//! pages of the MLC flash that go into new ones are handled in the same way, if a list of their own reads them.
//!
//! The list that has read sectors is kept until they have been used. A slot of the list names its sector, and in `at`
//! the page or mapping unit that needs it.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Backend, Cause, Class, Command, List, Slot, SlotRef};
use flash::nand::SectorMask;
use flash::nand::{Mode, Stream, Target};

use super::slc::{SectorSlot, Slc};
use crate::port::{Flash, Owner};
use crate::toolkit::{Slots, add_read};

/// Builds a list of reads, with one command for each page.
pub(super) struct Gatherer {
    list: Option<Handle<List>>,
    last: Option<(base::units::Ppn, Handle<Command>)>,
}

impl Gatherer {
    pub(super) const fn new() -> Self {
        Self { list: None, last: None }
    }

    /// Adds the read of a sector for the page `at` and its owner.
    pub(super) fn add(
        &mut self,
        flash: &mut Flash<'_>,
        slc: &Slc,
        cause: Cause,
        SectorSlot { sector, place }: SectorSlot,
        (at, owner): (usize, Owner),
    ) {
        let slc_array = flash.slc_array();
        let list = *self.list.get_or_insert_with(|| slc_array.open_list(Class::Other, 0));
        let page = slc.geometry.page_of(Psn::new(place));
        let command = match self
            .last
            .filter(|(last, command)| *last == page && slc_array.command(*command).count() < slc.slots)
        {
            Some((_, command)) => command,
            None => slc_array.add_read(list, cause, slc.block_of(place)),
        };
        self.last = Some((page, command));
        // The slot has no `expected` version, because the version in the spare area is needed.
        let slot = Slot { psn: Psn::new(place), lpn: Lpn::new(sector), at: at as i32, owner, ..Slot::default() };
        slc_array.push_slot(command, slot);
    }

    /// Adds the reads of a mapping unit's sectors in `mask` that are in the SLC flash. Returns the mask of these
    /// sectors.
    pub(super) fn add_unit(
        &mut self,
        flash: &mut Flash<'_>,
        slc: &Slc,
        cause: Cause,
        (lpn, mask): (u32, SectorMask),
        of: (usize, Owner),
    ) -> SectorMask {
        if slc.held[lpn as usize] == 0 {
            return 0;
        }
        let sectors = flash.backend.geometry().sectors;
        let mut found = 0;
        for offset in (0..sectors).filter(|offset| mask >> offset & 1 != 0) {
            let sector = lpn * sectors + offset;
            let Some(place) = slc.place_of(sector) else { continue };
            found |= 1 << offset;
            self.add(flash, slc, cause, SectorSlot { sector, place }, of);
        }
        found
    }

    pub(super) const fn list(&self) -> Option<Handle<List>> {
        self.list
    }
}

/// Calls `then` with the slot of each gathered sector.
pub(super) fn each_gathered(
    flash: &mut Flash<'_>,
    gathered: Option<Handle<List>>,
    mut then: impl FnMut(&mut Flash<'_>, SlotRef, Slot),
) {
    let Some(list) = gathered else { return };
    let mut slots = Slots::of(flash.slc_array(), list);
    while let Some((place, slot)) = slots.next(flash.slc_array()) {
        then(flash, place, slot);
    }
}

/// Releases the list of gathered sectors after their use.
pub(super) fn release_gathered(flash: &mut Flash<'_>, gathered: Option<Handle<List>>) {
    if let Some(list) = gathered {
        flash.slc_array().release(list);
    }
}

/// Copies the gathered sectors into the pages to program, and releases their list.
pub(super) fn hand_over(
    flash: &mut Flash<'_>,
    gathered: Option<Handle<List>>,
    into: impl Fn(usize) -> Option<SlotRef>,
) {
    let sectors = flash.backend.geometry().sectors;
    each_gathered(flash, gathered, |flash, from, slot| {
        let into = into(slot.at as usize).expect("a program for each page");
        flash.copy_slc_sector(from, (into, slot.lpn.get() % sectors));
    });
    release_gathered(flash, gathered);
}

/// Copies a page that was read into a page to program, except for the sectors that the latter already `has`.
pub(super) fn hand_rest_over(backend: &mut Backend, from: SlotRef, into: SlotRef, has: SectorMask) {
    backend.copy_payload(from, into, !has);
}

/// A page to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) to: Psn,
    pub(super) mode: Mode,
    pub(super) stream: Stream,
    pub(super) slot: Slot,
}

/// Adds a program to a list. If `read` is given, the list first reads that slot, and the program takes from it the
/// sectors that the program's own slot lacks.
pub(super) fn add_program(
    backend: &mut Backend,
    list: Handle<List>,
    cause: Cause,
    read: Option<Slot>,
    program: Program,
) -> SlotRef {
    let from = read.map(|slot| add_read(backend, list, cause, slot).1);
    let (superblock, offset) = backend.geometry().locate(program.to);
    let command = backend.add_program(list, cause, Target { superblock, offset }, program.stream);
    if program.mode == Mode::Slc {
        backend.in_slc_mode(command);
    }
    let to = backend.push_slot(command, program.slot);
    if let Some(from) = from {
        backend.forward_serial(from, to);
    }
    to
}
