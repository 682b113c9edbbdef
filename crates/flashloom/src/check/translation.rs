//! A translation over zones on the sheet of a device.

use base::units::{Bytes, SECTOR};
use ssd::{ResolvedDevice, ZoneCommand, ZoneVictim};

use super::text::many;

/// The capacity for users, and the rules by which zones are written and emptied; empty for other devices.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
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
        let set = ["translation.over-provisioning=20%", "translation.streams=2"];
        let device = Device::open_with("demo-zones", set).unwrap_or_else(|faults| panic!("{faults}"));
        let lines = super::lines(&device.resolved);
        let users = "1.759GiB for users (1888772096 bytes), 20% kept back; map of 1.759MiB in the host's RAM";
        assert_eq!(lines[0], users);
        assert_eq!(lines[1], "2 streams and copies, 1 open zone of each; appends; 48KiB of a zone hold its summary");
        assert_eq!(lines[2], "collects greedily from 2 zones free to 3; below, the drive");
    }
}
