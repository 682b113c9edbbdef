//! A recording of a session of NVMe, run again, has the same latencies and events.

use nvme::HostCommand;
use serve::engine::{Command, Reply};
use serve::record::RecordTo;
use study::catalogue::{self, Device};
use study::session::Session;
use workload::trace::TraceOptions;

use super::host::{Link, Served, Setting};
use super::zones::ZONED;

#[test]
fn a_recorded_session_replays_to_the_picosecond() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("session.parquet");
    let record = Some(RecordTo { path: path.clone(), force: false, inputs: Vec::new() });
    let served = Served::new(Setting { device: ZONED, record, ..Setting::default() });
    let (_admin, controller) = Link::admin(&served);
    let mut queues = [1, 2].map(|queue| Link::io(&served, controller, queue));
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
    let Ok(Reply::Status(status)) = served.engine.command(Command::Status) else { panic!("it is served") };
    let stopped = served.stop();
    let requests = stopped.record.expect("it was asked for").unwrap_or_else(|error| panic!("{error}")).requests;
    let wanted: u64 = status.requests.iter().map(|kind| kind.done + kind.failed).sum();
    assert_eq!(requests, wanted, "each job of this session is one request");
    let device = Device::parse(ZONED.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let session = Session::new(&device).seed(1);
    let file = catalogue::workload(&path).unwrap_or_else(|error| panic!("{error}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    // A hash over all events and their times, to the picosecond.
    assert_eq!(outcome.first().summary().event_hash, status.event_hash);
}
