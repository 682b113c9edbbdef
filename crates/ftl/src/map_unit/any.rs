//! Any map unit, chosen by its description. A new kind of map unit is a variant here, its arm in [`AnyMapUnit::new`],
//! and its name in `each!`.

use std::collections::BTreeMap;

use base::units::{Bytes, Lpn, Psn, Time};
use flash::nand::{Geometry, Image};

use super::backing::Plan;
use super::cdftl::SecondLevel;
use super::costs::Costs;
use super::dftl::Direct;
use super::entry::{ENTRY, decode};
use super::fmmu::{Fmmu, Sizes};
use super::layout::MapLayout;
use super::software::Software;
use super::uncached::UncachedMap;
use super::write_back::WriteBack;
use super::{Ask, Asker, Counters, FmmuSpec, MapSetup, MapSpec, MapTable, MapUnit, Output, OwnMapUnit, Ticket};

/// Any map unit, by static dispatch. A drive builds a new map unit after a power cut, because the state of a map unit
/// is in RAM.
#[derive(Clone, Debug)]
pub struct AnyMapUnit(MapUnitKind);

// A device has one map unit, so it does not matter that the smallest variant takes as much memory as the largest.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum MapUnitKind {
    Table(MapTable),
    Uncached(UncachedMap),
    Dftl(Software<Direct>),
    Cdftl(Software<SecondLevel>),
    Fmmu(Fmmu),
    WriteBack(WriteBack),
    Own(Box<dyn OwnMapUnit>),
}

macro_rules! each {
    ($unit:expr, $inner:ident => $do:expr) => {
        match $unit {
            MapUnitKind::Table($inner) => $do,
            MapUnitKind::Uncached($inner) => $do,
            MapUnitKind::Dftl($inner) => $do,
            MapUnitKind::Cdftl($inner) => $do,
            MapUnitKind::Fmmu($inner) => $do,
            MapUnitKind::WriteBack($inner) => $do,
            MapUnitKind::Own($inner) => $do,
        }
    };
}

/// The number of blocks of `block` entries in a cache of this size.
fn blocks(size: Bytes, block: u32) -> u32 {
    (size.get() / (u64::from(block) * ENTRY)) as u32
}

impl AnyMapUnit {
    /// Builds a map unit of the library for `units` entries in translation pages of size `page`; none if the FTL has
    /// the map itself. The map unit starts with no translation page in flash.
    ///
    /// # Panics
    ///
    /// If the description has faults ([`MapSpec::faults`]).
    #[must_use]
    pub fn new(spec: &MapSpec, units: u32, page: Bytes) -> Option<Self> {
        let faults = spec.faults(page);
        assert!(faults.is_empty(), "{faults:?}");
        let entries = |size: Bytes| (size.get() / ENTRY) as u32;
        let layout = |block| MapLayout::new(units, entries(page), block);
        Some(Self(match spec {
            MapSpec::Ram => return None,
            // Without a cache of blocks, a question may have as many mapping units as an answer holds.
            MapSpec::Table { service } => MapUnitKind::Table(MapTable::new(layout(super::SPAN), *service)),
            MapSpec::Uncached { service } => MapUnitKind::Uncached(UncachedMap::new(layout(super::SPAN), *service)),
            MapSpec::Dftl(spec) => MapUnitKind::Dftl(Self::dftl(
                &Plan {
                    layout: layout(entries(spec.block)),
                    costs: spec.costs.resolve(Costs::DFTL),
                    cores: spec.cores,
                    outstanding: spec.outstanding,
                    shared_loads: spec.shared_loads,
                    blocks: blocks(spec.cmt, entries(spec.block)) / spec.cores,
                    ways: spec.ways,
                    evict: spec.evict,
                },
                spec.write_buffers,
            )),
            MapSpec::Cdftl(spec) => MapUnitKind::Cdftl(Self::cdftl(
                &Plan {
                    layout: layout(entries(spec.block)),
                    costs: spec.costs.resolve(Costs::CDFTL),
                    cores: spec.cores,
                    outstanding: spec.outstanding,
                    shared_loads: true,
                    blocks: blocks(spec.cmt, entries(spec.block)) / spec.cores,
                    ways: spec.ways,
                    evict: spec.evict,
                },
                blocks(spec.ctp, entries(page)) / spec.cores,
                spec.write_buffers,
            )),
            MapSpec::Own(spec) => unreachable!("{spec} is built for a drive"),
            MapSpec::Fmmu(spec) => {
                let sizes = Self::sizes(spec, layout(entries(spec.block)));
                MapUnitKind::Fmmu(Fmmu::new(&sizes, spec.costs.resolve(Costs::FMMU)))
            }
        }))
    }

    /// Builds the map unit of a device at power-on; none if the FTL has the map itself. `found` has the entry of every
    /// mapping unit, from the scan of the spare areas, and a translation page has `entries` entries. `geometry` and
    /// `options` are for a map unit that the program has registered.
    pub(crate) fn start(
        spec: &MapSpec,
        found: impl ExactSizeIterator<Item = u32>,
        entries: u32,
        (geometry, options): (&Geometry, &BTreeMap<String, f64>),
    ) -> Option<Self> {
        if let MapSpec::Own(own) = spec {
            let setup = MapSetup { units: found.len() as u32, entries, ram: own.ram, geometry, options };
            return Some(Self(MapUnitKind::Own(own.build(&setup))));
        }
        // A full table has no translation pages; its questions may be as large as those of other map units.
        let page = Bytes::new(u64::from(entries.max(super::SPAN)) * ENTRY);
        let mut unit = Self::new(spec, found.len() as u32, page)?;
        if let Some(table) = unit.table() {
            for (lpn, found) in (0..).map(Lpn::new).zip(found) {
                table.enter(lpn, decode(found));
            }
        }
        Some(unit)
    }

    /// The map unit of a drive that is being preconditioned, for `units` entries in translation pages of `page` entries.
    /// `image` has the content of each page on flash.
    pub(crate) fn write_back<'a>(units: u32, page: u32, image: impl Fn(u32) -> Option<&'a [u32]>) -> Self {
        Self(MapUnitKind::WriteBack(WriteBack::new(units, page, image)))
    }

    pub(super) fn dftl(plan: &Plan, buffers: u32) -> Software<Direct> {
        Software::new(plan, |_| Direct::new((buffers / plan.cores).max(1), plan.layout.page))
    }

    pub(super) fn cdftl(plan: &Plan, pages: u32, buffers: u32) -> Software<SecondLevel> {
        let buffers = (buffers / plan.cores).max(1);
        let (ways, page) = (plan.ways, plan.layout.page);
        let level = |core| SecondLevel::new((core, plan.cores), (pages, ways), page, buffers, plan.evict);
        Software::new(plan, level)
    }

    pub(super) fn sizes(spec: &FmmuSpec, layout: MapLayout) -> Sizes {
        let cmt_blocks = blocks(spec.cmt, layout.block);
        let ctp_blocks = blocks(spec.ctp, layout.page);
        let low = (f64::from(cmt_blocks) * spec.low.get()) as u32;
        Sizes {
            layout,
            cmt_blocks,
            cmt_ways: spec.ways,
            ctp_blocks,
            ctp_ways: spec.ways,
            evict: spec.evict,
            low,
            // A flush makes at least one block clean.
            high: ((f64::from(cmt_blocks) * spec.high.get()) as u32).max(low + 1),
            batch: spec.batch,
            window: spec.window,
            ctp_dirty: (f64::from(ctp_blocks) * spec.dirty.get()) as u32,
            buffers: spec.write_buffers,
            responses: spec.responses,
            queue: spec.queue,
            set_wait_queue: spec.set_wait_queue,
        }
    }

    /// The full table, if the map unit is a full table: the content of a table cannot come from translation pages.
    pub fn table(&mut self) -> Option<&mut MapTable> {
        match &mut self.0 {
            MapUnitKind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Asserts that the caller has advanced the map unit to the end of every step before `now`.
    fn expect_punctual(&self, now: Time) {
        assert!(self.next_event().is_none_or(|due| due >= now), "a map unit is advanced at each of its events");
    }
}

impl MapUnit for AnyMapUnit {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.expect_punctual(now);
        each!(&mut self.0, unit => unit.ask(now, asker, ticket, ask));
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>) {
        self.expect_punctual(now);
        each!(&mut self.0, unit => unit.loaded(now, tvpn, image));
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        self.expect_punctual(now);
        each!(&mut self.0, unit => unit.stored(now, tvpn));
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        each!(&mut self.0, unit => unit.advance(now, out));
    }

    fn next_event(&self) -> Option<Time> {
        each!(&self.0, unit => unit.next_event())
    }

    fn image(&self, tvpn: u32) -> &Image {
        each!(&self.0, unit => unit.image(tvpn))
    }

    fn recycle(&mut self, tvpn: u32, image: Image) {
        each!(&mut self.0, unit => unit.recycle(tvpn, image));
    }

    fn flush(&mut self, now: Time) {
        each!(&mut self.0, unit => unit.flush(now));
    }

    fn set_timed(&mut self, timed: bool) {
        each!(&mut self.0, unit => unit.set_timed(timed));
    }

    fn set_collector_weight(&mut self, valid: u32, of: u32) {
        each!(&mut self.0, unit => unit.set_collector_weight(valid, of));
    }

    #[inline]
    fn prefetch(&self, unit: usize) {
        each!(&self.0, inner => inner.prefetch(unit));
    }

    fn counters(&self, now: Time) -> Counters {
        each!(&self.0, unit => unit.counters(now))
    }

    fn is_clean(&self) -> bool {
        each!(&self.0, unit => unit.is_clean())
    }

    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        each!(&self.0, unit => unit.peek(lpn, images))
    }
}

#[cfg(test)]
mod small {
    //! Tests use sizes that no description has, such as blocks of two entries.

    use super::*;

    impl From<MapTable> for AnyMapUnit {
        fn from(unit: MapTable) -> Self {
            Self(MapUnitKind::Table(unit))
        }
    }

    impl From<UncachedMap> for AnyMapUnit {
        fn from(unit: UncachedMap) -> Self {
            Self(MapUnitKind::Uncached(unit))
        }
    }

    impl From<Software<Direct>> for AnyMapUnit {
        fn from(unit: Software<Direct>) -> Self {
            Self(MapUnitKind::Dftl(unit))
        }
    }

    impl From<Software<SecondLevel>> for AnyMapUnit {
        fn from(unit: Software<SecondLevel>) -> Self {
            Self(MapUnitKind::Cdftl(unit))
        }
    }

    impl From<Fmmu> for AnyMapUnit {
        fn from(unit: Fmmu) -> Self {
            Self(MapUnitKind::Fmmu(unit))
        }
    }
}
