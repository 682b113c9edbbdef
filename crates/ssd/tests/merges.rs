//! The log-block FTLs on devices of a few blocks: the cost of each kind of merge, and the blocks it leaves.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span};
use flash::backend::{Cause, Op};
use flash::nand::Stamp;

use ssd::{Counters, Drive, LogMerges, QueueId, Request, Spec, Ssd};

/// The four controllers of Sung, Table 1, with pages of 4 KiB: read 25 us, program 200 us, erase 1,500 us, transfer
/// 50 us a page; eight blocks in each of the eight chips.
fn drive(kind: &str, changes: &str) -> Ssd<Stamp> {
    let text = format!(
        r#"name = "small"
[flash]
part = "K9XXG08"
lane-rate = "81.92MB/s"
channels = 4
chips = 2
dies = 1
planes = 1
blocks = 8
controllers = "per-channel"
[ftl]
kind = "{kind}"
over-provisioning = "60%"
{changes}"#
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 3)
}

const PAGE: u64 = 8;

fn submit(drive: &mut Ssd<Stamp>, kind: IoKind, page: u64, pages: u64) {
    let (start, sectors) = (Lba::new(page * PAGE), Sectors::new(pages * PAGE));
    let data = if kind == IoKind::Write { vec![Stamp(page + 1); (pages * PAGE) as usize] } else { Vec::new() };
    drive
        .submit(drive.now(), Request { tag: page, queue: QueueId::default(), io: Io::new(kind, start, sectors), data });
}

fn run_until_idle(drive: &mut Ssd<Stamp>) {
    drive.drain(&mut Vec::new());
    drive.check();
}

/// Writes pages of a logical block one after another.
fn write(drive: &mut Ssd<Stamp>, pages: impl IntoIterator<Item = u64>) {
    for page in pages {
        submit(drive, IoKind::Write, page, 1);
        run_until_idle(drive);
    }
}

fn merges(drive: &Ssd<Stamp>) -> LogMerges {
    drive.counters().log_merges.expect("it has log blocks")
}

/// The time from the write of one page to the end of all work that it causes, without the program of that page, and the
/// counters of that time.
fn merge_by(drive: &mut Ssd<Stamp>, page: u64) -> (f64, Counters) {
    let before = drive.counters();
    write(drive, [page]);
    let after = drive.counters();
    let own = Span::from_us(250);
    ((after.at - before.at - own).as_us_f64(), after)
}

const US: f64 = 1e-6;

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < US, "{got} us, and not {expected} us");
}

/// All log blocks in the same chip as the data block, as in the thesis.
const SAME: &str = "log = { blocks = 1, allocation = \"same\", erase = \"read\" }\n";
const APART: &str = "log = { blocks = 1, allocation = \"apart\", erase = \"read\" }\n";

/// The time of a partial merge that copies `n` of eight pages: the log block takes the first 8 - n, then another data
/// block needs the only log block.
fn partial(changes: &str, n: u64) -> (f64, LogMerges) {
    let mut drive = drive("bast", changes);
    let pages = u64::from(drive.media().geometry().pages);
    write(&mut drive, 0..pages);
    write(&mut drive, [pages]);
    write(&mut drive, 0..pages - n);
    let (time, _) = merge_by(&mut drive, pages);
    (time, merges(&drive))
}

#[test]
fn a_partial_merge_takes_the_time_of_the_thesis() {
    for n in [1, 2, 8, 32, 63] {
        let us = n as f64;
        let (without, counted) = partial(SAME, n);
        near(without, 325.0 * us + 1500.0);
        assert_eq!((counted.partial, counted.partial_pages), (1, n));
        let (with, same) = partial(APART, n);
        near(with, (75.0 * us + 1500.0).max(75.0 + 250.0 * us));
        near(counted.saving.as_us_f64(), without - with);
        assert_eq!(same, counted, "the place of blocks does not change the merges (SU1)");
    }
}

/// The time of the full merge of Fig. 12: two pages are valid in the data block, and two in the log block.
fn full(changes: &str) -> (f64, Counters) {
    let mut drive = drive("bast", changes);
    let pages = u64::from(drive.media().geometry().pages);
    write(&mut drive, 0..4);
    write(&mut drive, [pages]);
    write(&mut drive, [3, 1]);
    merge_by(&mut drive, pages)
}

#[test]
fn a_full_merge_takes_the_time_of_the_thesis() {
    let (without, counted) = full(SAME);
    near(without, 3300.0);
    let merges = counted.log_merges.expect("it has log blocks");
    assert_eq!((merges.full, merges.folds, merges.full_pages), (1, 1, 4));
    assert_eq!(counted.flash.of(Op::Erase, Cause::Merge).commands, 2);
    let (with, counted) = full(APART);
    near(with, 1650.0);
    near(merges.saving.as_us_f64(), without - with);
    assert_eq!(counted.log_merges, Some(merges));
}

#[test]
fn a_full_merge_erases_its_sources_after_its_programs() {
    let copied = |changes: &str| full(&changes.replace(", erase = \"read\"", "")).0;
    // The programs end at 75 + 4 * 250 us; then both erases, side by side if they are on different buses.
    near(copied(SAME), 1075.0 + 2.0 * 1500.0);
    near(copied(APART), 1075.0 + 1500.0);
}

#[test]
fn a_switch_merge_copies_nothing_and_gains_nothing() {
    for changes in [SAME, APART] {
        let mut drive = drive("bast", changes);
        let pages = u64::from(drive.media().geometry().pages);
        write(&mut drive, 0..pages);
        write(&mut drive, [pages]);
        write(&mut drive, 0..pages);
        let (time, counted) = merge_by(&mut drive, pages);
        near(time, 1500.0);
        assert_eq!(merges(&drive), LogMerges { switch: 1, ..LogMerges::default() });
        assert_eq!(counted.flash.op(Op::Erase).commands, 1);
    }
}

#[test]
fn an_ordered_log_block_stays_ordered_after_a_power_cut() {
    for (kind, log) in [("bast", SAME), ("fast", "log = { blocks = 2 }\n")] {
        let mut drive = drive(kind, log);
        let pages = u64::from(drive.media().geometry().pages);
        write(&mut drive, 0..pages + 1);
        // If both blocks have their pages in order, the block with more valid pages becomes the data block.
        write(&mut drive, 0..pages / 2 - 1);
        drive.cut_power();
        drive.power_on(drive.now());
        run_until_idle(&mut drive);
        // The log block becomes the data block when the next data block needs a log block.
        write(&mut drive, pages / 2 - 1..=pages);
        assert_eq!(merges(&drive), LogMerges { switch: 1, ..LogMerges::default() }, "{kind}");
    }
}

#[test]
fn fast_merges_the_oldest_log_block_with_all_its_data_blocks() {
    let mut drive = drive("fast", "log = { blocks = 2 }\n");
    let pages = u64::from(drive.media().geometry().pages);
    // Three data blocks with only a few written pages.
    write(&mut drive, (0..3).flat_map(|block| (0..3).map(move |page| block * pages + page)));
    assert_eq!(merges(&drive), LogMerges::default(), "first writes are in place");
    // One log block full of their updates, none of a first page.
    write(&mut drive, (0..pages).map(|i| i % 3 * pages + 1 + i / 3 % 2));
    assert_eq!(merges(&drive).full, 0);
    write(&mut drive, [1]);
    let merged = merges(&drive);
    assert_eq!((merged.full, merged.folds, merged.full_pages), (1, 3, 9), "valid pages only");
    assert_eq!(drive.counters().flash.of(Op::Erase, Cause::Merge).commands, 4, "k + 1 erases");
}

#[test]
fn the_sequential_log_block_of_fast_becomes_the_data_block() {
    let mut drive = drive("fast", "log = { blocks = 2 }\n");
    let pages = u64::from(drive.media().geometry().pages);
    write(&mut drive, 0..2 * pages);
    write(&mut drive, 0..pages);
    write(&mut drive, [pages]);
    assert_eq!(merges(&drive), LogMerges { switch: 1, ..LogMerges::default() });
    write(&mut drive, [pages + 1, pages + 5]);
    let merged = merges(&drive);
    assert_eq!((merged.switch, merged.partial, merged.partial_pages), (1, 1, pages - 2), "the sequence broke");
}

#[test]
fn a_merge_neither_reads_nor_copies_discarded_pages() {
    let mut drive = drive("bast", "log = { blocks = 1 }\n");
    let pages = u64::from(drive.media().geometry().pages);
    write(&mut drive, 0..4);
    write(&mut drive, [pages, 1, 3]);
    submit(&mut drive, IoKind::Discard, 0, 3);
    run_until_idle(&mut drive);
    write(&mut drive, [pages]);
    let merged = merges(&drive);
    assert_eq!(merged.full_pages + merged.partial_pages, 1, "{merged:?}: of four pages three were discarded");
    let unmapped = drive.counters().unmapped_slots;
    submit(&mut drive, IoKind::Read, 0, 4);
    run_until_idle(&mut drive);
    assert_eq!(drive.counters().unmapped_slots - unmapped, 3);
}

#[test]
fn one_bus_keeps_one_controller_busy_and_four_buses_four() {
    // Fig. 4, SU9: data blocks take turns, so every fourth is on one bus.
    let busy = |blocks: [u64; 4]| {
        let mut drive = drive("bast", "log = { blocks = 2 }\n");
        let pages = u64::from(drive.media().geometry().pages);
        write(&mut drive, (0..16).map(|block| block * pages));
        let before = drive.now();
        for block in blocks {
            submit(&mut drive, IoKind::Read, block * pages, 1);
        }
        run_until_idle(&mut drive);
        (drive.now() - before).as_us_f64()
    };
    near(busy([0, 1, 2, 3]), 75.0);
    near(busy([0, 4, 8, 12]), 300.0);
}

#[test]
fn a_shared_controller_takes_no_chip_that_another_holds() {
    // PMCD: two reads of one chip follow each other although four controllers are free; two reads of two chips
    // overlap.
    let mut drive = drive("bast", "log = { blocks = 2 }\n");
    let mut spec = drive.resolved().spec.clone();
    (spec.flash.controllers, spec.flash.transfer) =
        (flash::backend::Controllers::Shared(4), flash::backend::Transfer::Controller);
    drive = Ssd::new(&spec.resolve().expect("sound"), 3);
    let pages = u64::from(drive.media().geometry().pages);
    write(&mut drive, (0..8).map(|block| block * pages).chain([1]));
    let mut time = |reads: [u64; 2]| {
        let before = drive.now();
        reads.into_iter().for_each(|page| submit(&mut drive, IoKind::Read, page, 1));
        run_until_idle(&mut drive);
        (drive.now() - before).as_us_f64()
    };
    near(time([0, 1]), 150.0);
    near(time([0, pages]), 75.0);
}

/// Random overwrites one after another in each of the four modes, each followed by eight reads at once, because
/// otherwise two chips of a bus are rarely needed together. Returns the merges, and the time of the run.
fn all_modes(kind: &str) -> Vec<(LogMerges, f64)> {
    let modes = [("same", false), ("apart", false), ("same", true), ("apart", true)];
    let run = |(allocation, shared): (&str, bool)| {
        let log = format!("log = {{ blocks = 4, allocation = \"{allocation}\", erase = \"read\" }}\n");
        let mut spec = drive(kind, &log).resolved().spec.clone();
        if shared {
            (spec.flash.controllers, spec.flash.transfer) =
                (flash::backend::Controllers::Shared(4), flash::backend::Transfer::Controller);
        }
        let mut drive = Ssd::<Stamp>::new(&spec.resolve().expect("sound"), 3);
        let pages = drive.capacity().get() / PAGE;
        let mut rng = base::engine::Rng::stream(5, "hybrid.modes");
        for _ in 0..600 {
            let (page, count) = (rng.below(pages - 4), 1 + rng.below(4));
            submit(&mut drive, IoKind::Write, page, count);
            run_until_idle(&mut drive);
            (0..8).for_each(|_| submit(&mut drive, IoKind::Read, rng.below(pages), 1));
            drive.drain(&mut Vec::new());
        }
        (merges(&drive), (drive.now() - base::units::Time::ZERO).as_us_f64())
    };
    modes.into_iter().map(run).collect()
}

#[test]
fn block_allocation_changes_times_and_no_merge() {
    for kind in ["bast", "fast"] {
        let modes = all_modes(kind);
        let [(merges, tmcd_same), (_, tmcd_apart), (_, pmcd_same), (_, pmcd_apart)] = modes[..] else {
            panic!("four modes")
        };
        assert!(merges.full > 5 && modes.iter().all(|(other, _)| *other == merges), "SU1, B10: {modes:?}");
        assert!(pmcd_same <= tmcd_same && pmcd_apart <= tmcd_apart, "SU2: {modes:?}");
        assert!(tmcd_apart <= tmcd_same && pmcd_apart <= pmcd_same, "SU3: {modes:?}");
    }
}
