//! Host reads.

use base::units::Lpn;
use flash::backend::Cause;

use super::{BlockFtl, Kind};
use crate::port::{Flash, Owners, PageRead};
use crate::toolkit::add_read;

impl BlockFtl {
    /// Reads sectors of a mapping unit. Returns false if no flash page holds it: it reads as zeros.
    pub(super) fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        let (lbn, offset) = self.split(lpn);
        let Some(psn) = self.place_of(flash.backend.media(), lbn, offset) else { return false };
        let (superblock, _) = self.geometry.locate(psn);
        let die = self.geometry.die_of(superblock);
        self.block(superblock).pins += 1;
        let list = self.reading.list(flash.backend, die, (owners.read_class(wanted.owner), Kind::Read as u32));
        add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        owners.charge(wanted.owner);
        true
    }

    /// Submits the lists of a complete request, one for each die.
    pub(super) fn end_read(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.reading.pop_first() {
            let die = self.die_of(flash, list);
            self.submit(flash, die, list);
        }
    }
}
