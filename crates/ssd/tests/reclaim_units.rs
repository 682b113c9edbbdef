//! Flexible Data Placement: what a command of the host brings about in the reclaim units of a drive.

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Completion, Drive, FdpCounters, FdpEventKind, QueueId, Request, Spec, Ssd, Status};

/// Sectors of a mapping unit.
const UNIT: u64 = 4;

/// Superblocks of 64 mapping units in four dies.
fn drive(rest: &str) -> Ssd<Stamp> {
    described("superblock-dies = 4, fdp = { handles = 3 }", rest)
}

fn described(ftl: &str, rest: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"placed\"\n\
         flash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = \"none\" }}\n\
         ftl = {{ map-unit = \"2KiB\", over-provisioning = \"80%\", {ftl} }}\n{rest}"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

/// Carries out one command.
fn command(drive: &mut Ssd<Stamp>, io: Io, data: Vec<Stamp>) -> Completion<Stamp> {
    drive.submit(drive.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions.pop().expect("one command completes")
}

/// Writes mapping units with one command.
fn write(drive: &mut Ssd<Stamp>, id: u16, unit: u64, units: u64) {
    let io = Io::new(IoKind::Write, Lba::new(unit * UNIT), Sectors::new(units * UNIT));
    let io = Io { placement: PlacementId::new(id), ..io };
    let done = command(drive, io, vec![Stamp(1); (units * UNIT) as usize]);
    assert_eq!(done.status, Status::Done);
}

/// Updates a handle.
fn update(drive: &mut Ssd<Stamp>, id: u16) -> Status {
    let io = Io::new(IoKind::HandleUpdate, Lba::new(0), Sectors::new(0));
    command(drive, Io { placement: PlacementId::new(id), ..io }, Vec::new()).status
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

#[test]
fn the_next_write_of_an_updated_handle_opens_an_empty_reclaim_unit() {
    let mut drive = drive("");
    write(&mut drive, 2, 0, 20);
    write(&mut drive, 1, 40, 20);
    assert_eq!(counters(&drive).handles[2].available_units, 44);
    let before = drive.now();
    assert_eq!(update(&mut drive, 2), Status::Done);
    assert_eq!(drive.now(), before, "it takes no time");
    let of = counters(&drive);
    let event = of.log[0];
    assert_eq!((of.events, event.kind, event.number), (1, FdpEventKind::NotFullyWritten, Some(2)));
    assert_eq!((event.units, of.handles[2].partial_superblocks), (44, 1));
    assert_eq!([1, 2].map(|handle| of.handles[handle].available_units), [44, 0]);
    // There is nothing to leave, and nothing to say.
    assert_eq!([update(&mut drive, 2), update(&mut drive, 0)], [Status::Done; 2]);
    assert_eq!(counters(&drive).events, 1);
    write(&mut drive, 2, 100, 3);
    let of = counters(&drive);
    assert_eq!((of.handles[2].available_units, of.handles[2].written_units, of.events), (61, 23, 1));
    // A full superblock is left without a word.
    write(&mut drive, 2, 110, 61);
    assert_eq!(update(&mut drive, 2), Status::Done);
    assert_eq!((counters(&drive).events, counters(&drive).handles[2].full_superblocks), (1, 1));
    drive.check();
}

#[test]
fn an_update_of_no_handle_is_refused() {
    let mut placed = drive("");
    assert_eq!(update(&mut placed, 3), Status::InvalidField);
    assert_eq!(counters(&placed).events, 0, "it is no write");
    let mut plain = described("superblock-dies = 4", "");
    assert_eq!(update(&mut plain, 0), Status::InvalidOpcode);
    assert_eq!(plain.counters().failed[IoKind::HandleUpdate as usize], 1);
    let mut streams = described("streams = { host = { policy = \"placement-id\", streams = 4 } }", "");
    assert_eq!(update(&mut streams, 1), Status::InvalidOpcode);
}

#[test]
fn an_update_in_one_group_leaves_the_other_alone() {
    let mut drive = described("fdp = { handles = 2, reclaim-groups = 2 }", "");
    for id in [1, 0x8001] {
        write(&mut drive, id, u64::from(id & 0xff) * 10 + u64::from(id >> 15) * 40, 6);
    }
    let open = |drive: &Ssd<Stamp>| counters(drive).handles[1].available_units;
    let before = open(&drive);
    assert_eq!(update(&mut drive, 0x8001), Status::Done);
    let after = open(&drive);
    assert!(after > 0 && after < before, "{before} and {after}");
    assert_eq!(update(&mut drive, 1), Status::Done);
    assert_eq!(open(&drive), 0);
}

#[test]
fn updates_at_any_time_lose_nothing_across_power_cuts() {
    let drives = [
        ("superblock-dies = 4, fdp = { handles = 3 }", ""),
        ("superblock-dies = 4, fdp = { handles = 3, isolation = \"persistent\" }", "buffer = { size = \"64KiB\" }\n"),
        ("superblock-dies = 2, fdp = { handles = 2, reclaim-groups = 2 }", "buffer = { size = \"64KiB\" }\n"),
        ("superblock-dies = 4, parity = true, fdp = { handles = 2 }", ""),
        ("fdp = { handles = 2 }, map = { kind = \"dftl\" }", "buffer = { size = \"64KiB\" }\n"),
    ];
    for (seed, (ftl, rest)) in (0..).zip(drives) {
        let mut drive = described(ftl, rest);
        let (mut rng, mut completions) = (Rng::stream(seed, "updates"), Vec::new());
        let units = drive.capacity().get() / UNIT;
        let mut stamps = vec![Stamp::default(); (units * UNIT) as usize];
        for step in 1..6000_u64 {
            let id = PlacementId::new(rng.below(2) as u16);
            let bare = |kind| Io { placement: id, ..Io::new(kind, Lba::new(0), Sectors::new(0)) };
            let (io, data) = match rng.below(20) {
                0 => (bare(IoKind::HandleUpdate), Vec::new()),
                _ => {
                    let (unit, length) = (rng.below(units - 4), 1 + rng.below(4));
                    let io = Io::new(IoKind::Write, Lba::new(unit * UNIT), Sectors::new(length * UNIT));
                    let data: Vec<Stamp> = (0..length * UNIT).map(|i| Stamp(step << 8 | i)).collect();
                    stamps[(unit * UNIT) as usize..][..data.len()].copy_from_slice(&data);
                    (Io { placement: id, ..io }, data)
                }
            };
            drive.submit(drive.now(), Request { tag: step, queue: QueueId::default(), io, data });
            if step % 8 == 0 {
                drive.drain(&mut completions);
                assert!(completions.drain(..).all(|done| done.status == Status::Done), "{ftl}, step {step}");
            }
            if step % 1500 == 0 {
                assert_eq!(command(&mut drive, Io::FLUSH, Vec::new()).status, Status::Done);
                assert_eq!(update(&mut drive, 1), Status::Done);
                drive.cut_power();
                drive.power_on(drive.now());
                drive.drain(&mut completions);
                for unit in 0..units {
                    let io = Io::new(IoKind::Read, Lba::new(unit * UNIT), Sectors::new(UNIT));
                    let read = command(&mut drive, io, Vec::new());
                    assert_eq!(read.data, stamps[(unit * UNIT) as usize..][..UNIT as usize], "{ftl}, unit {unit}");
                }
                drive.check();
            }
        }
        assert!(counters(&drive).handles[0].partial_superblocks > 10, "{ftl}: {:?}", counters(&drive).handles);
    }
}
