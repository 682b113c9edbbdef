//! The thread of a served drive.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};

use super::*;

fn started(pace: Pace) -> Engine {
    let options = EngineOptions { pace, ..EngineOptions::new(small("")) };
    Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn submit(
    engine: &Engine,
    operation: Operation,
    start: u64,
    sectors: u64,
) -> Receiver<Result<Vec<u8>, JobFailure>> {
    let (to, result) = channel();
    let answer = Box::new(move |result| to.send(result).expect("somebody waits"));
    engine.submit(Job::new(operation, Lba::new(start), Sectors::new(sectors), answer));
    result
}

pub(super) fn done(result: &Receiver<Result<Vec<u8>, JobFailure>>) -> Result<Vec<u8>, JobFailure> {
    result.recv_timeout(Duration::from_secs(60)).expect("it is answered")
}

#[test]
fn jobs_of_many_threads_are_answered() {
    for pace in ["max", "1000", "real"] {
        let engine = started(pace.parse().expect("a pace"));
        assert_eq!(engine.unit(), Sectors::new(4));
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let engine = &engine;
                scope.spawn(move || {
                    for round in 0..20 {
                        let (start, byte) = (thread * 100 + round, (thread * 20 + round) as u8);
                        let write = submit(engine, Operation::Write { data: vec![byte; 512], fua: false }, start, 1);
                        assert_eq!(done(&write), Ok(Vec::new()));
                        assert_eq!(done(&submit(engine, Operation::Read, start, 1)), Ok(vec![byte; 512]));
                    }
                });
            }
        });
        let Ok(Reply::Status(status)) = engine.command(Command::Status) else { panic!("a status") };
        assert_eq!((status.requests[0].done, status.requests[1].done, status.outstanding), (80, 80, 0));
        assert_eq!((status.lag.is_some(), &*status.pace), (pace != "max", pace));
        let last = engine.stop().expect("it was served").status;
        assert_eq!((last.power, last.event_hash.len()), (Power::Off, 16));
        assert!(engine.stop().is_none());
        assert_eq!(done(&submit(&engine, Operation::Read, 0, 1)), Err(JobFailure::NoPower));
        assert!(matches!(engine.command(Command::Status), Err(CommandRefusal::Stopped)));
    }
}

#[test]
fn at_the_real_pace_an_answer_is_never_early() {
    let engine = started(Pace::Real);
    let begin = inbox::now();
    (0..20).for_each(|n| drop(done(&submit(&engine, Operation::Read, n, 1))));
    let took = begin.elapsed();
    let Ok(Reply::Status(status)) = engine.command(Command::Status) else { panic!("a status") };
    let mean = status.requests[0].latency.expect("reads").mean_us;
    assert!(took.as_secs_f64() * 1e6 >= 20.0 * mean, "{took:?} for 20 reads of {mean} us");
}

/// Few users may raise a priority, so the thread of the drive has what a thread of this test gets.
#[cfg(target_os = "linux")]
#[test]
fn a_thread_that_spins_has_priority() {
    use rustix::process::{getpriority_process, setpriority_process};

    let own = getpriority_process(None).expect("a priority");
    let raise = || {
        let _ = setpriority_process(None, super::super::thread::HIGHEST);
        getpriority_process(None).expect("a priority")
    };
    let raised = std::thread::scope(|scope| scope.spawn(raise).join().expect("no panic"));
    for (spin, expected) in [(0, own), (10, raised)] {
        let options = EngineOptions { spin: Duration::from_micros(spin), ..EngineOptions::new(small("")) };
        let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let (to, priority) = channel();
        // The thread of the drive gives the answer.
        let answer = Box::new(move |_| to.send(getpriority_process(None)).expect("somebody waits"));
        engine.submit(Job::new(Operation::Read, Lba::new(0), Sectors::new(1), answer));
        let priority = priority.recv_timeout(Duration::from_secs(60)).expect("it is answered");
        assert_eq!(priority, Ok(expected), "with {spin} us");
    }
}

#[test]
fn power_comes_and_goes_and_a_snapshot_keeps_the_flash() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("state.snapshot");
    let (to, power) = channel();
    let on_power: PowerCallback = Box::new(move |is_on| to.send(is_on).expect("somebody listens"));
    let options = EngineOptions { pace: Pace::Max, on_power: Some(on_power), ..EngineOptions::new(small(BUFFER)) };
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let write = |byte, fua| done(&submit(&engine, Operation::Write { data: vec![byte; 512], fua }, 9, 1));
    assert_eq!(write(3, true), Ok(Vec::new()));
    let snapshot = || engine.command(Command::Snapshot { path: path.clone(), force: false });
    assert!(matches!(snapshot(), Ok(Reply::Snapshot(notes)) if notes.is_empty()));
    assert!(matches!(snapshot(), Ok(Reply::Snapshot(notes)) if notes.len() == 1), "it replaces a snapshot");
    assert!(matches!(engine.command(Command::PowerOn), Err(CommandRefusal::Power(WrongPower::On))));
    assert!(matches!(engine.command(Command::PowerCut), Ok(Reply::Cut(_))));
    assert_eq!(write(4, false), Err(JobFailure::NoPower));
    assert!(matches!(engine.command(Command::PowerOn), Ok(Reply::On(_))));
    assert_eq!(done(&submit(&engine, Operation::Read, 9, 1)), Ok(vec![3; 512]));
    let pace = "0.5".parse().expect("a pace");
    assert!(matches!(engine.command(Command::SetPace(pace)), Ok(Reply::Pace(now)) if now == pace));
    assert_eq!(done(&submit(&engine, Operation::Read, 9, 1)), Ok(vec![3; 512]));
    drop(engine.stop());
    assert_eq!(power.try_iter().collect::<Vec<_>>(), [false, true]);
    let options = EngineOptions { load_snapshot: Some(path), ..EngineOptions::new(small(BUFFER)) };
    let again = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done(&submit(&again, Operation::Read, 9, 1)), Ok(vec![3; 512]));
}

#[test]
fn metrics_are_those_of_the_status() {
    let here = "127.0.0.1:0".parse().expect("an address");
    let server = MetricsServer::bind(here).unwrap_or_else(|error| panic!("{error}"));
    let at = server.address();
    let options = EngineOptions { pace: Pace::Max, metrics: Some(server), ..EngineOptions::new(small("")) };
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done(&submit(&engine, Operation::Read, 0, 1)), Ok(vec![0; 512]));
    let mut stream = TcpStream::connect(at).expect("somebody listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4"), "{text}");
    assert!(text.contains("flashloom_requests_total{kind=\"read\",result=\"done\"} 1\n"), "{text}");
    drop(engine.stop());
    assert!(TcpStream::connect(at).is_err(), "it ends with the drive");
}

#[test]
fn a_drive_whose_tables_do_not_fit_is_refused_and_one_whose_content_may_not_is_served() {
    let limited = |mib: u64| {
        let limit = Limit { bytes: base::units::Bytes::new(mib << 20), name: "--memory".to_owned() };
        EngineOptions { memory_limit: Some(limit), ..EngineOptions::new(small("")) }
    };
    let error = Engine::start(limited(96), |_| {}).err().expect("it is too large").to_string();
    assert!(error.contains("the simulation needs 96.") && error.contains("give --memory 97MiB"), "{error}");
    // The content takes memory as clients write, of which the caller can warn.
    let all = EngineOptions::new(small("")).device.resolved.memory_of::<Bytes512>(Purpose::default()).total();
    let (said, limit) =
        limited(1).outgrown().map(|(bytes, limit)| (bytes, limit.bytes.get())).expect("it grows beyond");
    assert_eq!((said, limit), (all, 1 << 20));
    assert!(limited(1 << 20).outgrown().is_none());
    assert!(Engine::start(limited(97), |_| {}).is_ok());
}
