//! The array as all families but Hydra's see it: mapping units are pages or parts of pages.

use base::fault::{Fault, Faults};
use base::units::{Bytes, SECTOR};
use flash::nand::Geometry;

use crate::family::Site;

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
    // Ganged chips always work together; planes do if the part can and the description allows it.
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

/// The faults of an array whose commands work on anything but single pages, or whose pages hold several mapping units.
/// `ftl_maps` says who maps pages, e.g. "log blocks map".
pub(crate) fn single_page_faults(geometry: &Geometry, one_shot: u32, ftl_maps: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    if geometry.slots > 1 {
        let unit = Bytes::new(u64::from(geometry.sectors) * SECTOR.get());
        let message = format!("a page holds {} mapping units of {unit}, and {ftl_maps} whole pages", geometry.slots);
        faults.push(Fault::new("ftl.map-unit", message, "leave it out, or use the size of a page"));
    }
    if geometry.stripe > 1 {
        let count = geometry.stripe;
        let message = format!("one command works on {count} planes or ganged chips, and {ftl_maps} single pages");
        faults.push(Fault::new("flash.multi-plane", message, "set it to false, and flash.gang to 1"));
    }
    if one_shot > 1 {
        let message = format!("one program writes {one_shot} pages, and {ftl_maps} single pages");
        faults.push(Fault::new("flash.part", message, "choose a part that programs page by page"));
    }
    faults
}
