//! The device descriptions that Hydra's FTL accepts, and its configuration for them.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, SECTOR, Span};
use flash::backend::Controllers;
use flash::nand::Geometry;

use super::{Areas, HydraConfig, HydraSpec, Layout, ProcessorSpec};
use crate::family::{Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::map_unit::MapSpec;
use crate::spec::FtlSpec;

#[derive(Debug)]
pub(crate) struct HydraFamily;

impl Family for HydraFamily {
    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        if site.ftl.hydra.is_some() {
            faults.add("ftl.hydra", "is for Hydra's FTL only", "leave it out, or set ftl.kind = \"hydra\"");
        }
    }

    fn check(&self, site: &Site<'_>, faults: &mut Faults) {
        let Site { ftl, part, .. } = *site;
        let plain = FtlSpec::default();
        let strange = [
            ("ftl.map", ftl.map != MapSpec::Ram, "the block map is in RAM"),
            ("ftl.map-unit", ftl.map_unit.is_some(), "a row of the gang is its mapping unit"),
            ("ftl.placement", ftl.placement != plain.placement, "a logical superblock stays on its superchip"),
            ("ftl.gc", ftl.gc != plain.gc, "merges reclaim its blocks"),
        ];
        for (path, is, why) in strange {
            if is {
                faults.add(path, format!("has no effect under Hydra's FTL: {why}"), "leave it out");
            }
        }
        let shape = &part.geometry;
        if shape.planes_per_die != 1 {
            let message = format!("a die has {} planes, and Hydra's copy-back works on one", shape.planes_per_die);
            faults.add("flash.planes", message, "use planes = 1");
        }
        if part.timing.one_shot != 1 {
            faults.add("flash.part", "programs several pages at once", "use a part with one_shot = 1");
        }
        if !part.features.copy_back {
            faults.add("flash.part", "has no copy-back, which merges need", "use another part, e.g. K9K8G08U0M");
        }
        if site.flash.width / 8 != site.flash.gang {
            let message = format!(
                "{} bits do not match a gang of {}: each chip has a bus of 8 \
                                   bits",
                site.flash.width, site.flash.gang
            );
            faults.add("flash.width", message, format!("use {}", site.flash.gang.saturating_mul(8)));
        }
        let hydra = ftl.hydra.clone().unwrap_or_default();
        faults.positive("ftl.hydra.chips", hydra.chips);
        let on_channel = u64::from(site.flash.chips) * u64::from(shape.dies_per_chip);
        if hydra.chips > 0 && !on_channel.is_multiple_of(u64::from(hydra.chips)) {
            let message = format!("{} dies of a channel do not divide into groups of {}", on_channel, hydra.chips);
            faults.add("ftl.hydra.chips", message, "use a divisor");
        }
        if hydra.processor.is_some_and(|processor| processor.mhz == 0) {
            faults.add("ftl.hydra.processor.mhz", "is zero: the processor would never finish", "use e.g. 200");
        }
        if let Some(cycles) = hydra.processor.and_then(|processor| processor.unit_cycles) {
            let path = "ftl.hydra.processor.unit-cycles";
            if cycles == 0 {
                faults.add(path, "is zero", "leave it out for controllers in hardware, which take no time");
            }
            if site.flash.software_controllers.is_some() {
                faults.add(
                    path,
                    "conflicts with flash.software-controllers, which sets the same time",
                    "keep one of the two",
                );
            }
        }
        if site.confines {
            faults.add(
                "host.queue",
                "confines writes to dies, which a block map cannot do",
                "leave channels and dies out",
            );
        }
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let processor = site.ftl.hydra.as_ref().and_then(|hydra| hydra.processor);
        let unread = |processor: ProcessorSpec| {
            processor.synthesizer && processor.read_cycles != ProcessorSpec::default().read_cycles
        };
        let multi_plane = site.flash.multi_plane.is_some();
        vec![
            Idle::new("flash.multi-plane", multi_plane, "Hydra's FTL works on one plane of a die"),
            Idle::new(
                "flash.cache-mode",
                !site.flash.cache_mode,
                "successive pages of a command list are never on one die",
            ),
            Idle::new(
                "ftl.map-gather",
                site.ftl.map_gather.is_some(),
                "the block map of Hydra's FTL has no translation pages",
            ),
            Idle::new(
                "ftl.hydra.processor.read-cycles",
                processor.is_some_and(unread),
                "the synthesizer turns reads into commands without the processor",
            )
            .remedy("leave it out, or set ftl.hydra.processor.synthesizer = false"),
        ]
    }

    /// A gang is one die, and a row of its chips' pages is one page: the mapping unit.
    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        Arc::new(self.make_config(site, setup))
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        let Site { flash, part, .. } = *site;
        let row = part.geometry.page.get().saturating_mul(u64::from(flash.gang)) / SECTOR.get();
        let geometry = Geometry::new(
            flash.channels,
            flash.chips,
            part.geometry.dies_per_chip,
            1,
            1,
            part.geometry.blocks_per_plane,
            part.geometry.pages_per_block,
            1,
            u32::try_from(row).unwrap_or(u32::MAX),
        );
        geometry.map_err(|error| faults.0.push(flash.impossible(&error, part, "flash.gang"))).ok()
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let layout = layout(site, geometry);
        let spares = layout.spares;
        if spares >= geometry.blocks {
            let message = format!("{spares} of the {} blocks of a die are spare", geometry.blocks);
            faults.add("ftl.hydra.spare-blocks", message, format!("use at most {}", geometry.blocks / 2));
            return None;
        }
        let areas = areas(site, &layout);
        let reserved = spares.saturating_add(areas.most_blocks());
        // Each superchip keeps one superblock free as the target of merges.
        if geometry.blocks < reserved.saturating_add(2) {
            let message = format!(
                "a die has {} blocks, and needs {spares} as spares, {} for the map and its log, and two for data",
                geometry.blocks,
                areas.most_blocks()
            );
            faults.add("flash.blocks", message, format!("use at least {}", reserved.saturating_add(2)));
            return None;
        }
        let layout = Layout { superblocks: geometry.blocks - reserved, ..layout };
        units(site, geometry, &layout, faults)
    }

    fn superblock(&self, site: &Site<'_>, geometry: &Geometry) -> Option<u32> {
        Some(layout(site, geometry).rows())
    }

    fn software_controllers(&self, ftl: &FtlSpec) -> Option<Span> {
        let processor = ftl.hydra.as_ref()?.processor?;
        Some(processor.time(processor.unit_cycles?))
    }
}

impl HydraFamily {
    /// The configuration of the FTL for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> HydraConfig {
        let Setup { array, units, .. } = setup;
        let mut layout = layout(site, &array.geometry);
        let areas = areas(site, &layout);
        layout.superblocks = array.geometry.blocks - layout.spares - areas.most_blocks();
        layout.logical = units.div_ceil(layout.rows());
        let hydra = spec(site);
        let processor = hydra.processor.filter(|processor| processor.mhz > 0);
        let cpu_time = processor.map_or([Span::ZERO; 2], |processor| {
            let read = if processor.synthesizer { Span::ZERO } else { processor.time(processor.read_cycles) };
            [read, processor.time(processor.merge_cycles)]
        });
        let at_once = match site.flash.controllers {
            Controllers::Shared(count) | Controllers::Background(count) => count,
            _ => layout.superchips,
        };
        HydraConfig {
            areas: areas.of(&layout),
            layout,
            at_once,
            cpu_time,
            units,
            wear: site.ftl.wear.clone(),
            timing: array.backend.timing,
            replicate: hydra.replicate,
            logs_flushes: site.flush_log.is_some(),
        }
    }
}

fn spec(site: &Site<'_>) -> HydraSpec {
    site.ftl.hydra.clone().unwrap_or_default()
}

/// The superchips of the array, before the number of data superblocks is known.
fn layout(site: &Site<'_>, geometry: &Geometry) -> Layout {
    let hydra = spec(site);
    Layout {
        buses: site.flash.gang,
        chips: hydra.chips,
        superchips: geometry.die_count() / hydra.chips,
        sectors: geometry.sectors,
        pages: geometry.pages,
        superblocks: geometry.blocks,
        spares: hydra.spare_blocks.unwrap_or_else(|| (geometry.blocks / 50).max(2)),
        logical: 0,
    }
}

fn areas(site: &Site<'_>, layout: &Layout) -> Areas {
    let row = u64::from(layout.sectors) * SECTOR.get();
    let rows = site.flush_log.map(|size| u32::try_from(size.get() / row).unwrap_or(u32::MAX));
    Areas::new(layout, spec(site).replicate, rows)
}

/// Rows that the host sees: a whole number of superblocks if the description gives over-provisioning.
fn units(site: &Site<'_>, geometry: &Geometry, layout: &Layout, faults: &mut Faults) -> Option<u32> {
    let row = u64::from(geometry.sectors) * SECTOR.get();
    let rows = u64::from(layout.rows());
    let (path, units) = match site.ftl.capacity {
        Some(capacity) => ("ftl.capacity", capacity.get() / row),
        None => {
            let share = 1.0 - site.ftl.over_provisioning().get();
            let units = (f64::from(geometry.slot_count()) * share.max(0.0)).floor() as u64;
            ("ftl.over-provisioning", units / rows * rows)
        }
    };
    if site.ftl.capacity.is_some_and(|capacity| !capacity.get().is_multiple_of(row)) {
        faults.add(path, format!("is not a whole number of rows of {row}B"), format!("use a multiple of {row}B"));
        return None;
    }
    if units == 0 {
        faults.add(path, "leaves no capacity for the host", "use a capacity of at least one superblock");
        return None;
    }
    let most = u64::from(layout.superchips) * u64::from(layout.superblocks - 1) * rows;
    if units > most {
        let seen = Bytes::new(units * row);
        let message = format!(
            "a capacity of {seen} does not fit: each superchip has {} superblocks, and merges reserve one",
            layout.superblocks
        );
        let raw = f64::from(geometry.slot_count());
        let share = (1.0 - most as f64 / raw) * 100.0 + 0.005;
        let remedy = format!(
            "use a capacity of at most {}, which is an over-provisioning of \
                              {share:.2}%",
            Bytes::new(most * row)
        );
        faults.add(path, message, remedy);
        return None;
    }
    u32::try_from(units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_merges_take_the_cycles_of_the_processor() {
        let cpu_time = |more: &str| {
            let text = format!(
                r"[flash]
part = 'K9K8G08U0M'
channels = 1
blocks = 64
chips = 8
gang = 4
width = 32
[ftl]
kind = 'hydra'
over-provisioning = '40%'
[ftl.hydra.processor]
mhz = 40
merge-cycles = 4000
{more}"
            );
            crate::rig::describe(&text).0.downcast_ref::<HydraConfig>().expect("its FTL").cpu_time
        };
        assert_eq!(cpu_time(""), [Span::ZERO, Span::from_us(100)]);
        assert_eq!(cpu_time("synthesizer = false\nread-cycles = 100"), [Span::from_ns(2500), Span::from_us(100)]);
    }
}
