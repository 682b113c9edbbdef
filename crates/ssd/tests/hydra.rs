//! Hydra's FTL from outside: flushes, processor time, and placement.

use base::io::{Io, IoKind};
use base::units::{Lba, Psn, Sectors, Span, Time};
use flash::backend::{Cause, Op};
use flash::nand::{Spare, Stamp};
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

/// Sectors of a superblock, 1 MiB, and of a row.
const SUPERBLOCK: u64 = 2048;
const ROW: u64 = 16;

/// The prototype with fewer blocks, full, and without a link.
fn drive(change: impl FnOnce(&mut Spec)) -> Ssd<Stamp> {
    let text = ssd::builtin().iter().find(|(name, _)| *name == "hydra-prototype").expect("it is built in").1;
    let mut spec: Spec = toml::from_str(text).expect("a device");
    (spec.flash.blocks, spec.host.link) = (Some(96), ssd::LinkSpec::default());
    spec.ftl.over_provisioning = Some("50%".parse().expect("a share"));
    change(&mut spec);
    let mut drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

fn with(keys: &str) -> Ssd<Stamp> {
    let change: toml::Table = toml::from_str(keys).unwrap_or_else(|error| panic!("{error}"));
    drive(|spec| {
        let mut text = toml::Table::try_from(&*spec).expect("a device is TOML");
        merge(&mut text, change);
        *spec = text.try_into().unwrap_or_else(|error| panic!("{error}"));
    })
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => merge(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

fn stamp(start: u64, i: u64, write: u64) -> Stamp {
    Stamp((start + i) << 8 | write)
}

/// Submits a request and advances the drive to its completion.
fn ask(drive: &mut Ssd<Stamp>, kind: IoKind, start: u64, sectors: u64, write: u64) -> Completion<Stamp> {
    let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
    let items = if kind == IoKind::Write { sectors } else { 0 };
    let data = (0..items).map(|i| stamp(start, i, write)).collect();
    drive.submit(drive.now(), Request { tag: 0, queue: QueueId::default(), io, data });
    let mut done = Vec::new();
    drive.advance(Time::MAX, &mut done);
    assert_eq!((done.len(), done[0].status), (1, Status::Done));
    done.remove(0)
}

/// Writes 4 KiB into each of several superblocks and flushes; returns the time of the flush.
fn flush(drive: &mut Ssd<Stamp>, superblocks: u64, write: u64) -> Span {
    for i in 0..superblocks {
        ask(drive, IoKind::Write, i * SUPERBLOCK + 8, 8, write);
    }
    ask(drive, IoKind::Flush, 0, 0, 0).latency()
}

fn merges(drive: &Ssd<Stamp>) -> u64 {
    drive.counters().merges.expect("an FTL of merges").merges
}

#[test]
fn a_flush_merges_logs_or_does_nothing() {
    let mut merging = with("");
    // A merge copies 128 rows on two dies.
    let least = Span::from_us(64 * 220);
    let time = flush(&mut merging, 4, 1);
    assert!(time > least && time < least * 2, "one merge on each superchip: {time}");
    assert_eq!(merges(&merging), 4);

    let mut logging = with("buffer.flush = \"log\"");
    // 32 sectors are two rows, one on each die of a superchip: a transfer and a program each, one after the other on
    // the bus.
    let time = flush(&mut logging, 4, 1);
    assert_eq!(time, Span::from_ns(2 * 52_800 + 200_000));
    let counters = logging.counters();
    assert_eq!((merges(&logging), counters.flash.of(Op::Program, Cause::Flush).commands), (0, 2));
    assert_eq!(counters.merges.expect("merges").flush_pages, 2);
    // No new data: no work.
    assert_eq!(flush(&mut logging, 0, 1), Span::ZERO);

    let mut ignoring = with("buffer.flush = \"ignore\"");
    assert_eq!(flush(&mut ignoring, 4, 1), Span::ZERO);
    assert_eq!(merges(&ignoring), 0);
}

#[test]
fn logged_data_is_merged_later() {
    let mut drive = with("buffer.flush = \"log\"");
    flush(&mut drive, 8, 1);
    assert_eq!(merges(&drive), 0);
    // The ninth superblock is one too many, flushed or not.
    ask(&mut drive, IoKind::Write, 8 * SUPERBLOCK, 8, 1);
    drive.drain(&mut Vec::new());
    assert_eq!(merges(&drive), 8);
    let read = ask(&mut drive, IoKind::Read, 8, 8, 0);
    assert_eq!(read.data, (0..8).map(|i| stamp(8, i, 1)).collect::<Vec<_>>());
}

#[test]
fn logged_data_survives_a_power_cut_and_is_merged_after_it() {
    let mut drive = with("buffer.flush = \"log\"");
    flush(&mut drive, 3, 1);
    flush(&mut drive, 2, 2);
    // Not flushed, so the power cut loses it.
    ask(&mut drive, IoKind::Write, 8, 4, 3);
    drive.cut_power();
    drive.power_on(drive.now());
    for (i, write) in [(0, 2), (1, 2), (2, 1)] {
        let start = i * SUPERBLOCK + 8;
        let read = ask(&mut drive, IoKind::Read, start, 8, 0);
        assert_eq!(read.data, (0..8).map(|i| stamp(start, i, write)).collect::<Vec<_>>());
        let before = ask(&mut drive, IoKind::Read, start - 8, 8, 0);
        let history = drive.history().expect("it is noted");
        let filled: Vec<Stamp> = (start - 8..start).map(|at| history.content(Lba::new(at)).expect("known")).collect();
        assert_eq!(before.data, filled, "the rest of the row is as it was");
    }
    assert_eq!(merges(&drive), 0);
    let end = drive.power_off();
    assert!(end.is_empty());
    assert_eq!(merges(&drive), 3, "an orderly end leaves nothing in the log");
}

#[test]
fn log_pages_have_numbers_beyond_the_rows_of_the_host() {
    let mut drive = with("buffer.flush = \"log\"");
    // Pages on flash with numbers of rows, and with others.
    let numbers = |drive: &Ssd<Stamp>| {
        let (media, rows) = (drive.media(), drive.resolved().units);
        let spares = (0..media.geometry().slot_count()).map(|slot| media.spare(Psn::new(slot)));
        let numbers =
            spares.filter_map(|spare| if let Spare::Data { lpn, .. } = spare { Some(lpn.get()) } else { None });
        numbers.fold(
            [0, 0],
            |[of_rows, others], lpn| if lpn < rows { [of_rows + 1, others] } else { [of_rows, others + 1] },
        )
    };
    let [of_rows, others] = numbers(&drive);
    flush(&mut drive, 4, 1);
    assert_eq!(numbers(&drive), [of_rows, others + 2]);
}

#[test]
fn a_row_of_64_sectors_is_logged_whole() {
    let mut drive = with("flash.gang = 16\nflash.width = 128\nbuffer.flush = \"log\"");
    assert_eq!(drive.resolved().geometry.sectors, 64);
    for start in [0, 40, 128 + 24] {
        ask(&mut drive, IoKind::Write, start, 16, 1);
    }
    ask(&mut drive, IoKind::Flush, 0, 0, 0);
    drive.cut_power();
    drive.power_on(drive.now());
    for start in [0, 40, 128 + 24] {
        let read = ask(&mut drive, IoKind::Read, start, 16, 0);
        assert_eq!(read.data, (0..16).map(|i| stamp(start, i, 1)).collect::<Vec<_>>(), "{start}");
    }
    assert_eq!(merges(&drive), 0);
}

#[test]
fn merges_empty_a_log_full_of_live_rows() {
    // 64 KiB of buffer: the log has room for a block on each die, and three more.
    let mut drive = with("buffer.flush = \"log\"\nbuffer.size = \"64KiB\"");
    let pages = 2 * 64 * (2 + 1 + 2);
    // One superblock keeps its row from the first flush on; only a merge frees it.
    flush(&mut drive, 1, 1);
    for write in 0..=pages {
        ask(&mut drive, IoKind::Write, SUPERBLOCK + 8, 8, write & 0xff);
        let flush = ask(&mut drive, IoKind::Flush, 0, 0, 0);
        assert!(flush.latency() > Span::ZERO);
    }
    drive.check();
    assert!(merges(&drive) > 0 && merges(&drive) < 10, "{} merges", merges(&drive));
    assert!(drive.counters().merges.expect("merges").flush_pages > pages);
}

#[test]
fn an_uncontended_read_of_4_kib_takes_46_us() {
    // hydra.md D10: the array, and two sectors on each bus.
    let mut drive = with("");
    let read = ask(&mut drive, IoKind::Read, 5 * ROW, 8, 0);
    assert_eq!(read.latency(), Span::from_ns(20_000 + 2 * 13_200));
}

#[test]
fn software_controllers_take_cycles_for_every_command() {
    let busy = |keys: &str| {
        let mut drive = with(keys);
        flush(&mut drive, 1, 1);
        let counters = drive.counters();
        let commands: u64 = counters.flash.rows().map(|(_, _, tally)| tally.commands).sum();
        (counters.processor_busy, commands)
    };
    let (none, commands) = busy("");
    assert_eq!(none, Span::ZERO);
    assert!(commands > 128, "a merge, and the log behind it: {commands}");
    let at = |mhz: u64| {
        let keys = format!("ftl.hydra.processor = {{ mhz = {mhz}, merge-cycles = 0, unit-cycles = 1000 }}");
        assert_eq!(busy(&keys), (Span::from_ns(1_000_000 / mhz) * commands, commands), "{mhz} MHz");
    };
    [10, 40, 200].into_iter().for_each(at);
}

#[test]
fn without_the_synthesizer_a_read_waits_for_the_processor() {
    let latency = |keys: &str| ask(&mut with(keys), IoKind::Read, 0, 8, 0).latency();
    let off = latency("ftl.hydra.processor = { mhz = 100, synthesizer = false, read-cycles = 2000 }");
    assert_eq!(off - latency(""), Span::from_us(20));
    assert_eq!(latency("ftl.hydra.processor = { mhz = 100 }"), latency(""));
}

#[test]
fn recovery_takes_the_time_to_read_its_pages() {
    let time = |keys: &str| {
        let mut drive = with(keys);
        flush(&mut drive, 4, 1);
        drive.cut_power();
        drive.power_on(drive.now()).time
    };
    let one = time("");
    // The map and its log are on dies of their own, one page of which takes 20 us and 52.8 us.
    assert!(one > Span::from_us(73) && one < Span::from_ms(20), "{one}");
    assert!(time("ftl.hydra.replicate = true") > one, "twice as much is read");
    assert!(time("buffer.flush = \"log\"") > one, "the flushed rows are read as well");
}
