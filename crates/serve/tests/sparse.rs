//! The holes of a simulated drive, as real clients see them.

use std::path::Path;
use std::sync::Arc;

use serve::engine::{Command, Pace, Reply};
use serve::server::{Export, Hangup};
use serve::{Engine, EngineOptions};
use study::catalogue::Device;

use crate::client::{Client, FLUSH, READ, TRIM, WRITE};
use crate::fixture::{RunningServer, patient};
use crate::programs::{installed, run};

const DRIVE: &str = r#"name = "sparse"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 200, pages = 64 }
ftl = { map-unit = "2KiB", over-provisioning = "40%" }
buffer = { size = "256KiB" }
"#;

const KIB: u64 = 1 << 10;

/// A range, and true if it is a hole.
type Range = (u64, u64, bool);

/// A new drive, served.
fn drive() -> (Engine, RunningServer) {
    let device = Device::parse(DRIVE.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let options = EngineOptions { pace: Pace::Max, ..EngineOptions::new(device) };
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let export = Export {
        name: String::new(),
        description: "a drive of a test".to_owned(),
        disk: Arc::new(engine.clone()),
        hangup: Hangup::default(),
    };
    (engine, RunningServer::new(vec![export], patient()))
}

/// The bytes of all reads so far, and the event hash: neither may change by queries.
fn reads(engine: &Engine) -> (u64, String) {
    let Ok(Reply::Status(status)) = engine.command(Command::Status) else { panic!("a status") };
    let read = status.requests.iter().find(|kind| kind.kind == "read").expect("reads");
    (read.bytes, status.event_hash)
}

/// Writes some ranges and trims a part of them; the first range is still in the write buffer. Returns the expected extents of the
/// drive.
fn fill(served: &RunningServer, capacity: u64) -> Vec<Range> {
    let mut client = Client::new(served.socket(), "");
    let mut write = |at: u64, length: u64, byte: u8| {
        client.call((WRITE, 0), (at, length as u32), &vec![byte; length as usize]);
    };
    write(64 * KIB, 64 * KIB, 1);
    write(1024 * KIB, 512 * KIB, 2);
    // A write of a part of a mapping unit makes the whole unit data.
    write(capacity - 2 * KIB, 512, 3);
    client.call((FLUSH, 0), (0, 0), &[]);
    client.call((TRIM, 0), (80 * KIB, 16 * KIB as u32), &[]);
    client.call((WRITE, 0), (2048 * KIB, 4 * KIB as u32), &[4; 4096]);
    let mut ranges: Vec<Range> = Vec::new();
    for (end, hole) in [
        (64 * KIB, true),
        (80 * KIB, false),
        (96 * KIB, true),
        (128 * KIB, false),
        (1024 * KIB, true),
        (1536 * KIB, false),
        (2048 * KIB, true),
        (2052 * KIB, false),
        (capacity - 2 * KIB, true),
        (capacity, false),
    ] {
        let start = ranges.last().map_or(0, |(start, length, _)| start + length);
        ranges.push((start, end - start, hole));
    }
    ranges
}

#[test]
fn nbdinfo_and_qemu_img_map_a_drive_and_disturb_nothing() {
    if !installed(&["nbdinfo", "qemu-img"]) {
        return;
    }
    let (engine, served) = drive();
    let capacity = serve::Disk::capacity(&engine).bytes().get();
    let ranges = fill(&served, capacity);
    let before = reads(&engine);
    let map = run(Path::new("."), "nbdinfo", &["--map", "--json", &served.uri]);
    let map: Vec<serde_json::Value> = serde_json::from_str(&map).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let found: Vec<Range> =
        map.iter().map(|of| (number(&of["offset"]), number(&of["length"]), of["type"] == 3)).collect();
    assert_eq!(found, ranges, "{map:?}");
    let map = run(Path::new("."), "qemu-img", &["map", "--output=json", "-f", "raw", &served.uri]);
    let map: Vec<serde_json::Value> = serde_json::from_str(&map).expect("JSON");
    let found: Vec<Range> =
        map.iter().map(|of| (number(&of["start"]), number(&of["length"]), of["zero"] == true)).collect();
    assert_eq!(found, ranges, "{map:?}");
    // QEMU reads the first sectors of an image; allocation queries read nothing, and cause no event.
    run(Path::new("."), "nbdinfo", &["--map", &served.uri]);
    let after = reads(&engine);
    assert!(after.0 - before.0 < 8 * KIB, "{} bytes were read", after.0 - before.0);
    let again = reads(&engine);
    run(Path::new("."), "nbdinfo", &["--map", &served.uri]);
    assert_eq!(reads(&engine), again);
    drop(served);
    drop(engine.stop());
}

#[test]
fn nbdcopy_reads_no_holes() {
    if !installed(&["nbdcopy"]) {
        return;
    }
    let (engine, served) = drive();
    let capacity = serve::Disk::capacity(&engine).bytes().get();
    let data: u64 = fill(&served, capacity).iter().filter(|(.., hole)| !hole).map(|(_, length, _)| length).sum();
    let folder = tempfile::tempdir().expect("a folder");
    let before = reads(&engine).0;
    run(folder.path(), "nbdcopy", &["--request-size=4096", &served.uri, "out"]);
    // QEMU reads whole requests, so it reads up to half a request more where the last unit begins.
    let read = reads(&engine).0 - before;
    assert!((data..=data + 2 * KIB).contains(&read), "{read} bytes of {data} and {capacity}");
    let copy = std::fs::read(folder.path().join("out")).expect("there");
    let mut client = Client::new(served.socket(), "");
    for at in (0..capacity).step_by(64 << 10) {
        let length = (capacity - at).min(64 << 10) as u32;
        assert!(client.call((READ, 0), (at, length), &[]) == copy[at as usize..][..length as usize], "at {at}");
    }
    drop((client, served));
    drop(engine.stop());
}
