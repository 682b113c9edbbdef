//! The host memory buffer on the sheet of a device.

use base::units::{Bytes, SECTOR};
use ssd::ResolvedDevice;

/// Bytes of an entry of the map.
const ENTRY: u64 = 4;

/// The host memory that the drive uses, and the share of the map in it; empty if the drive asks for none.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let Some(hmb) = resolved.ftl.map.hmb() else { return Vec::new() };
    let given = resolved.spec.host.hmb.clone().unwrap_or_default();
    let size = given.size.unwrap_or(hmb.preferred);
    let unit = SECTOR * u64::from(resolved.geometry.sectors);
    let reach = |size: Bytes| {
        let capacity = resolved.capacity().bytes();
        let mapped = Bytes::new(hmb.used(size).get() / ENTRY * unit.get());
        match (hmb.used(size).is_zero(), mapped >= capacity) {
            (true, _) => "not used: less than the minimum".to_owned(),
            (false, true) => format!("{} used, which map the whole drive", hmb.used(size)),
            (false, false) => {
                let share = mapped.get() as f64 / capacity.get() as f64 * 100.0;
                format!("{} used, which map {mapped} ({share:.1} % of the drive)", hmb.used(size))
            }
        }
    };
    let mut lines = vec![
        format!("the map asks for {}, at least {}; {} for an access", hmb.preferred, hmb.minimum, hmb.latency),
        format!("the host gives {size}: {}", reach(size)),
    ];
    lines.extend(given.changes.iter().map(|change| match change.size.is_zero() {
        true => format!("after {} it takes all back", change.at),
        false => format!("after {} it gives {}: {}", change.at, change.size, reach(change.size)),
    }));
    lines
}
