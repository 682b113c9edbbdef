//! The families of flash translation layers behind one face.
//!
//! What the device asks of an FTL is here, once. A family has methods of the same names; what only some families do
//! (a map unit that works on its own, say) is nothing in the others.

use base::engine::Handle;
use base::units::{Lpn, Span, Time};
use flash::backend::{List, Observer};
use flash::nand::{Media, Sector};

use super::chang::{ChangFtl, HybridCounters};
use super::hybrid::{HybridFtl, LogMerges};
use super::hydra::{HydraFtl, Saved};
use super::map_unit::Counters;
use super::page::PageFtl;
use super::{Flash, Owner, Owners, Unit};
use crate::Resolved;
use crate::counters::MergeCounters;
use crate::spec::FtlKind;

/// The FTL of a device.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A device has one of them, and a box would be a step more on each request's way.
pub(crate) enum Ftl {
    Page(PageFtl),
    Hydra(HydraFtl),
    Hybrid(HybridFtl),
    Chang(Box<ChangFtl>),
}

/// The same for every family.
macro_rules! each {
    ($any:expr, $ftl:ident => $do:expr) => {
        match $any {
            Self::Page($ftl) => $do,
            Self::Hydra($ftl) => $do,
            Self::Hybrid($ftl) => $do,
            Self::Chang($ftl) => $do,
        }
    };
}

impl Ftl {
    /// The FTL of a device, with its state read from the media: a new drive is one where nothing is found.
    pub(crate) fn mount<S: Sector>(
        resolved: &Resolved,
        media: &Media<S>,
        second: Option<&Media<S>>,
        seed: u64,
    ) -> Self {
        match resolved.ftl.kind {
            FtlKind::Page => Self::Page(PageFtl::mount(resolved, media, seed)),
            FtlKind::Hydra => Self::Hydra(HydraFtl::mount(resolved, media)),
            FtlKind::Bast | FtlKind::Fast => Self::Hybrid(HybridFtl::mount(resolved, media)),
            FtlKind::Chang => Self::Chang(Box::new(ChangFtl::mount(resolved, media, second))),
        }
    }

    /// Bytes that the FTL of a device takes, with everything written.
    pub(crate) fn memory(resolved: &Resolved) -> u64 {
        match resolved.ftl.kind {
            FtlKind::Page => PageFtl::memory(resolved),
            FtlKind::Hydra => HydraFtl::memory(resolved),
            FtlKind::Bast | FtlKind::Fast => HybridFtl::memory(resolved),
            FtlKind::Chang => ChangFtl::memory(resolved),
        }
    }

    /// Bytes that a mount of what has been written takes besides.
    pub(crate) fn memory_of_mount(resolved: &Resolved) -> u64 {
        match resolved.ftl.kind {
            FtlKind::Page => PageFtl::memory_of_mount(resolved),
            FtlKind::Hydra => HydraFtl::memory_of_mount(resolved),
            FtlKind::Bast | FtlKind::Fast => HybridFtl::memory_of_mount(resolved),
            FtlKind::Chang => ChangFtl::memory_of_mount(resolved),
        }
    }

    /// The time that reading this state takes.
    pub(crate) fn scan_time<S: Sector>(resolved: &Resolved, media: &Media<S>, second: Option<&Media<S>>) -> Span {
        match resolved.ftl.kind {
            FtlKind::Page | FtlKind::Bast | FtlKind::Fast => PageFtl::scan_time(resolved, media),
            FtlKind::Hydra => HydraFtl::scan_time(resolved, media),
            FtlKind::Chang => ChangFtl::scan_time(resolved, media, second),
        }
    }

    /// Mapping units the host can address.
    pub(crate) fn units(&self) -> u32 {
        each!(self, ftl => ftl.units())
    }

    /// Units that recovery found.
    pub(crate) fn found(&self) -> u32 {
        each!(self, ftl => ftl.found())
    }

    /// Free superblocks.
    pub(crate) fn free_blocks(&self) -> u64 {
        each!(self, ftl => ftl.free_blocks())
    }

    /// Units that a write had best hand over at once, where one command programs `slots`.
    pub(crate) const fn batch(&self, slots: u32) -> u32 {
        match self {
            Self::Page(_) | Self::Hybrid(_) => slots,
            Self::Hydra(ftl) => ftl.batch(),
            Self::Chang(ftl) => ftl.batch(),
        }
    }

    /// False while a write that was handed over would only wait, and a buffer had better keep it. When that is over,
    /// [`Owners::room`] is called.
    pub(crate) fn takes_writes(&self) -> bool {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => true,
            Self::Hydra(ftl) => ftl.takes_writes(),
        }
    }

    /// True if a flush had better write everything back: its log has no room, or there is none.
    pub(crate) fn log_is_full(&self) -> bool {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => true,
            Self::Hydra(ftl) => ftl.log_is_full(),
        }
    }

    /// True if the log of flushes can be written now, or some of it.
    pub(crate) fn log_is_ready<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) -> bool {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => false,
            Self::Hydra(ftl) => ftl.log_is_ready(flash),
        }
    }

    /// A unit of the buffer that is to be logged as it is now. False if there is no room for it yet.
    pub(crate) fn log(&mut self, unit: Unit) -> bool {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => false,
            Self::Hydra(ftl) => ftl.log(unit),
        }
    }

    /// All units that are to be logged at once have been handed over: [`Owners::logged`] follows.
    pub(crate) fn end_log<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &impl Owners<S>,
        version: u32,
    ) {
        if let Self::Hydra(ftl) = self {
            ftl.end_log(flash, owners, version);
        }
    }

    /// What recovery found in the log of flushes and not in its place: the buffer gets it back.
    pub(crate) fn take_saved(&mut self) -> Vec<Saved> {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => Vec::new(),
            Self::Hydra(ftl) => ftl.take_saved(),
        }
    }

    /// The device has nothing to do. True if the FTL begins something of its own.
    #[inline]
    pub(crate) fn rest<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) -> bool {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => false,
            Self::Hydra(ftl) => ftl.rest(flash, owners),
        }
    }

    /// The processor has finished a thought of the FTL.
    pub(crate) fn thought<S: Sector, O: Observer>(&self, flash: &mut Flash<'_, S, O>, token: u32) {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => unreachable!("an FTL that takes no time"),
            Self::Hydra(_) => HydraFtl::thought(flash, token),
        }
    }

    /// The version of the latest write.
    pub(crate) fn latest_version(&self) -> u32 {
        each!(self, ftl => ftl.latest_version())
    }

    /// The version for the next request: all its units share it.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub(crate) fn next_version(&mut self) -> u32 {
        each!(self, ftl => ftl.next_version())
    }

    /// A request for this unit will come: whatever memory that takes may be fetched.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        if let Self::Page(ftl) = self {
            ftl.fetch(unit);
        }
    }

    /// Reads sectors of a unit for an owner, as one of several units that [`Ftl::end_read`] ends. False if the unit is
    /// nowhere: the owner is then told nothing.
    #[inline]
    pub(crate) fn read<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        wanted: (Owner, i32, u64),
        lpn: Lpn,
    ) -> bool {
        each!(self, ftl => ftl.read(flash, owners, wanted, lpn))
    }

    /// All units of a request have been asked for.
    #[inline]
    pub(crate) fn end_read<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        each!(self, ftl => ftl.end_read(flash));
    }

    /// Begins a write of several units by an owner in an NVM set.
    #[inline]
    pub(crate) fn begin_write(&mut self, set: u32) {
        match self {
            Self::Page(ftl) => ftl.begin_write(set),
            Self::Hydra(_) | Self::Chang(_) => {}
            Self::Hybrid(ftl) => ftl.begin_write(),
        }
    }

    /// Writes a unit, or some sectors of it. No other write of this unit is under way.
    #[inline]
    pub(crate) fn write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        unit: Unit,
    ) {
        match self {
            Self::Page(ftl) => ftl.write(flash, owners, unit),
            Self::Hydra(ftl) => ftl.write(unit),
            Self::Hybrid(ftl) => ftl.write(flash, owners, unit),
            Self::Chang(ftl) => ftl.write(unit),
        }
    }

    /// All units of the write have been handed over.
    #[inline]
    pub(crate) fn end_write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        each!(self, ftl => ftl.end_write(flash, owners));
    }

    /// Forgets a unit. True if the owner will be told later that it is done.
    pub(crate) fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        match self {
            Self::Page(ftl) => ftl.discard(now, owner, lpn),
            Self::Hydra(ftl) => {
                ftl.discard(lpn);
                false
            }
            Self::Hybrid(ftl) => {
                ftl.discard(lpn);
                false
            }
            Self::Chang(ftl) => ftl.discard(owner, lpn),
        }
    }

    /// True if a discard may wait behind writes that were handed over before it.
    pub(crate) const fn discards_in_turn(&self) -> bool {
        matches!(self, Self::Chang(_))
    }

    /// A list has finished.
    #[inline]
    pub(crate) fn finished<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        each!(self, ftl => ftl.finished(flash, owners, list));
    }

    /// Checks everything that must hold between two events.
    ///
    /// # Panics
    /// If something does not hold.
    pub(crate) fn check<S: Sector>(&self, media: &Media<S>, second: Option<&Media<S>>) {
        match self {
            Self::Page(ftl) => ftl.check(media),
            Self::Hydra(ftl) => ftl.check(media),
            Self::Hybrid(ftl) => ftl.check(media),
            Self::Chang(ftl) => ftl.check(media, second),
        }
    }

    /// True if it has something to do now on its own account; with time off whatever is due later is due now.
    #[inline]
    pub(crate) fn is_due(&self, timed: bool) -> bool {
        match self {
            Self::Page(ftl) => ftl.map_is_due(timed),
            Self::Chang(ftl) => ftl.is_due(),
            Self::Hydra(_) | Self::Hybrid(_) => false,
        }
    }

    /// Does it.
    pub(crate) fn work<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        match self {
            Self::Page(ftl) => ftl.advance_map(flash, owners),
            Self::Chang(ftl) => ftl.begin_due(flash, owners),
            Self::Hydra(_) | Self::Hybrid(_) => {}
        }
    }

    /// An event of its own has come.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Self::Page(ftl) = self {
            ftl.wake(now);
        }
    }

    /// The power goes in order: what it keeps in RAM only is to be stored. Nothing else is under way.
    pub(crate) fn power_off(&mut self, now: Time) {
        if let Self::Page(ftl) = self {
            ftl.flush_map(now);
        }
    }

    /// True while recovery writes something: no request is taken meanwhile.
    pub(crate) fn is_recovering(&self) -> bool {
        match self {
            Self::Page(ftl) => ftl.is_rewriting(),
            Self::Hydra(_) | Self::Hybrid(_) | Self::Chang(_) => false,
        }
    }

    /// Translation pages that recovery found to be out of date.
    pub(crate) fn stale_pages(&self) -> u32 {
        match self {
            Self::Page(ftl) => ftl.stale_pages(),
            Self::Hydra(_) | Self::Hybrid(_) | Self::Chang(_) => 0,
        }
    }

    /// The scan of recovery is over, and what it has to write is to be written.
    pub(crate) fn recover<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        if let Self::Page(ftl) = self {
            ftl.rewrite(flash, owners);
        }
    }

    /// What the map unit did, if there is one.
    pub(crate) fn map_counters(&self, now: Time) -> Option<Counters> {
        match self {
            Self::Page(ftl) => ftl.map_counters(now),
            Self::Hydra(_) | Self::Hybrid(_) | Self::Chang(_) => None,
        }
    }

    /// What merges did, if it is made of them.
    pub(crate) fn merge_counters(&self) -> Option<MergeCounters> {
        match self {
            Self::Page(_) | Self::Hybrid(_) | Self::Chang(_) => None,
            Self::Hydra(ftl) => Some(ftl.counters()),
        }
    }

    /// What merges there were since the power came, if it has log blocks.
    pub(crate) const fn log_merges(&self) -> Option<LogMerges> {
        match self {
            Self::Page(_) | Self::Hydra(_) | Self::Chang(_) => None,
            Self::Hybrid(ftl) => Some(ftl.log_merges()),
        }
    }

    /// What a hybrid SLC/MLC disk has counted, if it is one.
    pub(crate) fn hybrid_counters(&self) -> Option<Box<HybridCounters>> {
        if let Self::Chang(ftl) = self { Some(Box::new(ftl.counters())) } else { None }
    }

    /// Forgets what was counted.
    pub(crate) fn reset_counters(&mut self) {
        if let Self::Chang(ftl) = self {
            ftl.reset_counters();
        }
    }

    /// A list of the second array has finished.
    pub(crate) fn finished_second<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        list: Handle<List>,
    ) {
        let Self::Chang(ftl) = self else { unreachable!("only a hybrid disk has a second array") };
        ftl.finished_second(flash, owners, list);
    }

    /// The power goes at this moment: what capacitors hold up is saved.
    pub(crate) fn power_fails<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        if let Self::Hybrid(ftl) = self {
            ftl.power_fails(flash);
        }
    }
}
