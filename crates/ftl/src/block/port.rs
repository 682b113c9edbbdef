//! The FTL port of the block-mapped FTL.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use flash::nand::Media;

use super::BlockFtl;
use crate::port::{Flash, Ftl, Owner, Owners, PageRead, PageWrite};

impl Ftl for BlockFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn found(&self) -> u32 {
        self.found
    }

    fn free_blocks(&self) -> u64 {
        self.dies.iter().map(|die| u64::from(die.free.len())).sum()
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.end_read(flash);
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.write(flash, owners, unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.end_write(flash, owners);
    }

    /// Sixteen programs for each die. The address decides the die, so with fewer a die would often be idle while others
    /// have several programs to do: of dies chosen by chance, sixteen in seventeen have one.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 16 * self.geometry.die_count() * self.geometry.row_slots()
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.discard(lpn);
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.finished(flash, owners, list);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        let (lbn, offset) = self.split(lpn);
        self.place_of(media, lbn, offset).is_some()
    }
}
