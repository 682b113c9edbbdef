//! A RAID on the sheet of a device.

use ssd::{CollectionTurns, RaidLevel, ResolvedDevice};

use super::text::many;

/// The drives, the layout of data over them, and the capacity for the host; empty for a single drive.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let Some(raid) = &resolved.spec.raid else { return Vec::new() };
    let survives = match raid.level {
        RaidLevel::Raid0 => "no drive may fail".to_owned(),
        RaidLevel::Raid1 => format!("{} may fail", many(raid.drives - 1, "drive")),
        RaidLevel::Raid5 => "1 drive may fail".to_owned(),
        RaidLevel::Raid6 => "2 drives may fail".to_owned(),
        RaidLevel::Raid10 => "1 drive of each pair may fail".to_owned(),
    };
    let spares = if raid.spares > 0 { format!(" and {}", many(raid.spares, "spare")) } else { String::new() };
    let (host, flash) = (resolved.capacity().bytes(), resolved.raw_capacity());
    let each = if raid.kind.is_empty() { "each drive" } else { "each other drive" };
    let mut lines = vec![
        format!(
            "{} of {}{spares}, chunks of {}; {survives}",
            raid.level.name(),
            many(raid.drives, "drive"),
            raid.chunk
        ),
        format!("{host} for the host ({} bytes) of {flash} of flash; below, {each}", host.get()),
    ];
    for kind in &raid.kind {
        let of = resolved.of_drive(kind.drives[0]);
        let numbers: Vec<String> = kind.drives.iter().map(ToString::to_string).collect();
        let (drives, part) = (if kind.drives.len() == 1 { "drive" } else { "drives" }, &of.part.name);
        let host = of.capacity().bytes();
        lines.push(format!(
            "{drives} {}: `{}`, {host} of {}, {part}",
            numbers.join(", "),
            of.spec.name,
            of.raw_capacity()
        ));
    }
    if let Some(journal) = raid.journal {
        lines.push(format!("a journal of {journal} on a drive of its own: a power cut leaves no parity in doubt"));
    }
    if let Some(collection) = raid.collection {
        let turns = match collection.turns {
            CollectionTurns::Each => "in turn",
            CollectionTurns::All => "together",
        };
        let around = if collection.reads_around { "; reads avoid the one whose turn it is" } else { "" };
        lines.push(format!("drives collect {turns}, for {} of {} windows{around}", collection.window, raid.drives));
    }
    lines.extend(raid.failures.iter().map(|failure| format!("drive {} fails at {}", failure.drive, failure.at)));
    lines
}

#[cfg(test)]
mod tests {
    use study::catalogue::Device;

    #[test]
    fn the_sheet_says_what_the_host_sees_and_what_each_drive_is() {
        let set =
            ["raid.level=raid5", "raid.drives=4", "raid.spares=1", "raid.chunk=64KiB", "raid.collection.window=50ms"];
        let device = Device::open_with("demo", set).unwrap_or_else(|faults| panic!("{faults}"));
        let lines = super::lines(&device.resolved);
        assert_eq!(lines[0], "raid5 of 4 drives and 1 spare, chunks of 64KiB; 1 drive may fail");
        let one = Device::open("demo").expect("built in").resolved.capacity().bytes();
        assert_eq!(device.capacity().bytes().get(), one.get() / (64 << 10) * (64 << 10) * 3);
        assert_eq!(lines[2], "drives collect in turn, for 50ms of 4 windows");
        let kind = "raid.kind=[{drives=[0,2],set=['ftl.over-provisioning=50%']}]";
        let device = Device::open_with("demo", ["raid.level=raid0", "raid.drives=3", "raid.chunk=64KiB", kind]);
        let lines = super::lines(&device.unwrap_or_else(|faults| panic!("{faults}")).resolved);
        assert!(
            lines[2].starts_with("drives 0, 2: `demo`, ") && lines[1].contains(" of flash; below, each other drive"),
            "{lines:?}"
        );
        let set = ["raid.level=raid6", "raid.drives=4", "raid.chunk=64KiB", "raid.journal=8MiB", "ftl.discard=durable"];
        let device = Device::open_with("demo", set).unwrap_or_else(|faults| panic!("{faults}"));
        let lines = super::lines(&device.resolved);
        assert_eq!(lines[2], "a journal of 8MiB on a drive of its own: a power cut leaves no parity in doubt");
        assert_eq!(device.resolved.drives(), 5);
    }
}
