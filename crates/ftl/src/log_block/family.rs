//! The device descriptions that the log-block FTLs accept, and their configuration for them.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, SECTOR};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::{LogBlockConfig, LogSpec, Policy};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::map_unit::MapSpec;
use crate::page::{GcSpec, PlacementSpec};
use crate::pages;

/// The family of the log-block FTLs: BAST and FAST.
#[derive(Debug)]
pub(crate) struct LogBlockFamily(pub(crate) Policy);

impl Family for LogBlockFamily {
    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        let is_used = site.ftl.kind.has_log_blocks();
        // Reports the fault once, not for both policies.
        if site.ftl.log != LogSpec::default() && !is_used && self.0 == Policy::Bast {
            let remedy = "leave [ftl.log] out, or set ftl.kind to bast or fast";
            faults.add("ftl.log", "this FTL has no log blocks", remedy);
        }
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, placement) = (site.ftl.gc != GcSpec::default(), site.ftl.placement != PlacementSpec::default());
        vec![
            Idle::new("ftl.gc", gc, "merges reclaim its blocks"),
            Idle::new("ftl.placement", placement, "ftl.log.allocation decides the placement"),
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
        let most = site.ftl.log.most_units(geometry);
        if most == 0 {
            let (blocks, all) = (site.ftl.log.blocks, geometry.superblock_count());
            let message = format!(
                "the array has {all} blocks, the log uses {blocks} and merges reserve {}: none remains for the host",
                site.ftl.log.reserve()
            );
            let path = match &site.ftl.log {
                log if *log == LogSpec::default() => site.flash.blocks_key(),
                log if log.parallel > log.blocks => "ftl.log.parallel",
                _ => "ftl.log.blocks",
            };
            faults.add(path, message, "give the array more blocks, or the log fewer blocks or merges");
            return None;
        }
        if units == 0 || units > most {
            let unit = u64::from(geometry.sectors) * SECTOR.get();
            let message = format!(
                "a capacity of {} does not fit: the array has {} blocks, the log uses {} and merges reserve {}",
                Bytes::new(units * unit),
                geometry.superblock_count(),
                site.ftl.log.blocks,
                site.ftl.log.reserve()
            );
            let remedy = format!("use a capacity of {} to {}", Bytes::new(unit), Bytes::new(most * unit));
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, sets: usize, faults: &mut Faults) {
        faults.0.extend(site.ftl.log.faults(self.0, geometry, timing.one_shot));
        if site.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "an FTL with log blocks keeps its maps in RAM", "leave it out");
        }
        if site.ftl.wear.threshold.is_some() {
            faults.add("ftl.wear.threshold", "an FTL with log blocks has no static wear levelling", "leave it out");
        }
        if sets > 1 {
            let message =
                "an FTL with log blocks cannot confine a queue to dies: its merges mix the data of all queues";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }
}

impl LogBlockFamily {
    /// The configuration of the FTL for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> LogBlockConfig {
        let Array { geometry, backend, spare_transfer, .. } = setup.array;
        LogBlockConfig {
            policy: self.0,
            geometry,
            timing: backend.timing,
            controllers: backend.controllers,
            spare_transfer,
            units: setup.units,
            spec: site.ftl.log.clone(),
            wear: site.ftl.wear.clone(),
        }
    }
}
