//! Host reads.

use base::units::{Lpn, Psn};
use flash::backend::Cause;
use flash::nand::Media;

use super::{EraseWhen, Held, Kind, LogBlockFtl};
use crate::port::{Flash, Owners, PageRead};
use crate::toolkit::add_read;

impl LogBlockFtl {
    /// Reads sectors of a mapping unit. Returns false if no flash page holds it: it reads as zeros.
    pub(crate) fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        if self.is_in_buffer(self.address.split(lpn).0) {
            self.held.push(Held { lpn, wanted });
            return true;
        }
        let Some(psn) = self.place_of(flash.backend.media(), lpn) else { return false };
        self.read_at(flash, owners, wanted, lpn, psn);
        true
    }

    /// True unless a mapping unit reads as zeros.
    pub(super) fn may_hold(&self, lpn: Lpn, media: &Media) -> bool {
        self.is_in_buffer(self.address.split(lpn).0) || self.place_of(media, lpn).is_some()
    }

    /// True if the controllers' buffer may hold the only copies of some pages of a logical block.
    pub(super) fn is_in_buffer(&self, lbn: super::address::Lbn) -> bool {
        self.spec.erase == EraseWhen::Read && self.is_folding(lbn)
    }

    fn read_at(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn, psn: Psn) {
        let (superblock, _) = self.geometry.locate(psn);
        let die = self.geometry.die_of(superblock);
        self.block(superblock).pins += 1;
        let list = self.reading.list(flash.backend, die, (owners.read_class(wanted.owner), Kind::Read.tag(0)));
        add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        owners.charge(wanted.owner);
    }

    /// Submits the lists of a complete request, one for each die.
    pub(crate) fn end_read(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.reading.pop_last() {
            self.submit(flash, list);
        }
    }

    /// Sends the reads whose merge has ended.
    pub(super) fn release_reads(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if self.held.is_empty() {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        let mut latest = None;
        held.retain(|read| {
            if self.is_in_buffer(self.address.split(read.lpn).0) {
                return true;
            }
            // A list is of one class.
            let class = owners.read_class(read.wanted.owner);
            if latest.replace(class).is_some_and(|latest| latest != class) {
                self.end_read(flash);
            }
            match self.place_of(flash.backend.media(), read.lpn) {
                Some(psn) => self.read_at(flash, owners, read.wanted, read.lpn, psn),
                None => owners.read_nothing(read.wanted.owner),
            }
            false
        });
        self.held = held;
        self.end_read(flash);
    }
}
