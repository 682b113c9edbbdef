//! The flash commands that a simple FTL may give.

use std::fmt;

use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, Slot};
use flash::nand::{Geometry, Spare, Stream, Target};

use super::SimpleWrite;
use super::traffic::{ListTag, Traffic};
use crate::port::{Flash, Owners};
use crate::toolkit::{add_read, push_unit, read_rest};

/// The flash array, for commands to program, copy and erase.
pub struct SimpleCommands<'a, 'f> {
    pub(super) flash: &'a mut Flash<'f>,
    pub(super) owners: &'a mut dyn Owners,
    pub(super) traffic: &'a mut Traffic,
}

impl fmt::Debug for SimpleCommands<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimpleCommands").field("now", &self.flash.now).finish_non_exhaustive()
    }
}

impl SimpleCommands<'_, '_> {
    /// The shape of the flash array.
    #[must_use]
    pub const fn geometry(&self) -> &Geometry {
        self.flash.backend.geometry()
    }

    /// Program/erase cycles of a block.
    #[must_use]
    pub fn erases(&self, block: SuperblockId) -> u32 {
        self.flash.backend.media().erases(block)
    }

    /// The spare area of a page: its mapping unit and version, empty or torn.
    #[must_use]
    pub fn spare(&self, psn: Psn) -> Spare {
        self.flash.backend.media().spare(psn)
    }

    /// The pages of a block that hold the data of a mapping unit to which a map points, in order.
    pub fn valid_pages<'m>(
        &self,
        block: SuperblockId,
        map: &'m [Option<Psn>],
    ) -> impl Iterator<Item = Psn> + use<'_, 'm> {
        let media = self.flash.backend.media();
        let pages = (0..media.geometry().superblock_slots()).map(move |page| media.geometry().slot(block, page));
        pages.filter(move |psn| {
            matches!(media.spare(*psn), Spare::Data { lpn, .. } if map.get(lpn.index()) == Some(&Some(*psn)))
        })
    }

    /// Programs and erases that have not ended, of all blocks.
    #[must_use]
    pub const fn under_way(&self) -> u32 {
        self.traffic.under_way()
    }

    /// Programs of a block that have not ended. Until they have, the block is no victim, because its content is not
    /// known.
    #[must_use]
    pub fn programs(&self, block: SuperblockId) -> u32 {
        self.traffic.programs(block)
    }

    /// Programs a write of the host into a page, which must be the next page of its block.
    /// [`CommandEnd::Written`](super::CommandEnd::Written) follows. `old` is the present place of the mapping unit,
    /// from which the sectors come that the write leaves out.
    pub fn program(&mut self, SimpleWrite(unit): SimpleWrite, to: Psn, old: Option<Psn>) {
        let Self { flash, owners, traffic } = self;
        let (superblock, offset) = flash.backend.geometry().locate(to);
        let old = old.filter(|_| !unit.is_whole(flash.backend.geometry().sectors));
        let list = flash.backend.open_list(Class::Other, ListTag::Write as u32);
        let program = flash.backend.add_program(list, Cause::Host, Target { superblock, offset }, Stream::HOST);
        owners.charge(unit.owner);
        let slot = push_unit(flash, *owners, program, &unit);
        if let Some(psn) = old {
            read_rest(flash, *owners, list, (&unit, psn), (program, slot));
        }
        traffic.begin(flash, list, (program, superblock), old);
    }

    /// Copies a page to another page, which must be the next page of its block.
    /// [`CommandEnd::Copied`](super::CommandEnd::Copied) follows.
    pub fn copy(&mut self, from: Psn, to: Psn) {
        let Self { flash, traffic, .. } = self;
        let (superblock, offset) = flash.backend.geometry().locate(to);
        let list = flash.backend.open_list(Class::Other, ListTag::Copy as u32);
        let (read, source) = add_read(flash.backend, list, Cause::Gc, Slot { psn: from, ..Slot::default() });
        let program = flash.backend.add_program(list, Cause::Gc, Target { superblock, offset }, Stream::COPIES);
        let slot = flash.backend.push_slot(program, Slot::default());
        flash.backend.forward(read, source, program, slot);
        traffic.begin(flash, list, (program, superblock), Some(from));
    }

    /// Erases a block without needed data, as soon as no read of it is under way. [`CommandEnd::Erased`](super::CommandEnd::Erased)
    /// or [`CommandEnd::Retired`](super::CommandEnd::Retired) follows.
    ///
    /// # Panics
    ///
    /// If a program of the block has not ended.
    pub fn erase(&mut self, block: SuperblockId) {
        assert_eq!(self.programs(block), 0, "{block} is to be erased while it is programmed");
        self.traffic.erase(self.flash, block);
    }

    /// Refuses a write, because the drive has no room left.
    pub fn refuse(&mut self, SimpleWrite(unit): SimpleWrite) {
        self.owners.write_refused(unit.owner);
    }
}
