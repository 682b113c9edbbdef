//! The page-mapped FTL behind the port.

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::List;
use flash::nand::Media;

use super::PageFtl;
use crate::port::{Counters, Flash, Ftl, Owner, Owners, PageRead, PageWrite};

impl Ftl for PageFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn found(&self) -> u32 {
        self.found
    }

    fn batch(&self, _: u32) -> u32 {
        self.program_slots()
    }

    fn free_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| pool.free.len() as u64).sum()
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
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read_alone(flash, owners, wanted, lpn)
    }

    #[inline]
    fn begin_write(&mut self, set: u32) {
        self.begin_write(set);
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.write(flash, owners, unit);
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.end_write(flash, owners);
    }

    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.close_programs(flash, owners);
    }

    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        self.gathered(flash, into);
    }

    fn takes_writes(&self, set: u32, _: u32) -> bool {
        self.takes_writes(set)
    }

    /// A discard that waits for its record must not come after a newer write.
    fn discards_in_order(&self) -> bool {
        self.trims.is_some()
    }

    /// A discard with a record on flash needs space for it.
    fn may_refuse_discards(&self) -> bool {
        self.trims.is_some()
    }

    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        self.discard(now, owner, lpn)
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.now = flash.now;
        self.finished(flash, owners, list);
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        Self::prepared(flash, token);
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, _: Option<&Media>) -> bool {
        self.may_hold(lpn, media)
    }

    #[inline]
    fn fetch(&self, unit: usize, media: &Media) {
        self.fetch(unit, media);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Three fields that are mostly empty.
    fn is_due(&self, timed: bool) -> bool {
        self.map_is_due(timed) || self.trims_are_due() || self.checkpoint_is_due()
    }

    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.now = flash.now;
        self.advance_map(flash, owners);
        let stores = self.trims_are_due() || self.checkpoint_is_due();
        self.store_trims(flash, owners);
        self.store_checkpoint(flash, owners);
        if stores {
            // Their pages may have ended the turn of a block.
            self.announce_room(owners);
        }
    }

    fn wake(&mut self, now: Time) {
        self.wake(now);
    }

    fn work_alone(&mut self, flash: &mut Flash<'_>, until: Time, stepped: &mut dyn FnMut(Time)) -> bool {
        self.map_works_alone(flash, until, stepped)
    }

    fn begin_preconditioning(&mut self, media: &Media) {
        self.begin_preconditioning(media);
    }

    fn set_timed(&mut self, timed: bool) {
        self.placer.set_timed(timed);
        self.set_timed(timed);
    }

    fn power_off(&mut self, now: Time) {
        self.flush_map(now);
        self.want_checkpoint();
    }

    fn is_recovering(&self) -> bool {
        self.is_rewriting()
    }

    fn stale_pages(&self) -> u32 {
        self.stale_pages()
    }

    fn recover(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.rewrite(flash, owners);
    }

    fn counters(&self, now: Time) -> Counters {
        let streams = self.streams.as_ref().map(|streams| Box::new(streams.counters.clone()));
        Counters { map: self.map_counters(now), streams, ..Counters::default() }
    }
}
