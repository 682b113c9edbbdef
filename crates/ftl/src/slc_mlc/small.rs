//! Small writes: they are appended to the SLC log, page by page (Chang, Sec. 3.3).

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, Class, List, Observer, Slot};
use flash::nand::{Sector, Stream, Target};

use super::{ChangFtl, Step, Work};
use crate::port::{Flash, Owners, Unit};

impl ChangFtl {
    /// Takes the next step of the write: room is made, or pages are programmed, or it is done.
    pub(super) fn small_on<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        let slc = self.slc.as_mut().expect("it took the write");
        if self.small_done == self.smalls.len() {
            let service = self.service();
            self.units_now.iter().for_each(|unit| owners.write_done(unit.owner, service));
            self.work = Work::None;
            return;
        }
        if slc.log.used() > slc.most_used() && !self.stuck {
            return self.begin_clean();
        }
        let (next, room) = slc.log.room();
        if room == 0 {
            if !slc.log.advance() {
                // The tail must go, even to the last sector.
                if slc.log.used() > 1 && !self.stuck {
                    return self.begin_clean();
                }
                self.give_up_small();
            }
            return;
        }
        let most = (room * slc.slots) as usize;
        let end = self.smalls.len().min(self.small_done + most);
        let part = &self.smalls[self.small_done..end];
        // What was virtual may have gone with the tail meanwhile.
        if !slc.reserve(part.iter().map(|(sector, _)| *sector)) {
            return self.give_up_small();
        }
        let list = flash.second().open_list(Class::Other, 0);
        let pages = part.chunks(slc.slots as usize);
        for (page, sectors) in (next..).zip(pages) {
            let target = Target { superblock: slc.log.head(), offset: page * slc.slots };
            let program = flash.second().add_program(list, Cause::Host, target, Stream::Host);
            owners.charge(self.units_now[sectors[0].1 as usize].owner);
            for (sector, unit) in sectors {
                let unit = &self.units_now[*unit as usize];
                let (lpn, version, owner) = (Lpn::new(*sector), unit.version, unit.owner);
                let slot = Slot { lpn, version, owner, mask: 1, expected: true, ..Slot::default() };
                let to = flash.second().push_slot(program, slot);
                if S::PRESENT {
                    let at = unit.at + (sector % self.geometry.sectors) as i32;
                    owners.give(&Unit { at, mask: 1, ..*unit }, flash.second().payload_of(to));
                }
            }
        }
        slc.log.take((part.len() as u32).div_ceil(slc.slots));
        self.submit_second(flash, Step::Small, list);
    }

    /// The SLC flash cannot take the rest of the write: all of it goes to the MLC flash.
    fn give_up_small(&mut self) {
        let slc = self.slc.as_mut().expect("it took the write");
        self.smalls.iter().for_each(|(sector, _)| slc.table.unreserve(*sector));
        self.write_large();
    }

    /// The pages are there: only now the table leads to them.
    pub(super) fn small_written<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        let slc = self.slc.as_mut().expect("it took the write");
        let mut next = flash.second().list(list).first();
        while let Some(program) = next {
            let command = flash.second().command(program);
            next = command.sibling();
            let (target, count) = (command.target, command.count());
            for i in 0..count {
                let psn = slc.geometry.slot(target.superblock, target.offset + i);
                let (sector, unit) = self.smalls[self.small_done];
                self.small_done += 1;
                if !flash.second().media().holds_data(psn) {
                    slc.log.head_failed();
                    self.smalls.push((sector, unit));
                } else {
                    slc.set(sector, self.units_now[unit as usize].lpn.get(), psn.get(), false);
                    self.counts.slc_sectors += 1;
                }
            }
        }
        flash.second().release(list);
    }
}
