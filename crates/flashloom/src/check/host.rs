//! The host link on the sheet of a device.

use ssd::ResolvedDevice;

use super::text::many;

/// The link and its latencies; no latencies if all are zero.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let link = &resolved.host.link;
    let speed = link.rate.map_or_else(|| "costs no time".to_owned(), |rate| rate.to_string());
    let requests = many(resolved.host.queue_depth, "request");
    let mut lines = vec![format!("{} ({speed}, {} per command), {requests} at once", link.name, link.overhead)];
    if !(link.read_latency + link.write_latency).is_zero() {
        lines.push(format!("a read completes {} later, a write {}", link.read_latency, link.write_latency));
    }
    lines
}
