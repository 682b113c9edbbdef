//! The FTL port of Chang's FTL.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use flash::nand::Media;

use super::SlcMlcFtl;
use crate::port::{Counters, Flash, Ftl, Owner, Owners, PageRead, PageWrite};

impl Ftl for SlcMlcFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.disk.mlc.units()
    }

    fn found(&self) -> u32 {
        self.found
    }

    fn free_blocks(&self) -> u64 {
        self.free_blocks()
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
    fn write(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, unit: PageWrite) {
        self.write(unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.end_write(flash, owners);
    }

    fn discard(&mut self, _: Time, owner: Owner, lpn: Lpn) -> bool {
        self.discard(owner, lpn)
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.finished(flash, owners, list);
    }

    fn check(&self, media: &Media, slc_array: Option<&Media>) {
        self.check(media, slc_array);
    }

    fn may_hold(&self, lpn: Lpn, _: &Media, _: Option<&Media>) -> bool {
        self.may_hold(lpn)
    }

    #[inline]
    fn fetch(&self, unit: usize, _: &Media) {
        self.fetch(unit);
    }

    fn batch(&self, _: u32) -> u32 {
        self.batch()
    }

    /// One write is worked on, and one is behind it.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 2
    }

    fn discards_in_order(&self) -> bool {
        true
    }

    #[inline]
    fn is_due(&self, _: bool) -> bool {
        self.is_due()
    }

    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.begin_due(flash, owners);
    }

    fn finished_slc(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.finished_slc(flash, owners, list);
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { slc_mlc: Some(Box::new(self.counters())), ..Counters::default() }
    }

    fn reset_counters(&mut self) {
        self.reset_counters();
    }
}
