//! Drives whose flash is in a directory.

use testkit::conformance::{Setting, settings};

use super::power::{Life, PanicLabel};
use super::thread::{done, submit};
use super::*;
use crate::state::{Durability, State, StateDir};

/// The options of a drive whose flash is in a directory.
fn options(dir: &std::path::Path, more: &str) -> EngineOptions {
    let device = small(more);
    let dir = StateDir::lock(dir, &device.resolved).unwrap_or_else(|error| panic!("{error}"));
    let keep = PersistenceSettings { dir, durability: Durability::Machine, on_notice: None };
    EngineOptions { pace: Pace::Max, keep: Some(keep), ..EngineOptions::new(device) }
}

fn started(options: EngineOptions) -> Engine {
    Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_stopped_drive_has_written_its_buffer_back_and_recovers_when_it_is_served_again() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("drive");
    let engine = started(options(&dir, BUFFER));
    for n in 0..40 {
        let write = submit(&engine, Operation::Write { data: vec![n as u8 + 1; 2048], fua: false }, n * 4, 4);
        assert_eq!(done(&write), Ok(Vec::new()));
    }
    let stopped = engine.stop().expect("it was served");
    assert!(stopped.failure.is_none() && stopped.status.last_recovery_s.is_none());
    let engine = started(options(&dir, BUFFER));
    for n in 0..40 {
        assert_eq!(done(&submit(&engine, Operation::Read, n * 4, 4)), Ok(vec![n as u8 + 1; 2048]));
    }
    let status = engine.stop().expect("it was served").status;
    let recovery = status.last_recovery_s.expect("it recovered");
    let first = status.requests[0].latency.expect("reads").max_us;
    assert!(recovery > 0.0 && first > recovery * 1e6, "the first read took {first} us, recovery {recovery} s");
    assert_eq!(status.power_cuts, 0);
}

#[test]
fn a_drive_in_files_is_prepared_once_and_needs_the_memory_of_its_tables() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("drive");
    let with = |steps: Vec<Precondition>, mib: u64| {
        let limit = Limit { bytes: base::units::Bytes::new(mib << 20), name: "--memory".to_owned() };
        let options = EngineOptions { precondition: steps, memory_limit: Some(limit), ..options(&dir, "") };
        Engine::start(options, |_| {}).map(|engine| engine.stop().expect("it was served").status)
    };
    let error = with(Vec::new(), 96).expect_err("it is too large").to_string();
    assert!(error.contains("for blocks and spare areas") && !error.contains("content of the flash"), "{error}");
    assert!(!dir.exists(), "it was made in vain");
    assert_eq!(with(vec![Precondition::Fill], 97).expect("it fits").last_recovery_s, None);
    assert!(with(Vec::new(), 97).expect("it is there").last_recovery_s.is_some());
    let error = with(vec![Precondition::Fill], 97).expect_err("it is there").to_string();
    assert!(error.contains("so it is neither preconditioned nor loaded"), "{error}");
}

#[test]
fn drives_of_every_family_are_dropped_at_any_moment_and_keep_their_promises() {
    let keeps = |setting: &&Setting| {
        let flushes = setting.spec.buffer.as_ref().is_none_or(|of| of.flush != ssd::FlushPolicy::Ignore);
        let resolved = setting.spec.resolve().expect("valid");
        flushes && resolved.ftl.log.erase == ftl::EraseTiming::Copied && resolved.backend.errors.is_none()
    };
    let (all, mut checked) = (settings(), 0);
    for (seed, setting) in (0..).zip(all.iter().filter(keeps).step_by(4)) {
        let _say = PanicLabel(format!("seed {seed}, {:?}", setting.name));
        let home = tempfile::tempdir().expect("a folder");
        let resolved = setting.spec.resolve().expect("valid");
        let open = || State::open_or_create(home.path(), &resolved, seed, Durability::Process);
        let open = || open().unwrap_or_else(|error| panic!("{error}"));
        let (mut state, drive) = open();
        let mut life = Life::new(Core::new(Box::new(drive), CutPolicy::End), seed);
        life.keep_verification(home.path());
        for _ in 0..3 {
            life.steps(50);
            state.check().expect("the files can be written");
            // Dropping the state releases the lock.
            drop(state);
            let drive;
            (state, drive) = open();
            let mut core = Core::new(Box::new(drive), CutPolicy::End);
            core.recover();
            life.killed(core, home.path());
        }
        checked += life.checked();
    }
    assert!(checked > 5_000, "only {checked} sectors were checked");
}
