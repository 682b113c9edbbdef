//! Prefetches of what the FTL will need for the ends of programs, and for copies.
//!
//! Programs with the same program time end in the order in which they began. So when one ends, the next ones are known,
//! and their map entries can be on their way while other events are handled. Earlier than that the caches would lose
//! them again: some hundred programs are under way.

use base::engine::Handle;
use base::units::Psn;
use flash::backend::{Command, Observer};
use flash::nand::Sector;

use super::PageFtl;
use crate::port::{Flash, Owners};

/// The distances, in ends of programs, at which map entries are prefetched, and the state of the places they lead to.
const FAR: usize = 6;
const NEAR: usize = 3;

impl PageFtl {
    /// A program ends: prefetches what it needs if it has many slots, which are prefetched together; else for the ends of
    /// the next programs.
    #[inline]
    pub(super) fn fetch_for_end<S: Sector, O: Observer>(
        &self,
        flash: &Flash<'_, S, O>,
        owners: &impl Owners<S>,
        ending: Handle<Command>,
    ) {
        if flash.backend.command(ending).count() > 1 {
            self.fetch_entries(flash, owners, ending);
            return self.fetch_places(flash, ending);
        }
        if let Some(command) = flash.following_program(FAR) {
            self.fetch_entries(flash, owners, command);
        }
        if let Some(command) = flash.following_program(NEAR) {
            self.fetch_places(flash, command);
            let (_, slot) = flash.backend.slot(command, 0);
            owners.fetch_near(slot.owner, slot.lpn);
            flash.backend.fetch_behind(command);
        }
    }

    /// Prefetches the map entries of all mapping units of a command, and the owners' data.
    fn fetch_entries<S: Sector, O: Observer>(
        &self,
        flash: &Flash<'_, S, O>,
        owners: &impl Owners<S>,
        command: Handle<Command>,
    ) {
        for (_, slot) in flash.backend.slots(command) {
            self.fetch(slot.lpn.index(), flash.backend.media());
            owners.fetch(slot.owner, slot.lpn);
        }
    }

    /// Prefetches the state of the places that all mapping units of a command will leave.
    pub(super) fn fetch_places<S: Sector, O: Observer>(&self, flash: &Flash<'_, S, O>, command: Handle<Command>) {
        let places = flash.backend.slots(command).filter_map(|(_, slot)| self.mapping.peek(slot.lpn.index()));
        places.for_each(|psn| {
            let (superblock, _) = self.geometry.locate(psn);
            self.blocks.fetch(psn, superblock);
            self.victims.data.fetch(superblock);
        });
    }

    /// Prefetches the spare area of a slot that is gathered for a copy, or of the next one if each is copied alone: the
    /// copy of the gathered one begins at once.
    #[inline]
    pub(super) fn fetch_gathered<S: Sector, O: Observer>(&self, flash: &Flash<'_, S, O>, psn: Psn, alone: bool) {
        let (superblock, offset) = self.geometry.locate(psn);
        let next = || self.blocks.next_valid(superblock, offset + 1).map(|next| self.geometry.slot(superblock, next));
        if let Some(psn) = if alone { next() } else { Some(psn) } {
            flash.backend.media().fetch_spare(psn);
        }
    }
}
