//! States in real directories.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Bytes512;
use ssd::{Drive, Precondition, Request, ResolvedDevice, Spec, Ssd, Status};

use crate::state::{Durability, State, StateDir, StateError};

/// A drive of 32 MiB.
pub(super) fn device() -> ResolvedDevice {
    let text = r#"name = "small"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 64, pages = 64 }
[ftl]
map-unit = "2KiB"
over-provisioning = "25%"
"#;
    toml::from_str::<Spec>(text).expect("a device").resolve().expect("valid")
}

/// Carries out one request; returns the data of a read.
pub(super) fn request(ssd: &mut Ssd<Bytes512>, kind: IoKind, start: u64, data: Vec<Bytes512>) -> Vec<Bytes512> {
    let sectors = Sectors::new(data.len() as u64);
    let io = if kind == IoKind::Flush { Io::FLUSH } else { Io::new(kind, Lba::new(start), sectors) };
    let data = if kind == IoKind::Write { data } else { Vec::new() };
    ssd.submit(ssd.now(), Request { tag: 1, queue: ssd::QueueId::default(), io, data });
    let mut completions = Vec::new();
    while completions.is_empty() {
        let at = ssd.next_event().expect("it completes");
        ssd.advance(at, &mut completions);
    }
    assert_eq!(completions[0].status, Status::Done);
    completions.remove(0).data
}

/// Four sectors that only this place and number have.
pub(super) fn content(start: u64, number: u64) -> Vec<Bytes512> {
    let sector = |i: u64| {
        let mut bytes = [0x5A; 512];
        bytes[..8].copy_from_slice(&(start + i).to_le_bytes());
        bytes[8..16].copy_from_slice(&number.to_le_bytes());
        Bytes512(bytes)
    };
    (0..4).map(sector).collect()
}

fn open(dir: &Path) -> Result<(State, Ssd<Bytes512>), StateError> {
    State::open_or_create(dir, &device(), 3, Durability::Process)
}

/// The message of a refusal.
fn refused(result: Result<(State, Ssd<Bytes512>), StateError>) -> String {
    result.map(drop).expect_err("a refusal").to_string()
}

#[test]
fn a_drive_finds_its_data_again_in_its_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path().join("new/drive");
    let (state, mut ssd) = open(&dir).expect("a new drive");
    assert_eq!(fs::metadata(&dir).expect("it is there").permissions().mode() & 0o777, 0o700);
    (0..200).for_each(|i| drop(request(&mut ssd, IoKind::Write, i * 4, content(i * 4, i))));
    request(&mut ssd, IoKind::Flush, 0, Vec::new());
    assert!(ssd.media().content::<Bytes512>(base::units::Psn::new(0), 0) != Bytes512::default());
    let taken = fs::metadata(dir.join("main.content")).expect("content");
    assert!(
        taken.len() >= 32 << 20 && taken.blocks() * 512 < 4 << 20,
        "{} of {} bytes",
        taken.blocks() * 512,
        taken.len()
    );
    drop((state, ssd));
    let (state, mut ssd) = open(&dir).expect("the drive");
    for i in 0..200 {
        assert_eq!(request(&mut ssd, IoKind::Read, i * 4, content(0, 0)), content(i * 4, i));
    }
    state.check().expect("no failure");
    state.sync().expect("nothing to do");
}

#[test]
fn erased_blocks_take_no_space() {
    let home = tempfile::tempdir().expect("a directory");
    let (_state, mut ssd) = open(&home.path().join("drive")).expect("a new drive");
    let content_file = home.path().join("drive/main.content");
    let space = || fs::metadata(&content_file).expect("content").blocks() * 512;
    let units = ssd.capacity().get() / 4;
    for round in 0..3 {
        (0..units).for_each(|i| drop(request(&mut ssd, IoKind::Write, i * 4, content(i * 4, round))));
    }
    let media = ssd.media();
    let blocks = media.geometry().superblock_count();
    let superblocks = || (0..blocks).map(base::units::SuperblockId::new);
    let erased = superblocks().filter(|block| media.is_erased(*block) && media.erases(*block) > 0).count();
    let programmed = superblocks().filter(|block| !media.is_erased(*block)).count() as u64;
    let each = u64::from(media.geometry().superblock_slots()) * 2048;
    assert!(erased > 0 && programmed > u64::from(blocks) / 2, "{erased} erased, {programmed} programmed");
    assert!(space() <= programmed * each, "{} bytes for {programmed} blocks of {each}", space());
}

#[test]
fn zeros_take_no_space_in_a_file() {
    let home = tempfile::tempdir().expect("a directory");
    let (_state, mut ssd) = open(home.path()).expect("a new drive in an empty directory");
    (0..500).for_each(|i| drop(request(&mut ssd, IoKind::Write, i * 4, vec![Bytes512::default(); 4])));
    assert_eq!(fs::metadata(home.path().join("main.content")).expect("content").blocks(), 0);
    assert_eq!(request(&mut ssd, IoKind::Read, 400, content(0, 0)), vec![Bytes512::default(); 4]);
}

#[test]
fn a_prepared_drive_moves_into_a_directory_once() {
    let home = tempfile::tempdir().expect("a directory");
    let mut ssd = Ssd::<Bytes512>::new(&device(), 3);
    ssd.precondition(Precondition::Fill, &mut |_, _| {});
    assert!(!State::is_there(home.path()));
    let create = |ssd: &mut Ssd<Bytes512>| {
        let dir = StateDir::lock(home.path(), &device())?;
        State::create(dir, ssd, Durability::Process)
    };
    let state = create(&mut ssd).expect("a state");
    request(&mut ssd, IoKind::Write, 40, content(40, 1));
    let copy = ssd.clone();
    request(&mut ssd, IoKind::Write, 44, content(44, 2));
    drop(state);
    assert!(State::is_there(home.path()));
    let (_state, mut again) = open(home.path()).expect("the drive");
    assert_eq!(request(&mut again, IoKind::Read, 40, content(0, 0)), content(40, 1));
    assert_eq!(request(&mut again, IoKind::Read, 44, content(0, 0)), content(44, 2));
    assert_eq!(request(&mut again, IoKind::Read, 800, content(0, 0)), vec![Bytes512::default(); 4]);
    assert!(again.media().openings() > 50, "it is full");
    let mut copy = copy;
    assert_eq!(request(&mut copy, IoKind::Read, 40, content(0, 0)), content(40, 1), "a copy is in memory");
    assert_eq!(request(&mut copy, IoKind::Read, 44, content(0, 0)), vec![Bytes512::default(); 4]);
    drop(_state);
    let error = create(&mut ssd).map(drop).expect_err("it holds one");
    assert!(error.to_string().contains("holds a drive already, so it is neither preconditioned nor loaded"), "{error}");
}

#[test]
fn a_snapshot_of_a_kept_drive_is_a_snapshot() {
    let home = tempfile::tempdir().expect("a directory");
    let (_state, mut ssd) = open(home.path()).expect("a new drive");
    (0..50).for_each(|i| drop(request(&mut ssd, IoKind::Write, i * 4, content(i * 4, i))));
    let mut bytes = Vec::new();
    ssd.save(&mut bytes).expect("memory");
    let mut loaded = Ssd::<Bytes512>::load(&device(), 3, &mut &bytes[..]).expect("a snapshot");
    for i in 0..50 {
        assert_eq!(request(&mut loaded, IoKind::Read, i * 4, content(0, 0)), content(i * 4, i));
    }
}

#[test]
fn a_directory_is_locked_while_its_drive_is_served() {
    let home = tempfile::tempdir().expect("a directory");
    let first = open(home.path()).expect("a new drive");
    let says = format!("is in use by process {}; end that one first, or choose another directory", std::process::id());
    let second = refused(open(home.path()));
    assert!(second.contains(&says), "{second}");
    fs::remove_file(home.path().join("lock")).expect("the file is there");
    let second = refused(open(home.path()));
    assert!(second.contains("is in use; end that one first"), "{second}");
    assert!(!home.path().join("lock").exists(), "whoever is refused writes nothing");
    drop(first);
    open(home.path()).expect("the lock has gone with its owner");
}

#[test]
fn a_directory_of_others_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("thesis.tex"), "precious").expect("a file");
    let error = refused(open(home.path()));
    assert!(error.contains("holds thesis.tex and no state of a drive; choose an empty directory"), "{error}");
    assert_eq!(fs::read_dir(home.path()).expect("a directory").count(), 1, "nothing was added");
    let error = refused(open(&home.path().join("thesis.tex")));
    assert!(error.contains("thesis.tex: cannot be read"), "{error}");
}

#[test]
fn a_creation_that_was_interrupted_starts_again() {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("main.slots"), [7; 4096]).expect("a file");
    fs::write(home.path().join("main.images"), [7; 99]).expect("a file");
    fs::write(home.path().join("format.toml.new"), "form").expect("a file");
    drop(open(home.path()).expect("a new drive"));
    drop(open(home.path()).expect("the same"));
}

#[test]
fn a_device_that_relies_on_capacitors_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let text = r#"name = "held up"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 20, pages = 8 }
[ftl]
kind = "fast"
over-provisioning = "40%"
log = { blocks = 6, erase = "read" }
"#;
    let device = toml::from_str::<Spec>(text).expect("a device").resolve().expect("valid");
    let error = refused(State::open_or_create(home.path(), &device, 1, Durability::Process));
    assert!(
        error.contains("held up erases a block while") && error.contains("write log.erase = \"copied\""),
        "{error}"
    );
}

#[test]
fn a_device_with_bit_errors_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let text = r#"name = "worn"
[flash]
part = "tlc-72l"
channels = 1
chips = 1
blocks = 20
pages = 9
errors = {}
ecc = { decode = { rate = "1GB/s" }, hard-limit = 180 }
[ftl]
map-unit = "4KiB"
over-provisioning = "40%"
"#;
    let device = toml::from_str::<Spec>(text).expect("a device").resolve().expect("valid");
    let error = refused(State::open_or_create(home.path(), &device, 1, Durability::Process));
    assert!(error.contains("worn has bit errors") && error.contains("leave flash.errors out"), "{error}");
}

#[test]
fn a_drive_with_its_state_moves_to_another_thread() {
    const fn may_move<T: Send>() {}
    const { may_move::<(State, Ssd<Bytes512>)>() };
}
