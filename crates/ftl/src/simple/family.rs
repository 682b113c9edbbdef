//! The descriptions that a simple FTL accepts.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::{Geometry, Media};

use super::layer::Layer;
use super::traffic::Traffic;
use super::{SimpleDrive, SimpleFtl, SimpleSite};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::map_unit::MapSpec;
use crate::page::{GcSpec, PlacementSpec};
use crate::pages;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, WearSpec};

/// The family of one registered type of simple FTL.
pub(crate) struct SimpleFamily<F>(PhantomData<fn() -> F>);

impl<F> SimpleFamily<F> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

/// The configuration of a simple FTL.
#[derive(Debug)]
struct SimpleConfig<F> {
    geometry: Geometry,
    timing: Timing,
    spare_transfer: Span,
    units: u32,
    name: &'static str,
    version: String,
    options: BTreeMap<String, f64>,
    ftl: PhantomData<fn() -> F>,
}

impl<F: SimpleFtl> SimpleConfig<F> {
    fn drive<'a>(&'a self, media: &'a Media) -> SimpleDrive<'a> {
        SimpleDrive { units: self.units, name: self.name, geometry: &self.geometry, options: &self.options, media }
    }
}

impl<F: SimpleFtl> Config for SimpleConfig<F> {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(Layer::<F>::mount(&self.drive(from.media), from.planted))
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        crate::toolkit::scan_time(&self.timing, self.spare_transfer, media)
    }

    fn units(&self) -> u32 {
        self.units
    }

    /// Four bytes for each mapping unit, as for a page map.
    fn table_ram(&self) -> u64 {
        u64::from(self.units) * ENTRY
    }

    /// Bytes of a map twice the size of a compact one, and some words for each block.
    fn memory(&self) -> u64 {
        let blocks = self.geometry.superblock_count();
        u64::from(self.units) * 8 + Traffic::memory(blocks) + u64::from(blocks) * 64
    }

    /// Bytes of the newest copy of each mapping unit.
    fn memory_of_mount(&self) -> u64 {
        u64::from(self.units) * size_of::<Option<(u32, bool, base::units::Psn)>>() as u64
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        say("ftl.version", &self.version);
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("FTL", format!("{} of this program, version {}", self.name, self.version))]
    }
}

impl<F: SimpleFtl> Family for SimpleFamily<F> {
    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, placement) = (site.ftl.gc != GcSpec::default(), site.ftl.placement != PlacementSpec::default());
        let wear = site.ftl.wear != WearSpec::default();
        let alone = "each command of an FTL of the program is a list of its own";
        vec![
            Idle::new("flash.cache-mode", !site.flash.cache_mode && !site.flash.cache_across_lists, alone),
            Idle::new("ftl.gc", gc, "an FTL of the program collects as it likes").remedy(OPTIONS),
            Idle::new("ftl.placement", placement, "an FTL of the program places data as it likes").remedy(OPTIONS),
            Idle::new("ftl.wear", wear, "an FTL of the program levels wear as it likes").remedy(OPTIONS),
        ]
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        let Array { geometry, backend, spare_transfer, .. } = setup.array;
        let (name, version) = site.ftl.kind.own().expect("an FTL of the program");
        Arc::new(SimpleConfig::<F> {
            geometry,
            timing: backend.timing,
            spare_transfer,
            units: setup.units,
            name,
            version: version.unwrap_or_default(),
            options: site.ftl.options.clone(),
            ftl: PhantomData,
        })
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        pages::geometry(site, pages::LargestUnit::Page, faults)
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let (path, units) = site.asked_units(geometry, faults)?;
        let (name, _) = site.ftl.kind.own()?;
        let simple = SimpleSite { name, geometry, options: &site.ftl.options };
        let (blocks, spare) = (geometry.superblock_count(), F::spare_blocks(&simple));
        let most = u64::from(blocks.saturating_sub(spare)) * u64::from(geometry.superblock_slots());
        if units == 0 || units > most {
            let unit = u64::from(geometry.sectors) * SECTOR.get();
            let message = format!(
                "a capacity of {} does not fit: there are {blocks} blocks, and the FTL keeps {spare} to itself",
                Bytes::new(units * unit),
            );
            let remedy = match most {
                0 => format!("give the flash at least {} blocks", spare.saturating_add(1)),
                _ => format!("use a capacity of {} to {}", Bytes::new(unit), Bytes::new(most * unit)),
            };
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, sets: usize, faults: &mut Faults) {
        faults.0.extend(crate::toolkit::single_page_faults(geometry, timing.one_shot, "a simple FTL places"));
        if site.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "the map of a simple FTL is in RAM", "leave it out");
        }
        if sets > 1 {
            let message = "a simple FTL cannot confine a queue to dies";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }
}

/// The advice for a key that has no effect.
const OPTIONS: &str = "leave it out; numbers for the FTL belong into [ftl.options]";
