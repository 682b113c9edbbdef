//! `flashloom ctl`: commands to a served drive, and their effects.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use base::units::{Lba, Sectors};
use serve::engine::{CutPolicy, Pace};
use serve::record::RecordingTarget;
use serve::{Disk, Engine, EngineOptions, Job, JobFailure, Operation};
use study::catalogue::Device;

use crate::common::schema::faults;
use crate::common::{DEVICE, WorkFolder};

/// Serves the small device: it takes commands at `drive.ctl`, and records its requests.
fn served(place: &WorkFolder, on_cut: CutPolicy) -> Engine {
    let device = Device::parse(DEVICE).unwrap_or_else(|faults| panic!("{faults}"));
    let record = RecordingTarget { path: place.path("recorded.parquet"), force: false, inputs: Vec::new() };
    let options = EngineOptions {
        pace: Pace::Max,
        on_cut,
        record: Some(record),
        control: Some(place.path("drive.ctl")),
        ..EngineOptions::new(device)
    };
    Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(drive: &Engine, operation: Operation, start: u64, sectors: u64) -> Result<Vec<u8>, JobFailure> {
    let (to, result) = channel();
    let answer = Box::new(move |result| to.send(result).expect("somebody waits"));
    drive.submit(Job::new(operation, Lba::new(start), Sectors::new(sectors), answer));
    result.recv_timeout(Duration::from_secs(60)).expect("it is answered")
}

fn write(drive: &Engine, start: u64, byte: u8) -> Result<Vec<u8>, JobFailure> {
    ask(drive, Operation::Write { data: vec![byte; 4096], fua: true }, start, 8)
}

fn ctl(place: &WorkFolder, arguments: &[&str]) -> String {
    place.printed(&[&["ctl", "drive.ctl"], arguments].concat())
}

#[test]
fn a_served_drive_does_what_ctl_says() {
    let place = WorkFolder::new();
    let drive = served(&place, CutPolicy::End);
    assert_eq!(write(&drive, 0, 7), Ok(Vec::new()));
    let status = place.json(&["ctl", "drive.ctl", "status", "--json"]);
    let schema = place.json(&["schema", "status-result"]);
    assert_eq!(faults(&schema, &status), Vec::<String>::new());
    assert_eq!((&status["schema"], &status["power"]), (&"flashloom-served-drive-2".into(), &"on".into()));
    assert_eq!((&status["requests"][1]["done"], &status["pace"]), (&1.into(), &"max".into()));
    let table = ctl(&place, &["status"]);
    assert!(table.contains("on, 0 cuts") && table.lines().all(|line| line.len() <= 80), "{table}");

    assert!(ctl(&place, &["power-cut"]).starts_with("the power is cut: 0 requests"));
    assert_eq!(ask(&drive, Operation::Read, 0, 8), Err(JobFailure::NoPower));
    let twice = place.flashloom(&["ctl", "drive.ctl", "power-cut"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("the power is off; send power-on first"));
    assert!(ctl(&place, &["power-on"]).starts_with("the power is on; the scan"));
    assert_eq!(ask(&drive, Operation::Read, 0, 8), Ok(vec![7; 4096]));
    assert_eq!(ctl(&place, &["set-pace", "10"]), "the pace is 10\n");
    let die = place.flashloom(&["ctl", "drive.ctl", "fail-die", "0"]);
    assert!(!die.status.success() && String::from_utf8_lossy(&die.stderr).contains("without parity"), "{die:?}");
    let state = place.flashloom(&["ctl", "drive.ctl", "power-state", "1"]);
    assert!(String::from_utf8_lossy(&state.stderr).contains("no operational power states"), "{state:?}");
    assert_eq!(ctl(&place, &["fault", "read", "--count", "1"]), "1 read will fail\n");
    assert_eq!(ask(&drive, Operation::Read, 0, 8), Err(JobFailure::Drive(ssd::Status::Uncorrectable)));
    assert_eq!(write(&drive, 0, 9), Ok(Vec::new()));
    assert_eq!(ctl(&place, &["snapshot", "now.state"]), "the snapshot is written\n");
    assert!(ctl(&place, &["power-off"]).starts_with("the power is off"));
    let last = drive.stop().expect("it was served");
    assert_eq!((last.status.power_cuts, last.status.planned_faults), (1, 1));
    assert!(!place.path("drive.ctl").exists());
    let nobody = place.flashloom(&["ctl", "drive.ctl", "status"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("give the socket that `flashloom serve` names"));
    // The snapshot can be loaded like any other, and has the data.
    let device = Device::parse(DEVICE).unwrap_or_else(|faults| panic!("{faults}"));
    let options = EngineOptions { load_snapshot: Some(place.path("now.state")), ..EngineOptions::new(device) };
    let again = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ask(&again, Operation::Read, 0, 8), Ok(vec![9; 4096]));
}

#[test]
fn a_recording_is_a_workload() {
    let place = WorkFolder::new();
    let drive = served(&place, CutPolicy::Hold);
    for n in 0..40 {
        assert_eq!(write(&drive, n * 8, n as u8), Ok(Vec::new()));
        assert_eq!(ask(&drive, Operation::Read, n * 4, 8).map(|data| data.len()), Ok(4096));
    }
    let hash = place.json(&["ctl", "drive.ctl", "status", "--json"])["event_hash"].clone();
    let stopped = drive.stop().expect("it was served");
    let recording = stopped.record.expect("it was recorded").unwrap_or_else(|error| panic!("{error}"));
    // Each write is followed by a flush.
    assert_eq!((recording.requests, &recording.path), (120, &place.path("recorded.parquet")));
    let info = place.json(&["trace", "info", "recorded.parquet", "--json"]);
    assert_eq!(info["requests"], 120);
    let result = place.json(&["run", "d.toml", "recorded.parquet", "--json"]);
    assert_eq!(result["event_hash"], hash, "{result}");
    assert!(Path::new(&recording.path).exists());
}
