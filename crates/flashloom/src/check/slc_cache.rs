//! The SLC cache on the sheet of a device.

use base::units::SECTOR;
use flash::nand::Mode;
use ssd::ResolvedDevice;

/// The size of the cache and the times of SLC mode; empty if the drive has no cache.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let (Some(cache), Some(mode)) = (&resolved.ftl.slc_cache, resolved.backend.timing.slc_mode) else {
        return Vec::new();
    };
    let geometry = &resolved.geometry;
    let pools = geometry.die_count() * geometry.groups();
    let units = Mode::Slc.pages(geometry.pages, mode.bits) * geometry.row_slots();
    let superblock = SECTOR * (u64::from(units) * u64::from(geometry.sectors));
    let mut lines = vec![format!("up to {} in superblocks of {superblock}, in {pools} pools", cache.size)];
    if !cache.set_aside.is_zero() {
        lines.push(format!("{} of it are static: their superblocks are always in SLC mode", cache.set_aside));
    }
    lines
        .extend(cache.points.iter().map(|point| format!("up to {} when the drive is {} full", point.size, point.fill)));
    lines.extend(cache.reuse.map(|reuse| format!("once full, it takes data again when {reuse} are free")));
    if resolved.ftl.folds_in_planes() {
        lines.push("folded by copy-back inside the planes, where whole pages can be".into());
    }
    lines.push(format!("a page is read in {} and programmed in {}", mode.read, mode.program));
    lines
}
