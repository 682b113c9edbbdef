//! One-shot programs: preconditioning and unbuffered writes fill them, and reads of a full drive take the mean of the
//! page types.

use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Sectors, Span, SuperblockId, Time};
use flash::backend::Op;
use flash::nand::{Spare, Stamp};
use ssd::{Completion, Digits, Drive, PlacementSpec, Precondition, QueueId, Request, Spec, Ssd};

/// Mapping units of a one-shot program: 3 pages of 4 planes, 4 mapping units in each.
const PROGRAM: u64 = 48;
const UNIT: u64 = 8;

/// Dies of a TLC part that reads its page types in 35, 49 and 66 us.
fn drive(dies: u32, placement: &PlacementSpec) -> Ssd<Stamp> {
    let text = format!(
        r#"name = "word-lines"
flash = {{ part = "sk-hynix-176l-tlc", channels = {dies}, chips = 1, blocks = 20, pages = 12, controllers = "none" }}
ftl = {{ map-unit = "4KiB", over-provisioning = "40%" }}
host = {{ queue-depth = 128 }}
"#
    );
    let mut spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    spec.ftl.placement = placement.clone();
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

fn submit(drive: &mut Ssd<Stamp>, kind: IoKind, unit: u64, units: u64) {
    let io = Io::new(kind, Lba::new(unit * UNIT), Sectors::new(units * UNIT));
    let data = if kind == IoKind::Write { vec![Stamp(unit + 1); (units * UNIT) as usize] } else { Vec::new() };
    drive.submit(drive.now(), Request { tag: unit, queue: QueueId::default(), io, data });
}

fn finish(drive: &mut Ssd<Stamp>) -> Vec<Completion<Stamp>> {
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions
}

/// The number of empty slots in programs that hold any data.
fn padded(drive: &Ssd<Stamp>) -> u64 {
    let (media, geometry) = (drive.media(), drive.media().geometry());
    let programs = (0..geometry.superblock_count()).map(SuperblockId::new).flat_map(|superblock| {
        let starts = (0..geometry.superblock_slots()).step_by(PROGRAM as usize);
        starts.map(move |start| (start..start + PROGRAM as u32).map(move |slot| geometry.slot(superblock, slot)))
    });
    let empty = |program: Vec<Spare>| {
        let empty = program.iter().filter(|spare| **spare == Spare::Empty).count() as u64;
        if empty == PROGRAM { 0 } else { empty }
    };
    programs.map(|program| empty(program.map(|psn| media.spare(psn)).collect())).sum()
}

#[test]
fn a_preloaded_drive_reads_as_fast_as_the_mean_of_its_page_types() {
    for units in [1, 13, 16] {
        let mut drive = drive(2, &PlacementSpec::default());
        let all = drive.capacity().get() / UNIT;
        assert_eq!(all % PROGRAM, 0, "the closed form is that of whole programs");
        let (piece, extent) = (Bytes::new(units * UNIT * 512), drive.capacity().bytes());
        drive.precondition(Precondition::Preload { piece, extent }, &mut |_, _| {});
        assert_eq!(padded(&drive), 0, "in pieces of {units}");
        for unit in 0..all {
            submit(&mut drive, IoKind::Read, unit, 1);
            assert_eq!(finish(&mut drive).len(), 1);
        }
        let read = drive.counters().flash.op(Op::Read);
        // Beside the array's own time, tWB keeps a die busy.
        let busy = read.array / all;
        assert!(read.commands == all && busy >= Span::from_us(50), "pieces of {units}: {busy}");
        assert!(busy - Span::from_us(50) <= Span::from_ns(200), "pieces of {units}: {busy}");
    }
}

#[test]
fn preconditioning_pads_at_most_one_program_of_each_pool() {
    for placement in PlacementSpec::every(Digits::default()) {
        for units in [1, 7, 50] {
            let mut drive = drive(4, &placement);
            let extent = Bytes::new(drive.capacity().bytes().get() / 2);
            drive.precondition(Precondition::Preload { piece: Bytes::new(units * UNIT * 512), extent }, &mut |_, _| {});
            let padded = padded(&drive);
            assert!(padded < 4 * PROGRAM, "{padded} slots of 4 pools under {placement:?}, in pieces of {units}");
        }
    }
}

#[test]
fn random_overwrites_by_address_fill_programs_too() {
    let mut drive = drive(4, &PlacementSpec::AddressStriping { order: Digits::default() });
    drive.precondition(Precondition::RandomOverwrite(0.4), &mut |_, _| {});
    let padded = padded(&drive);
    assert!(padded < 4 * PROGRAM, "{padded} slots of 4 pools");
}

/// The sorted end times of these writes on an idle drive with one die, and the number of programs.
fn ends(writes: &[u64]) -> (Vec<Time>, u64) {
    let mut drive = drive(1, &PlacementSpec::default());
    let mut at = 0;
    for units in writes {
        submit(&mut drive, IoKind::Write, at, *units);
        at += units;
    }
    let mut ends: Vec<Time> = finish(&mut drive).iter().map(|completion| completion.end).collect();
    ends.sort_unstable();
    (ends, drive.counters().flash.op(Op::Program).commands)
}

#[test]
fn unbuffered_writes_that_wait_for_a_die_share_a_program() {
    // The die begins the first write at once. All others come while it works, so they leave together.
    let (alone, one) = ends(&[1]);
    assert_eq!(one, 1);
    for others in [1, 20, PROGRAM] {
        let (together, _) = ends(&[others]);
        let (ends, programs) = ends(&vec![1; 1 + others as usize]);
        assert_eq!(programs, 2, "{others} of {PROGRAM}");
        assert_eq!(ends[0], alone[0]);
        let last = alone[0] + (together[0] - Time::ZERO);
        assert!(ends[1..].iter().all(|end| *end == ends[1]), "{others}: {ends:?}");
        // A full program is sent before its die is idle, so a part may take its data meanwhile.
        assert!(ends[1] == last || (others == PROGRAM && ends[1] < last), "{others}: {ends:?}, not {last:?}");
    }
    // One write more than fits: a full program leaves at once, and the last write waits for it.
    let (ends, programs) = ends(&vec![1; 2 + PROGRAM as usize]);
    assert_eq!(programs, 3);
    assert!(ends[PROGRAM as usize] < ends[PROGRAM as usize + 1]);
}
