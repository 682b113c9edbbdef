//! Flexible Data Placement: what a command of the host brings about in the reclaim units of a drive.

use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Drive, FdpCounters, FdpEventKind, QueueId, Request, Spec, Ssd, Status};

/// Sectors of a mapping unit.
const UNIT: u64 = 4;

/// Superblocks of 64 mapping units in four dies.
fn drive(rest: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"placed\"\n\
         flash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = \"none\" }}\n\
         ftl = {{ map-unit = \"2KiB\", over-provisioning = \"60%\", superblock-dies = 4, fdp = {{ handles = 3 }} }}\n{rest}"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

/// Writes mapping units with one command.
fn write(drive: &mut Ssd<Stamp>, id: u16, unit: u64, units: u64) {
    let io = Io::new(IoKind::Write, Lba::new(unit * UNIT), Sectors::new(units * UNIT));
    let io = Io { placement: PlacementId::new(id), ..io };
    let data = vec![Stamp(1); (units * UNIT) as usize];
    drive.submit(drive.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    assert_eq!(completions[0].status, Status::Done);
}

fn counters(drive: &Ssd<Stamp>) -> FdpCounters {
    *drive.counters().fdp.expect("the drive has FDP")
}

#[test]
fn a_command_with_an_invalid_identifier_is_one_event() {
    for rest in ["", "buffer = { size = \"64KiB\" }\n", "[host]\nchop = \"4KiB\"\n"] {
        let mut drive = drive(rest);
        write(&mut drive, 7, 0, 20);
        write(&mut drive, 2, 40, 20);
        write(&mut drive, 3, 3, 1);
        // Behind a buffer the data reach their handle when they are written back.
        drive.power_off();
        let of = counters(&drive);
        assert_eq!((of.invalid_identifiers, of.events), (2, 2), "{rest}");
        let events: Vec<_> = of.log.iter().map(|event| (event.kind, event.number, event.units)).collect();
        assert_eq!(events, [7, 3].map(|id| (FdpEventKind::InvalidIdentifier, Some(id), 0)), "{rest}");
        assert_eq!(of.handles[2].written_units, 20, "{rest}");
    }
}
