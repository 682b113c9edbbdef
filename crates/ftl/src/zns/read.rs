//! Reads of mapping units in a row or a random write area in RAM, in flash, or without data.

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, List, Slot};

use super::zone::RamRow;
use super::{ListPurpose, ZnsFtl};
use crate::port::{Flash, Owners, PageRead, Service};
use crate::toolkit::{Slots, move_parts};

impl ZnsFtl {
    /// Reads sectors of a mapping unit. Returns false if the host has not written the mapping unit since the last
    /// reset.
    pub(super) fn read_unit(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wanted: PageRead,
        lpn: Lpn,
    ) -> bool {
        let (zone, unit) = self.layout.split(lpn);
        let of = &self.zones[zone as usize];
        if unit >= of.data {
            let Some(place) = of.window.as_ref().and_then(|window| window.find(flash.backend, of.placed, unit)) else {
                return false;
            };
            let slot = Slot { lpn, owner: wanted.owner, at: wanted.at, mask: wanted.mask, ..Slot::default() };
            self.ram_reads.push((slot, place));
            return true;
        }
        let (row, inside) = self.layout.row_of(unit);
        if let Some(RamRow { program, .. }) = self.zones[zone as usize].row(row) {
            let (place, _) = flash.backend.slot(*program, inside);
            let slot = Slot { lpn, owner: wanted.owner, at: wanted.at, mask: wanted.mask, ..Slot::default() };
            self.ram_reads.push((slot, place));
            return true;
        }
        let place = self.layout.place_of(row);
        let superblock = self.blocks.member(zone, place.member);
        let psn = self.layout.geometry.slot(superblock, place.offset + inside);
        let die = self.layout.geometry.die_of(superblock);
        let open = self.reading.get(die);
        let command = match open {
            // One array operation reads all mapping units of a row of pages.
            Some((_, command))
                if self.layout.geometry.row_of(flash.backend.slot(command, 0).1.psn)
                    == self.layout.geometry.row_of(psn)
                    && flash.backend.command(command).count() < self.layout.geometry.row_slots() =>
            {
                command
            }
            _ => {
                let list = match open {
                    Some((list, _)) => list,
                    None => flash.backend.open_list(owners.read_class(wanted.owner), ListPurpose::Read.tag()),
                };
                let command = flash.backend.add_read(list, Cause::Host, superblock);
                self.reading.set(die, (list, command));
                owners.charge(wanted.owner);
                command
            }
        };
        flash.backend.push_slot(command, wanted.slot(lpn, psn));
        move_parts(flash.backend, command);
        true
    }

    pub(super) fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut slots = Slots::of(flash.backend, list);
        while let Some((place, slot)) = slots.next(flash.backend) {
            owners.read_done(&slot, flash.backend.content_of(place), service);
        }
        flash.backend.release(list);
    }
}
