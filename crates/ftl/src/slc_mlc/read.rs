//! Reads: what the SLC flash has of a unit comes from there, the rest from the MLC flash (Chang, Sec. 3.5).

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Observer, Slot};
use flash::nand::Sector;

use super::blocks::NONE;
use super::gather::Gatherer;
use super::{ChangFtl, Step, Work};
use crate::port::{Flash, Owner, Owners};

/// A unit that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) owner: Owner,
    pub(super) at: i32,
    pub(super) mask: u64,
    pub(super) lpn: u32,
    /// Sectors that the SLC flash has.
    pub(super) slc: u64,
    /// The MLC flash has some of the others.
    pub(super) from_mlc: bool,
}

impl ChangFtl {
    /// Takes the next step of the read: first the SLC flash, then the MLC flash.
    pub(super) fn read_on<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        if !self.is_gathered && self.gather_reads(flash, owners) {
            return;
        }
        let mut reads = std::mem::take(&mut self.reads_now);
        let mut list = None;
        for read in &mut reads {
            let psn = self.map[read.lpn as usize];
            let mask = read.mask & !read.slc;
            read.from_mlc = psn != NONE && mask != 0;
            if !read.from_mlc {
                continue;
            }
            let list = *list.get_or_insert_with(|| flash.backend.open_list(Class::HostRead, 0));
            let (lba, _) = self.split(read.lpn);
            self.look_up(lba, false);
            self.add_looks(flash, list);
            let command = flash.backend.add_read(list, Cause::Host, SuperblockId::new(psn / self.pages));
            let (lpn, owner, at) = (Lpn::new(read.lpn), read.owner, read.at);
            let slot = Slot { psn: Psn::new(psn), lpn, owner, at, mask, expected: true, ..Slot::default() };
            flash.backend.push_slot(command, slot);
            owners.charge(owner);
        }
        self.reads_now = reads;
        match list {
            Some(list) => self.submit(flash, Step::Read, list),
            None => self.answer(flash, owners, None),
        }
    }

    /// False if the SLC flash has nothing of them.
    fn gather_reads<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) -> bool {
        let Some(slc) = &self.slc else { return false };
        let mut gatherer = Gatherer::new();
        for (i, read) in self.reads_now.iter_mut().enumerate() {
            if slc.held[read.lpn as usize] == 0 {
                continue;
            }
            for offset in (0..self.geometry.sectors).filter(|offset| read.mask >> offset & 1 != 0) {
                let sector = read.lpn * self.geometry.sectors + offset;
                let Some(place) = slc.place_of(sector) else { continue };
                read.slc |= 1 << offset;
                gatherer.add(flash, slc, Cause::Host, (sector, place), (i, read.owner));
            }
            if read.slc != 0 {
                owners.charge(read.owner);
            }
        }
        if let Some(list) = gatherer.list() {
            self.submit_second(flash, Step::Gather, list);
        }
        gatherer.list().is_some()
    }

    pub(super) fn read_from_mlc<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        self.answer(flash, owners, Some(list));
        flash.backend.release(list);
    }

    /// Everything has been read.
    fn answer<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Option<Handle<List>>,
    ) {
        let (reads, sectors) = (&self.reads_now, self.geometry.sectors);
        Self::each_gathered(self.gathered, flash, |flash, sector| {
            let read = &reads[sector.at];
            let at = read.at + (sector.sector % sectors) as i32;
            owners.read_part(read.owner, at, flash.second().payload_of(sector.place), sector.lost);
        });
        let service = self.service();
        let mut next = list.and_then(|list| flash.backend.list(list).first());
        for read in reads {
            if read.from_mlc {
                // Looks at spare areas carry no slots.
                while let Some(command) = next.filter(|command| flash.backend.command(*command).count() == 0) {
                    next = flash.backend.command(command).sibling();
                }
                let command = next.expect("a command for each unit");
                next = flash.backend.command(command).sibling();
                let (place, slot) = flash.backend.slot(command, 0);
                owners.read_done(&slot, flash.backend.payload_of(place), service);
            } else if read.slc != 0 {
                owners.read_done(&Slot { owner: read.owner, ..Slot::default() }, &[], service);
            } else {
                owners.read_nothing(read.owner);
            }
        }
        self.release_gathered(flash);
        self.work = Work::None;
    }
}
