//! Host reads, including reads of addresses without a place in the map: never written, or discarded.

use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, Slot};

use super::mapping::L2p;
use super::{ListPurpose, PageFtl, UnmappedReads};
use crate::port::{Flash, Owners, PageRead};
use crate::toolkit::move_parts;

impl PageFtl {
    /// Reads sectors of one mapping unit; [`Owners::read_done`] reports the end. Returns false if the map in RAM has no
    /// place for the mapping unit: it reads as zeros, without flash. With a map unit, the same outcome is reported
    /// later.
    #[inline]
    pub(crate) fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let psn = match &mut self.mapping.l2p {
            L2p::Ram(map) => map.get(lpn),
            L2p::MapUnit(map_client) => {
                map_client.look_up(flash.now, wanted, lpn);
                return true;
            }
        };
        let Some(psn) = psn else {
            if self.unmapped_reads == UnmappedReads::NoFlashRead {
                return false;
            }
            self.read_unmapped(flash, owners, wanted, lpn);
            return true;
        };
        self.read_at(flash, owners, wanted, lpn, psn);
        true
    }

    /// Reads sectors of the only mapping unit of a request. With the map in RAM its list is submitted at once. It need
    /// not wait in the table of lists by die for the request's other mapping units.
    #[inline]
    pub(crate) fn read_alone(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wanted: PageRead,
        lpn: Lpn,
    ) -> bool {
        let L2p::Ram(map) = &self.mapping.l2p else {
            let mapped = self.read(flash, owners, wanted, lpn);
            self.end_read(flash);
            return mapped;
        };
        let Some(psn) = map.get(lpn) else {
            let mapped = self.read(flash, owners, wanted, lpn);
            self.end_read(flash);
            return mapped;
        };
        flash.backend.prefetch_read(lpn, psn);
        let (superblock, _) = self.blocks.layout.locate(psn);
        self.blocks.table.pin(superblock);
        let list = flash.backend.open_list(owners.read_class(wanted.owner), ListPurpose::Read as u32);
        let read = flash.backend.add_read(list, Cause::Host, self.blocks.layout.member_at(psn));
        flash.backend.push_slot(read, wanted.slot(lpn, psn));
        move_parts(flash.backend, read);
        owners.charge(wanted.owner);
        self.writer.firmware.charge_request();
        self.writer.firmware.dispatch(flash, list);
        true
    }

    /// Reads sectors of a mapping unit from its place.
    #[inline]
    pub(super) fn read_at(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wanted: PageRead,
        lpn: Lpn,
        psn: Psn,
    ) {
        let (superblock, _) = self.blocks.layout.locate(psn);
        let member = self.blocks.layout.member_at(psn);
        let die = self.blocks.layout.array.die_of(member);
        self.blocks.table.pin(superblock);
        let open = self.reading.get(die);
        let first = open.map(|(_, command)| flash.backend.slot(command, 0).1.psn);
        flash.backend.prefetch_read_behind(lpn, psn, first);
        let command = match open {
            // One array operation reads all mapping units of a row.
            Some((_, command))
                if first.is_some_and(|first| {
                    self.blocks.layout.array.row_of(first) == self.blocks.layout.array.row_of(psn)
                }) && flash.backend.command(command).count() < self.blocks.layout.shape.row_slots()
                    && !flash.backend.command(command).is_blank() =>
            {
                command
            }
            _ => {
                let list = match open {
                    Some((list, _)) => list,
                    None => flash.backend.open_list(owners.read_class(wanted.owner), ListPurpose::Read as u32),
                };
                let command = flash.backend.add_read(list, Cause::Host, member);
                self.reading.set(die, (list, command));
                owners.charge(wanted.owner);
                command
            }
        };
        flash.backend.push_slot(command, wanted.slot(lpn, psn));
        move_parts(flash.backend, command);
    }

    /// Ends a read request: submits its lists, one for each die.
    #[inline]
    pub(crate) fn end_read(&mut self, flash: &mut Flash<'_>) {
        if let L2p::MapUnit(map_client) = &mut self.mapping.l2p {
            map_client.end_look_up(flash.now);
        }
        let mut list = self.reading.pop_first();
        if list.is_some() {
            self.writer.firmware.charge_request();
        }
        while let Some((now, _)) = list {
            self.writer.firmware.dispatch(flash, now);
            list = self.reading.pop_first();
        }
    }

    /// Reads the page of a slot, to judge it.
    pub(super) fn patrol(&mut self, flash: &mut Flash<'_>, psn: Psn) {
        let (superblock, _) = self.blocks.layout.locate(psn);
        self.blocks.table.pin(superblock);
        let list = flash.backend.open_list(Class::Other, ListPurpose::Patrol as u32);
        let read = flash.backend.add_read(list, Cause::Refresh, self.blocks.layout.member_at(psn));
        flash.backend.push_slot(read, Slot { psn, ..Slot::default() });
        flash.submit(list);
    }

    /// The slot that a static placement gives a mapping unit: program-sized stripes of the address space go over the
    /// plane groups in the order of the dimensions, and in each group over its pages.
    fn static_place(&self, lpn: Lpn) -> Psn {
        let program = self.blocks.layout.shape.row_slots() * self.blocks.shape.word_line;
        let (stripe, inside) = (lpn.get() / program, lpn.get() % program);
        let (group, row) = self.writer.placer.static_group(stripe);
        let rows = (self.blocks.layout.shape.superblock_slots() / program).max(1);
        let block = row / rows % self.blocks.layout.shape.blocks;
        let superblock = SuperblockId::new(group * self.blocks.layout.shape.blocks + block);
        self.blocks
            .layout
            .slot(superblock, (row % rows * program + inside) % self.blocks.layout.shape.superblock_slots())
    }

    /// Reads a mapping unit without a place from its static slot, for the time of the read; the data are zeros.
    #[cold]
    pub(super) fn read_unmapped(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) {
        owners.note_unmapped();
        let psn = self.static_place(lpn);
        let member = self.blocks.layout.member_at(psn);
        let die = self.blocks.layout.array.die_of(member);
        let open = self.reading.get(die);
        let joins = open.filter(|(_, command)| {
            let (_, first) = flash.backend.slot(*command, 0);
            let command = flash.backend.command(*command);
            let same_row = self.blocks.layout.array.row_of(first.psn) == self.blocks.layout.array.row_of(psn);
            command.is_blank() && same_row && command.count() < self.blocks.layout.shape.row_slots()
        });
        let command = match joins {
            Some((_, command)) => command,
            None => {
                let list = match open {
                    Some((list, _)) => list,
                    None => flash.backend.open_list(owners.read_class(wanted.owner), ListPurpose::Read as u32),
                };
                let command = flash.backend.add_read(list, Cause::Host, member);
                flash.backend.set_blank(command);
                self.reading.set(die, (list, command));
                owners.charge(wanted.owner);
                command
            }
        };
        flash.backend.push_slot(command, wanted.slot(lpn, psn));
        move_parts(flash.backend, command);
    }
}
