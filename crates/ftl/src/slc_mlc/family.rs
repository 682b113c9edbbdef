//! The device descriptions that Chang's FTL accepts, and its configuration for them.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, SECTOR};
use flash::backend::{Arbitration, Completion, Controllers, SlcTiming, Timing, Transfer};
use flash::nand::Geometry;

use super::{ClusterMethod, MappingSpec, SlcMlcConfig, SlcMlcSpec};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::map_unit::MapSpec;
use crate::page::{GcSpec, PlacementSpec};
use crate::pages;
use crate::spec::FtlSpec;

/// The family of Chang's FTL, with or without an SLC array.
#[derive(Debug)]
pub(crate) struct SlcMlcFamily;

impl Family for SlcMlcFamily {
    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        for (path, is_there) in [("ftl.chang", site.ftl.chang.is_some()), ("slc", site.slc.is_some())] {
            if is_there {
                faults.add(path, "this FTL does not use it", "leave it out, or set ftl.kind = \"chang\"");
            }
        }
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let chang = spec(site.ftl);
        let chains = chang.mapping == MappingSpec::Chains;
        let one_by_one = "this FTL runs one command list at a time";
        let mut idle = vec![
            Idle::new(
                "flash.cache-mode",
                !site.flash.cache_mode && chains,
                "successive pages of a command list are never on one die",
            ),
            Idle::new(
                "flash.cache-across-lists",
                site.flash.cache_across_lists && chains,
                "the pages of a list never follow each other on one die",
            ),
            Idle::new(
                "flash.completion",
                site.flash.completion != Completion::default() && chains,
                "the commands of a list are timed when it begins",
            ),
            Idle::new("flash.controllers", site.flash.controllers == Controllers::None, one_by_one),
            Idle::new("ftl.gc", site.ftl.gc != GcSpec::default(), "folds reclaim its blocks, and victims rotate"),
            Idle::new(
                "ftl.placement",
                site.ftl.placement != PlacementSpec::default(),
                "it uses its blocks in \
                                                                                        rotation",
            ),
        ];
        idle.extend(idle_keys(site, &chang));
        idle
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        Arc::new(self.make_config(site, setup))
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        pages::geometry(site, pages::LargestUnit::Page, faults)
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let (path, units) = site.asked_units(geometry, faults)?;
        let spare = site.ftl.chang.clone().unwrap_or_default().least_spare(geometry);
        let most =
            u64::from(geometry.superblock_count().saturating_sub(spare)) * u64::from(geometry.superblock_slots());
        let sectors = u64::from(geometry.sectors);
        if most == 0 {
            let message = format!(
                "the array has {} blocks, and the FTL reserves {spare} for writing and folding: none remains for the \
                 host",
                geometry.superblock_count()
            );
            let density = site.ftl.chang.as_ref().is_some_and(|chang| chang.density.is_some());
            let path = if density { "ftl.chang.density.extra" } else { site.flash.blocks_key() };
            faults.add(path, message, format!("give the array more than {spare} blocks"));
            return None;
        }
        if units == 0 || units > most || units * sectors >= 1 << 31 {
            let unit = sectors * SECTOR.get();
            let message = format!(
                "a capacity of {} does not fit: the array has {} blocks, and the FTL reserves {spare} for writing \
                 and folding",
                Bytes::new(units * unit),
                geometry.superblock_count(),
            );
            let most = most.min((1 << 31) / sectors - 1);
            let remedy = format!("use a capacity of {} to {}", Bytes::new(unit), Bytes::new(most * unit));
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, sets: usize, faults: &mut Faults) {
        let chang = site.ftl.chang.clone().unwrap_or_default();
        faults.0.extend(chang.faults(geometry, timing.one_shot));
        if chang.density.is_some() && site.slc.is_some() {
            let message = "conflicts with slc: only one of them can hold the hot data";
            faults.add("ftl.chang.density", message, "keep one of the two");
        }
        if site.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "this FTL keeps its tables in RAM", "leave it out");
        }
        if site.flash.controllers != Controllers::None && site.flash.controllers != Controllers::default() {
            faults.add("flash.controllers", "this FTL runs one command list at a time", "leave it out");
        }
        if site.flash.software_controllers.is_some() || site.flash.arbitration != Arbitration::default() {
            faults.add(
                "flash",
                "under this FTL no command waits for a controller or a bus",
                "leave software-controllers and arbitration out",
            );
        }
        if site.flash.suspend.is_some() {
            let message = "this FTL runs one command list at a time: no read comes while an array works";
            faults.add("flash.suspend", message, "leave it out");
        }
        if site.flash.plane_reads.is_some() {
            faults.add("flash.plane-reads", "this FTL runs one command list at a time", "leave it out");
        }
        if site.flash.variation.is_some() {
            let message = "this FTL fixes the time of a command list when the list begins, and blocks wear meanwhile";
            faults.add("flash.variation", message, "leave it out");
        }
        if site.flash.transfer != Transfer::default() {
            faults.add("flash.transfer", "this FTL runs one command list at a time", "leave it out");
        }
        if sets > 1 {
            let message = "this FTL cannot confine a queue to dies: its chains mix the data of all queues";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }

    fn slc_mode(&self, site: &Site<'_>) -> Option<SlcTiming> {
        let density = site.ftl.chang.as_ref()?.density.as_ref()?;
        Some(SlcTiming {
            read: density.read,
            program: density.program,
            bits: site.part.bits_per_cell(),
            endurance: None,
        })
    }
}

impl SlcMlcFamily {
    /// The configuration of the FTL for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> SlcMlcConfig {
        let Array { geometry, backend, endurance, .. } = setup.array;
        SlcMlcConfig {
            geometry,
            timing: backend.timing,
            endurance,
            slc_array: setup.slc_array,
            units: setup.units,
            spec: spec(site.ftl),
            wear: site.ftl.wear.clone(),
        }
    }
}

fn spec(ftl: &FtlSpec) -> SlcMlcSpec {
    ftl.chang.clone().unwrap_or_default()
}

/// Keys of `[ftl.chang]` that other keys of the table make ineffective.
fn idle_keys(site: &Site<'_>, chang: &SlcMlcSpec) -> Vec<Idle> {
    let plain = SlcMlcSpec::default();
    let pages = chang.mapping == MappingSpec::Pages;
    let (threshold, recluster) = (chang.threshold != plain.threshold, chang.recluster_every != plain.recluster_every);
    let (step, every) = (chang.throttle_step != plain.throttle_step, chang.throttle_every != plain.throttle_every);
    let valve = chang.safety_valve != plain.safety_valve;
    let mut idle = Vec::new();
    if site.slc.is_none() {
        let of_slc = [
            ("ftl.chang.threshold", threshold),
            ("ftl.chang.recluster-every", recluster),
            ("ftl.chang.hash-entries", chang.hash_entries.is_some()),
            ("ftl.chang.probing", chang.probing != plain.probing),
            ("ftl.chang.probes", chang.probes != plain.probes),
            ("ftl.chang.throttle", chang.throttle != plain.throttle),
            ("ftl.chang.throttle-step", step),
            ("ftl.chang.throttle-every", every),
            ("ftl.chang.copy-back", chang.copy_back != plain.copy_back),
            ("ftl.chang.fold-assistance", chang.fold_assistance != plain.fold_assistance),
            ("ftl.chang.safety-valve", valve),
        ];
        let unused = |(path, is_set)| {
            Idle::new(path, is_set, "there is no SLC flash").remedy("leave it out, or describe one in [slc]")
        };
        idle.extend(of_slc.map(unused));
    }
    if site.slc.is_some() || pages {
        let in_ram = "every page is mapped in RAM";
        idle.extend([
            Idle::new("ftl.chang.mapping-cache", pages && chang.mapping_cache != plain.mapping_cache, in_ram),
            Idle::new("ftl.chang.scan-data-blocks", pages && chang.scan_data_blocks, in_ram),
            Idle::new(
                "ftl.chang.recluster-every",
                recluster && chang.threshold == ClusterMethod::Fixed,
                "the threshold is fixed",
            ),
            Idle::new("ftl.chang.throttle-step", step && !chang.throttle, "the throttle is off"),
            Idle::new("ftl.chang.throttle-every", every && !chang.throttle, "the throttle is off"),
            Idle::new("ftl.chang.safety-valve", valve && !chang.copy_back, "nothing is copied back"),
        ]);
    }
    idle
}
