//! A changed byte is found: the state is refused, or a read is uncorrectable. No read returns wrong data.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;

use super::drives::{FileDrive, named};
use crate::state::{DamagedPlace, Durability, State, StateError, format};

/// Drives with every kind of file.
const DRIVES: [&str; 3] = ["map Dftl(DftlSpec, buffered", "hydra, buffer", "Chang, buffer"];

#[test]
fn a_changed_byte_is_refused_or_uncorrectable() {
    for (name, resolved) in named(&DRIVES) {
        let mut rng = Rng::stream(5, "serve.damage");
        let mut served = FileDrive::new(&resolved, 5, false);
        assert!(served.serve(&mut rng, 150));
        served.audit();
        let names: Vec<String> = served.files.lock().names().map(ToOwned::to_owned).collect();
        let (mut refused, mut uncorrectable) = (0, 0);
        for file in names {
            let written = served.files.lock().file(&file).iter().filter(|byte| **byte != 0).count();
            for _ in 0..if written > 0 { 60 } else { 0 } {
                let files = served.files.copy();
                let at = {
                    let mut files = files.lock();
                    let bytes = files.file(&file);
                    // Most of a file is holes, so half of the damage goes to bytes that are not zero.
                    let nth = rng.below(written as u64) as usize;
                    let others = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at);
                    let any = rng.below(bytes.len() as u64) as usize;
                    let at = if rng.chance(0.5) { any } else { others.clone().nth(nth).expect("counted") };
                    bytes[at] ^= 1 << rng.below(8);
                    at
                };
                let life = || match State::open_in(files.folder(), &resolved, Durability::Process) {
                    Err(StateError::Damaged { path, .. }) => {
                        assert_eq!(path, std::path::Path::new("state").join(&file));
                        (1, 0)
                    }
                    Err(error) => panic!("{error}"),
                    Ok((state, ssd)) => {
                        let mut host = served.host.clone().that_may_lose(true).restarted(ssd);
                        host.audit();
                        state.check().expect("reads report it");
                        (0, u32::from(!state.take_damage().is_empty()))
                    }
                };
                let found = catch_unwind(AssertUnwindSafe(life)).unwrap_or_else(|panic| {
                    let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                    panic!("{name}: byte {at} of {file}: {why}")
                });
                (refused, uncorrectable) = (refused + found.0, uncorrectable + found.1);
            }
        }
        assert!(refused > 60 && uncorrectable > 5, "{name}: {refused} refused, {uncorrectable} uncorrectable");
    }
}

/// A state with some data, and its files.
fn used() -> FileDrive {
    let (_, resolved) = named(&["map Dftl(DftlSpec, buffered"]).remove(0);
    let mut served = FileDrive::new(&resolved, 1, false);
    assert!(served.serve(&mut Rng::stream(1, "serve.used"), 40));
    served.audit();
    served
}

fn refusal(served: &FileDrive, change: impl FnOnce(&mut Vec<u8>), file: &str) -> StateError {
    let files = served.files.copy();
    change(files.lock().file(file));
    State::open_in::<flash::nand::Stamp>(files.folder(), &served.resolved, Durability::Process).expect_err("damage")
}

#[test]
fn damage_is_named_with_its_file_and_place() {
    let served = used();
    let slots = served.files.lock().file("main.slots").clone();
    let record = slots.chunks(32).position(|record| record[12] == 3).expect("a programmed slot");
    let error = refusal(&served, |bytes| bytes[record * 32 + 5] ^= 1, "main.slots").to_string();
    let byte = record * 32;
    let says =
        format!("state/main.slots: is damaged: the record at byte {byte} has changed since it was written; restore");
    assert!(error.starts_with(&says), "{error}");
    let error = refusal(&served, |bytes| bytes.truncate(96), "main.blocks").to_string();
    assert!(error.contains("is 96 bytes long and should be 1024"), "{error}");
    // A record with a valid checksum and impossible content.
    let error = refusal(
        &served,
        |bytes| {
            bytes[byte..byte + 32].copy_from_slice(&{
                let (slot, sum) = crate::state::record::slot(record as u32, &slots[byte..byte + 32]).expect("a record");
                crate::state::record::of_slot(
                    record as u32,
                    flash::nand::SlotRecord { erases: slot.erases + 1, ..slot },
                    sum,
                )
            })
        },
        "main.slots",
    );
    assert!(matches!(error, StateError::Damaged { place: DamagedPlace::Contradiction { .. }, .. }), "{error}");
    assert!(error.to_string().contains("of its block, which had"), "{error}");
}

#[test]
fn a_state_of_another_format_or_device_is_refused() {
    let served = used();
    let rewrite = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |bytes: &mut Vec<u8>| {
            let text = String::from_utf8(bytes.clone()).expect("text");
            let (first, rest) = text.split_once('\n').expect("lines");
            assert!(rest.contains(&from), "{rest}");
            let rest = rest.replacen(&from, &to, 1);
            let first = first[..first.len() - 8].to_owned();
            *bytes = format!("{first}{:08x}\n{rest}", crc32fast::hash(rest.as_bytes())).into_bytes();
        }
    };
    let error = refusal(&served, rewrite("format = 1", "format = 7\nunknown = 3"), format::NAME).to_string();
    let says = "holds a state of format 7, and this version of Flashloom reads format 1; serve it with the version";
    assert!(error.contains(says), "{error}");
    let error = refusal(&served, rewrite("sector = 8", "sector = 512"), format::NAME).to_string();
    assert!(error.contains("bytes of a sector is 512 in the state and 8 in this device"), "{error}");
    let (_, other) = named(&["Bast, buffered"]).remove(0);
    let other = State::open_in::<flash::nand::Stamp>(served.files.copy().folder(), &other, Durability::Process);
    let error = other.expect_err("another device").to_string();
    assert!(error.contains("the state of another device, conformance: ") && error.contains("ftl.kind is"), "{error}");
    assert!(error.ends_with("use the device of the state, or choose an empty directory"), "{error}");
}
