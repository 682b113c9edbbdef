//! Honest drives lose nothing, dishonest drives are found, and the user's check sees the image of each cut.

use ssd::{FtlKind, MapSpec};

use super::super::cut::CutKind;
use super::super::rig::{BUFFERED, ONE, device, device_of, recorded, tortured};
use super::super::{CheckOutcome, RequestKind};
use super::*;

fn opened(text: &str, seed: u64, requests: u64) -> (tempfile::NamedTempFile, Laboratory) {
    // Every other drive is new: most of its sectors have no data on the flash.
    let steps = if seed.is_multiple_of(2) { &[Precondition::Fill][..] } else { &[] };
    let file = recorded(&device(text), seed, requests, steps);
    let laboratory = Laboratory::open(file.path()).unwrap_or_else(|error| panic!("{error}"));
    (file, laboratory)
}

#[test]
fn an_honest_drive_loses_nothing() {
    let (mut cuts, mut promises) = (0, 0);
    for seed in 0..8 {
        let (_file, laboratory) = opened(BUFFERED, seed, 100);
        for tested in tortured(&laboratory, Honesty::Honest, 60) {
            assert!(!tested.is_loss(), "seed {seed}: {tested:?}");
            cuts += 1;
            promises += u64::from(tested.cut.kind != CutKind::Random);
        }
    }
    assert!(cuts > 800 && promises > 400, "{cuts} cuts, {promises} of them at promises");
}

#[test]
fn a_drive_that_ignores_flushes_is_found_and_so_is_one_that_ignores_forced_unit_access() {
    for honesty in [Honesty::IgnoresFlush, Honesty::IgnoresFua] {
        let mut found = 0;
        for seed in 0..4 {
            let (_file, laboratory) = opened(BUFFERED, seed, 100);
            let tested = tortured(&laboratory, honesty, 20);
            let lost: Vec<_> = tested.iter().filter(|tested| tested.is_loss()).collect();
            for tested in &lost {
                for broken in &tested.broken {
                    let promised = broken.promised.expect("a promise was broken");
                    let kind = laboratory.journal().requests[promised as usize].kind;
                    assert!(kind.writes(), "seed {seed}: {broken}");
                    // A dishonest drive keeps the promises of the other kind, unless a flush promises the same data.
                    if honesty == Honesty::IgnoresFlush {
                        assert!(
                            kind.is_fua()
                                || kind == RequestKind::Write { fua: false }
                                || kind == RequestKind::WriteZeroes { fua: false }
                        );
                    }
                }
            }
            found += lost.len();
        }
        assert!(found > 10, "{honesty}: {found} losses");
    }
}

/// One small drive of each family, and of each map behind a map unit, with a buffer where a family has one.
fn families() -> Vec<testkit::conformance::Setting> {
    let mut chosen: Vec<testkit::conformance::Setting> = Vec::new();
    let of = |setting: &testkit::conformance::Setting| {
        (format!("{:?}", setting.spec.ftl.kind), format!("{:?}", setting.spec.ftl.map), setting.spec.buffer.is_some())
    };
    for setting in testkit::conformance::settings() {
        let ignores = setting.spec.buffer.as_ref().is_some_and(|buffer| buffer.flush == ssd::FlushPolicy::Ignore);
        if !ignores && chosen.iter().all(|other| of(other) != of(&setting)) {
            chosen.push(setting);
        }
    }
    chosen
}

#[test]
fn honest_drives_of_every_family_lose_nothing_and_drives_that_lie_do() {
    let chosen = families();
    for kind in FtlKind::UNZONED {
        assert!(chosen.iter().any(|setting| setting.spec.ftl.kind == kind), "{kind:?}");
    }
    assert!(chosen.iter().any(|setting| setting.spec.ftl.map != MapSpec::Ram));
    let (mut cuts, mut liars) = (0, 0);
    for (seed, setting) in (0..).zip(&chosen) {
        let file = recorded(&device_of(&setting.spec), seed, 80, &[Precondition::Fill]);
        let laboratory = Laboratory::open(file.path()).unwrap_or_else(|error| panic!("{}: {error}", setting.name));
        for tested in tortured(&laboratory, Honesty::Honest, 60) {
            assert!(!tested.is_loss(), "{}, seed {seed}: {tested:?}", setting.name);
            cuts += 1;
        }
        // Without a volatile buffer, answered writes are durable.
        if setting.spec.buffer.is_none() {
            continue;
        }
        for honesty in [Honesty::IgnoresFlush, Honesty::IgnoresFua] {
            let found = tortured(&laboratory, honesty, 20).iter().filter(|tested| tested.is_loss()).count();
            assert!(found > 0, "{}, seed {seed}: {honesty}", setting.name);
            liars += 1;
        }
    }
    assert!(cuts > 100 * chosen.len(), "{cuts} cuts of {} drives", chosen.len());
    assert!(liars > 6, "{liars} drives that lie");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (_file, laboratory) = opened(BUFFERED, 2, 60);
    let cuts = laboratory.cuts(&PointsSpec { promises: true, random: 30, most: 50 }, 5).expect("the same run");
    assert_eq!(cuts.len(), 50);
    let run = |jobs| {
        let jobs = NonZeroUsize::new(jobs).expect("some");
        laboratory.test(&cuts, Honesty::IgnoresFlush, None, jobs, &|_| {}).expect("no check")
    };
    assert_eq!(run(1), run(3));
}

/// The image has the bytes of every sector whose stamp the promises were checked against.
#[test]
fn the_image_has_the_bytes_of_the_recovered_drive() {
    let (_file, laboratory) = opened(BUFFERED, 4, 100);
    let cuts = laboratory.cuts(&PointsSpec { promises: true, random: 10, most: 12 }, 5).expect("the same run");
    let promises = Promises::new(laboratory.journal(), laboratory.capacity());
    let mut written = 0;
    for cut in &cuts {
        let dir = tempfile::tempdir().expect("a directory");
        let mut replay = Replay::new(laboratory.journal(), laboratory.drive.clone(), Honesty::Honest);
        replay.advance_to(cut);
        let recovered = RecoveredDrive::after_cut(replay.drive().clone(), &promises.extents).expect("it comes back");
        let (image, log) = laboratory.write(&recovered, &promises, cut, dir.path()).expect("written");
        let image = fs::read(image).expect("an image");
        assert_eq!(image.len() as u64, laboratory.capacity().bytes().get());
        let held: std::collections::BTreeMap<_, _> =
            promises.extents.sectors().map(base::units::Lba::get).zip(recovered.stamps()).collect();
        for (sector, bytes) in (0..).zip(image.chunks(512)) {
            // Stamps of writes of zeros and of preconditioning stand for zeros.
            let stamp = held.get(&sector).and_then(|stamp| **stamp).unwrap_or_default();
            let of = (stamp.0 >> 24).checked_sub(1).filter(|_| stamp.as_preconditioned().is_none());
            let is_write = of
                .is_some_and(|of| matches!(laboratory.journal().requests[of as usize].kind, RequestKind::Write { .. }));
            let expected = if is_write { stamp.0 } else { 0 };
            assert!(bytes.chunks(8).all(|word| word == expected.to_le_bytes()), "{cut:?}, sector {sector}");
            written += u64::from(is_write);
        }
        let lines = fs::read_to_string(log).expect("the lines");
        assert!(lines.lines().all(|line| line.ends_with(" is done")), "{lines}");
    }
    assert!(written > 100, "{written}");
}

#[test]
fn a_check_that_fails_is_a_loss_and_its_reproduction_reproduces() {
    let (_file, laboratory) = opened(BUFFERED, 6, 80);
    let cuts = laboratory.cuts(&PointsSpec { promises: true, random: 5, most: 0 }, 5).expect("the same run");
    // The command fails as soon as the workload has printed five lines.
    let command = "test -s {image} && test $(wc -l < {log}) -lt 5 || { echo five at {point}; exit 9; }";
    let check = Check { command: command.into(), limit: std::time::Duration::from_secs(60) };
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = NonZeroUsize::new(2).expect("some");
    let tested = laboratory.test(&cuts, Honesty::Honest, Some((&check, dir.path())), jobs, &|_| {}).expect("a shell");
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0, "nothing is left");
    let first = tested.iter().position(CutResult::is_loss).expect("a loss");
    for (number, tested) in tested.iter().enumerate() {
        let checked = tested.checked.as_ref().expect("checked");
        assert!(!tested.breaks_promises());
        let expected = if number < first { CheckOutcome::Good } else { CheckOutcome::Code(9) };
        assert_eq!(checked.ending, expected, "{number}: {checked:?}");
    }
    assert_eq!(tested[first].checked.as_ref().expect("checked").output, format!("five at {first}\n"));
    let again = laboratory.rebuild(&cuts[first], Honesty::Honest, Some(&check), dir.path()).expect("a shell");
    assert_eq!(again.checked.as_ref().map(|checked| checked.ending), Some(CheckOutcome::Code(9)));
    assert!(dir.path().join("image").exists() && dir.path().join("log").exists());
    let before = laboratory.rebuild(&cuts[first - 1], Honesty::Honest, Some(&check), dir.path()).expect("a shell");
    assert_eq!(before.checked.map(|checked| checked.ending), Some(CheckOutcome::Good));
    let one = laboratory.test(&cuts[first..=first], Honesty::Honest, None, ONE, &|_| {}).expect("no check");
    assert_eq!((one[0].broken.clone(), one[0].recovery), (again.broken, again.recovery));
}
