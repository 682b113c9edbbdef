//! A translation over zones on the sheet of a device.

use base::units::{Bytes, SECTOR};
use ssd::{Resolved, ZoneCommand, ZoneVictim};

use super::many;

/// What users can address, how zones are written and emptied; nothing of the drive below.
pub(super) fn lines(resolved: &Resolved) -> Vec<String> {
    let Some((shape, spec)) = resolved.translation.zip(resolved.spec.translation.as_ref()) else { return Vec::new() };
    let unit = SECTOR.get() * u64::from(resolved.geometry.sectors);
    let bytes = |units: u32| Bytes::new(u64::from(units) * unit);
    let command = match spec.command {
        ZoneCommand::Append => "appends",
        ZoneCommand::Write => "one write at a time",
    };
    let victim = match spec.gc.victim {
        ZoneVictim::Greedy => "greedily",
        ZoneVictim::CostBenefit => "by cost and benefit",
        ZoneVictim::Fifo => "in turn",
    };
    let users = resolved.capacity().bytes();
    vec![
        format!(
            "{users} for users ({} bytes), {} kept back; map of {} in the host's RAM",
            users.get(),
            spec.over_provisioning,
            Bytes::new(4 * u64::from(shape.units)),
        ),
        format!(
            "{} and copies, {} of each; {command}; {} of a zone hold its summary",
            many(spec.streams, "stream"),
            many(spec.zones_per_stream, "open zone"),
            bytes(shape.summary()),
        ),
        format!(
            "collects {victim} from {} free to {}; below, the drive",
            many(spec.gc.start + spec.zones_per_stream, "zone"),
            spec.gc.stop + spec.zones_per_stream
        ),
    ]
}

#[cfg(test)]
mod tests {
    use study::catalogue::Device;

    #[test]
    fn the_sheet_says_what_users_can_address_and_how_zones_are_emptied() {
        let set = ["translation.over-provisioning=10%", "translation.streams=2", "ftl.zns.zrwa=none"];
        let device = Device::open_with("today-zn540-like", &set[..2]);
        // Its random write areas are of no use below a translation.
        assert!(device.is_err());
        let text = std::fs::read_to_string("../../devices/today/zn540-like.toml").expect("a device");
        let text = text.replace(", zrwa = { size = \"1MiB\", flush-granularity = \"16KiB\" }", "");
        let spec: ssd::Spec = toml::from_str(&format!("{text}\n[translation]\nstreams = 2\n")).expect("TOML");
        let lines = super::lines(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")));
        assert!(lines[0].ends_with("20% kept back; map of 741.5MiB in the host's RAM"), "{}", lines[0]);
        assert_eq!(lines[1], "2 streams and copies, 1 open zone of each; appends; 2.1MiB of a zone hold its summary");
        assert_eq!(lines[2], "collects greedily from 2 zones free to 3; below, the drive");
    }
}
