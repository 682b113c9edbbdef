//! Served RAIDs and translations over zones: the behaviour of any drive, and the commands that only layers have.

use ssd::{RaidLevel, ResolvedDevice};
use testkit::{raid, translation};
use verify::VerifyStatus;

use super::power::{Life, PanicLabel};
use super::thread::{done, submit};
use super::verification::life;
use super::*;
use crate::Allocation;

/// The RAIDs and translations of the conformance suite, each with a name.
pub(super) fn devices() -> Vec<(String, ResolvedDevice)> {
    let raids = raid::settings().into_iter().map(|setting| of_drive(&setting.raid, &setting.drive));
    let translations = translation::settings().into_iter().enumerate();
    let translations = translations.map(|(number, setting)| (format!("translation {number}"), setting.device));
    raids.chain(translations).collect()
}

fn of_drive(raid: &ssd::RaidSpec, drive: &ResolvedDevice) -> (String, ResolvedDevice) {
    let spec = Spec { raid: Some(raid.clone()), ..drive.spec.clone() };
    (format!("{:?} of {}", raid.level, raid.drives), spec.resolve().expect("valid"))
}

/// A RAID of the suite's drives without buffers, whose rebuilds are slow.
fn raid_of(level: RaidLevel, drives: u32, spares: u32) -> ResolvedDevice {
    buffered_raid(level, drives, spares, "")
}

fn buffered_raid(level: RaidLevel, drives: u32, spares: u32, buffer: &str) -> ResolvedDevice {
    let raid = ssd::RaidSpec { rebuild_rate: base::units::Rate::new(20_000_000), ..raid::raid(level, drives, spares) };
    of_drive(&raid, &raid::drive("", buffer)).1
}

fn device(resolved: ResolvedDevice) -> Device {
    Device { name: "layered".to_owned(), resolved, replaced: Vec::new() }
}

fn core_of(resolved: &ResolvedDevice, on_cut: CutPolicy, seed: u64) -> Core {
    let options = EngineOptions { seed, ..EngineOptions::new(device(resolved.clone())) };
    Core::new(options.drive(|_| {}).unwrap_or_else(|error| panic!("{error}")), on_cut)
}

fn raid_status(core: &Core) -> RaidStatus {
    core.status().raid.expect("a RAID")
}

fn states(core: &Core) -> Vec<DriveState> {
    raid_status(core).drives.iter().map(|drive| drive.state).collect()
}

#[test]
fn what_is_written_is_read_through_every_layer() {
    for (seed, (name, resolved)) in (0..).zip(devices()) {
        let _say = PanicLabel(format!("seed {seed}, {name}"));
        let mut bench = Bench::new(core_of(&resolved, CutPolicy::End, seed));
        let end = bench.core.capacity().get();
        assert_eq!(end, resolved.capacity().get());
        assert_eq!(bench.alone(Operation::Read, 0, 9), Ok(vec![0; 9 * 512]));
        // Ranges over several chunks, stripes and units, beginning in the middle of them.
        for (start, sectors, byte) in [(3, 70, 1), (60, 200, 2), (end - 33, 33, 3), (100, 1, 4)] {
            let write = Operation::Write { data: vec![byte; sectors as usize * 512], fua: byte == 2 };
            assert_eq!(bench.alone(write, start, sectors), Ok(Vec::new()));
        }
        assert_eq!(bench.alone(Operation::WriteZeroes { fua: false }, 120, 5), Ok(Vec::new()));
        for (sector, byte) in
            [(2, 0), (3, 1), (59, 1), (60, 2), (99, 2), (100, 4), (101, 2), (120, 0), (124, 0), (125, 2)]
        {
            assert_eq!(bench.byte(sector), byte, "sector {sector}");
        }
        assert_eq!([end - 34, end - 33, end - 1].map(|sector| bench.byte(sector)), [0, 3, 3]);
        assert_eq!(bench.alone(Operation::Flush, 0, 0), Ok(Vec::new()));
        bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
        bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
        assert_eq!([59, 60, 100, 120, end - 1].map(|sector| bench.byte(sector)), [1, 2, 4, 0, 3]);
        let took = bench.core.power_off(bench.now, &mut bench.answers).expect("it is on");
        bench.now += took;
        bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
        assert_eq!([59, 60, 100, 120, end - 1].map(|sector| bench.byte(sector)), [1, 2, 4, 0, 3]);
        let status = bench.core.status();
        assert_eq!((status.raid.is_some(), status.translation.is_some()), (name.contains("of"), !name.contains("of")));
        assert!(status.to_string().lines().all(|line| line.chars().count() <= 80), "{status}");
    }
}

#[test]
fn allocation_is_that_of_the_drives_and_of_the_map() {
    for (seed, (name, resolved)) in (0..).zip(devices()) {
        let _say = PanicLabel(format!("seed {seed}, {name}"));
        let mut bench = Bench::new(core_of(&resolved, CutPolicy::End, seed));
        let unit = bench.core.unit().get();
        let allocation = |bench: &mut Bench, unit_number: u64| {
            let extents = bench.ask(unit_number * unit, 1, 1).expect("it is answered").expect("an extent");
            extents[0].allocation
        };
        assert_eq!(allocation(&mut bench, 40), Allocation::Deallocated);
        bench.write(40 * unit, 1, unit, false);
        bench.drain();
        let neighbours = [39, 40, 41].map(|unit| allocation(&mut bench, unit));
        assert_eq!(neighbours, [Allocation::Deallocated, Allocation::Mapped, Allocation::Deallocated]);
        let all = bench.core.capacity().get();
        assert_eq!(bench.alone(Operation::Discard, 0, all), Ok(Vec::new()));
        assert_eq!(allocation(&mut bench, 40), Allocation::Deallocated);
        assert_eq!(bench.byte(40 * unit), 0);
    }
}

#[test]
fn acknowledged_flushes_survive_power_cuts_through_every_layer() {
    let mut checked = 0;
    for (seed, (name, resolved)) in (0..).zip(devices()) {
        for on_cut in [CutPolicy::End, CutPolicy::Hold] {
            let _say = PanicLabel(format!("seed {seed}, {name}, {on_cut:?}"));
            let mut life = Life::new(core_of(&resolved, on_cut, seed), seed);
            life.run(100);
            checked += life.checked();
        }
    }
    assert!(checked > 10_000, "only {checked} sectors were checked");
}

/// Random clients, which overlap, with power cuts, on every device.
fn accuse(first: u64, steps: u32) -> u64 {
    let mut compared = 0;
    for (seed, (name, resolved)) in (first..).zip(devices()) {
        let on_cut = if seed % 2 == 0 { CutPolicy::Hold } else { CutPolicy::End };
        let _say = PanicLabel(format!("seed {seed}, {name}, {on_cut:?}"));
        let (violations, status) = life(core_of(&resolved, on_cut, seed), seed).run(steps);
        assert!(violations.is_empty(), "{violations:#?}");
        compared += status.sectors;
    }
    compared
}

#[test]
fn no_layer_is_accused() {
    let compared = accuse(0, 600);
    assert!(compared > 5_000, "only {compared} sectors were compared");
}

#[test]
#[ignore = "make soak"]
fn no_layer_is_accused_in_long_lives() {
    let first = u64::from(std::process::id()) << 32;
    let compared: u64 = (0..20).map(|round| accuse(first + round * 10_000, 3000)).sum();
    println!("{compared} sectors were compared");
}

fn with_journal(resolved: &ResolvedDevice) -> ResolvedDevice {
    let chunk = Bytes::new(4 << 10);
    let raid = resolved.spec.raid.clone().map(|raid| {
        let journal = Some(chunk * u64::from(8 * raid.drives));
        ssd::RaidSpec { chunk, journal, ..raid }
    });
    Spec { raid, ..resolved.spec.clone() }.resolve().expect("valid")
}

/// A life of a RAID in which drives fail while clients go on. Without a journal the power is cut where no parity can contradict data: the
/// write hole needs a cut while a drive is missing.
fn failing(level: RaidLevel, drives: u32, spares: u32, (seed, steps): (u64, u32)) -> (Core, VerifyStatus, u32) {
    let resolved = buffered_raid(level, drives, spares, ["", "size = \"64KiB\""][seed as usize % 2]);
    let has_journal = level.parities() > 0 && seed == 2;
    let resolved = if has_journal { with_journal(&resolved) } else { resolved };
    let mut clients = life(core_of(&resolved, CutPolicy::End, seed), seed);
    let mut rebuilds = 0;
    for _ in 0..steps {
        let raid = raid_status(&clients.bench.core);
        let is_whole = raid.empty_places == 0 && raid.drives.iter().all(|drive| drive.state != DriveState::Rebuilt);
        let is_sound = is_whole && raid.repaired.is_none();
        match clients.rng.below(300) {
            0 if has_journal => clients.cut(),
            0 if is_sound || level.parities() == 0 && is_whole => {
                // The last rebuilt chunks are durable once the RAID has flushed its drives.
                if level.parities() > 0 {
                    clients.bench.drain();
                }
                clients.cut();
            }
            1..4 if is_sound && raid.drives.iter().any(|drive| drive.state == DriveState::Spare) => {
                let whole = (0..).zip(&raid.drives).filter(|(_, drive)| drive.state == DriveState::Whole);
                let numbers: Vec<u32> = whole.map(|(number, _)| number).collect();
                let drive = numbers[clients.rng.below(numbers.len() as u64) as usize];
                let spare = clients.bench.core.fail_drive(drive).expect("it works");
                assert_eq!(states(&clients.bench.core)[drive as usize], DriveState::Failed);
                assert_eq!(states(&clients.bench.core)[spare.expect("a spare") as usize], DriveState::Rebuilt);
                rebuilds += 1;
            }
            4..180 if clients.bench.core.outstanding() < 16 => clients.submit(),
            _ => {
                let span = Span::from_ns(clients.rng.below(200_000));
                clients.bench.advance(span);
            }
        }
    }
    clients.bench.drain();
    clients.read_all();
    let mut core = clients.bench.core;
    let violations = core.take_violations();
    assert!(violations.is_empty(), "{}", violations[0]);
    let status = core.status().verify.expect("it is verified");
    (core, status, rebuilds)
}

#[test]
fn drives_fail_and_spares_are_rebuilt_beside_clients_that_are_verified() {
    let levels = [(RaidLevel::Raid1, 2), (RaidLevel::Raid10, 4), (RaidLevel::Raid5, 3), (RaidLevel::Raid6, 5)];
    let (mut rebuilds, mut compared) = (0, 0);
    for (level, drives) in levels {
        for seed in 0..3 {
            let _say = PanicLabel(format!("seed {seed}, {level:?} of {drives}"));
            let (core, status, count) = failing(level, drives, 2, (seed, 1200));
            assert_eq!(status.unreadable, 0, "nothing was lost");
            let raid = raid_status(&core);
            assert_eq!((raid.failed, raid.empty_places), (count, 0));
            rebuilds += count;
            compared += status.sectors;
        }
    }
    assert!(rebuilds >= 12 && compared > 2_000, "{rebuilds} rebuilds, {compared} sectors");
}

#[test]
fn a_drive_fails_in_the_middle_of_writes_and_the_status_says_how_far_its_spare_is() {
    let mut bench = Bench::new(core_of(&raid_of(RaidLevel::Raid5, 4, 1), CutPolicy::End, 7));
    bench.core.verify(true);
    (0..40).for_each(|n| _ = bench.write(24 * n, n as u8 + 1, 24, false));
    assert_eq!(bench.core.fail_drive(1).expect("it works"), Some(4));
    let text = bench.core.status().to_string();
    assert!(text.contains("raid5 of 5 drives in all, 1 failed"), "{text}");
    assert!(text.contains("drive 4 is being rebuilt: 0 %"), "{text}");
    let (mut answered, mut shares) = (0, Vec::new());
    while let Some(at) = bench.core.next_event() {
        let span = at - bench.now;
        let results = bench.advance(span);
        assert!(results.iter().all(|(.., result)| *result == Ok(Vec::new())));
        answered += results.len();
        shares.extend(raid_status(&bench.core).drives[4].rebuilt);
    }
    assert_eq!(answered, 40);
    shares.dedup();
    assert!(shares.len() > 3 && shares.is_sorted() && shares[0] < 0.5, "{shares:?}");
    let whole = DriveState::Whole;
    assert_eq!(states(&bench.core), [whole, DriveState::Failed, whole, whole, whole]);
    (0..40).for_each(|n| assert_eq!(u64::from(bench.byte(24 * n)), n + 1));
    // No other spare is left, and every second chunk of a stripe is computed.
    assert_eq!(bench.core.fail_drive(2).expect("it works"), None);
    (0..40).for_each(|n| assert_eq!(u64::from(bench.byte(24 * n + 5)), n + 1));
    let raid = raid_status(&bench.core);
    assert!(raid.empty_places == 1 && raid.recovered_bytes > 0, "{raid:?}");
    // One failure more than the parity can repair.
    bench.core.fail_drive(0).expect("it works");
    let read: Vec<_> = (0..40).map(|n| bench.alone(Operation::Read, 24 * n, 1)).collect();
    assert!(
        read.contains(&Err(JobFailure::Drive(ssd::Status::Uncorrectable))) && read.iter().any(Result::is_ok),
        "{read:?}"
    );
    assert!(bench.core.take_violations().is_empty(), "what is lost is an error, and no other data");
}

#[test]
fn an_orderly_end_stops_a_rebuild_and_the_next_beginning_goes_on_with_it() {
    let mut bench = Bench::new(core_of(&raid_of(RaidLevel::Raid6, 4, 1), CutPolicy::End, 3));
    (0..20).for_each(|n| _ = bench.write(24 * n, n as u8 + 1, 24, false));
    bench.drain();
    bench.core.fail_drive(3).expect("it works");
    bench.advance(Span::from_ms(10));
    let before = raid_status(&bench.core).drives[4].rebuilt.expect("it is being rebuilt");
    assert!(before > 0.0 && before < 1.0, "{before}");
    let took = bench.core.power_off(bench.now, &mut bench.answers).expect("it is on");
    assert!(took > Span::ZERO && bench.core.next_event().is_none());
    bench.now = bench.core.now() + Span::from_secs(1);
    bench.advance(Span::from_secs(1));
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    let after = raid_status(&bench.core);
    assert!(after.drives[4].rebuilt.is_some_and(|share| share >= before && share < 1.0) && after.repaired.is_none());
    bench.drain();
    assert_eq!(states(&bench.core)[4], DriveState::Whole);
    (0..20).for_each(|n| assert_eq!(u64::from(bench.byte(24 * n)), n + 1));
}

#[test]
fn a_fault_names_its_drive_where_there_are_several() {
    let mut bench = Bench::new(core_of(&raid_of(RaidLevel::Raid1, 2, 0), CutPolicy::End, 1));
    bench.write(0, 9, 4, false);
    bench.drain();
    let fault = |drive| Fault { operation: flash::nand::FaultKind::Read, after: 0, count: 1, drive };
    let refused = bench.core.plan(fault(None)).expect_err("two drives");
    assert_eq!(refused.to_string(), "the device has 2 drives; say which one with --drive, from 0 to 1");
    let refused = bench.core.plan(fault(Some(2))).expect_err("two drives");
    assert_eq!(refused.to_string(), "drive 2 is none of the 2 drives; use 0 to 1");
    bench.core.plan(fault(Some(1))).expect("a drive");
    assert_eq!(fault(Some(1)).to_string(), "1 read of drive 1 will fail");
    // One of two outstanding reads goes to drive 1; sectors that drive 1 cannot read come from the mirror.
    (0..2).for_each(|sector| _ = bench.submit(Operation::Read, sector, 1));
    let results = bench.drain();
    assert!(results.len() == 2 && results.iter().all(|(.., read)| *read == Ok(vec![9; 512])), "{results:?}");
    let status = bench.core.status();
    assert!(status.planned_faults == 1 && status.raid.is_some_and(|raid| raid.drives[1].read_bytes > 0));
    let refused = bench.core.fail_drive(5).expect_err("two drives");
    assert_eq!(refused.to_string(), "drive 5 is none of the 2 drives; use 0 to 1");
    bench.core.fail_drive(1).expect("it works");
    let refused = bench.core.fail_drive(1).expect_err("it has failed");
    assert_eq!(refused.to_string(), "drive 1 has failed before; choose another one");
    assert_eq!(bench.byte(0), 9);
    let refused = core("", CutPolicy::End).fail_drive(0).expect_err("one drive");
    assert!(refused.to_string().starts_with("the device is no RAID"), "{refused}");
    let refused = core("", CutPolicy::End).plan(fault(Some(1))).expect_err("one drive");
    assert_eq!(refused.to_string(), "the device is one drive; leave --drive out");
}

#[test]
fn a_translation_says_that_it_mounts_and_what_its_zones_do() {
    let mut bench = Bench::new(core_of(&translation::settings()[0].device, CutPolicy::Hold, 2));
    let end = bench.core.capacity().get();
    for round in 0..4 {
        for start in (0..end / 8 * 8).step_by(8) {
            bench.write(start, round + 1, 8, false);
            bench.drain();
        }
    }
    let of = |bench: &Bench| bench.core.status().translation.expect("a translation");
    let before = of(&bench);
    assert!(before.write_amplification > Some(1.0) && before.drive_write_amplification.is_some(), "{before:?}");
    assert!(before.collected_zones > 0 && before.free_zones < before.zones && !before.mounting, "{before:?}");
    bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    let read = bench.submit(Operation::Read, 0, 1);
    assert!(of(&bench).mounting && bench.core.status().to_string().contains("the map is being read"));
    let results = bench.drain();
    assert_eq!(results, [(read, results[0].1, Ok(vec![4; 512]))]);
    assert!(!of(&bench).mounting);
}

#[test]
fn what_no_layer_can_do_is_refused_with_a_reason() {
    let home = tempfile::tempdir().expect("a folder");
    for (resolved, layer) in
        [(raid_of(RaidLevel::Raid5, 3, 0), "raid"), (translation::settings()[0].device.clone(), "translation")]
    {
        let dir = crate::StateDir::lock(&home.path().join(layer), &resolved).unwrap_or_else(|error| panic!("{error}"));
        let keep = PersistenceSettings { dir, durability: crate::Durability::Process, on_notice: None };
        let options = EngineOptions { keep: Some(keep), ..EngineOptions::new(device(resolved.clone())) };
        let refused = Engine::start(options, |_| {}).err().expect("nothing keeps it").to_string();
        assert!(refused.contains("--state keeps the flash of one drive") && refused.contains(layer), "{refused}");
        let load = Some(home.path().join("none.snapshot"));
        let options = EngineOptions { load_snapshot: load, ..EngineOptions::new(device(resolved.clone())) };
        let refused = Engine::start(options, |_| {}).err().expect("no snapshot holds it").to_string();
        assert!(refused.contains("--load-snapshot") && refused.contains(layer), "{refused}");
        let options = EngineOptions { pace: Pace::Max, ..EngineOptions::new(device(resolved)) };
        let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let command = Command::Snapshot { path: home.path().join("new.snapshot"), force: false };
        let refused = engine.command(command).expect_err("no snapshot holds it").to_string();
        assert!(refused.starts_with("a snapshot holds one drive") && refused.contains(layer), "{refused}");
    }
}

#[test]
fn a_served_raid_loses_a_drive_by_command() {
    let (mut options, seen) = (EngineOptions::new(device(raid_of(RaidLevel::Raid5, 3, 1))), Arc::new(Mutex::new(0)));
    let count = Arc::clone(&seen);
    options.verify = Some(Box::new(move |_| *count.lock().expect("no panic") += 1));
    options.pace = Pace::Max;
    let incidents = options.incidents.clone();
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let write = |n: u64| done(&submit(&engine, Operation::Write { data: vec![n as u8; 4096], fua: false }, 8 * n, 8));
    (0..20).for_each(|n| assert_eq!(write(n), Ok(Vec::new())));
    let observed = engine.observer()(true).expect("it is served");
    let shapes: Vec<_> = observed.arrays.iter().map(|shape| (shape.drive, shape.channels)).collect();
    assert_eq!(shapes, [0, 1, 2, 3].map(|drive| (Some(drive), 2)));
    assert!(matches!(engine.command(Command::FailDrive(0)), Ok(Reply::DriveFailed(0, Some(3)))));
    (20..40).for_each(|n| assert_eq!(write(n), Ok(Vec::new())));
    for n in 0..40 {
        assert_eq!(done(&submit(&engine, Operation::Read, 8 * n, 8)), Ok(vec![n as u8; 4096]));
    }
    let status = engine.stop().expect("it was served").status;
    assert_eq!(status.raid.as_ref().map(|raid| raid.failed), Some(1));
    assert!(status.prometheus().contains("flashloom_raid_drive_failed{drive=\"0\"} 1\n"));
    assert_eq!(*seen.lock().expect("no panic"), 0);
    let told = incidents.after(0).into_iter().any(|of| of.text == "told: drive 0 has failed; spare 3 takes its place");
    assert!(told);
}
