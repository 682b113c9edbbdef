//! Compares times that are zero by default with closed forms: firmware, reads that are sent as they come, and the RAM.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd};

/// Dies of Dirik's part with a controller for each: a page of 2 KiB takes tR 25 us and tPROG 200 us, and 81.92 us on the
/// channel.
fn drive(channels: u32, chips: u32, changes: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"times\"\nflash = {{ part = \"dirik-2009\", channels = {channels}, chips = {chips}, blocks = 64, \
         pages = 16, cache-mode = false }}\n{changes}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}"));
    Ssd::new(&resolved, 7)
}

const READ: f64 = 25.0;
const PROGRAM: f64 = 200.0;
const PAGE: f64 = 81.92;

fn submit(drive: &mut Ssd<Stamp>, tag: u64, kind: IoKind, start: u64, sectors: u64) {
    let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
    let data = if kind == IoKind::Write { vec![Stamp(tag); sectors as usize] } else { Vec::new() };
    drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
}

fn finish(drive: &mut Ssd<Stamp>) -> Vec<Completion<Stamp>> {
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions
}

/// The time of one request on an idle drive, in microseconds.
fn one(drive: &mut Ssd<Stamp>, kind: IoKind, start: u64, sectors: u64) -> f64 {
    submit(drive, start, kind, start, sectors);
    let mut completions = Vec::new();
    while completions.is_empty() {
        let at = drive.next_event().expect("a request under way");
        drive.advance(at, &mut completions);
    }
    let latency = completions[0].latency().as_us_f64();
    // Work that continues after the completion ends before the next request.
    finish(drive);
    latency
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-3, "{got} us, expected {expected} us");
}

/// The time between now and the last of these completions.
fn span(drive: &mut Ssd<Stamp>, begin: Time) -> f64 {
    let ends = finish(drive).into_iter().map(|completion| completion.end).max().expect("completions");
    (ends - begin).as_us_f64()
}

#[test]
fn firmware_takes_its_time_for_each_request_and_each_mapping_unit() {
    for (request, unit) in [(30.0, 0.0), (0.0, 7.0), (30.0, 7.0)] {
        let times = format!("[ftl]\nfirmware = {{ request = \"{request}us\", unit = \"{unit}us\" }}");
        let mut drive = drive(1, 1, &times);
        for pages in [1_u32, 4] {
            let n = f64::from(pages);
            let firmware = request + n * unit;
            let sectors = u64::from(pages) * 4;
            close(one(&mut drive, IoKind::Write, 0, sectors), firmware + n * (PAGE + PROGRAM));
            close(one(&mut drive, IoKind::Read, 0, sectors), firmware + n * (READ + PAGE));
        }
        // Units that no flash holds take no firmware time.
        close(one(&mut drive, IoKind::Read, 400, 4), 0.0);
    }
}

#[test]
fn one_processor_limits_the_requests_of_all_dies() {
    let firmware = 300.0;
    let mut drive = drive(4, 2, "[host]\nqueue-depth = 32\n[ftl]\nfirmware = { request = \"250us\", unit = \"50us\" }");
    (0..32).for_each(|page| submit(&mut drive, page, IoKind::Write, page * 4, 4));
    finish(&mut drive);
    let (begin, reads) = (drive.now(), 200);
    let busy = drive.counters().processor_busy;
    (0..reads).for_each(|i| submit(&mut drive, i, IoKind::Read, (i * 12 % 128) / 4 * 4, 4));
    close(span(&mut drive, begin), reads as f64 * firmware + READ + PAGE);
    let worked = drive.counters().processor_busy - busy;
    close(worked.as_us_f64(), reads as f64 * firmware);
}

#[test]
fn a_copy_takes_firmware_time_for_each_mapping_unit_once() {
    let mut drive = drive(1, 1, "[ftl]\nover-provisioning = \"30%\"\nfirmware = { unit = \"9us\" }");
    let pages = drive.capacity().get() / 4;
    // Every other page again and again, so that collections copy.
    for round in 0..6 {
        for page in 0..pages {
            if round == 0 || (page * 7 + round) % 3 == 0 {
                submit(&mut drive, page, IoKind::Write, page * 4, 4);
                finish(&mut drive);
            }
        }
    }
    let counters = drive.counters();
    let programmed = counters.flash.op(flash::backend::Op::Program).slots;
    assert!(counters.flash.of(flash::backend::Op::Program, flash::backend::Cause::Gc).slots > 50, "it copies");
    assert_eq!(counters.processor_busy, Span::from_us(9) * programmed);
}

const LINK: &str = "[host]\nlink = { rate = \"100MB/s\", overhead = \"6us\", duplex = \"full\" }\n";
/// The time of a page on that link, in microseconds.
const SENT: f64 = 20.48;

#[test]
fn a_read_that_is_sent_as_it_comes_overlaps_flash_and_link() {
    for channels in [1, 2, 4, 8] {
        let striped = "[ftl]\nplacement = { policy = \"page-round-robin\" }\n";
        let pages = 8;
        let mut times = Vec::new();
        for transfer in ["", "read-transfer = \"cut-through\"\n"] {
            let mut drive = drive(channels, 8 / channels, &format!("{LINK}{transfer}{striped}"));
            one(&mut drive, IoKind::Write, 0, pages * 4);
            times.push(one(&mut drive, IoKind::Read, 0, pages * 4));
            // The link carries the same in both ways.
            let busy = drive.counters().link_busy.as_us_f64();
            close(busy, 2.0 * (pages as f64 * SENT + 6.0));
        }
        // `channels` pages come at a time, every 81.92 us, and each takes the link for 20.48 us.
        let (rounds, at_once) = (8 / channels, f64::from(channels));
        let flash = READ + f64::from(rounds) * PAGE;
        close(times[0], flash + pages as f64 * SENT + 6.0);
        let behind = f64::max(at_once * SENT, pages as f64 * SENT - f64::from(rounds - 1) * PAGE);
        close(times[1], flash + behind + 6.0);
    }
}

#[test]
fn a_read_of_one_list_takes_as_long_either_way() {
    for transfer in ["", "read-transfer = \"cut-through\"\n"] {
        let mut drive = drive(1, 1, &format!("{LINK}{transfer}"));
        one(&mut drive, IoKind::Write, 0, 16);
        close(one(&mut drive, IoKind::Read, 0, 16), 4.0 * (READ + PAGE) + 4.0 * SENT + 6.0);
        // Unwritten pages come with the end of the command.
        close(one(&mut drive, IoKind::Read, 0, 24), 4.0 * (READ + PAGE) + 6.0 * SENT + 6.0);
    }
}

#[test]
fn the_power_drops_what_has_not_been_sent() {
    let begin =
        format!("{LINK}read-transfer = \"cut-through\"\n[ftl]\nplacement = {{ policy = \"page-round-robin\" }}\n");
    for us in (5..320).step_by(13) {
        let mut drive = drive(2, 4, &begin);
        one(&mut drive, IoKind::Write, 0, 32);
        let whole = one(&mut drive, IoKind::Read, 0, 32);
        submit(&mut drive, 9, IoKind::Read, 0, 32);
        let at = drive.now() + Span::from_us(us);
        while drive.now() < at {
            drive.advance(at, &mut Vec::new());
        }
        drive.cut_power();
        let back = drive.now() + Span::from_ms(1);
        drive.power_on(back);
        finish(&mut drive);
        close(one(&mut drive, IoKind::Read, 0, 32), whole);
        drive.check();
    }
}

/// 2 KiB in 204.8 us.
const RAM: &str = "[ram]\nrate = \"10MB/s\"\n";
const MOVED: f64 = 204.8;

#[test]
fn writes_into_the_buffer_and_reads_from_it_take_the_rams_time() {
    let mut drive = drive(1, 1, &format!("{RAM}[buffer]\nsize = \"64KiB\"\n"));
    close(one(&mut drive, IoKind::Write, 0, 4), MOVED);
    close(one(&mut drive, IoKind::Read, 0, 4), MOVED);
    close(one(&mut drive, IoKind::Read, 0, 1), MOVED / 4.0);
    // The buffer does not have this page: flash and RAM work at the same time.
    close(one(&mut drive, IoKind::Read, 200, 4), 0.0);
    close(drive.counters().ram_busy.as_us_f64(), 2.25 * MOVED);
}

#[test]
fn what_is_written_crosses_the_ram_twice() {
    // Flash is faster than the RAM: eight dies take a page every 35 us.
    let mut drive = drive(8, 1, &format!("{RAM}[host]\nqueue-depth = 4\n[buffer]\nsize = \"64KiB\"\n"));
    let writes = 400;
    (0..writes).for_each(|i| submit(&mut drive, i, IoKind::Write, i % 300 * 4, 4));
    let begin = Time::ZERO;
    let took = span(&mut drive, begin);
    let moved = writes as f64 + drive.counters().flash.op(flash::backend::Op::Program).slots as f64;
    assert!(moved > 1.9 * writes as f64, "{moved}");
    // The RAM is busy for the whole run except the last write-backs, after the last completion.
    let busy = drive.counters().ram_busy.as_us_f64();
    close(busy, moved * MOVED);
    assert!((took - busy).abs() < 0.02 * busy, "{took} us, and the RAM worked for {busy} us");
}

#[test]
fn look_ups_take_the_rams_time_for_each_mapping_unit() {
    // 64 bytes take 6.4 us.
    let mut drive = drive(1, 1, "[ram]\nrate = \"10MB/s\"\nlook-up = \"64B\"\n");
    for pages in [1_u32, 4] {
        let n = f64::from(pages);
        one(&mut drive, IoKind::Write, 0, u64::from(pages) * 4);
        close(one(&mut drive, IoKind::Read, 0, u64::from(pages) * 4), n * 6.4 + n * (READ + PAGE));
    }
}
