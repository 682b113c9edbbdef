//! The configuration of Chang's FTL.

use std::fmt::Display;

use base::memory::growing;
use base::units::Span;
use flash::backend::Timing;
use flash::nand::{Geometry, Media};

use super::blocks::Blocks;
use super::cache::MapCache;
use super::slc::Slc;
use super::{DensitySpec, MappingSpec, SlcMlcFtl, SlcMlcSpec, chains, density, filter, wear};
use crate::family::{Array, Config};
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, Map, WearSpec};

/// Keys and tables of a device that have an effect only on the SLC flash.
const OF_SLC: [&str; 12] = [
    "slc",
    "ftl.chang.threshold",
    "ftl.chang.recluster-every",
    "ftl.chang.hash-entries",
    "ftl.chang.probing",
    "ftl.chang.probes",
    "ftl.chang.throttle",
    "ftl.chang.throttle-step",
    "ftl.chang.throttle-every",
    "ftl.chang.copy-back",
    "ftl.chang.fold-assistance",
    "ftl.chang.safety-valve",
];

/// The configuration of Chang's FTL, on an MLC array alone or with an SLC array.
#[derive(Clone, Debug)]
pub struct SlcMlcConfig {
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) endurance: u32,
    /// The SLC flash in front; none for the paper's conventional SSD.
    pub(crate) slc_array: Option<Array>,
    pub(crate) units: u32,
    pub(crate) spec: SlcMlcSpec,
    pub(crate) wear: WearSpec,
}

impl SlcMlcConfig {
    /// Entries of the SLC flash's hash table; 0 without SLC flash.
    fn hashed(&self) -> u64 {
        self.slc_array.as_ref().map_or(0, |slc_array| u64::from(self.spec.entries(&slc_array.geometry)) * 2)
    }

    fn slc_slots(&self) -> u64 {
        self.slc_array.as_ref().map_or(0, |slc_array| u64::from(slc_array.geometry.slot_count()))
    }
}

impl Config for SlcMlcConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(SlcMlcFtl::mount(self, from))
    }

    fn scan_time(&self, media: &Media, slc_array: Option<&Media>) -> Span {
        SlcMlcFtl::scan_time(self, media, slc_array)
    }

    fn units(&self) -> u32 {
        self.units
    }

    /// Bytes of the following tables: L2P and LB, with an entry for each logical and each physical block; the pages of
    /// the logical blocks in the mapping cache; the number and place of each sector in the SLC flash (Chang, Sec. 3.5
    /// and 5.4); and the counters of density control.
    fn table_ram(&self) -> u64 {
        let spec = &self.spec;
        if spec.mapping == MappingSpec::Pages {
            // The page map has an entry for each page, the hash table, and a second-chance bit for each sector slot of
            // the SLC flash.
            return (u64::from(self.units) + self.hashed()) * ENTRY + self.slc_slots().div_ceil(8);
        }
        let pages = u64::from(self.geometry.superblock_slots());
        let logical = u64::from(self.units).div_ceil(pages);
        let cached = logical.min(u64::from(spec.mapping_cache)) * pages;
        // Density control has a counter of two bytes, its value at the last ranking, and a bit for the mode.
        let density = spec.density.as_ref().map_or(0, |_| logical * 4 + logical.div_ceil(8));
        (logical + u64::from(self.geometry.superblock_count()) + cached + self.hashed()) * ENTRY + density
    }

    fn memory(&self) -> u64 {
        let (geometry, spec) = (&self.geometry, &self.spec);
        let (units, blocks) = (u64::from(self.units), u64::from(geometry.superblock_count()));
        let logical = units.div_ceil(u64::from(geometry.superblock_slots()));
        let mapping = match spec.mapping {
            MappingSpec::Chains => chains::memory(logical),
            MappingSpec::Pages => crate::toolkit::Minima::memory(1, blocks),
        };
        let map = Map::memory(units);
        let levelled = if self.wear.threshold.is_some() { wear::memory(blocks) } else { 0 };
        let density = if spec.density.is_some() { density::memory(logical) } else { 0 };
        let slc = self.slc_array.as_ref().map_or(0, |slc_array| Slc::memory(spec, &slc_array.geometry, units));
        map + mapping + MapCache::memory(logical) + Blocks::memory(blocks) + levelled + density + slc
    }

    /// Bytes of the list of programmed blocks by age, and of the newest copy of every sector in the SLC flash, which
    /// has about half of its slots.
    fn memory_of_mount(&self) -> u64 {
        growing(u64::from(self.geometry.superblock_count()), 24) + growing(self.slc_slots() / 2, 32)
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        let chang = &self.spec;
        say("ftl.chang.mapping", &format!("{:?}", chang.mapping).to_lowercase());
        let extra = chang.density.as_ref();
        let extra = extra.map_or("none".to_owned(), |DensitySpec { extra, .. }| extra.to_string());
        say("ftl.chang.density", &extra);
    }

    fn slc_format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        let chang = &self.spec;
        let Some(slc_array) = &self.slc_array else { return say("slc", &"none") };
        let g = &slc_array.geometry;
        say("slc.blocks", &g.blocks);
        say("slc.pages", &g.pages);
        say("slc (bytes of a page)", &(g.slots * g.sectors * 512));
        let entries = chang.hash_entries.map_or("half the pages of the SLC flash".to_owned(), |n| n.to_string());
        say("ftl.chang.hash-entries", &entries);
        say("ftl.chang.probing", &format!("{:?}", chang.probing).to_lowercase());
        say("ftl.chang.probes", &chang.probes);
    }

    /// A fill writes whole blocks of data. Writes of one size leave the threshold of small writes where it is, so the
    /// SLC flash receives none of them if they are larger than the threshold.
    fn unseen_by_preconditioning(&self, only_fills: bool) -> &'static [&'static str] {
        let slots = self.geometry.superblock_slots();
        let all_are_large = self.units.is_multiple_of(slots) && slots * self.geometry.sectors > filter::FIRST;
        if only_fills && all_are_large { &OF_SLC } else { &[] }
    }

    fn is_serial(&self) -> bool {
        true
    }
}
