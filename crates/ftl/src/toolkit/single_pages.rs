//! The check of an array for an FTL that maps single pages.

use base::fault::Fault;
use base::units::{Bytes, SECTOR};
use flash::nand::Geometry;

/// The faults of an array whose commands work on more than single pages, or whose pages hold several mapping units.
/// `ftl_maps` is the subject of the message, e.g. "log blocks map".
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
