//! A recording, run again, has the same events.

use std::sync::mpsc::channel;

use base::engine::Rng;
use base::io::{Io, IoKind};
use ssd::FtlKind;
use study::run;
use study::session::Session;
use testkit::conformance::{Setting, settings};
use workload::trace::TraceOptions;

use super::*;
use crate::record::{RequestEnd, RequestRow};

/// Random jobs, most of them submitted at the moment of an answer, as by clients in a closed loop. Returns the rows and the
/// event hash at the last completion.
fn served(core: Core, path: &std::path::Path, seed: u64) -> (Vec<RequestRow>, u64) {
    let mut bench = Bench::new(core);
    let (to, groups) = channel();
    bench.core.record(crate::record::RequestCollector::new(to));
    let mut rng = Rng::stream(seed, "serve.replay");
    let capacity = bench.core.capacity().get();
    let (mut outstanding, mut hash) = (0, 0);
    // Simulated time begins with the first job, wherever the drive stands.
    bench.now = bench.core.now();
    for step in 0..600 {
        // Allocation queries are no part of a recording.
        if step % 7 == 0 {
            bench.ask(rng.below(capacity), 1, 9).expect("it is answered").expect("an extent");
        }
        if outstanding < 12 && (step == 0 || rng.below(3) > 0) {
            let start = rng.below(capacity);
            let sectors = (1 + rng.below(9)).min(capacity - start);
            let fua = rng.below(2) == 0;
            match rng.below(10) {
                0..4 => drop(bench.submit(Operation::Read, start, sectors)),
                4..7 => drop(bench.write(start, 1, sectors, fua)),
                7 => drop(bench.submit(Operation::WriteZeroes { fua }, start, sectors)),
                8 => drop(bench.submit(Operation::Discard, start, sectors)),
                _ => drop(bench.submit(Operation::Flush, 0, 0)),
            }
            outstanding += 1;
        } else if rng.below(8) == 0 {
            let later = Span::from_ps(rng.below(300_000_000));
            outstanding -= bench.advance(later).len();
        } else if let Some(at) = bench.core.next_event() {
            bench.now = bench.now.max(at);
            outstanding -= bench.advance(Span::ZERO).len();
        }
    }
    while outstanding > 0 {
        bench.now = bench.now.max(bench.core.next_event().expect("jobs are under way"));
        outstanding -= bench.advance(Span::ZERO).len();
        hash = bench.core.drive().counters().event_hash;
    }
    bench.core.end(&mut bench.answers);
    let rows: Vec<RequestRow> = groups.try_iter().flatten().collect();
    write(&rows, path);
    (rows, hash)
}

/// Writes the recording.
pub(super) fn write(rows: &[RequestRow], path: &std::path::Path) {
    let file = RecordingTarget { path: path.to_owned(), force: false, inputs: Vec::new() }.open();
    let started = Writer::start(file.unwrap_or_else(|error| panic!("{error}")));
    let (writer, mut record) = started.unwrap_or_else(|error| panic!("{error}"));
    for (number, row) in (0..).zip(rows) {
        record.submitted(number, row.at, row.io, row.queue);
        let RequestEnd::At(end, status) = row.ended else { panic!("the power was never cut") };
        record.completed(number, end, status);
        // Groups of any size are one trace.
        if number % 100 == 0 {
            record.pass_on();
        }
    }
    record.pass_on();
    drop(record);
    let recording = writer.finish().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(recording.requests, rows.len() as u64);
}

/// Every ninth setting, and at least one of each family and of each map.
fn chosen() -> Vec<Setting> {
    let mut chosen: Vec<Setting> = Vec::new();
    let knows = |setting: &Setting| format!("{:?}", setting.spec.ftl.streams.host).starts_with("Oracle");
    // FTLs that must know the workload beforehand cannot serve clients.
    for (number, setting) in settings().into_iter().filter(|setting| !knows(setting)).enumerate() {
        let of = |setting: &Setting| (setting.spec.ftl.kind, format!("{:?}", setting.spec.ftl.map));
        if number % 9 == 0 || chosen.iter().all(|other| of(other) != of(&setting)) {
            chosen.push(setting);
        }
    }
    for kind in FtlKind::UNZONED {
        assert!(chosen.iter().any(|setting| setting.spec.ftl.kind == kind), "{kind:?}");
    }
    chosen
}

/// Serves a device, runs the recording, and compares the two.
fn check(name: &str, resolved: ssd::ResolvedDevice, seed: u64) {
    check_with(served, name, resolved, seed);
}

/// Serves a device to clients, runs the recording, and compares the two.
pub(super) fn check_with(
    served: impl FnOnce(Core, &std::path::Path, u64) -> (Vec<RequestRow>, u64),
    name: &str,
    resolved: ssd::ResolvedDevice,
    seed: u64,
) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("recorded.parquet");
    let device = || Device { name: name.to_owned(), resolved: resolved.clone(), replaced: Vec::new() };
    let options = EngineOptions { seed, ..EngineOptions::new(device()) };
    let drive = options.drive(|_| {}).unwrap_or_else(|error| panic!("{error}"));
    let (rows, hash) = served(Core::new(drive, CutPolicy::End), &path, seed);
    let mut log: Vec<run::Record> = Vec::new();
    let session = Session::new(&options.device).seed(seed).log(&mut log);
    let file = study::catalogue::workload(&path).unwrap_or_else(|error| panic!("{error}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let replayed = outcome.first().summary().event_hash;
    log.sort_by_key(|record| record.tag);
    assert_eq!(log.len(), rows.len());
    for (row, record) in rows.iter().zip(&log) {
        let RequestEnd::At(end, status) = row.ended else { panic!("the power was never cut") };
        // The drive chooses the address of an append anew, and its completion names the address.
        let io = if row.io.kind == IoKind::Append { Io { start: row.io.start, ..record.io } } else { record.io };
        let recorded = (record.arrival, io, record.end, record.status);
        assert_eq!((row.at, row.io, end, status), recorded, "seed {seed}, {name:?}");
    }
    assert_eq!(replayed, format!("{hash:016x}"), "seed {seed}, {name:?}");
}

#[test]
fn a_recording_run_again_has_the_same_events_and_latencies() {
    for (seed, setting) in (0..).zip(&chosen()) {
        check(&setting.name, setting.spec.resolve().expect("valid"), seed);
    }
}

#[test]
fn so_has_the_recording_of_a_raid_or_a_translation() {
    for (seed, (name, resolved)) in (0..).zip(super::layers::devices()) {
        check(&name, resolved, seed);
    }
}
