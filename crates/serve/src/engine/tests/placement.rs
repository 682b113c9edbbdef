//! A served drive with Flexible Data Placement: writes by handle, updates of handles, and a recording that replays.

use std::path::Path;
use std::sync::mpsc::channel;

use base::engine::Rng;
use base::io::PlacementId;

use super::*;
use crate::record::RequestRow;

/// Superblocks of 64 mapping units in four dies.
fn placed(more: &str) -> Device {
    let text = format!(
        r#"name = "placed"
flash = {{ part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = "none" }}
ftl = {{ map-unit = "2KiB", over-provisioning = "80%", superblock-dies = 4, fdp = {{ handles = 3 }} }}
{more}"#
    );
    Device::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Submits a job of a placement identifier.
fn submit(bench: &mut Bench, operation: Operation, placement: u16, (start, sectors): (u64, u64)) {
    let (given, number) = (Arc::clone(&bench.given), bench.jobs);
    bench.jobs += 1;
    let answer = move |result| given.lock().expect("no panic").push((number, result));
    let job = Job::new(operation, Lba::new(start), Sectors::new(sectors), answer);
    let job = Job { placement: PlacementId::new(placement), ..job };
    bench.core.submit(bench.now, job, &mut bench.answers);
}

/// Random jobs of clients in a closed loop.
fn served(core: Core, path: &Path, seed: u64) -> (Vec<RequestRow>, u64) {
    let mut bench = Bench::new(core);
    let (to, groups) = channel();
    bench.core.record(crate::record::RequestCollector::new(to));
    let mut rng = Rng::stream(seed, "serve.placement");
    let capacity = bench.core.capacity().get();
    let (mut outstanding, mut hash) = (0, 0);
    for step in 0..900 {
        if outstanding < 12 && (step == 0 || rng.below(3) > 0) {
            let (start, id) = (rng.below(capacity - 9), rng.below(4) as u16);
            let sectors = 1 + rng.below(9);
            match rng.below(10) {
                0..3 => submit(&mut bench, Operation::Read, 0, (start, sectors)),
                3..8 => {
                    let write = Operation::Write { data: vec![1; sectors as usize * 512], fua: rng.below(4) == 0 };
                    submit(&mut bench, write, id, (start, sectors));
                }
                8 => submit(&mut bench, Operation::Flush, 0, (0, 0)),
                _ => {
                    let handles = (0..rng.below(3)).map(|n| PlacementId::new(n as u16 + id % 2)).collect();
                    submit(&mut bench, Operation::UpdateHandles(handles), 0, (0, 0));
                }
            }
            outstanding += 1;
        } else if let Some(at) = bench.core.next_event() {
            bench.now = bench.now.max(at);
            outstanding -= bench.advance(Span::ZERO).len();
        } else {
            outstanding -= bench.advance(Span::ZERO).len();
        }
    }
    outstanding -= bench.results().len();
    while outstanding > 0 {
        bench.now = bench.now.max(bench.core.next_event().expect("jobs are under way"));
        outstanding -= bench.advance(Span::ZERO).len();
        hash = bench.core.drive().counters().event_hash;
    }
    assert!(bench.core.drive().counters().fdp.expect("FDP").handles[1].partial_superblocks > 3);
    let status = bench.core.status();
    let updates = status.requests.iter().find(|of| of.kind == "update-handles").expect("the drive has handles");
    assert!(updates.done > 20 && updates.failed == 0, "{updates:?}");
    bench.core.end(&mut bench.answers);
    let rows: Vec<RequestRow> = groups.try_iter().flatten().collect();
    super::replay::write(&rows, path);
    (rows, hash)
}

#[test]
fn a_recording_with_updates_of_handles_run_again_has_the_same_events_and_latencies() {
    for (seed, more) in (0..4).zip(["", BUFFER, "", BUFFER]) {
        super::replay::check_with(served, "placed", placed(more).resolved, seed);
    }
}

#[test]
fn updates_of_handles_are_verified_as_no_change_and_wait_for_the_power() {
    let mut core = Core::new(Box::new(Ssd::new(&placed("").resolved, 1)), CutPolicy::Hold);
    core.verify(true);
    let mut bench = Bench::new(core);
    submit(&mut bench, Operation::Write { data: vec![7; 2048], fua: true }, 2, (0, 4));
    bench.drain();
    bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
    submit(&mut bench, Operation::UpdateHandles(vec![PlacementId::new(2)]), 0, (0, 0));
    submit(&mut bench, Operation::UpdateHandles(vec![PlacementId::new(3)]), 0, (0, 0));
    assert_eq!(bench.core.outstanding(), 2);
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    let results: Vec<_> = bench.drain().into_iter().map(|(number, _, result)| (number, result)).collect();
    assert_eq!(results, [(1, Ok(Vec::new())), (2, Err(JobFailure::Drive(ssd::Status::InvalidField)))]);
    assert_eq!(bench.byte(3), 7);
    assert!(bench.core.take_violations().is_empty());
}
