//! The host memory buffer: the time of a look-up there, its share of the link, and the effect of changes of the memory.

use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Sectors, Span, Time};
use ssd::map_unit::HmbCounters;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Ssd};

use crate::twins::resolve;

/// Two cache blocks in the drive's RAM, translation pages of 512 B with 128 entries each, and a link of
/// 64 MB/s, on which 64 B take 1 us.
fn drive(map: &str, rest: &str) -> Ssd<()> {
    let text = format!(
        r#"name = "hmb"
[host]
link = {{ rate = "64MB/s", duplex = "full" }}
queue-depth = 8
{rest}
[flash]
part = "dirik-2009"
channels = 2
chips = 2
blocks = 16
pages = 8
planes = 1
[ftl]
map-unit = "512B"
over-provisioning = "60%"
[ftl.map]
kind = "{map}"
hmb = {{ preferred = "64KiB", minimum = "4KiB", latency = "3us" }}
"#
    );
    let mut drive = Ssd::new(&resolve(&text), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

const DFTL: &str = "dftl\"\ncmt = \"128B\"\nways = 2\noutstanding = 8\ncosts = \"ideal";
const FMMU: &str = "fmmu\"\ncmt = \"128B\"\nctp = \"1KiB\"\nways = 2\ncosts = \"ideal";

fn submit(drive: &mut Ssd<()>, kind: IoKind, unit: u64, units: u64) {
    let io = Io { kind, start: Lba::new(unit), sectors: Sectors::new(units), ..Io::FLUSH };
    let now = drive.now();
    let data = if kind == IoKind::Write { vec![(); units as usize] } else { Vec::new() };
    drive.submit(now, Request { tag: unit, queue: QueueId::default(), io, data });
}

fn drain(drive: &mut Ssd<()>) -> Vec<Completion<()>> {
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions
}

/// The latency of a read of one mapping unit, alone.
fn read(drive: &mut Ssd<()>, unit: u64) -> Span {
    submit(drive, IoKind::Read, unit, 1);
    let completions = drain(drive);
    let [only] = &completions[..] else { panic!("{} completions", completions.len()) };
    only.end - only.arrival
}

fn counted(drive: &Ssd<()>) -> HmbCounters {
    drive.counters().map.and_then(|map| map.hmb).expect("a host memory buffer")
}

/// Reads other translation pages, until the drive's own RAM no longer holds the earlier pages.
fn forget(drive: &mut Ssd<()>, from: u64) {
    (from..from + 4).for_each(|page| _ = read(drive, page * 128));
}

#[test]
fn a_look_up_takes_the_transfer_of_what_the_map_unit_keeps_and_the_latency() {
    // DFTL keeps a block of 64 B; FMMU a page of 512 B.
    for (map, transfer) in [(DFTL, Span::from_us(1)), (FMMU, Span::from_us(8))] {
        let mut drive = drive(map, "");
        let from_flash = read(&mut drive, 0);
        let known = read(&mut drive, 1);
        forget(&mut drive, 3);
        let hits = counted(&drive).hits;
        let from_host = read(&mut drive, 2);
        assert_eq!(counted(&drive).hits, hits + 1, "{map}");
        assert_eq!(from_host, known + transfer + Span::from_us(3), "{map}");
        assert!(from_flash >= known + Span::from_us(25), "{map}: a page is read from flash in {from_flash}");
    }
}

#[test]
fn the_map_shares_the_link_with_the_data_of_requests() {
    let alone = {
        let mut drive = drive(DFTL, "");
        read(&mut drive, 0);
        forget(&mut drive, 3);
        read(&mut drive, 0)
    };
    let mut drive = drive(DFTL, "");
    read(&mut drive, 0);
    forget(&mut drive, 3);
    // 8 KiB of a write take 128 us.
    submit(&mut drive, IoKind::Write, 256, 16);
    submit(&mut drive, IoKind::Read, 0, 1);
    let completions = drain(&mut drive);
    let of_read = completions.iter().find(|completion| completion.io.kind == IoKind::Read).expect("it ended");
    let write = Bytes::new(16 * 512);
    assert_eq!(write.get() / 64, 128);
    assert!(of_read.end - of_read.arrival >= alone + Span::from_us(128), "{:?}", of_read.end - of_read.arrival);
}

#[test]
fn memory_that_the_host_takes_back_is_as_none_and_comes_back_empty() {
    let mut drive =
        drive(DFTL, "[host.hmb]\nchanges = [{ at = \"50ms\", size = \"0B\" }, { at = \"100ms\", size = \"8KiB\" }]");
    assert_eq!(drive.host_memory_used(), Some(Bytes::new(64 << 10)));
    let from_flash = read(&mut drive, 0);
    forget(&mut drive, 3);
    let from_host = read(&mut drive, 0);
    assert!(from_host < from_flash);
    let mut at = |ms: u64, used: u64| {
        drive.advance(Time::ZERO + Span::from_ms(ms), &mut Vec::new());
        forget(&mut drive, 3);
        let before = counted(&drive);
        let took = read(&mut drive, 0);
        assert_eq!(drive.host_memory_used(), Some(Bytes::new(used)));
        let after = counted(&drive);
        (took, after.hits - before.hits, after.misses - before.misses)
    };
    assert_eq!(at(50, 0), (from_flash, 0, 0), "it is not asked");
    assert_eq!(at(100, 8 << 10), (from_flash, 0, 1), "it holds nothing");
    assert_eq!(at(101, 8 << 10), (from_host, 1, 0));
}

#[test]
fn a_power_cut_loses_the_memory_and_nothing_else() {
    let mut drive = drive(FMMU, "");
    (0..40).for_each(|unit| submit(&mut drive, IoKind::Write, unit * 31, 1));
    drain(&mut drive);
    drive.cut_power();
    let now = drive.now();
    drive.power_on(now);
    let before = counted(&drive);
    assert_eq!(before, HmbCounters::default());
    drive.check();
    let from_flash = read(&mut drive, 0);
    forget(&mut drive, 3);
    assert!(read(&mut drive, 0) < from_flash, "the host gives its memory again");
    assert_eq!(drive.set_host_memory(drive.now(), Bytes::new(0)), Some(drive.now()));
    drive.cut_power();
    let now = drive.now();
    drive.power_on(now);
    read(&mut drive, 0);
    assert_eq!(drive.host_memory_used(), Some(Bytes::new(0)), "what was said last lasts");
}
