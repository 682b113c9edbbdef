//! Checkpoints: the time of a mount from one, their cost, and the drives that refuse them.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, SuperblockId};
use flash::backend::{Cause, Op};
use ssd::{Drive, Precondition, QueueId, Request, Spec, Ssd};

/// Pages of one mapping unit of 4 KiB, and 128 in a block.
fn spec(blocks: u32, rest: &str) -> Spec {
    let text = format!(
        "name = \"checkpoints\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 1, blocks = {blocks}, \
         planes = 1 }}\n[ftl]\nover-provisioning = \"40%\"\n{rest}"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn filled(blocks: u32, rest: &str) -> Ssd<()> {
    let mut drive = Ssd::new(&spec(blocks, rest).resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

const EVERY: &str = "checkpoint = { every = \"16MiB\" }";

#[test]
fn a_mount_after_an_orderly_power_off_takes_the_time_of_its_closed_form() {
    for blocks in [48, 96, 192] {
        let mut drive = filled(blocks, EVERY);
        // Preconditioning ended with a power cycle, so all superblocks are closed, and the checkpoint of this power-off
        // opens a superblock for itself. The last superblock that preconditioning wrote has an unwritten end, which a
        // rescue might continue, so the checkpoint does not cover it.
        let media = drive.media();
        let all = (0..media.geometry().superblock_count()).map(SuperblockId::new);
        let ends = all.filter(|superblock| !media.is_erased(*superblock)).filter_map(|sb| media.unwritten_from(sb));
        let [end] = ends.map(u64::from).collect::<Vec<_>>()[..] else { panic!("one superblock that was closed early") };
        drive.power_off();
        let recovery = drive.power_on(drive.now());
        let timing = drive.resolved().backend.timing.clone();
        let units = drive.capacity().get() / 8;
        // A page has 1,024 entries; a page of the record, 512 superblocks.
        let pages = units.div_ceil(1024) + 1;
        let read = |rows: std::ops::Range<u64>| {
            rows.fold(Span::ZERO, |sum, row| sum + timing.read[row as usize % timing.read.len()])
        };
        // The first page of each block, the other spare areas of the checkpoint's block and of the one with an unwritten end,
        // and the checkpoint's pages.
        let heads = timing.read[0] * u64::from(blocks);
        let transfers = timing.transfer[1] * pages;
        let expected = heads + read(1..pages) + read(1..end) + read(0..pages).max(transfers);
        assert_eq!(recovery.time, expected, "{blocks} blocks, {pages} pages");
        assert_eq!(u64::from(recovery.units), units);
        let scan = filled(blocks, "").recovery_time();
        assert!(recovery.time * 20 < scan, "{}, and {scan} without a checkpoint", recovery.time);
    }
}

#[test]
fn checkpoints_are_programs_with_the_cause_of_the_map() {
    let mut drive = filled(96, EVERY);
    let programmed = |drive: &Ssd<()>, cause| drive.counters().flash.of(Op::Program, cause).slots;
    let before = programmed(&drive, Cause::Map);
    let units = drive.capacity().get() / 8;
    let mut completions = Vec::new();
    let written = 3 * 4096;
    for tag in 0..written {
        let io = Io::new(IoKind::Write, Lba::new(tag * 7919 % units * 8), Sectors::new(8));
        drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data: Vec::new() });
        drive.drain(&mut completions);
    }
    let pages = units.div_ceil(1024) + 1;
    let stored = programmed(&drive, Cause::Map) - before;
    let all: u64 = Cause::ALL.into_iter().map(|cause| programmed(&drive, cause)).sum();
    // One for each 16 MiB that host, collection and checkpoints open, and the last may be unfinished.
    let begun = (all * 4096).div_ceil(16 << 20);
    assert!(stored >= pages * (begun / 2) && stored <= pages * (begun + 1), "{stored} pages in {begun} intervals");
    assert_eq!(completions.len() as u64, written);
}

#[test]
fn other_maps_and_other_ftls_refuse_checkpoints_by_name() {
    for (rest, says) in [
        ("map = { kind = \"dftl\" }", "conflicts with ftl.map"),
        ("kind = \"fast\"", "is for the page-mapped FTL only"),
    ] {
        let faults = spec(96, &format!("{rest}\n{EVERY}")).resolve().expect_err(rest);
        let text = format!("{faults:?}");
        assert!(text.contains("ftl.checkpoint") && text.contains(says), "{text}");
    }
    let faults = spec(96, "checkpoint = { every = \"32KiB\" }").resolve().expect_err("less than two checkpoints");
    assert!(format!("{faults:?}").contains("ftl.checkpoint.every"), "{faults:?}");
}
