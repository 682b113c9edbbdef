//! Prefetches of map entries and states that the FTL will need at the ends of programs and for copies.
//!
//! Programs with the same program time end in the order in which they began. So when a program ends, the next programs
//! to end are known, and their map entries can be on their way while other events are handled. A prefetch much earlier
//! would be lost from the caches again, because some hundred programs are under way.
//!
//! Two of the coming ends are prefetched: the third and the sixth if a program has one slot, the first and the second
//! if it has many. With time off a program ends soon after it began, and its data is prefetched as its units are drawn,
//! written or gathered.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::Command;

use super::PageFtl;
use super::block_manager::table::ValidSlots;
use crate::port::{Flash, Owners};

/// For programs of one slot: the number of coming ends after which map entries are used when they are prefetched
/// (`FAR`), and after which the states of their places are (`NEAR`).
const FAR: usize = 6;
const NEAR: usize = 3;
/// For programs of many slots, whose ends come more rarely: the number of coming ends for the slots themselves, for map
/// entries, and for the states of places.
const SLOTS_OF_MANY: usize = 3;
const FAR_OF_MANY: usize = 2;
const NEAR_OF_MANY: usize = 1;

impl PageFtl {
    /// Prefetches for the coming ends of programs, at the end of a program.
    #[inline]
    pub(super) fn prefetch_for_end(&mut self, flash: &Flash<'_>, owners: &dyn Owners, ending: Handle<Command>) {
        if flash.backend.command(ending).count() > 1 {
            return self.prefetch_for_end_of_many(flash, owners, ending);
        }
        if let Some(command) = flash.following_program(FAR) {
            let (_, slot) = flash.backend.slot(command, 0);
            self.mapping.prefetch(slot.lpn.index(), flash.backend.media());
            owners.prefetch(slot.owner, slot.lpn);
        }
        if let Some(command) = flash.following_program(NEAR) {
            let (_, slot) = flash.backend.slot(command, 0);
            self.prefetch_place(slot.lpn);
            owners.prefetch_near(slot.owner, slot.lpn);
            flash.backend.prefetch_behind(command);
        }
    }

    /// Prefetches for the coming ends at the end of a program of many slots. A program that was not expected to end
    /// next prefetches its own slots first. With time off nothing is done here: these programs prefetched when they
    /// began.
    fn prefetch_for_end_of_many(&mut self, flash: &Flash<'_>, owners: &dyn Owners, ending: Handle<Command>) {
        if !flash.backend.is_timed() {
            return;
        }
        if self.expected != Some(ending) {
            self.prefetch_entries(flash, owners, ending);
            self.prefetch_places(flash, ending);
        }
        self.expected = flash.following_program(NEAR_OF_MANY);
        if let Some(command) = self.expected {
            self.prefetch_places(flash, command);
        }
        if let Some(command) = flash.following_program(FAR_OF_MANY) {
            self.prefetch_entries(flash, owners, command);
        }
        flash.prefetch_following(SLOTS_OF_MANY);
    }

    /// Prefetches the map entries of all mapping units of a command, and the owners' data.
    fn prefetch_entries(&self, flash: &Flash<'_>, owners: &dyn Owners, command: Handle<Command>) {
        for (_, slot) in flash.backend.slots(command) {
            self.mapping.prefetch(slot.lpn.index(), flash.backend.media());
            owners.prefetch(slot.owner, slot.lpn);
        }
    }

    /// Prefetches the states of the places that all mapping units of a command will leave. Copies leave places that are
    /// near each other and were read when they were gathered, so only the first place is prefetched.
    fn prefetch_places(&self, flash: &Flash<'_>, command: Handle<Command>) {
        let (_, first) = flash.backend.slot(command, 0);
        let copies = first.owner.is_none();
        let places = flash.backend.slots(command).take(if copies { 1 } else { usize::MAX });
        places.for_each(|(_, slot)| self.prefetch_place(slot.lpn));
    }

    /// Prefetches the state of the place that a mapping unit will leave.
    #[inline]
    fn prefetch_place(&self, lpn: Lpn) {
        let Some(psn) = self.mapping.l2p.peek(lpn.index()) else { return };
        let (superblock, _) = self.blocks.layout.locate(psn);
        self.blocks.table.prefetch(psn, superblock);
        self.blocks.victims.data.prefetch(superblock);
    }

    /// Prefetches for the end of the program of a written unit, if time is off: only then does the end come soon.
    #[inline]
    pub(super) fn prefetch_for_write(&self, flash: &Flash<'_>, lpn: Lpn) {
        if !flash.backend.is_timed() {
            self.prefetch_place(lpn);
        }
    }
}

/// Prefetches the spare area of a slot that is gathered for a copy. If each slot is copied `alone`, prefetches the
/// spare area of the next slot instead, because the copy of the gathered slot begins at once.
#[inline]
pub(super) fn prefetch_gathered(
    flash: &Flash<'_>,
    (before, psn): (Option<Psn>, Psn),
    behind: &ValidSlots<'_>,
    alone: bool,
) {
    if let Some(psn) = if alone { behind.clone().next() } else { Some(psn) } {
        flash.backend.media().prefetch_spare_behind(psn, before);
    }
}
