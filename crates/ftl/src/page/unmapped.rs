//! Reads of addresses that the map knows no place of: never written, or discarded.

use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::Cause;

use super::{Kind, PageFtl};
use crate::port::{Flash, Owners, PageRead};

impl PageFtl {
    /// The place that a static placement gives a mapping unit: program-sized stripes of the address space go over the plane
    /// groups in the order of the dimensions, and in each group over its pages.
    fn static_place(&self, lpn: Lpn) -> Psn {
        let program = self.blocks.geometry.row_slots() * self.blocks.shape.word_line;
        let (stripe, inside) = (lpn.get() / program, lpn.get() % program);
        let (group, row) = self.writer.placer.static_group(stripe);
        let rows = (self.blocks.geometry.superblock_slots() / program).max(1);
        let block = row / rows % self.blocks.geometry.blocks;
        let superblock = SuperblockId::new(group * self.blocks.geometry.blocks + block);
        self.blocks.geometry.slot(superblock, (row % rows * program + inside) % self.blocks.geometry.superblock_slots())
    }

    /// Reads a mapping unit that has no place from its static place, without an effect on the media.
    #[cold]
    pub(super) fn read_unmapped(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) {
        owners.note_unmapped();
        let psn = self.static_place(lpn);
        let (superblock, _) = self.blocks.geometry.locate(psn);
        let die = self.blocks.geometry.die_of(superblock);
        let open = self.reading.get(die);
        let joins = open.filter(|(_, command)| {
            let (_, first) = flash.backend.slot(*command, 0);
            let command = flash.backend.command(*command);
            let same_row = self.blocks.geometry.row_of(first.psn) == self.blocks.geometry.row_of(psn);
            command.is_blank() && same_row && command.count() < self.blocks.geometry.row_slots()
        });
        let command = match joins {
            Some((_, command)) => command,
            None => {
                let list = match open {
                    Some((list, _)) => list,
                    None => flash.backend.open_list(owners.read_class(wanted.owner), Kind::Read as u32),
                };
                let command = flash.backend.add_read(list, Cause::Host, superblock);
                flash.backend.set_blank(command);
                self.reading.set(die, (list, command));
                owners.charge(wanted.owner);
                command
            }
        };
        flash.backend.push_slot(command, wanted.slot(lpn, psn));
    }
}
