//! Reads of addresses that hold nothing: answered from the map, or from flash as MQSim does.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span};
use flash::backend::Op;
use flash::nand::Stamp;
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd};

const UNIT: u64 = 4;

fn spec(rest: &str) -> Spec {
    let text = format!(
        "name = \"unmapped\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 32, pages = 16 }}\n\
         [ftl]\nover-provisioning = \"45%\"\n{rest}"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn drive(rest: &str) -> Ssd<Stamp> {
    Ssd::new(&spec(rest).resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

fn one(drive: &mut Ssd<Stamp>, kind: IoKind, start: u64, sectors: u64) -> Completion<Stamp> {
    let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
    let data = if kind == IoKind::Write { vec![Stamp(9); sectors as usize] } else { Vec::new() };
    drive.submit(drive.now(), Request { tag: start, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    assert_eq!(completions.len(), 1);
    completions.remove(0)
}

const FLASH: &str = "unmapped-reads = \"flash-read\"\n";
const MAPS: [&str; 4] = [
    "",
    "map = { kind = \"table\", service = \"3us\" }\n",
    "map = { kind = \"dftl\", costs = \"ideal\" }\n",
    "map = { kind = \"fmmu\" }\n",
];

#[test]
fn an_unmapped_read_takes_the_time_of_a_mapped_one_and_returns_zeros() {
    for map in MAPS {
        let mut drive = drive(&format!("{FLASH}{map}placement = {{ policy = \"address-striping\" }}\n"));
        one(&mut drive, IoKind::Write, 0, UNIT);
        for (sectors, pages) in [(1, 1), (UNIT, 1), (2 * UNIT, 2)] {
            let start = 40 * UNIT;
            // The first look-up leaves its translation page in the caches of the map unit, where the next finds it.
            one(&mut drive, IoKind::Read, start, 2 * UNIT);
            let before = drive.counters();
            let unmapped = one(&mut drive, IoKind::Read, start, sectors);
            let after = drive.counters();
            assert_eq!(after.unmapped_slots - before.unmapped_slots, pages, "{map}");
            let [before, after] = [before, after].map(|counters| counters.flash.op(Op::Read));
            assert_eq!((after.commands - before.commands, after.slots - before.slots), (pages, pages), "{map}");
            assert_eq!(unmapped.data, vec![Stamp::default(); sectors as usize]);
            let mut written = Ssd::new(drive.resolved(), 7);
            one(&mut written, IoKind::Write, 0, UNIT);
            one(&mut written, IoKind::Write, start, 2 * UNIT);
            one(&mut written, IoKind::Read, start, UNIT);
            let mapped = one(&mut written, IoKind::Read, start, sectors);
            assert_eq!(unmapped.latency(), mapped.latency(), "{sectors} sectors, {map}");
            assert!(unmapped.latency() > Span::from_us(25), "the array takes its time");
        }
        drive.check();
    }
}

#[test]
fn by_default_an_unmapped_read_takes_no_flash_time() {
    for map in MAPS {
        let mut drive = drive(map);
        one(&mut drive, IoKind::Read, 40 * UNIT, 3 * UNIT);
        assert_eq!(drive.counters().unmapped_slots, 3, "{map}");
        let host = drive.counters().flash.at(Op::Read, flash::backend::Cause::Host).commands;
        assert_eq!(host, 0, "{map}");
    }
}

#[test]
fn one_request_reads_mapped_and_unmapped_units_side_by_side() {
    // By static placement, the write and the place of its neighbour are in one row of two planes.
    let mut drive = drive(&format!("{FLASH}placement = {{ policy = \"address-striping\" }}\n"));
    one(&mut drive, IoKind::Write, 2 * UNIT, UNIT);
    one(&mut drive, IoKind::Write, 5 * UNIT, UNIT);
    let read = one(&mut drive, IoKind::Read, 0, 8 * UNIT);
    let stamps = |unit: usize| &read.data[unit * UNIT as usize..][..UNIT as usize];
    for unit in 0..8 {
        let wanted = if [2, 5].contains(&unit) { Stamp(9) } else { Stamp::default() };
        assert_eq!(stamps(unit), vec![wanted; UNIT as usize], "unit {unit}");
    }
    assert_eq!(drive.counters().unmapped_slots, 6);
    // A discard makes addresses unmapped again.
    one(&mut drive, IoKind::Discard, 0, 8 * UNIT);
    let read = one(&mut drive, IoKind::Read, 0, 8 * UNIT);
    assert_eq!((read.data, drive.counters().unmapped_slots), (vec![Stamp::default(); 8 * UNIT as usize], 14));
    drive.check();
}

#[test]
fn other_families_refuse_the_key_with_the_reason() {
    for kind in ["bast", "chang"] {
        let faults = spec(&format!("kind = \"{kind}\"\n{FLASH}")).resolve().expect_err(kind);
        let fault = faults.iter().find(|fault| fault.path == "ftl.unmapped-reads").expect("it is named");
        assert!(fault.message.starts_with("is for the page-mapped FTL only"), "{}", fault.message);
    }
}
