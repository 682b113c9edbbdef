//! The geometry of the array for all families except Hydra's: mapping units are pages or parts of pages.

use base::fault::Faults;
use base::units::Bytes;
use flash::nand::Geometry;

use crate::family::Site;

/// The largest mapping unit that a family takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LargestUnit {
    /// A page of one plane.
    Page,
    /// The pages of all planes of a die.
    Row,
}

/// The array of a description. Its mapping units are pages, equal parts of pages, or pages of several planes; its
/// planes work together if they can.
pub(crate) fn geometry(site: &Site<'_>, largest: LargestUnit, faults: &mut Faults) -> Option<Geometry> {
    let Site { ftl, flash, part, .. } = *site;
    let page = part.geometry.page;
    let unit = ftl.map_unit.unwrap_or(Bytes::new(page.get().min(32 * 1024)));
    let Some(sectors) = unit.sectors().filter(|s| !s.is_zero()) else {
        faults.add("ftl.map-unit", format!("{unit} is not a whole number of sectors"), "use a multiple of 512B");
        return None;
    };
    let gang = flash.gang;
    let planes = part.geometry.planes_per_die.saturating_mul(gang);
    let multi_plane = flash.multi_plane.unwrap_or(part.features.multi_plane);
    let most = if multi_plane && gang == 1 && largest == LargestUnit::Row { planes } else { 1 };
    let planes_per_unit = match (unit.get().div_ceil(page.get()), page.get().is_multiple_of(unit.get())) {
        (_, true) => 1,
        (pages, false) if unit.get() == pages * page.get() && pages <= u64::from(most) => pages as u32,
        _ => 0,
    };
    if planes_per_unit == 0 || !planes.is_multiple_of(planes_per_unit) {
        let (message, remedy) = match most {
            1 => (format!("{unit} does not divide the page of {page}"), format!("use {page} or an even part of it")),
            planes => (
                format!("{unit} does not divide the page of {page}, and is not that of 2 to {planes} planes"),
                format!("use an even part of {page}, or {page} times a divisor of {planes}"),
            ),
        };
        faults.add("ftl.map-unit", message, remedy);
        return None;
    }
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
    // Ganged chips always work together. Planes work together if the part can and the description allows it.
    let stripe = if multi_plane { planes / planes_per_unit } else { gang };
    let geometry = Geometry::new(
        flash.channels,
        flash.chips,
        part.geometry.dies_per_chip,
        planes / planes_per_unit,
        stripe,
        part.geometry.blocks_per_plane,
        part.geometry.pages_per_block,
        u32::try_from((page.get() / unit.get()).max(1)).unwrap_or(u32::MAX),
        u32::try_from(sectors.get()).unwrap_or(u32::MAX),
    );
    let geometry = geometry.map_err(|error| faults.0.push(flash.impossible(&error, part, "ftl.map-unit"))).ok()?;
    Some(geometry.with_planes_per_unit(planes_per_unit))
}
