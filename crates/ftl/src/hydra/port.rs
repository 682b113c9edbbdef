//! The FTL port of Hydra's FTL.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use flash::nand::Media;

use super::HydraFtl;
use crate::port::{Counters, Flash, Ftl, Owner, Owners, PageRead, PageWrite, Saved};

impl Ftl for HydraFtl {
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
        self.superblocks.free_count()
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
        self.place_of_row(lpn, media).is_some()
    }

    fn batch(&self, _: u32) -> u32 {
        self.batch()
    }

    /// A merge that waits may begin without a word to the buffer.
    fn announces_room(&self) -> bool {
        false
    }

    fn takes_writes(&self, _: u32, _: u32) -> bool {
        self.takes_writes()
    }

    fn log_is_full(&self) -> bool {
        self.log_is_full()
    }

    fn log_is_ready(&mut self, flash: &mut Flash<'_>) -> bool {
        self.log_is_ready(flash)
    }

    fn log(&mut self, unit: PageWrite) -> bool {
        self.log(unit)
    }

    fn end_log(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, version: u32) {
        self.end_log(flash, owners, version);
    }

    fn take_saved(&mut self) -> Vec<Saved> {
        self.take_saved()
    }

    #[inline]
    fn on_idle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> bool {
        self.on_idle(flash, owners)
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        Self::on_cpu_done(flash, token);
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { merges: Some(self.counters()), ..Counters::default() }
    }
}
