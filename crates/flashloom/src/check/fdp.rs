//! Flexible Data Placement on the sheet of a device.

use base::units::Bytes;
use ssd::ResolvedDevice;

/// The handles and the size of a reclaim unit; empty without Flexible Data Placement.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let Some(fdp) = resolved.ftl.fdp else { return Vec::new() };
    let plural = |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let handles = plural(fdp.handles.into(), "reclaim unit handle");
    let groups = plural(fdp.reclaim_groups, "reclaim group");
    vec![
        format!("{handles}, {}ly isolated, in {groups}", fdp.isolation.name()),
        format!("reclaim units of {}", reclaim_unit(resolved, fdp.reclaim_groups)),
    ]
}

/// Data bytes of a superblock in each pool of a reclaim group.
fn reclaim_unit(resolved: &ResolvedDevice, groups: u32) -> Bytes {
    let dies = u64::from(resolved.ftl.superblock_dies);
    let (data, of) = if resolved.ftl.parity { (dies - 1, dies) } else { (1, 1) };
    let all = resolved.raw_capacity().get() / u64::from(resolved.geometry.blocks) / u64::from(groups);
    Bytes::new(all * data / of)
}
