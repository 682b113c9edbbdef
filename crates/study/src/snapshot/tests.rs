//! Tests that a drive loads its own snapshots, and refuses changed snapshots and snapshots of other drives.

use std::io::Cursor;

use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec};

use super::*;
use crate::oracle::{Oracle, Payload};
use crate::testing::{DEVICES, described};

fn device((name, ftl): (&str, &str)) -> ResolvedDevice {
    let text = described((name, ftl));
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
}

fn prepared<S: Sector>(resolved: &ResolvedDevice) -> Ssd<S> {
    let mut drive = Ssd::new(resolved, 5).noting(None);
    for step in [Precondition::Fill, Precondition::RandomOverwrite(0.5)] {
        assert_eq!(drive.precondition(step, &mut |_, _| {}).refused, 0);
    }
    drive
}

fn saved<S: Sector>(drive: &Ssd<S>) -> Vec<u8> {
    let mut bytes = Vec::new();
    save(drive, &mut bytes).expect("memory can be written");
    bytes
}

fn loaded<S: Sector>(bytes: &[u8], resolved: &ResolvedDevice) -> Result<Ssd<S>, LoadError> {
    let read = read(&mut Cursor::new(bytes), resolved, 5);
    read.map_err(|reason| LoadError { path: "s".into(), reason })
}

/// Reads the whole drive and checks the data with the oracle.
fn verify(drive: &mut Ssd<Stamp>) -> Result<u64, crate::oracle::Mismatch> {
    let mut oracle = Oracle::blank(Sectors::new(1));
    Payload::<Stamp>::begin(&mut oracle, drive.history());
    for start in (0..drive.capacity().get()).step_by(4) {
        let io = base::io::Io::new(base::io::IoKind::Read, Lba::new(start), Sectors::new(4));
        drive.submit(drive.now(), Request { tag: start, queue: QueueId::default(), io, data: Vec::new() });
        let mut completions: Vec<Completion<Stamp>> = Vec::new();
        drive.drain(&mut completions);
        completions.iter().try_for_each(|completion| oracle.completed(completion))?;
    }
    Ok(oracle.verified().sectors)
}

#[test]
fn a_snapshot_without_a_payload_is_verified() {
    for of in DEVICES {
        let resolved = device(of);
        let drive = prepared::<()>(&resolved);
        let plain = saved(&drive);
        let stamped = saved(&prepared::<Stamp>(&resolved));
        for bytes in [&plain, &stamped] {
            let mut drive = loaded::<Stamp>(bytes, &resolved).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(verify(&mut drive), Ok(drive.capacity().get()), "{}", of.0);
            let timed = loaded::<()>(bytes, &resolved).unwrap_or_else(|error| panic!("{error}"));
            let timed = timed.as_preconditioned();
            assert_eq!(saved(&timed), plain, "{}: the loaded snapshot equals the saved one", of.0);
        }
    }
}

#[test]
fn verification_finds_a_lost_mapping_unit() {
    let resolved = device(DEVICES[0]);
    let drive = prepared::<Stamp>(&resolved);
    // A copy of the flash with a history that counts one more write of one mapping unit.
    let mut versions = drive.history().expect("it is noted").versions().to_vec();
    versions[7] += 1;
    let history = ssd::History::new(resolved.geometry.sectors, versions);
    let mut drive = drive.noting(Some(history));
    let mismatch = verify(&mut drive).expect_err("an older write of mapping unit 7");
    assert_eq!(mismatch.sector, Lba::new(28), "{mismatch}");
}

#[test]
fn a_snapshot_loads_on_drives_of_its_format_and_is_refused_elsewhere() {
    // Drives with one format of data. An SLC array in front is part of the format only if it holds data.
    let alike = |a: &str, b: &str| {
        let either = |pair: &[&str; 2]| pair.contains(&a) && pair.contains(&b);
        a == b || [["page", "table"], ["dftl", "fmmu"], ["chang", "slc"]].iter().any(either)
    };
    for of in DEVICES {
        let bytes = saved(&prepared::<()>(&device(of)));
        for on in DEVICES {
            match loaded::<Stamp>(&bytes, &device(on)) {
                Ok(mut drive) => {
                    assert!(alike(of.0, on.0), "{} was loaded into {}", of.0, on.0);
                    drive.check();
                    assert_eq!(verify(&mut drive), Ok(drive.capacity().get()), "{} in {}", of.0, on.0);
                }
                Err(error) => {
                    assert!(!alike(of.0, on.0), "{} is not loaded into {}: {error}", of.0, on.0);
                    let text = error.to_string();
                    assert!(text.contains(&format!("s: is a snapshot of another device, {}: ", of.0)), "{text}");
                    assert!(text.contains("use the device of the snapshot"), "{text}");
                }
            }
        }
    }
}

#[test]
fn an_slc_array_to_which_something_happened_is_part_of_the_snapshot() {
    let (slc, chang) = (device(DEVICES[8]), device(DEVICES[7]));
    let mut drive = Ssd::<()>::new(&slc, 5);
    assert!(drive.is_slc_array_new());
    let retired = base::units::SuperblockId::new(3);
    drive.slc_media_mut().expect("an SLC array").retire(retired);
    assert!(!drive.is_slc_array_new());
    let bytes = saved(&drive);
    let again = loaded::<()>(&bytes, &slc).expect("the same drive");
    assert!(again.slc_media().is_some_and(|media| media.is_bad(retired)));
    let refused = loaded::<()>(&bytes, &chang).expect_err("no SLC array").to_string();
    assert!(refused.contains("slc.blocks is 8 in the snapshot and not there in this device"), "{refused}");
}

#[test]
fn a_refusal_names_the_keys_that_differ_and_irrelevant_keys_may_differ() {
    let of = |change: &dyn Fn(&mut Spec)| {
        let mut spec = device(DEVICES[4]).spec;
        change(&mut spec);
        spec.resolve().expect("sound")
    };
    let bytes = saved(&prepared::<()>(&of(&|_| {})));
    let fast = loaded::<()>(&bytes, &of(&|spec| spec.ftl.kind = ssd::FtlKind::Fast)).expect_err("another family");
    assert!(fast.to_string().contains("ftl.kind is bast in the snapshot and fast in this device"), "{fast}");
    let log = loaded::<()>(&bytes, &of(&|spec| spec.ftl.log.blocks = 7)).expect_err("other log blocks");
    assert!(log.to_string().contains("ftl.log.blocks is 8 in the snapshot and 7 in this device"), "{log}");
    let fewer = of(&|spec| spec.ftl.over_provisioning = Some(base::units::Ratio::new(0.7)));
    let fewer = loaded::<()>(&bytes, &fewer).expect_err("another capacity").to_string();
    assert!(fewer.contains("sectors the host sees is ") && fewer.matches(" in the snapshot").count() == 1, "{fewer}");
    let other = of(&|spec| {
        (spec.name, spec.host.queue_depth, spec.ftl.wear.dynamic) = ("other".into(), 3, false);
        spec.ftl.log.allocation = ftl::Allocation::Any;
    });
    loaded::<()>(&bytes, &other).expect("the places of data are the same");
}

#[test]
fn a_snapshot_with_a_changed_missing_or_added_byte_is_refused() {
    let resolved = device(DEVICES[8]);
    let bytes = saved(&Ssd::<Stamp>::new(&resolved, 5));
    assert!(loaded::<Stamp>(&bytes, &resolved).is_ok());
    for len in 0..bytes.len() {
        assert!(loaded::<Stamp>(&bytes[..len], &resolved).is_err(), "cut to {len} bytes");
    }
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(loaded::<Stamp>(&changed, &resolved).is_err(), "bit {bit} changed");
    }
    for more in [&b"\0"[..], &[0; 8], &bytes] {
        let longer = [&bytes, more].concat();
        let error = loaded::<Stamp>(&longer, &resolved).expect_err("longer").to_string();
        assert!(error.contains("s: is damaged: it was cut short or changed; save it again"), "{error}");
    }
}

#[test]
fn snapshots_of_other_versions_are_refused() {
    let resolved = device(DEVICES[0]);
    let mut bytes = saved(&Ssd::<()>::new(&resolved, 5));
    bytes[MAGIC.len()] = 9;
    let newer = loaded::<()>(&bytes, &resolved).expect_err("a later format").to_string();
    assert_eq!(
        newer,
        "s: is a snapshot of format 9, and this version of Flashloom reads format 5; save it again with --save-snapshot"
    );
    let older = loaded::<()>(&zstd::encode_all(&b"flashloom media"[..], 1).expect("memory"), &resolved);
    assert!(older.expect_err("an earlier format").to_string().contains("is a snapshot of format 2"));
}
