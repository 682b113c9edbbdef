//! Which descriptions the page-mapped FTL takes, and what they come to.

use base::fault::{Fault, Faults};
use base::units::{Bytes, DieId, SECTOR};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::config::PageConfig;
use super::{MapPages, RESERVED};
use crate::family::{Array, Family, Idle, Setup, Site};
use crate::{AnyConfig, FtlSpec};

/// The page-mapped FTL.
#[derive(Debug)]
pub(crate) struct PageFamily;

impl Family for PageFamily {
    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, features) = (&site.ftl.gc, &site.part.features);
        let whole_rows = site.flash.gang > 1 || site.part.timing.one_shot > 1;
        let path = "ftl.gc.copy-back";
        vec![
            Idle::new(path, gc.copy_back && !features.copy_back, "the part has no copy-back")
                .remedy("leave it out, or choose another flash.part"),
            Idle::new(
                path,
                gc.copy_back && features.copy_back && whole_rows,
                "a program takes a whole row of ganged chips or of a word line, whose pages do not all come from their own plane",
            ),
        ]
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let (path, units) = site.asked_units(geometry, faults)?;
        let (raw, unit) = (u64::from(geometry.slot_count()), u64::from(geometry.sectors) * SECTOR.get());
        let pages = MapPages::of(&site.ftl.map, geometry, u32::try_from(units).unwrap_or(u32::MAX));
        let dies: Vec<DieId> = (0..geometry.die_count()).map(DieId::new).collect();
        let spare = pages.room(geometry, &dies);
        if units == 0 {
            faults.add(path, "nothing is left for the host", "leave it some of the flash");
            return None;
        }
        if spare == 0 {
            faults.0.push(no_room(site, geometry, pages.quotas(geometry).into_iter().max().unwrap_or(0)));
            return None;
        }
        if units > spare {
            let message = format!(
                "the host would see {} of {} of flash, which leaves no spare block: every die (or plane group) of {} \
                 superblocks keeps {RESERVED} to itself{}",
                Bytes::new(units * unit),
                Bytes::new(raw * unit),
                geometry.blocks,
                match pages.quotas(geometry).iter().max() {
                    Some(most) => format!(", and up to {most} for the {} translation pages of the map", pages.count),
                    None => String::new(),
                }
            );
            let remedy = format!(
                "let the host see at most {}, i.e. over-provision at least {:.2}%, or give each plane more blocks",
                Bytes::new(spare * unit),
                (1.0 - spare as f64 / raw as f64) * 100.0 + 0.005
            );
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn room(&self, ftl: &FtlSpec, geometry: &Geometry, units: u32, dies: &[DieId]) -> Option<u64> {
        Some(MapPages::of(&ftl.map, geometry, units).room(geometry, dies))
    }

    fn check_array(&self, site: &Site<'_>, geometry: &Geometry, timing: &Timing, _: usize, faults: &mut Faults) {
        let most = geometry.row_slots() * timing.one_shot;
        if let Some(gather) = site.ftl.map_gather.filter(|gather| *gather == 0 || *gather > most) {
            let message = format!("{gather} translation pages in a program of {most} mapping units");
            faults.add("ftl.map-gather", message, format!("use 1 to {most}"));
        }
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> AnyConfig {
        let Setup { array, sets, units, .. } = setup;
        let Array { geometry, backend, gang, copy_back, spare_transfer, .. } = array;
        AnyConfig::Page(PageConfig {
            whole_rows: gang > 1 || backend.timing.one_shot > 1,
            map_pages: MapPages::of(&site.ftl.map, &geometry, units),
            timing: backend.timing,
            spare_transfer,
            sets,
            units,
            gc: site.ftl.gc.clone(),
            wear: site.ftl.wear.clone(),
            copy_back: site.ftl.gc.copy_back && copy_back,
            placement: site.ftl.placement.clone(),
            map: site.ftl.map,
            map_gather: site.ftl.map_gather,
            geometry,
        })
    }
}

/// The fault of planes with too few blocks to leave the host any; `quota` of them are kept for translation pages.
fn no_room(site: &Site<'_>, geometry: &Geometry, quota: u32) -> Fault {
    let for_map = if quota > 0 { format!(", and {quota} for the translation pages of the map") } else { String::new() };
    let message = format!(
        "{} blocks in each plane leave the host no room: each plane group keeps {RESERVED} to write to and to copy \
         to{for_map}",
        geometry.blocks
    );
    // One more for data, and one because a superblock of all together is not promised.
    Fault::new(site.flash.blocks_key(), message, format!("give it at least {}", RESERVED + quota + 2))
}

/// An array whose mapping units are pages or even parts of them, and whose planes work together if they can.
pub(crate) fn geometry(site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
    let Site { ftl, flash, part, .. } = *site;
    let page = part.geometry.page;
    let unit = ftl.map_unit.unwrap_or(Bytes::new(page.get().min(32 * 1024)));
    let Some(sectors) = unit.sectors().filter(|s| !s.is_zero()) else {
        faults.add("ftl.map-unit", format!("{unit} is not a whole number of sectors"), "use a multiple of 512B");
        return None;
    };
    if unit > page || !page.get().is_multiple_of(unit.get()) {
        let message = format!("{unit} does not divide the page of {page}");
        faults.add("ftl.map-unit", message, format!("use {page} or an even part of it"));
        return None;
    }
    let gang = flash.gang;
    let planes = part.geometry.planes_per_die.saturating_mul(gang);
    let multi_plane = flash.multi_plane.unwrap_or(part.features.multi_plane);
    if multi_plane && part.geometry.planes_per_die > 1 && !part.features.multi_plane {
        let message = format!("{} has no multi-plane commands", part.name);
        faults.add("flash.multi-plane", message, "leave it out, or choose another part");
        return None;
    }
    faults.0.extend(ftl.map.faults(unit));
    if ftl.map_gather.is_some() && !ftl.map.is_paged() {
        let message = "there are no translation pages: the map is in RAM";
        faults.add("ftl.map-gather", message, "leave it out, or choose another ftl.map");
    }
    // Ganged chips always work together; planes do if they can and should.
    let stripe = if multi_plane { planes } else { gang };
    let geometry = Geometry::new(
        flash.channels,
        flash.chips,
        part.geometry.dies_per_chip,
        planes,
        stripe,
        part.geometry.blocks_per_plane,
        part.geometry.pages_per_block,
        u32::try_from(page.get() / unit.get()).unwrap_or(u32::MAX),
        u32::try_from(sectors.get()).unwrap_or(u32::MAX),
    );
    geometry.map_err(|error| faults.0.push(flash.impossible(&error, part, "ftl.map-unit"))).ok()
}
