//! Tests of the costs of a translation, and of the requests that it refuses.

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Status, TranslationCounters};
use testkit::translation::{device, translation};
use translation::Translation;

/// Submits a request and waits for its completion. Returns also the time that it took.
fn run(translation: &mut Translation<Stamp>, io: Io) -> (Completion<Stamp>, Time) {
    let now = translation.counters().at;
    let sectors = if io.kind == IoKind::Write { io.sectors.get() as usize } else { 0 };
    translation.submit(now, Request { tag: 1, queue: QueueId::default(), io, data: vec![Stamp(7); sectors] });
    let mut completions = Vec::new();
    while completions.is_empty() {
        let at = translation.next_event().expect("the request is under way");
        translation.advance(at, &mut completions);
    }
    let completion = completions.remove(0);
    let end = completion.end;
    (completion, end)
}

fn write(start: u64, sectors: u64) -> Io {
    Io::new(IoKind::Write, Lba::new(start), Sectors::new(sectors))
}

fn counted(translation: &Translation<Stamp>) -> TranslationCounters {
    *translation.counters().translation.expect("a translation")
}

#[test]
fn writes_in_order_cost_their_summaries_and_nothing_else() {
    let resolved = device("", "dies = 1, max-active = 6", "over-provisioning = \"50%\"");
    let shape = resolved.translation.expect("a translation");
    let mut translation = translation(&resolved, &[], 1);
    let unit = u64::from(resolved.geometry.sectors);
    for unit_number in 0..u64::from(shape.units) {
        assert_eq!(run(&mut translation, write(unit_number * unit, unit)).0.status, Status::Done);
    }
    let counted = counted(&translation);
    assert_eq!(counted.written, u64::from(shape.units));
    assert_eq!(counted.mapped, u64::from(shape.units));
    assert_eq!((counted.copied, counted.collected_zones, counted.stalled_writes), (0, 0, 0));
    assert_eq!(counted.summaries, u64::from(shape.units / shape.data * shape.summary()));
    translation.check();
}

#[test]
fn a_write_of_a_part_of_a_unit_keeps_the_rest() {
    let resolved = device("", "dies = 1, max-active = 6", "over-provisioning = \"50%\"");
    let unit = u64::from(resolved.geometry.sectors);
    assert!(unit > 2, "the test needs units of several sectors");
    let mut translation = translation(&resolved, &[], 1);
    run(&mut translation, write(0, 2 * unit));
    run(&mut translation, write(1, unit));
    let counted = counted(&translation);
    assert_eq!((counted.rest_reads, counted.written), (2, 4));
    let (read, _) = run(&mut translation, Io::new(IoKind::Read, Lba::new(0), Sectors::new(3 * unit)));
    assert_eq!(
        read.data.iter().filter(|stamp| stamp.0 == 7).count() as u64,
        2 * unit,
        "the third unit was never written"
    );
    assert_eq!(translation.counters().unmapped_slots, 1);
}

/// Overwrites two areas at random, each with a placement identifier of its own. Returns the number of copies for each
/// unit written.
fn copies(streams: u32, seed: u64) -> f64 {
    let keys = format!("over-provisioning = \"50%\"\nstreams = {streams}");
    let resolved = device("", "dies = 1, max-active = 6", &keys);
    let mut translation = translation(&resolved, &[Precondition::Fill], seed);
    let mut rng = Rng::stream(seed, "streams");
    let unit = u64::from(resolved.geometry.sectors);
    let units = u64::from(resolved.translation.expect("a translation").units);
    let mut from = counted(&translation);
    for round in 0..6 * units {
        if round == 3 * units {
            from = counted(&translation);
        }
        // Nine of ten writes go to a tenth of the units.
        let is_hot = rng.chance(0.9);
        let at = if is_hot { rng.below(units / 10) } else { units / 10 + rng.below(units - units / 10) };
        let io = Io { placement: PlacementId::new(u16::from(is_hot)), ..write(at * unit, unit) };
        assert_eq!(run(&mut translation, io).0.status, Status::Done);
    }
    let counted = counted(&translation).since(&from);
    counted.copied as f64 / counted.written as f64
}

#[test]
fn streams_by_placement_leave_less_to_copy() {
    let (one, two) = (copies(1, 3), copies(2, 3));
    assert!(two < 0.8 * one && one > 0.05, "{one} copies for each unit with one stream, {two} with two");
}

#[test]
fn a_mount_reads_summaries_and_open_zones_and_requests_wait_for_it() {
    let resolved = device("", "dies = 1, max-active = 6", "over-provisioning = \"50%\"");
    let shape = resolved.translation.expect("a translation");
    let mut translation = translation(&resolved, &[], 1);
    let unit = u64::from(resolved.geometry.sectors);
    let units = u64::from(shape.data) * 2 + 3;
    for number in 0..units {
        run(&mut translation, write(number * unit, unit));
    }
    while let Some(at) = translation.next_event() {
        translation.advance(at, &mut Vec::new());
    }
    translation.cut_power();
    let now = translation.counters().at;
    let recovery = translation.power_on(now);
    let (read, end) = run(&mut translation, Io::new(IoKind::Read, Lba::new(0), Sectors::new(unit)));
    assert_eq!((read.status, read.data[0]), (Status::Done, Stamp(7)));
    assert!(end - now > recovery.time, "the mount reads from a drive that has recovered");
    assert_eq!(counted(&translation).mount_reads, u64::from(2 * shape.summary()) + 3);
    assert_eq!(counted(&translation).mapped, units);
}

#[test]
fn a_drive_that_fails_refuses_writes_and_keeps_what_it_holds() {
    let faults = "faults = { erase-failures = \"50%\" }";
    let resolved = device(faults, "dies = 1, max-active = 6", "over-provisioning = \"60%\"");
    let mut translation = translation(&resolved, &[Precondition::Fill], 2);
    let unit = u64::from(resolved.geometry.sectors);
    let units = u64::from(resolved.translation.expect("a translation").units);
    let mut rng = Rng::stream(2, "failures");
    let mut refused = 0;
    for _ in 0..20 * units {
        let (end, _) = run(&mut translation, write(rng.below(units) * unit, unit));
        match end.status {
            Status::Done => assert_eq!(refused, 0, "a write succeeds after a refused one"),
            status => refused += u64::from(status == Status::ReadOnly),
        }
    }
    assert!(refused > 0 && counted(&translation).failed_zones > 0);
    for number in 0..units {
        let (read, _) = run(&mut translation, Io::new(IoKind::Read, Lba::new(number * unit), Sectors::new(unit)));
        assert_eq!(read.status, Status::Done);
    }
    translation.check();
}

#[test]
fn random_overwrites_cost_what_greedy_collection_must_copy() {
    // With a twentieth of the units written at a time, the log is in the same state as in preconditioning, so the
    // numbers of copies must agree.
    let resolved = device("", "dies = 1, max-active = 6", "over-provisioning = \"50%\"\ngc = { parallel = 4 }");
    let mut used = translation::UsedZones::new(&resolved, 5);
    let go_on = &mut |_, _| std::ops::ControlFlow::Continue(());
    used.precondition(Precondition::Fill, go_on).expect("nobody breaks off");
    let laid_out = used.precondition(Precondition::RandomOverwrite(8.0), go_on).expect("nobody breaks off");
    let mut translation = translation(&resolved, &[Precondition::Fill, Precondition::RandomOverwrite(4.0)], 5);
    let unit = u64::from(resolved.geometry.sectors);
    let units = u64::from(resolved.translation.expect("a translation").units);
    let mut rng = Rng::stream(5, "overwrites");
    for _ in 0..4 * units {
        run(&mut translation, write(rng.below(units) * unit, unit));
    }
    let counted = counted(&translation);
    let simulated = (counted.written + counted.copied + counted.summaries) as f64 / counted.written as f64;
    let ratio = simulated / laid_out.write_amplification;
    assert!((0.9..1.1).contains(&ratio), "{simulated} simulated, {} laid out", laid_out.write_amplification);
}
