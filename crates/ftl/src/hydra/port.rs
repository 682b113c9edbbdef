//! The FTL port of Hydra's FTL.

use base::engine::Handle;
use base::units::{Lpn, Span, Time};
use flash::backend::List;
use flash::nand::{Media, Sector};

use super::{HydraConfig, HydraFtl};
use crate::port::{Counters, Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, Saved};

impl Ftl for HydraFtl {
    type Config = HydraConfig;

    fn mount<S: Sector>(config: &HydraConfig, from: &Mount<'_, S>) -> Self {
        Self::mount(config, from)
    }

    fn scan_time<S: Sector>(config: &HydraConfig, media: &Media<S>, _: Option<&Media<S>>) -> Span {
        Self::scan_time(config, media)
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
    fn read<S: Sector>(
        &mut self,
        flash: &mut Flash<'_, S>,
        owners: &mut impl Owners<S>,
        wanted: PageRead,
        lpn: Lpn,
    ) -> bool {
        self.read(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read<S: Sector>(&mut self, flash: &mut Flash<'_, S>) {
        self.end_read(flash);
    }

    #[inline]
    fn write<S: Sector>(&mut self, _: &mut Flash<'_, S>, _: &mut impl Owners<S>, unit: PageWrite) {
        self.write(unit);
    }

    #[inline]
    fn end_write<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>) {
        self.end_write(flash, owners);
    }

    fn discard(&mut self, _: Time, _: Owner, lpn: Lpn) -> bool {
        self.discard(lpn);
        false
    }

    #[inline]
    fn finished<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>, list: Handle<List>) {
        self.finished(flash, owners, list);
    }

    fn check<S: Sector>(&self, media: &Media<S>, _: Option<&Media<S>>) {
        self.check(media);
    }

    fn may_hold<S: Sector>(&self, lpn: Lpn, media: &Media<S>, _: Option<&Media<S>>) -> bool {
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

    fn log_is_ready<S: Sector>(&mut self, flash: &mut Flash<'_, S>) -> bool {
        self.log_is_ready(flash)
    }

    fn log(&mut self, unit: PageWrite) -> bool {
        self.log(unit)
    }

    fn end_log<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &impl Owners<S>, version: u32) {
        self.end_log(flash, owners, version);
    }

    fn take_saved(&mut self) -> Vec<Saved> {
        self.take_saved()
    }

    #[inline]
    fn on_idle<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>) -> bool {
        self.on_idle(flash, owners)
    }

    fn on_cpu_done<S: Sector>(&self, flash: &mut Flash<'_, S>, token: u32) {
        Self::on_cpu_done(flash, token);
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { merges: Some(self.counters()), ..Counters::default() }
    }
}
