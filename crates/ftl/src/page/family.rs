//! The checks and resolution of descriptions with a page-mapped FTL.

use std::sync::Arc;

use base::fault::{Fault, Faults};
use base::units::{Bytes, DieId, SECTOR};
use flash::backend::{Controllers, SlcTiming, Timing};
use flash::nand::Geometry;

use super::block_manager::reserve::reserved;
use super::block_manager::slc_cache::bytes_in_slc_mode;
use super::config::PageConfig;
use super::layout::Layout;
use super::streams::{StreamCount, StreamsSpec};
use super::{CheckpointPages, FirmwareSpec, MapPages, TrimPages, UnmappedReads};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::foresight::Foresight;
use crate::idle::Idle;
use crate::map_unit::MapSpec;
use crate::pages;
use crate::spec::FtlSpec;

/// The family of the page-mapped FTL; it has no state.
#[derive(Debug)]
pub(crate) struct PageFamily;

impl Family for PageFamily {
    fn records_discards(&self) -> bool {
        true
    }

    fn writes_word_lines(&self) -> bool {
        true
    }

    fn separates_copies(&self) -> bool {
        true
    }

    fn corrects_reads(&self) -> bool {
        true
    }

    fn check(&self, site: &Site<'_>, faults: &mut Faults) {
        if site.ftl.checkpoint.is_some() && site.ftl.map != MapSpec::Ram {
            let message = "conflicts with ftl.map: only a map in RAM is written as checkpoints";
            faults.add("ftl.checkpoint", message, "leave it out, or set ftl.map = { kind = \"ram\" }");
        }
        if site.ftl.slc_cache.is_some() && site.part.slc_mode.is_none() {
            let message = "the part has no SLC mode";
            let remedy = "give it one, e.g. flash.custom-part.slc_mode = { read = \"25us\", program = \"200us\", endurance = 30000 }";
            faults.add("ftl.slc-cache", message, remedy);
        }
        let folds_in_planes = site.ftl.folds_in_planes();
        if folds_in_planes && !site.part.features.copy_back {
            let message = "the part has no copy-back";
            faults.add("ftl.slc-cache.fold", message, "leave it out, or choose another flash.part");
        }
        if folds_in_planes && site.flash.paired_pages {
            let message =
                "conflicts with flash.paired-pages: a word line takes several programs, each with copies of its own";
            faults.add("ftl.slc-cache.fold", message, "leave out one of them");
        }
        if site.ftl.refresh.is_some() && site.flash.errors.is_none() {
            faults.add("ftl.refresh", "reads have no errors", "leave it out, or add the table [flash.errors]");
        }
        self.check_superblocks(site, faults);
        let Some(firmware) = site.ftl.firmware else { return };
        if firmware == FirmwareSpec::default() {
            faults.add("ftl.firmware", "takes no time", "give it a time, e.g. { unit = \"1us\" }, or leave it out");
        }
        if site.ftl.map != MapSpec::Ram {
            let message = "conflicts with ftl.map: a map unit has times of its own";
            faults.add("ftl.firmware", message, "leave it out, or set ftl.map = { kind = \"ram\" }");
        }
    }

    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        if site.ftl.firmware.is_some() {
            faults.add("ftl.firmware", "is for the page-mapped FTL only", "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.checkpoint.is_some() {
            faults.add("ftl.checkpoint", "is for the page-mapped FTL only", "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.streams != StreamsSpec::default() {
            faults.add("ftl.streams", "is for the page-mapped FTL only", "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.fdp.is_some() {
            let message = "is for the page-mapped FTL only: the others have no streams";
            faults.add("ftl.fdp", message, "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.slc_cache.is_some() {
            let message = "is for the page-mapped FTL only: the others have no streams of copies to fold to";
            faults.add("ftl.slc-cache", message, "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.refresh.is_some() {
            let message = "is for the page-mapped FTL only: the others refuse drives whose reads have errors";
            faults.add("ftl.refresh", message, "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.superblock_dies != 1 || site.ftl.parity || site.ftl.rebuild_rate.is_some() {
            let key = match (site.ftl.parity, site.ftl.rebuild_rate) {
                (true, _) => "ftl.parity",
                (false, Some(_)) => "ftl.rebuild-rate",
                (false, None) => "ftl.superblock-dies",
            };
            let message = "is for the page-mapped FTL only: the others place their blocks die by die";
            faults.add(key, message, "leave it out, or set ftl.kind = \"page\"");
        }
        if site.ftl.unmapped_reads != UnmappedReads::default() {
            let message = "is for the page-mapped FTL only: the others know from their tables which pages were written";
            faults.add("ftl.unmapped-reads", message, "leave it out, or set ftl.kind = \"page\"");
        }
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, features) = (&site.ftl.gc, &site.part.features);
        let whole_rows = site.flash.gang > 1 || site.part.timing.one_shot > 1 || site.flash.paired_pages;
        let path = "ftl.gc.copy-back";
        vec![
            Idle::new(path, gc.copy_back && !features.copy_back, "the part has no copy-back")
                .remedy("leave it out, or choose another flash.part"),
            Idle::new(
                path,
                gc.copy_back && features.copy_back && whole_rows,
                "a program covers a whole row of ganged chips or of a word line, and copy-back cannot fill all its pages",
            ),
        ]
    }

    fn slc_mode(&self, site: &Site<'_>) -> Option<SlcTiming> {
        let mode = site.part.slc_mode.filter(|_| site.ftl.slc_cache.is_some())?;
        let (bits, endurance) = (site.part.bits_per_cell(), Some(mode.endurance));
        Some(SlcTiming { read: mode.read, program: mode.program, bits, endurance })
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        Arc::new(self.make_config(site, setup))
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        pages::geometry(site, pages::LargestUnit::Row, faults)
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let (path, units) = site.asked_units(geometry, faults)?;
        let (raw, unit) = (u64::from(geometry.slot_count()), u64::from(geometry.sectors) * SECTOR.get());
        let Some(layout) = layout(site.ftl, geometry, 1) else {
            faults.0.push(no_groups(site, geometry));
            return None;
        };
        let geometry = &layout.shape;
        let pages = MapPages::of(site, geometry, u32::try_from(units).unwrap_or(u32::MAX));
        let dies: Vec<DieId> = (0..geometry.die_count()).map(DieId::new).collect();
        let trims = TrimPages::of(site.ftl.discard, geometry, u32::try_from(units).unwrap_or(u32::MAX));
        let covered = u32::try_from(units + u64::from(trims.count)).unwrap_or(u32::MAX);
        let checkpoints = CheckpointPages::of(site.ftl.checkpoint, geometry, covered);
        if let Some(spec) = site.ftl.checkpoint.filter(|spec| spec.every.get() / unit < u64::from(checkpoints.count()))
        {
            let size = Bytes::new(u64::from(checkpoints.each()) * unit);
            let message = format!("is {}, and a checkpoint of this drive takes {size}", spec.every);
            faults.add("ftl.checkpoint.every", message, "use at least twice that");
        }
        let beside = u64::from(trims.count) + u64::from(checkpoints.count());
        let spare = pages.room(geometry, &dies).saturating_sub(beside);
        if units == 0 {
            faults.add(path, "leaves no capacity for the host", "use a capacity above zero, or a share below 100%");
            return None;
        }
        if spare == 0 {
            faults.0.push(no_room(site, geometry, pages.quotas(geometry).into_iter().max().unwrap_or(0)));
            return None;
        }
        if units > spare {
            let message = format!(
                "a capacity of {} on {} of flash leaves no spare block: of its {} superblocks, every die (or plane \
                 group) reserves {} for writing{} and garbage collection{}{}",
                Bytes::new(units * unit),
                Bytes::new(raw * unit),
                geometry.blocks,
                reserved(pages.shared_log, pages.streams) + u32::from(pages.set_aside > 0),
                for_streams(pages.streams),
                for_slc_cache(pages.set_aside),
                match pages.quotas(geometry).iter().max() {
                    Some(most) => format!(", and up to {most} for the {} translation pages of the map", pages.count),
                    None => String::new(),
                }
            );
            let message = match site.ftl.parity {
                true => format!("{message}; parity takes one die of {}", site.ftl.superblock_dies),
                false => message,
            };
            let remedy = format!(
                "use a capacity of at most {}, which is an over-provisioning of {:.2}%, or give each plane more blocks",
                Bytes::new(spare * unit),
                (1.0 - spare as f64 / raw as f64) * 100.0 + 0.005
            );
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn room(&self, site: &Site<'_>, geometry: &Geometry, units: u32, dies: &[DieId]) -> Option<u64> {
        let layout = layout(site.ftl, geometry, 1)?;
        Some(MapPages::of(site, &layout.shape, units).room(&layout.shape, &layout.groups_of(dies)?))
    }

    fn reclaim_groups(&self, site: &Site<'_>, geometry: &Geometry) -> Vec<Vec<DieId>> {
        let count = site.ftl.fdp.map_or(1, |fdp| fdp.reclaim_groups);
        let (true, Some(layout)) = (count > 1, layout(site.ftl, geometry, 1)) else { return Vec::new() };
        let each = layout.shape.die_count() / count;
        let dies = |group: u32| {
            let shared = (group * each..(group + 1) * each).map(DieId::new);
            let mut dies: Vec<DieId> = shared.flat_map(|die| layout.dies_of(die)).collect();
            dies.sort_unstable();
            dies
        };
        (0..count).map(dies).collect()
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, _: usize, faults: &mut Faults) {
        let pools = geometry.die_count() / site.ftl.superblock_dies.max(1);
        if let Some(fdp) =
            site.ftl.fdp.filter(|fdp| fdp.reclaim_groups > 1 && !pools.is_multiple_of(fdp.reclaim_groups))
        {
            let of = if site.ftl.superblock_dies > 1 { "groups of ftl.superblock-dies" } else { "dies" };
            let message =
                format!("is {}, and the {pools} {of} of the array form no groups of that number", fdp.reclaim_groups);
            let possible: Vec<String> =
                (1..=pools).filter(|n| pools.is_multiple_of(*n)).map(|n| n.to_string()).collect();
            faults.add("ftl.fdp.reclaim-groups", message, format!("use one of {}", possible.join(", ")));
        }
        let most = geometry.row_slots() * timing.one_shot;
        if let Some(gather) = site.ftl.map_gather.filter(|gather| *gather == 0 || *gather > most) {
            let message = format!(
                "one program cannot gather {gather} translation pages: it holds {most} mapping \
                                   units"
            );
            faults.add("ftl.map-gather", message, format!("use 1 to {most}"));
        }
        if site.flash.plane_reads.is_some() && geometry.planes_per_unit > 1 {
            let message = "conflicts with ftl.map-unit: a mapping unit lies on several planes, which read together";
            faults.add("flash.plane-reads", message, "leave it out, or use a mapping unit of a page or less");
        }
        if let Some(cache) = &site.ftl.slc_cache {
            let pools = u64::from(geometry.die_count()) * u64::from(geometry.groups());
            let superblock = bytes_in_slc_mode(geometry, site.part.bits_per_cell());
            let least = Bytes::new(superblock.get() * pools);
            let mut too_small = |key, size: Bytes| {
                let message = format!(
                    "{size} is less than one superblock in each of the {pools} pools, which takes {superblock} in SLC mode"
                );
                faults.add(key, message, format!("use at least {least}"));
            };
            if cache.size < least {
                too_small("ftl.slc-cache.size", cache.size);
            }
            if !cache.set_aside.is_zero() && cache.set_aside < least {
                too_small("ftl.slc-cache.static", cache.set_aside);
            }
        }
    }
}

impl PageFamily {
    /// Checks superblocks in several dies, and their parity.
    fn check_superblocks(&self, site: &Site<'_>, faults: &mut Faults) {
        let FtlSpec { superblock_dies, parity, .. } = *site.ftl;
        if parity && superblock_dies < 2 {
            let message = format!("needs superblocks in several dies, and ftl.superblock-dies is {superblock_dies}");
            faults.add("ftl.parity", message, "leave it out, or set ftl.superblock-dies = 4, for example");
        }
        if site.ftl.rebuild_rate.is_some() && !parity {
            faults.add(
                "ftl.rebuild-rate",
                "needs ftl.parity: nothing is rebuilt without it",
                "leave it out, or set ftl.parity = true",
            );
        }
        if superblock_dies < 2 {
            return;
        }
        let mut conflict = |key: &'static str, given: bool, why: &str| {
            if given {
                faults.add(key, format!("conflicts with ftl.superblock-dies: {why}"), "leave out one of them");
            }
        };
        conflict("ftl.slc-cache", site.ftl.slc_cache.is_some(), "a superblock in SLC mode has no whole stripes");
        conflict("ftl.checkpoint", site.ftl.checkpoint.is_some(), "a checkpoint knows superblocks in one die only");
        conflict("ftl.gc.copy-back", site.ftl.gc.copy_back, "copies go to another die");
        let controllers = site.flash.controllers != Controllers::None;
        conflict(
            "flash.controllers",
            controllers,
            "controllers take lists one by one, and its lists wait for each other",
        );
        conflict("host.queue", site.confines, "queues that are confined to dies need superblocks in one die");
    }

    /// The configuration of the FTL, for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> PageConfig {
        let Setup { array, sets, units, .. } = setup;
        let Array { geometry, backend, gang, copy_back, spare_transfer, .. } = array;
        let word_line = backend.timing.one_shot.max(backend.timing.paired);
        let layout = layout(site.ftl, &geometry, word_line).expect("checked");
        let (geometry, sets) = (layout.shape.clone(), sets.iter().filter_map(|set| layout.groups_of(set)).collect());
        let trim_pages = TrimPages::of(site.ftl.discard, &geometry, units);
        PageConfig {
            whole_rows: gang > 1 || backend.timing.one_shot > 1 || backend.timing.paired > 1,
            gathers: !site.buffered,
            firmware: site.ftl.firmware,
            map_pages: MapPages::of(site, &geometry, units),
            timing: backend.timing,
            spare_transfer,
            sets,
            units,
            gc: site.ftl.gc.clone(),
            slc_cache: site.ftl.slc_cache.clone(),
            refresh: site.ftl.refresh,
            rebuild_rate: site.ftl.rebuild_rate,
            streams: site.ftl.write_streams().into_owned(),
            fdp: site.ftl.fdp,
            foresight: Foresight::None,
            wear: site.ftl.wear.clone(),
            copy_back: site.ftl.gc.copy_back && copy_back,
            placement: site.ftl.placement.clone(),
            map: site.ftl.map,
            map_gather: site.ftl.map_gather,
            checkpoint_pages: CheckpointPages::of(site.ftl.checkpoint, &geometry, units + trim_pages.count),
            trim_pages,
            unmapped_reads: site.ftl.unmapped_reads,
            options: site.ftl.options.clone(),
            geometry,
            layout,
        }
    }
}

/// The layout of the superblocks of a description, whose word lines have `word_line` rows; none if the dies do not form
/// groups.
fn layout(ftl: &FtlSpec, array: &Geometry, word_line: u32) -> Option<Layout> {
    Layout::striped(array.clone(), ftl.superblock_dies, word_line * array.row_slots(), ftl.parity)
}

/// The fault if the dies do not form groups for superblocks.
fn no_groups(site: &Site<'_>, array: &Geometry) -> Fault {
    let (dies, all) = (site.ftl.superblock_dies, array.die_count());
    let possible: Vec<String> = (1..=all).filter(|n| all.is_multiple_of(*n)).map(|n| n.to_string()).collect();
    let message = format!("the {all} dies of the array form no groups of {dies}");
    Fault::new("ftl.superblock-dies", message, format!("use one of {}", possible.join(", ")))
}

/// The part of a message on the streams for which superblocks are reserved; empty with one stream.
fn for_streams(streams: StreamCount) -> String {
    match streams.is_several() {
        true => format!(" in {} streams", streams.open()),
        false => String::new(),
    }
}

/// The part of a message on the superblocks that are set aside for the SLC cache; empty if there are none.
fn for_slc_cache(set_aside: u32) -> String {
    if set_aside > 0 { format!(", {set_aside} for the static part of the SLC cache") } else { String::new() }
}

/// The fault of planes with too few blocks for host data; `quota` of their blocks are reserved for translation pages.
fn no_room(site: &Site<'_>, geometry: &Geometry, quota: u32) -> Fault {
    let for_map = if quota > 0 { format!(", and {quota} for the translation pages of the map") } else { String::new() };
    let streams = site.ftl.write_streams().count();
    let set_aside = MapPages::of(site, geometry, 0).set_aside;
    let reserved = reserved(site.ftl.gc.shared_log, streams) + u32::from(set_aside > 0);
    let message = format!(
        "{} blocks in each plane leave none for the host: each plane group reserves {reserved} for writing{} and \
         garbage collection{}{for_map}",
        geometry.blocks,
        for_streams(streams),
        for_slc_cache(set_aside)
    );
    // One block more for data, and one because `MapPages::room` never promises the last superblock.
    Fault::new(site.flash.blocks_key(), message, format!("give it at least {}", reserved + set_aside + quota + 2))
}
