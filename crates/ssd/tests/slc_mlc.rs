//! An SLC/MLC drive as a host sees it: times of requests on an idle drive, from Chang's Table 1.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::backend::{Cause, Op};
use flash::nand::Stamp;
use ssd::{Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

/// Twelve MLC blocks of eight pages, of which the host sees seven; buses that take no time.
fn drive(slc: &str) -> Ssd<Stamp> {
    drive_with(slc, "")
}

fn drive_with(slc: &str, chang: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"slc-mlc\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 1, blocks = 12, pages = 8, \
         lane-rate = \"1000GB/s\" }}\n{slc}\n[host]\nlink = \"none\"\n[ftl]\nkind = \"chang\"\ncapacity = \"224KiB\"\n{chang}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut ssd = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    ssd
}

const SLC: &str = "slc = { part = \"K9WAG08U1A\", blocks = 4, pages = 8, lane-rate = \"1000GB/s\" }";

/// Runs one request of pages and returns its time in microseconds.
fn one(ssd: &mut Ssd<Stamp>, kind: IoKind, page: u64, pages: u64) -> f64 {
    let io = Io::new(kind, Lba::new(page * 8), Sectors::new(pages * 8));
    let data = if kind == IoKind::Write { vec![Stamp(page + 1); pages as usize * 8] } else { Vec::new() };
    ssd.submit(ssd.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    ssd.drain(&mut completions);
    assert_eq!(completions.len(), 1);
    ssd.check();
    completions[0].latency().as_us_f64()
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1.0, "{got} us, expected {expected} us");
}

#[test]
fn small_writes_go_to_the_slc_flash_and_reads_find_them_there() {
    let mut ssd = drive(SLC);
    // The throttle is active as long as neither flash has been erased, so only the second write of a page is taken.
    close(one(&mut ssd, IoKind::Write, 3, 1), 800.0);
    close(one(&mut ssd, IoKind::Write, 3, 1), 400.0);
    close(one(&mut ssd, IoKind::Read, 3, 1), 50.0);
    // Its logical block is known since the first write.
    close(one(&mut ssd, IoKind::Read, 4, 1), 60.0);
    let counters = ssd.counters();
    assert!((counters.slc_controllers() - 1.0).abs() < 1e-12, "eight sectors are a page of the MLC flash");
    let slc_mlc = counters.slc_mlc.expect("an SLC/MLC drive");
    assert_eq!((slc_mlc.accepted, slc_mlc.throttled, slc_mlc.slc_sectors), (1, 1, 8));
    let slc_array = counters.slc_array.expect("two arrays");
    assert_eq!(slc_array.flash.of(Op::Program, Cause::Host).pages, 2);
    // 3.3 V, 15 mA: 9.9 uJ a program, 1.24 uJ a read; and the part's 435.6 pJ for each of 2,112 bytes, four times.
    let energy = ssd.slc_energy(&slc_array.flash).as_joules() * 1e6;
    assert!((energy - (2.0 * 9.9 + 2.0 * 1.2375 + 4.0 * 2_112.0 * 435.6e-6)).abs() < 0.01, "{energy} uJ");
}

/// Sec. 5.4: two bytes for each logical and each physical block, five for each entry of the hash table.
#[test]
fn table_bytes_are_those_of_the_paper() {
    let slc_mlc = |ssd: &Ssd<Stamp>| ssd.counters().slc_mlc.expect("its counters");
    let (with, without) = (slc_mlc(&drive(SLC)), slc_mlc(&drive("")));
    assert_eq!((without.table_bytes, with.table_bytes), (2 * (7 + 12), 2 * (7 + 12) + 5 * 16));
    assert_eq!((without.k, with.k), (0, 3), "the log may have all blocks but the one before its head");
}

/// Sec. 3.4: the FTL notes a write that the throttle rejects, and takes the next write of the page; a discard clears
/// the note.
#[test]
fn the_throttle_rejects_a_discarded_page_again() {
    let mut ssd = drive(SLC);
    let accepted = |ssd: &mut Ssd<Stamp>| {
        one(ssd, IoKind::Write, 3, 1);
        let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
        (slc_mlc.throttled, slc_mlc.accepted)
    };
    assert_eq!((accepted(&mut ssd), accepted(&mut ssd)), ((1, 0), (1, 1)));
    one(&mut ssd, IoKind::Discard, 3, 1);
    assert_eq!((accepted(&mut ssd), accepted(&mut ssd)), ((2, 1), (2, 2)));
}

/// A page that needs unreadable sectors of the SLC flash is lost, and not filled with invented data.
#[test]
fn sectors_lost_in_the_slc_flash_stay_uncorrectable() {
    let mut ssd = mapped_by_pages("", SLC);
    (0..2).for_each(|_| _ = one(&mut ssd, IoKind::Write, 3, 1));
    assert_eq!(ssd.counters().slc_mlc.expect("its counters").accepted, 1);
    ssd.slc_media_mut().expect("two arrays").faults_mut().fail_read(0);
    // The second half of the page and more, too large for the SLC flash.
    let io = Io::new(IoKind::Write, Lba::new(3 * 8 + 4), Sectors::new(4 + 5 * 8));
    let data = vec![Stamp(77); io.sectors.get() as usize];
    ssd.submit(ssd.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    ssd.drain(&mut Vec::new());
    let mut status = |page: u64| {
        let io = Io::new(IoKind::Read, Lba::new(page * 8), Sectors::new(8));
        ssd.submit(ssd.now(), Request { tag: 2, queue: QueueId::default(), io, data: Vec::new() });
        let mut done = Vec::new();
        ssd.drain(&mut done);
        done[0].status
    };
    assert_eq!((status(3), status(4)), (Status::Uncorrectable, Status::Done));
}

#[test]
fn large_writes_go_to_the_mlc_flash() {
    let mut ssd = drive(SLC);
    close(one(&mut ssd, IoKind::Write, 0, 4), 4.0 * 800.0);
    assert_eq!(ssd.counters().slc_mlc.expect("an SLC/MLC drive").slc_sectors, 0);
}

/// Sec. 4.1: a fold takes gm (trm + twm) + n4 tem, and comes before the write that needs its block.
#[test]
fn a_write_that_finds_no_spare_block_waits_for_a_fold() {
    let mut ssd = drive("");
    // Five spare blocks, of which three are kept for folds.
    for page in [0, 8] {
        close(one(&mut ssd, IoKind::Write, page, 1), 800.0);
    }
    close(one(&mut ssd, IoKind::Write, 16, 1), 8.0 * 860.0 + 2.0 * 1_500.0 + 800.0);
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.folds, slc_mlc.fold_erases, slc_mlc.mlc_pages), (1, 2, 3));
    let cost = slc_mlc.write_cost();
    assert!((cost.n4 - 2.0).abs() < 1e-9 && (cost.p2 - 1.0 / 3.0).abs() < 1e-9, "{cost:?}");
}

#[test]
fn a_log_block_in_order_is_switched_without_a_copy() {
    let mut ssd = drive("");
    close(one(&mut ssd, IoKind::Write, 0, 8), 8.0 * 800.0);
    close(one(&mut ssd, IoKind::Write, 8, 1), 800.0);
    // The chain of the first logical block is one erase away from a spare block.
    close(one(&mut ssd, IoKind::Write, 16, 1), 1_500.0 + 800.0);
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.folds, slc_mlc.switches, slc_mlc.fold_erases), (0, 1, 1));
}

/// Sec. 3.5: if the mapping cache does not know a logical block, the FTL scans the pages of its log blocks.
#[test]
fn a_logical_block_missing_from_the_mapping_cache_is_found_by_a_scan() {
    let mut ssd = drive("");
    one(&mut ssd, IoKind::Write, 0, 3);
    ssd.cut_power();
    assert_eq!(ssd.power_on(ssd.now()).units, 56, "all are found");
    ssd.drain(&mut Vec::new());
    close(one(&mut ssd, IoKind::Read, 0, 1), 3.0 * 60.0 + 60.0);
    close(one(&mut ssd, IoKind::Read, 1, 1), 60.0);
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.scans, slc_mlc.scanned, slc_mlc.misses), (1, 3, 0));
}

/// Density control: the most accessed logical block is folded before others, into two blocks in SLC mode. Its pages
/// then take half and five sixths of the time (Sec. 5.3.1).
#[test]
fn the_most_accessed_block_moves_to_slc_mode() {
    let density = "chang = { density = { extra = \"64KiB\", rank-every = 4 } }";
    let text = format!(
        "name = \"density\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 1, blocks = 13, pages = 8, \
         lane-rate = \"1000GB/s\" }}\n[host]\nlink = \"none\"\n[ftl]\nkind = \"chang\"\ncapacity = \"224KiB\"\n{density}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut ssd: Ssd<Stamp> = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    for page in [0, 0, 0, 0, 8, 16] {
        close(one(&mut ssd, IoKind::Write, page, 1), 800.0);
    }
    // Six blocks were spare, of which three are kept. The fold takes two and gives two back, so another follows.
    let (slc, mlc) = (8.0 * (60.0 + 400.0) + 2.0 * 1_500.0, 8.0 * 860.0 + 2.0 * 1_500.0);
    close(one(&mut ssd, IoKind::Write, 24, 1), slc + mlc + 800.0);
    close(one(&mut ssd, IoKind::Read, 0, 1), 50.0);
    close(one(&mut ssd, IoKind::Read, 7, 1), 50.0);
    close(one(&mut ssd, IoKind::Read, 16, 1), 60.0);
    // Its data blocks are full: it gets a log block of four pages.
    close(one(&mut ssd, IoKind::Write, 5, 1), mlc + 400.0);
    for page in [1, 2, 3] {
        close(one(&mut ssd, IoKind::Write, page, 1), 400.0);
    }
    // The log block is full, so the chain is folded before others.
    close(one(&mut ssd, IoKind::Write, 4, 1), 8.0 * (50.0 + 400.0) + 3.0 * 1_500.0 + 400.0);
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.slc_mode, slc_mlc.to_slc_mode, slc_mlc.slc_mode_pages), (1, 1, 8 + 4 + 8 + 1));
    // The spare areas say which block is in which mode.
    ssd.cut_power();
    ssd.power_on(ssd.now());
    ssd.drain(&mut Vec::new());
    ssd.check();
    assert_eq!(ssd.counters().slc_mlc.expect("its counters").slc_mode, 1);
    close(one(&mut ssd, IoKind::Read, 0, 1), 50.0 + 50.0);
}

/// Sec. 3.4: while the throttle is active, cold data is phased out instead of being copied to the head.
#[test]
fn a_throttled_log_copies_nothing_to_its_head() {
    let mut ssd = drive_with(SLC, "chang = { hash-entries = 256 }");
    // The throttle turns away the first write of a page. The third finds no spare block, and the chain of the first
    // is folded.
    for page in [0, 8, 8, 16] {
        one(&mut ssd, IoKind::Write, page, 1);
    }
    // Two erases of twelve MLC blocks are as much as thirteen and a third of four SLC blocks, at four writes each.
    one(&mut ssd, IoKind::Write, 0, 1);
    for _ in 0..40 {
        one(&mut ssd, IoKind::Write, 8, 1);
    }
    let before = ssd.counters().slc_mlc.expect("an SLC/MLC drive");
    assert!(before.copied_back > 0 && before.written_back == 0, "{before:?}");
    close(one(&mut ssd, IoKind::Read, 0, 1), 50.0);
    for _ in 0..40 {
        one(&mut ssd, IoKind::Write, 8, 1);
    }
    let after = ssd.counters().slc_mlc.expect("an SLC/MLC drive");
    assert_eq!((after.written_back, after.mlc_pages), (8, before.mlc_pages + 1), "{after:?}");
    close(one(&mut ssd, IoKind::Read, 0, 1), 60.0);
}

/// Two dies of ten blocks of eight pages under a page map, of which the host sees eight blocks.
fn mapped_by_pages(chang: &str, slc: &str) -> Ssd<Stamp> {
    let text = format!(
        "name = \"pages\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 2, blocks = 10, pages = 8, \
         lane-rate = \"1000GB/s\" }}\n{slc}\n[host]\nlink = \"none\"\n[ftl]\nkind = \"chang\"\ncapacity = \"256KiB\"\n\
         chang = {{ mapping = \"pages\"{chang} }}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut ssd = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    ssd
}

#[test]
fn the_dies_of_a_page_map_work_in_parallel() {
    let mut ssd = mapped_by_pages("", "");
    close(one(&mut ssd, IoKind::Write, 0, 1), 800.0);
    close(one(&mut ssd, IoKind::Write, 4, 2), 800.0);
    close(one(&mut ssd, IoKind::Write, 8, 5), 3.0 * 800.0);
    close(one(&mut ssd, IoKind::Read, 4, 2), 60.0);
    // The FTL first reads the other sectors of a partly written page.
    let io = Io::new(IoKind::Write, Lba::new(35), Sectors::new(1));
    ssd.submit(ssd.now(), Request { tag: 1, queue: QueueId::default(), io, data: vec![Stamp(77)] });
    let mut completions = Vec::new();
    ssd.drain(&mut completions);
    close(completions[0].latency().as_us_f64(), 60.0 + 800.0);
    // No mapping cache, and no scans.
    assert_eq!(ssd.counters().slc_mlc.expect("its counters").scans, 0);
}

/// A block is collected by a list of reads, all on its die, and one of programs on both; then it is erased.
#[test]
fn a_page_map_collects_its_blocks() {
    let mut ssd = mapped_by_pages("", "");
    // Rewrites a page of each block until the FTL needs a block that it keeps for copies and lanes.
    let mut slowest: f64 = 0.0;
    for i in 0..80 {
        slowest = slowest.max(one(&mut ssd, IoKind::Write, i * 11 % 64, 1));
    }
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert!(slc_mlc.folds > 0 && slc_mlc.fold_erases == slc_mlc.folds, "{slc_mlc:?}");
    let copied = ssd.counters().flash.of(Op::Program, Cause::Gc).pages;
    assert!(slowest >= 800.0 + 1_500.0 && copied <= 7 * slc_mlc.folds, "{slowest} us, {copied} pages");
}

/// The tail of the log in front of a page map: data that has not been written since its copy to the head goes to the
/// MLC flash.
#[test]
fn a_log_sector_has_a_second_chance_before_the_page_map() {
    let mut ssd = mapped_by_pages(", throttle = false, threshold = \"fixed\", hash-entries = 64, probes = 64", SLC);
    one(&mut ssd, IoKind::Write, 9, 1);
    // A write takes two of the 32 pages; three blocks of eight are filled before the tail is cleaned.
    for _ in 0..12 {
        one(&mut ssd, IoKind::Write, 3, 1);
    }
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.cleaned, slc_mlc.copied_back, slc_mlc.written_back), (1, 2, 0));
    close(one(&mut ssd, IoKind::Read, 9, 1), 50.0);
    for _ in 0..16 {
        one(&mut ssd, IoKind::Write, 3, 1);
    }
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.copied_back, slc_mlc.written_back), (2, 8));
    close(one(&mut ssd, IoKind::Read, 9, 1), 60.0);
    close(one(&mut ssd, IoKind::Read, 3, 1), 50.0);
}

/// The least free space suffices for writing without end.
#[test]
fn a_page_map_runs_with_the_least_spare_capacity() {
    let text = |blocks: u64| {
        format!(
            r#"name = "pages"
flash = {{ part = "K9GAG08U0M", channels = 1, chips = 2, blocks = 12, pages = 8 }}
[ftl]
kind = "chang"
capacity = "{}KiB"
chang = {{ mapping = "pages" }}
"#,
            32 * blocks
        )
    };
    let resolve = |blocks| toml::from_str::<Spec>(&text(blocks)).expect("a description").resolve();
    let most = (1..24).rev().find(|blocks| resolve(*blocks).is_ok()).expect("some capacity");
    let mut ssd = Ssd::<Stamp>::new(&resolve(most).expect("it is sound"), 1);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    let overwritten = ssd.precondition(Precondition::RandomOverwrite(20.0), &mut |_, _| {});
    assert_eq!(overwritten.refused, 0, "{most} of 24 blocks");
    ssd.check();
}

/// Writes some sectors, each with the same stamp, and waits.
fn write(ssd: &mut Ssd<Stamp>, sector: u64, sectors: u64, stamp: u64) {
    let io = Io::new(IoKind::Write, Lba::new(sector), Sectors::new(sectors));
    let data = vec![Stamp(stamp); sectors as usize];
    ssd.submit(ssd.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    ssd.drain(&mut completions);
    assert_eq!((completions.len(), completions[0].status), (1, Status::Done));
    ssd.check();
}

/// The tail is cleaned between two appends of a write, and again after its end: the page leaves the SLC flash twice with
/// one version. Mount may take either page, so both must have all sectors of the write.
#[test]
fn a_write_during_which_the_tail_is_cleaned_is_there_after_a_power_cut() {
    let mut ssd = drive_with(
        "slc = { part = \"K9WAG08U1A\", blocks = 2, pages = 8, lane-rate = \"1000GB/s\" }",
        "chang = { hash-entries = 256, probes = 64, throttle = false, threshold = \"fixed\", copy-back = false }",
    );
    // Seven of the eight pages of the head, in other pages of the MLC flash.
    (0..7).for_each(|i| write(&mut ssd, (8 + i) * 8, 1, 1));
    write(&mut ssd, 3 * 8, 8, 2);
    let slc_mlc = ssd.counters().slc_mlc.expect("its counters");
    assert_eq!((slc_mlc.slc_sectors, slc_mlc.cleaned), (15, 1), "four sectors, the cleaning, and four more");
    (0..8).for_each(|i| write(&mut ssd, (16 + i) * 8, 1, 3));
    assert_eq!(ssd.counters().slc_mlc.expect("its counters").cleaned, 2);
    ssd.cut_power();
    ssd.power_on(ssd.now());
    ssd.check();
    let io = Io::new(IoKind::Read, Lba::new(3 * 8), Sectors::new(8));
    ssd.submit(ssd.now(), Request { tag: 1, queue: QueueId::default(), io, data: Vec::new() });
    let mut completions = Vec::new();
    ssd.drain(&mut completions);
    assert_eq!(completions[0].data, [Stamp(2); 8]);
}
