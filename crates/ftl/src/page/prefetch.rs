//! Prefetches of what the FTL will need for the ends of programs, and for copies.
//!
//! Programs with the same program time end in the order in which they began. So when one ends, the next ones are known,
//! and their map entries can be on their way while other events are handled. Earlier than that the caches would lose
//! them again: some hundred programs are under way.
//!
//! The third and the sixth of the coming ends are prefetched if a program has one slot, the first and the second if it has many. With
//! time off a program ends soon after it began, and its data is prefetched as its units are drawn, written or gathered.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::Command;

use super::PageFtl;
use super::block_manager::table::ValidSlots;
use crate::port::{Flash, Owners};

/// The distances, in ends of programs, at which map entries are prefetched, and the state of the places they lead to.
const FAR: usize = 6;
const NEAR: usize = 3;
/// The same for programs of many slots, which end more rarely, and before both the distance of the slots.
const SLOTS_OF_MANY: usize = 3;
const FAR_OF_MANY: usize = 2;
const NEAR_OF_MANY: usize = 1;

impl PageFtl {
    /// A program ends: prefetches for the ends of the next programs.
    #[inline]
    pub(super) fn fetch_for_end(&mut self, flash: &Flash<'_>, owners: &dyn Owners, ending: Handle<Command>) {
        if flash.backend.command(ending).count() > 1 {
            return self.fetch_for_end_of_many(flash, owners, ending);
        }
        if let Some(command) = flash.following_program(FAR) {
            let (_, slot) = flash.backend.slot(command, 0);
            self.mapping.fetch(slot.lpn.index(), flash.backend.media());
            owners.prefetch(slot.owner, slot.lpn);
        }
        if let Some(command) = flash.following_program(NEAR) {
            let (_, slot) = flash.backend.slot(command, 0);
            self.fetch_place(slot.lpn);
            owners.prefetch_near(slot.owner, slot.lpn);
            flash.backend.prefetch_behind(command);
        }
    }

    /// A program of many slots ends. If another was expected, it prefetches for its own slots, together. Where no time
    /// passes none is expected, and what it needs was prefetched as it began.
    fn fetch_for_end_of_many(&mut self, flash: &Flash<'_>, owners: &dyn Owners, ending: Handle<Command>) {
        if !flash.backend.is_timed() {
            return;
        }
        if self.expected != Some(ending) {
            self.fetch_entries(flash, owners, ending);
            self.fetch_places(flash, ending);
        }
        self.expected = flash.following_program(NEAR_OF_MANY);
        if let Some(command) = self.expected {
            self.fetch_places(flash, command);
        }
        if let Some(command) = flash.following_program(FAR_OF_MANY) {
            self.fetch_entries(flash, owners, command);
        }
        flash.prefetch_following(SLOTS_OF_MANY);
    }

    /// Prefetches the map entries of all mapping units of a command, and the owners' data.
    fn fetch_entries(&self, flash: &Flash<'_>, owners: &dyn Owners, command: Handle<Command>) {
        for (_, slot) in flash.backend.slots(command) {
            self.mapping.fetch(slot.lpn.index(), flash.backend.media());
            owners.prefetch(slot.owner, slot.lpn);
        }
    }

    /// Prefetches the state of the places that all mapping units of a command will leave. Those of copies are near each
    /// other, and have been looked at as they were gathered.
    fn fetch_places(&self, flash: &Flash<'_>, command: Handle<Command>) {
        let (_, first) = flash.backend.slot(command, 0);
        let copies = first.owner.is_none();
        let places = flash.backend.slots(command).take(if copies { 1 } else { usize::MAX });
        places.for_each(|(_, slot)| self.fetch_place(slot.lpn));
    }

    /// Prefetches the state of the place that a mapping unit will leave.
    #[inline]
    fn fetch_place(&self, lpn: Lpn) {
        let Some(psn) = self.mapping.l2p.peek(lpn.index()) else { return };
        let (superblock, _) = self.blocks.layout.locate(psn);
        self.blocks.table.fetch(psn, superblock);
        self.blocks.victims.data.fetch(superblock);
    }

    /// A unit is written: prefetches for the end of its program, if that is near because no time passes.
    #[inline]
    pub(super) fn fetch_for_write(&self, flash: &Flash<'_>, lpn: Lpn) {
        if !flash.backend.is_timed() {
            self.fetch_place(lpn);
        }
    }
}

/// Prefetches the spare area of a slot that is gathered for a copy, or of the one `behind` it if each is copied alone:
/// the copy of the gathered one begins at once.
#[inline]
pub(super) fn fetch_gathered(
    flash: &Flash<'_>,
    (before, psn): (Option<Psn>, Psn),
    behind: &ValidSlots<'_>,
    alone: bool,
) {
    if let Some(psn) = if alone { behind.clone().next() } else { Some(psn) } {
        flash.backend.media().fetch_spare_behind(psn, before);
    }
}
