//! A recording of a session of NVMe, run again, has the same events at the same times.

use std::path::Path;

use nvme::HostCommand;
use serve::engine::{Command, Reply};
use serve::record::RecordingTarget;
use study::catalogue::{self, Device};
use study::session::Session;
use workload::trace::TraceOptions;
use workload::{Arrival, Source};

use super::host::{HostConnection, ServerSettings, SubsystemServer};
use super::zones::ZONED;

/// Serves a device to two queues of a host, each of which has commands under way for as long as `play` says.
fn served(device: &str, path: &Path, play: impl FnOnce(&mut [HostConnection; 2])) -> String {
    let record = Some(RecordingTarget { path: path.to_owned(), force: false, inputs: Vec::new() });
    let served = SubsystemServer::new(ServerSettings { device, record, ..ServerSettings::default() });
    let (_admin, controller) = HostConnection::admin(&served);
    let mut queues = [1, 2].map(|queue| HostConnection::io(&served, controller, queue));
    play(&mut queues);
    let Ok(Reply::Status(status)) = served.engine.command(Command::Status) else { panic!("it is served") };
    let stopped = served.stop();
    let requests = stopped.record.expect("it was asked for").unwrap_or_else(|error| panic!("{error}")).requests;
    let wanted: u64 = status.requests.iter().map(|kind| kind.done + kind.failed).sum();
    assert_eq!(requests, wanted, "each job of this session is one request");
    status.event_hash
}

/// Runs the recording on a device; returns the hash of all events and of their times, to the picosecond.
fn replayed(device: &str, path: &Path) -> String {
    let device = Device::parse(device.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device).seed(1);
    let file = catalogue::workload(path).unwrap_or_else(|error| panic!("{error}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    outcome.first().summary().event_hash
}

#[test]
fn a_recorded_session_of_zones_replays_to_the_picosecond() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("session.parquet");
    let hash = served(ZONED, &path, |queues| {
        for round in 0..20_u64 {
            let mut under_way = Vec::new();
            for (n, io) in queues.iter_mut().enumerate() {
                let zone = (n as u64 * 2 + round % 2) * 64;
                under_way.push((n, io.submit(HostCommand::append(1, zone, 2, vec![round as u8; 4096]))));
                under_way.push((n, io.submit(HostCommand::read(1, 0, 1, 2048))));
                if round % 7 == 6 {
                    under_way.push((n, io.submit(HostCommand::zone_management(1, 4, Some(zone)))));
                }
            }
            under_way.into_iter().for_each(|(n, id)| _ = queues[n].wait(id));
        }
        queues[0].done(HostCommand::flush(None));
    });
    assert_eq!(replayed(ZONED, &path), hash);
}

/// A drive that works on two commands at a time, and prefers its second queue by far.
const WEIGHTED: &str = r#"name = "weighted"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
host = { queue-depth = 2, arbitration = "weighted", queue = [{ weight = 1 }, { weight = 16 }] }
ftl = { map-unit = "2KiB", over-provisioning = "40%" }
"#;

#[test]
fn a_recording_keeps_the_queue_of_each_request() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("session.parquet");
    let hash = served(WEIGHTED, &path, |queues| {
        let mut under_way = Vec::new();
        for n in 0..24_u64 {
            for (queue, io) in queues.iter_mut().enumerate() {
                let start = (n * 2 + queue as u64) * 64;
                under_way.push((queue, io.submit(HostCommand::write(1, start, 16, vec![n as u8; 8192]))));
            }
        }
        under_way.into_iter().for_each(|(queue, id)| _ = queues[queue].wait(id));
    });
    assert_eq!(replayed(WEIGHTED, &path), hash);
    let mut source = workload::trace::open(&path, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut requests = 0;
    while let Some(Arrival { io, queue, .. }) = source.next().unwrap_or_else(|error| panic!("{error}")) {
        // Queue 1 of the host writes at even multiples of 64 sectors, and is the drive's first one.
        assert_eq!(queue.map(u64::from), Some(io.start.get() / 64 % 2));
        requests += 1;
    }
    assert_eq!(requests, 48);
    // A drive with one queue cannot run the recording.
    let device = Device::parse(ZONED.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device);
    let file = catalogue::workload(&path).unwrap_or_else(|error| panic!("{error}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let refused = session.flow(flow).run().expect_err("refused").to_string();
    assert!(refused.contains("is submitted to queue 1, but the device has 1"), "{refused}");
}
