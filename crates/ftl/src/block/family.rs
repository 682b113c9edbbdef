//! The device descriptions that the block-mapped FTL accepts, and its configuration for them.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, Ratio, SECTOR};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::{BlockConfig, BlockSpec, RESERVE};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::kind::FtlKind;
use crate::map_unit::MapSpec;
use crate::page::{GcSpec, PlacementSpec};
use crate::pages;
use crate::spec::FtlSpec;
use crate::toolkit::WearSpec;

#[derive(Debug)]
pub(crate) struct BlockFamily;

impl Family for BlockFamily {
    fn samples(&self) -> Vec<FtlSpec> {
        let sample = |replacements, dynamic| FtlSpec {
            kind: FtlKind::Block,
            over_provisioning: Some(Ratio::new(0.6)),
            block: BlockSpec { replacements },
            wear: WearSpec { dynamic, ..WearSpec::default() },
            ..FtlSpec::default()
        };
        // The first sample differs from the defaults.
        vec![sample(3, false), sample(1, true), sample(0, true)]
    }

    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        if site.ftl.block != BlockSpec::default() {
            let remedy = "leave [ftl.block] out, or set ftl.kind to block";
            faults.add("ftl.block", "this FTL has no replacement blocks", remedy);
        }
    }

    fn check(&self, site: &Site<'_>, faults: &mut Faults) {
        site.ftl.block.check(faults);
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, placement) = (site.ftl.gc != GcSpec::default(), site.ftl.placement != PlacementSpec::default());
        vec![
            Idle::new("ftl.gc", gc, "merges reclaim its blocks"),
            Idle::new("ftl.placement", placement, "a logical block's number determines its die"),
        ]
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        Arc::new(self.make_config(site, setup))
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        pages::geometry(site, pages::LargestUnit::Page, faults)
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let (path, units) = site.asked_units(geometry, faults)?;
        let dies = geometry.die_count();
        let blocks = geometry.superblock_count() / dies;
        let most = u64::from(blocks.saturating_sub(RESERVE)) * u64::from(dies) * u64::from(geometry.superblock_slots());
        if most == 0 {
            let message =
                format!("each die has {blocks} blocks and merges reserve {RESERVE}: none remains for the host");
            faults.add(site.flash.blocks_key(), message, format!("give each die at least {}", RESERVE + 1));
            return None;
        }
        if units == 0 || units > most {
            let unit = u64::from(geometry.sectors) * SECTOR.get();
            let message = format!(
                "a capacity of {} does not fit: each die has {blocks} blocks, and merges reserve {RESERVE}",
                Bytes::new(units * unit),
            );
            let remedy = format!("use a capacity of {} to {}", Bytes::new(unit), Bytes::new(most * unit));
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, sets: usize, faults: &mut Faults) {
        faults.0.extend(crate::toolkit::single_page_faults(geometry, timing.one_shot, "a block map places"));
        if site.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "a block map is always in RAM", "leave it out");
        }
        if site.ftl.wear.threshold.is_some() {
            faults.add("ftl.wear.threshold", "a block-mapped FTL has no static wear levelling", "leave it out");
        }
        if sets > 1 {
            let message =
                "a block-mapped FTL cannot confine a queue to dies: a logical block's number determines its die";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }
}

impl BlockFamily {
    /// The configuration of the FTL for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> BlockConfig {
        let Array { geometry, backend, spare_transfer, .. } = setup.array;
        BlockConfig {
            geometry,
            timing: backend.timing,
            spare_transfer,
            units: setup.units,
            spec: site.ftl.block.clone(),
            wear: site.ftl.wear.clone(),
        }
    }
}
