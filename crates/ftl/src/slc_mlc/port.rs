//! The FTL port of Chang's FTL.

use base::engine::Handle;
use base::units::{Lpn, Span, Time};
use flash::backend::List;
use flash::nand::{Media, Sector};

use super::{SlcMlcConfig, SlcMlcFtl};
use crate::port::{Counters, Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite};

impl Ftl for SlcMlcFtl {
    type Config = SlcMlcConfig;

    fn mount<S: Sector>(config: &SlcMlcConfig, from: &Mount<'_, S>) -> Self {
        Self::mount(config, from)
    }

    fn scan_time<S: Sector>(config: &SlcMlcConfig, media: &Media<S>, slc_array: Option<&Media<S>>) -> Span {
        Self::scan_time(config, media, slc_array)
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

    fn discard(&mut self, _: Time, owner: Owner, lpn: Lpn) -> bool {
        self.discard(owner, lpn)
    }

    #[inline]
    fn finished<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>, list: Handle<List>) {
        self.finished(flash, owners, list);
    }

    fn check<S: Sector>(&self, media: &Media<S>, slc_array: Option<&Media<S>>) {
        self.check(media, slc_array);
    }

    fn may_hold<S: Sector>(&self, lpn: Lpn, _: &Media<S>, _: Option<&Media<S>>) -> bool {
        self.may_hold(lpn)
    }

    #[inline]
    fn fetch<S: Sector>(&self, unit: usize, _: &Media<S>) {
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

    fn run_due<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>) {
        self.begin_due(flash, owners);
    }

    fn finished_slc<S: Sector>(&mut self, flash: &mut Flash<'_, S>, owners: &mut impl Owners<S>, list: Handle<List>) {
        self.finished_slc(flash, owners, list);
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { slc_mlc: Some(Box::new(self.counters())), ..Counters::default() }
    }

    fn reset_counters(&mut self) {
        self.reset_counters();
    }
}
