//! Any family as one FTL, by static dispatch.

use std::fmt::Display;

use base::engine::{Handle, Rng};
use base::units::{DieId, Lpn, Span, Time};
use flash::backend::List;
use flash::nand::Media;

use crate::block::{BlockConfig, BlockFamily, BlockFtl};
use crate::family::{Config, Family, MapImages, Setup, Site, WorkingSpace};
use crate::hydra::{HydraConfig, HydraFamily, HydraFtl};
use crate::kind::FtlKind;
use crate::log_block::{LogBlockConfig, LogBlockFamily, LogBlockFtl, Policy};
use crate::page::{PageConfig, PageFamily, PageFtl};
use crate::port::{Counters, Flash, Ftl, Mount, Owner, Owners, PageRead, PageWrite, Saved};
use crate::sabotage::Planted;
use crate::slc_mlc::{SlcMlcConfig, SlcMlcFamily, SlcMlcFtl};
use crate::spec::FtlSpec;

/// The configuration of an FTL of any family.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A device has one of them.
pub enum AnyConfig {
    /// The page-mapped FTL.
    Page(PageConfig),
    /// Hydra's.
    Hydra(HydraConfig),
    /// BAST and FAST.
    LogBlock(LogBlockConfig),
    /// Chang's.
    SlcMlc(SlcMlcConfig),
    /// The block-mapped FTL.
    Block(BlockConfig),
}

/// An FTL of any family.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A device has one of them, and a box would cost each request an indirection.
pub enum AnyFtl {
    /// The page-mapped FTL.
    Page(PageFtl),
    /// Hydra's.
    Hydra(HydraFtl),
    /// BAST and FAST.
    LogBlock(LogBlockFtl),
    /// Chang's.
    SlcMlc(SlcMlcFtl),
    /// The block-mapped FTL.
    Block(BlockFtl),
}

impl FtlKind {
    /// The family's checks and resolution of descriptions.
    #[must_use]
    pub fn family(self) -> &'static dyn Family {
        match self {
            Self::Page => &PageFamily,
            Self::Hydra => &HydraFamily,
            Self::Bast => &LogBlockFamily(Policy::Bast),
            Self::Fast => &LogBlockFamily(Policy::Fast),
            Self::Chang => &SlcMlcFamily,
            Self::Block => &BlockFamily,
        }
    }

    /// Tables `[ftl]` for tests that run on every family; empty if the tests have devices made for it.
    #[must_use]
    pub fn samples(self) -> Vec<FtlSpec> {
        self.family().samples()
    }

    /// The configuration of its FTL, for a description without faults.
    #[must_use]
    pub fn config(self, site: &Site<'_>, setup: Setup) -> AnyConfig {
        match self {
            Self::Page => AnyConfig::Page(PageFamily.config(site, setup)),
            Self::Hydra => AnyConfig::Hydra(HydraFamily.config(site, setup)),
            Self::Bast => AnyConfig::LogBlock(LogBlockFamily(Policy::Bast).config(site, setup)),
            Self::Fast => AnyConfig::LogBlock(LogBlockFamily(Policy::Fast).config(site, setup)),
            Self::Chang => AnyConfig::SlcMlc(SlcMlcFamily.config(site, setup)),
            Self::Block => AnyConfig::Block(BlockFamily.config(site, setup)),
        }
    }
}

/// Runs the same expression on any family.
macro_rules! each {
    ($any:expr, $ftl:ident => $do:expr) => {
        match $any {
            Self::Page($ftl) => $do,
            Self::Hydra($ftl) => $do,
            Self::LogBlock($ftl) => $do,
            Self::SlcMlc($ftl) => $do,
            Self::Block($ftl) => $do,
        }
    };
}

impl AnyConfig {
    /// Hydra's configuration, if it is that.
    #[must_use]
    pub const fn hydra(&self) -> Option<&HydraConfig> {
        if let Self::Hydra(config) = self { Some(config) } else { None }
    }
}

impl Config for AnyConfig {
    fn units(&self) -> u32 {
        each!(self, config => config.units())
    }

    fn working_space(&self) -> Option<WorkingSpace> {
        each!(self, config => Config::working_space(config))
    }

    fn expected_write_amplification(&self) -> Option<f64> {
        each!(self, config => Config::expected_write_amplification(config))
    }

    fn no_closed_form(&self) -> Option<&'static str> {
        each!(self, config => Config::no_closed_form(config))
    }

    fn no_steady_state(&self) -> Option<&'static str> {
        each!(self, config => Config::no_steady_state(config))
    }

    fn lay_out_steady(
        &self,
        media: &mut Media,
        rng: &mut Rng,
        planted: Planted,
        note: &mut dyn FnMut(&[Lpn], u32),
    ) -> bool {
        each!(self, config => Config::lay_out_steady(config, media, rng, planted, note))
    }

    fn table_ram(&self) -> u64 {
        each!(self, config => config.table_ram())
    }

    fn memory(&self) -> u64 {
        each!(self, config => config.memory())
    }

    fn blocks_written(&self, units: u64) -> Option<u64> {
        each!(self, config => Config::blocks_written(config, units))
    }

    fn memory_of_mount(&self) -> u64 {
        each!(self, config => config.memory_of_mount())
    }

    fn images(&self) -> MapImages {
        each!(self, config => config.images())
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        each!(self, config => config.format(say));
    }

    fn slc_format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        each!(self, config => config.slc_format(say));
    }

    fn unseen_by_preconditioning(&self, only_fills: bool) -> &'static [&'static str] {
        each!(self, config => config.unseen_by_preconditioning(only_fills))
    }

    fn room(&self, dies: &[DieId]) -> Option<u64> {
        each!(self, config => config.room(dies))
    }

    fn is_serial(&self) -> bool {
        each!(self, config => config.is_serial())
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        each!(self, config => config.notes())
    }
}

impl Ftl for AnyFtl {
    type Config = AnyConfig;

    fn mount(config: &AnyConfig, from: &Mount<'_>) -> Self {
        match config {
            AnyConfig::Page(config) => Self::Page(Ftl::mount(config, from)),
            AnyConfig::Hydra(config) => Self::Hydra(Ftl::mount(config, from)),
            AnyConfig::LogBlock(config) => Self::LogBlock(Ftl::mount(config, from)),
            AnyConfig::SlcMlc(config) => Self::SlcMlc(Ftl::mount(config, from)),
            AnyConfig::Block(config) => Self::Block(Ftl::mount(config, from)),
        }
    }

    fn scan_time(config: &AnyConfig, media: &Media, slc_array: Option<&Media>) -> Span {
        match config {
            AnyConfig::Page(config) => <PageFtl as Ftl>::scan_time(config, media, slc_array),
            AnyConfig::Hydra(config) => <HydraFtl as Ftl>::scan_time(config, media, slc_array),
            AnyConfig::LogBlock(config) => <LogBlockFtl as Ftl>::scan_time(config, media, slc_array),
            AnyConfig::SlcMlc(config) => <SlcMlcFtl as Ftl>::scan_time(config, media, slc_array),
            AnyConfig::Block(config) => <BlockFtl as Ftl>::scan_time(config, media, slc_array),
        }
    }

    fn units(&self) -> u32 {
        each!(self, ftl => Ftl::units(ftl))
    }

    fn may_hold(&self, lpn: Lpn, media: &Media, slc_array: Option<&Media>) -> bool {
        each!(self, ftl => Ftl::may_hold(ftl, lpn, media, slc_array))
    }

    fn found(&self) -> u32 {
        each!(self, ftl => Ftl::found(ftl))
    }

    fn free_blocks(&self) -> u64 {
        each!(self, ftl => Ftl::free_blocks(ftl))
    }

    fn latest_version(&self) -> u32 {
        each!(self, ftl => Ftl::latest_version(ftl))
    }

    fn next_version(&mut self) -> u32 {
        each!(self, ftl => Ftl::next_version(ftl))
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners, wanted: PageRead, lpn: Lpn) -> bool {
        each!(self, ftl => Ftl::read(ftl, flash, owners, wanted, lpn))
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        each!(self, ftl => Ftl::end_read(ftl, flash));
    }

    #[inline]
    fn read_alone(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners, wanted: PageRead, lpn: Lpn) -> bool {
        each!(self, ftl => Ftl::read_alone(ftl, flash, owners, wanted, lpn))
    }

    #[inline]
    fn begin_write(&mut self, set: u32) {
        each!(self, ftl => Ftl::begin_write(ftl, set));
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners, unit: PageWrite) {
        each!(self, ftl => Ftl::write(ftl, flash, owners, unit));
    }

    #[inline]
    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners) {
        each!(self, ftl => Ftl::end_write(ftl, flash, owners));
    }

    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners) {
        each!(self, ftl => Ftl::close_programs(ftl, flash, owners));
    }

    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        each!(self, ftl => Ftl::gathered(ftl, flash, into));
    }

    fn discard(&mut self, now: Time, owner: Owner, lpn: Lpn) -> bool {
        each!(self, ftl => Ftl::discard(ftl, now, owner, lpn))
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners, list: Handle<List>) {
        each!(self, ftl => Ftl::finished(ftl, flash, owners, list));
    }

    fn check(&self, media: &Media, slc_array: Option<&Media>) {
        each!(self, ftl => Ftl::check(ftl, media, slc_array));
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request is fetched for, at one of two places.
    fn fetch(&self, unit: usize, media: &Media) {
        each!(self, ftl => Ftl::fetch(ftl, unit, media));
    }

    fn batch(&self, slots: u32) -> u32 {
        each!(self, ftl => Ftl::batch(ftl, slots))
    }

    fn announces_room(&self) -> bool {
        each!(self, ftl => Ftl::announces_room(ftl))
    }

    fn takes_writes(&self, set: u32, under_way: u32) -> bool {
        each!(self, ftl => Ftl::takes_writes(ftl, set, under_way))
    }

    fn discards_in_order(&self) -> bool {
        each!(self, ftl => Ftl::discards_in_order(ftl))
    }

    fn may_refuse_discards(&self) -> bool {
        each!(self, ftl => Ftl::may_refuse_discards(ftl))
    }

    fn log_is_full(&self) -> bool {
        each!(self, ftl => Ftl::log_is_full(ftl))
    }

    fn log_is_ready(&mut self, flash: &mut Flash<'_>) -> bool {
        each!(self, ftl => Ftl::log_is_ready(ftl, flash))
    }

    fn log(&mut self, unit: PageWrite) -> bool {
        each!(self, ftl => Ftl::log(ftl, unit))
    }

    fn end_log(&mut self, flash: &mut Flash<'_>, owners: &impl Owners, version: u32) {
        each!(self, ftl => Ftl::end_log(ftl, flash, owners, version));
    }

    fn take_saved(&mut self) -> Vec<Saved> {
        each!(self, ftl => Ftl::take_saved(ftl))
    }

    #[inline]
    fn on_idle(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners) -> bool {
        each!(self, ftl => Ftl::on_idle(ftl, flash, owners))
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        each!(self, ftl => Ftl::on_cpu_done(ftl, flash, token));
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Asked at the end of every list and of every request.
    fn is_due(&self, timed: bool) -> bool {
        each!(self, ftl => Ftl::is_due(ftl, timed))
    }

    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners) {
        each!(self, ftl => Ftl::run_due(ftl, flash, owners));
    }

    fn wake(&mut self, now: Time) {
        each!(self, ftl => Ftl::wake(ftl, now));
    }

    fn work_alone(&mut self, flash: &mut Flash<'_>, until: Time, stepped: impl FnMut(Time)) -> bool {
        each!(self, ftl => Ftl::work_alone(ftl, flash, until, stepped))
    }

    fn finished_slc(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners, list: Handle<List>) {
        each!(self, ftl => Ftl::finished_slc(ftl, flash, owners, list));
    }

    fn begin_preconditioning(&mut self, media: &Media) {
        each!(self, ftl => Ftl::begin_preconditioning(ftl, media));
    }

    fn set_timed(&mut self, timed: bool) {
        each!(self, ftl => Ftl::set_timed(ftl, timed));
    }

    fn power_off(&mut self, now: Time) {
        each!(self, ftl => Ftl::power_off(ftl, now));
    }

    fn power_fails(&mut self, flash: &mut Flash<'_>) {
        each!(self, ftl => Ftl::power_fails(ftl, flash));
    }

    fn is_recovering(&self) -> bool {
        each!(self, ftl => Ftl::is_recovering(ftl))
    }

    fn stale_pages(&self) -> u32 {
        each!(self, ftl => Ftl::stale_pages(ftl))
    }

    fn recover(&mut self, flash: &mut Flash<'_>, owners: &mut impl Owners) {
        each!(self, ftl => Ftl::recover(ftl, flash, owners));
    }

    fn counters(&self, now: Time) -> Counters {
        each!(self, ftl => Ftl::counters(ftl, now))
    }

    fn reset_counters(&mut self) {
        each!(self, ftl => Ftl::reset_counters(ftl));
    }
}
