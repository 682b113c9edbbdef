//! Durable discards: their cost, and the FTLs that refuse them.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::backend::Op;
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd};

const UNIT: u64 = 8;

fn spec(rest: &str) -> Spec {
    let text = format!(
        "name = \"trims\"\nflash = {{ part = \"K9GAG08U0M\", channels = 1, chips = 1, blocks = 32 }}\n\
         [ftl]\ndiscard = \"durable\"\nover-provisioning = \"40%\"\n{rest}"
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn filled(rest: &str) -> Ssd<Stamp> {
    let mut drive = Ssd::new(&spec(rest).resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

fn submit(drive: &mut Ssd<Stamp>, kind: IoKind, unit: u64, units: u64) {
    let io = Io::new(kind, Lba::new(unit * UNIT), Sectors::new(units * UNIT));
    drive.submit(drive.now(), Request { tag: unit, queue: QueueId::default(), io, data: Vec::new() });
}

fn finish(drive: &mut Ssd<Stamp>) -> Vec<Completion<Stamp>> {
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions
}

fn programs(drive: &Ssd<Stamp>) -> u64 {
    drive.counters().flash.op(Op::Program).commands
}

#[test]
fn a_discard_of_any_length_costs_one_program_of_its_trim_page() {
    for map in ["", "map = { kind = \"table\" }\n", "map = { kind = \"dftl\" }\n"] {
        for units in [1, 7, 400] {
            let mut drive = filled(map);
            let before = programs(&drive);
            submit(&mut drive, IoKind::Discard, 3, units);
            let done = finish(&mut drive);
            // The bus and the array, and nothing else with the map in RAM.
            let program = drive.resolved().backend.timing.program[0];
            assert!(done[0].end - done[0].start >= program, "acknowledged before it is durable");
            assert_eq!(programs(&drive) - before, 1, "{units} mapping units, {map}");
            // A discard that is recorded already costs nothing.
            submit(&mut drive, IoKind::Discard, 3, units);
            finish(&mut drive);
            assert_eq!(programs(&drive) - before, 1, "{units} mapping units once more, {map}");
        }
    }
}

#[test]
fn discards_that_come_during_a_store_share_the_next_one() {
    let mut drive = filled("");
    let before = programs(&drive);
    (0..20).for_each(|i| submit(&mut drive, IoKind::Discard, i * 2, 1));
    assert_eq!(finish(&mut drive).len(), 20);
    assert_eq!(programs(&drive) - before, 2);
}

#[test]
fn a_discard_survives_a_power_cut_until_the_next_write() {
    let mut drive = filled("");
    submit(&mut drive, IoKind::Discard, 10, 5);
    finish(&mut drive);
    let io = Io::new(IoKind::Write, Lba::new(12 * UNIT), Sectors::new(UNIT));
    let data = vec![Stamp(77); UNIT as usize];
    drive.submit(drive.now(), Request { tag: 1, queue: QueueId::default(), io, data });
    finish(&mut drive);
    // Another discard stores the page again.
    submit(&mut drive, IoKind::Discard, 100, 1);
    finish(&mut drive);
    for _ in 0..2 {
        drive.cut_power();
        drive.power_on(drive.now());
        drive.check();
        for unit in 9..16 {
            submit(&mut drive, IoKind::Read, unit, 1);
            let data = finish(&mut drive).remove(0).data;
            let expected = match unit {
                12 => Some(Stamp(77)),
                10..15 => Some(Stamp(0)),
                _ => None,
            };
            assert!(expected.is_none_or(|expected| data[0] == expected), "unit {unit} holds {:?}", data[0]);
            assert!(expected.is_some() || data[0] != Stamp(0), "unit {unit} was not discarded");
        }
    }
}

#[test]
fn a_write_in_progress_while_its_trim_page_is_stored_survives() {
    let mut drive = filled("");
    submit(&mut drive, IoKind::Discard, 10, 5);
    finish(&mut drive);
    // The program of the write and that of the trim page, which is newer, are in progress together.
    let io = Io::new(IoKind::Write, Lba::new(12 * UNIT), Sectors::new(UNIT));
    drive.submit(drive.now(), Request { tag: 1, queue: QueueId::default(), io, data: vec![Stamp(77); UNIT as usize] });
    submit(&mut drive, IoKind::Discard, 100, 1);
    finish(&mut drive);
    drive.cut_power();
    drive.power_on(drive.now());
    submit(&mut drive, IoKind::Read, 11, 2);
    let data = finish(&mut drive).remove(0).data;
    assert_eq!((data[0], data[UNIT as usize]), (Stamp(0), Stamp(77)));
}

#[test]
fn an_ftl_without_trim_pages_refuses_durable_discards() {
    for kind in ["fast", "bast", "block", "chang"] {
        let faults = spec(&format!("kind = \"{kind}\"\n")).resolve().map_or_else(|faults| faults, |_| Vec::new());
        let wanted = "ftl.discard: this FTL keeps no record of discards on flash";
        assert!(faults.iter().any(|fault| fault.to_string().starts_with(wanted)), "{kind}: {faults:?}");
    }
}
