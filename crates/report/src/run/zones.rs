//! Zones in the summary of a run.

use base::units::Bytes;
use study::summary::{ZonesSummary, ZrwaSummary};
use study::text::count;

/// The lines about the zones and their random write areas.
pub(super) fn zones(of: &ZonesSummary) -> Vec<String> {
    let ZonesSummary { resets, finishes, padded_bytes, active, open, zrwa } = of;
    let padded = match padded_bytes {
        0 => String::new(),
        bytes => format!(", {} padded", Bytes::new(*bytes)),
    };
    let [resets, finishes] = [resets, finishes].map(|n| count(*n as f64));
    let mut lines =
        vec![format!("zones: {resets} reset, {finishes} finished{padded}; at the end {active} active, {open} open")];
    lines.extend(zrwa.iter().flat_map(|of| {
        let ZrwaSummary { overwritten_bytes, unwritten_bytes, implicit_flushes, explicit_flushes, zones } = *of;
        let [overwritten, unwritten] = [overwritten_bytes, unwritten_bytes].map(Bytes::new);
        let [implicit, explicit] = [implicit_flushes, explicit_flushes].map(|n| count(n as f64));
        [
            format!("ZRWA: {overwritten} overwritten, {unwritten} flushed unwritten; at the end in {zones} zones"),
            format!("  flushes: {implicit} implicit, {explicit} explicit"),
        ]
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_write_areas_have_lines_of_their_own() {
        let plain = ZonesSummary { resets: 3, finishes: 1, padded_bytes: 0, active: 2, open: 1, zrwa: None };
        assert_eq!(zones(&plain), ["zones: 3 reset, 1 finished; at the end 2 active, 1 open"]);
        let zrwa = ZrwaSummary {
            overwritten_bytes: 1 << 20,
            unwritten_bytes: 4096,
            implicit_flushes: 7,
            explicit_flushes: 2,
            zones: 1,
        };
        let lines = zones(&ZonesSummary { padded_bytes: 8192, zrwa: Some(zrwa), ..plain });
        assert_eq!(lines[0], "zones: 3 reset, 1 finished, 8KiB padded; at the end 2 active, 1 open");
        assert_eq!(lines[1], "ZRWA: 1MiB overwritten, 4KiB flushed unwritten; at the end in 1 zones");
        assert_eq!(lines[2], "  flushes: 7 implicit, 2 explicit");
    }
}
