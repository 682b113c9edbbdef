//! Tests that a session gives the results of its parts, and that warm-up, stop rule and interruption work.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Sectors, Time};
use ssd::{QueueId, Request, Ssd};
use testkit::{Bug, FixedDrive, List};
use workload::{Arrival, Pacing};

use super::*;
use crate::catalogue;
use crate::config::Document;
use crate::run::{Record, RunError};
use crate::testing::{DEVICES, described};
use crate::watch::timeline::{Timeline, Window};

fn device(entry: (&str, &str)) -> Device {
    let document = Document::parse(Path::new("device.toml"), described(entry)).expect("TOML");
    catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Writes and reads over the whole device.
fn mixture(device: &Device, count: u64, pacing: Pacing) -> List {
    let units = device.capacity().get() / 8;
    let arrival = |i: u64| {
        let kind = if i.is_multiple_of(3) { IoKind::Read } else { IoKind::Write };
        let io = Io::new(kind, Lba::new(i * 37 % units * 8), Sectors::new(8));
        Arrival::new(Time::from_ps(i * 300_000_000), io)
    };
    List::new((0..count).map(arrival).collect(), pacing)
}

const EIGHT: Pacing = Pacing::Closed { depth: 8 };
const FILL: Precondition = Precondition::Fill;

fn session<'a>(device: &'a Device, count: u64, pacing: Pacing) -> Session<'a> {
    let flow = Flow::of("mixture", mixture(device, count, pacing));
    Session::new(device).seed(3).precondition(vec![FILL]).flow(flow)
}

/// The event hash of the same run, made step by step without the code of sessions and runners.
fn by_hand(device: &Device, count: u64) -> u64 {
    let mut drive = Ssd::<()>::new(&device.resolved, 3);
    drive.precondition(FILL, &mut |_, _| {});
    let mut source = mixture(device, count, EIGHT);
    let (mut tag, mut outstanding, mut completions) = (0, 0, Vec::new());
    loop {
        while outstanding < 8
            && let Some(next) = workload::Source::next(&mut source).expect("a list")
        {
            let data = vec![(); if next.io.kind == IoKind::Write { 8 } else { 0 }];
            drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io: next.io, data });
            (tag, outstanding) = (tag + 1, outstanding + 1);
        }
        if outstanding == 0 {
            return drive.counters().event_hash;
        }
        drive.advance(Time::MAX, &mut completions);
        outstanding -= completions.drain(..).len();
    }
}

#[test]
fn a_session_has_the_events_of_a_hand_written_loop_in_every_family() {
    for of in DEVICES {
        let device = device(of);
        let plain = session(&device, 300, EIGHT).check_drive(true).run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plain.first().event_hash(), by_hand(&device, 300), "{}", of.0);
        let watch = Watch::default().explaining().timeline(Timeline::new(Window::default()));
        let checked = session(&device, 300, EIGHT).verify(true).watch(watch).run().expect("sound");
        assert_eq!(checked.first().event_hash(), plain.first().event_hash(), "{}: an observer changes nothing", of.0);
        assert!(checked.first().verified.is_some_and(|verified| verified.reads == 100), "{}", of.0);
        assert!(!checked.first().explained.is_empty() && plain.first().explained.is_empty() && plain.watch.is_none());
    }
}

#[test]
fn a_warm_up_is_not_measured_and_changes_no_event() {
    for of in DEVICES {
        let device = device(of);
        let mut records: Vec<Record> = Vec::new();
        let watch = Watch::default().journeys(None).timeline(Timeline::new(Window::default()));
        let warmed = session(&device, 1_000, EIGHT).warm_up(WarmUp::Requests(100)).stop(Stop::Requests(200));
        let warmed = warmed.verify(true).watch(watch).log(&mut records).run().unwrap_or_else(|error| panic!("{error}"));
        let result = &warmed.first().result;
        assert_eq!((result.submitted, result.completed, records.len()), (200, 200, 200), "{}", of.0);
        assert!((100..108).contains(&result.warmed_up), "{}: {}", of.0, result.warmed_up);

        // The same requests without a warm-up end with the measurement of the warmed run.
        let mut all: Vec<Record> = Vec::new();
        let whole = session(&device, 1_000, EIGHT).stop(Stop::Requests(200 + result.warmed_up));
        let whole = whole.log(&mut all).run().expect("sound");
        assert_eq!(warmed.first().event_hash(), whole.first().event_hash(), "{}", of.0);
        let measured = &all[result.warmed_up as usize..];
        assert_eq!(records, measured, "{}", of.0);
        let latency = |records: &[Record], kind| -> u128 {
            let of_kind = records.iter().filter(|record| record.io.kind == kind);
            of_kind.map(|record| u128::from((record.end - record.arrival).as_ps())).sum()
        };
        for kind in [IoKind::Read, IoKind::Write] {
            assert_eq!(result.kind(kind).latency.sum_ps(), latency(measured, kind), "{}", of.0);
        }
        let last = all[result.warmed_up as usize - 1].end;
        assert_eq!((result.started, result.before.at), (last, last), "{}", of.0);
        assert_eq!(result.series.intervals().map(|interval| interval.span()).sum::<Span>(), result.after.at - last);
        let watch = warmed.watch.as_ref().expect("the watch is returned");
        assert_eq!(watch.finished().len(), 200, "{}", of.0);
        for (journey, record) in watch.finished().iter().zip(&records) {
            assert_eq!((journey.tag, journey.latency()), (record.tag, record.end - record.arrival), "{}", of.0);
            assert_eq!(journey.parts.iter().copied().sum::<Span>(), journey.latency(), "{}", of.0);
        }
        assert_eq!(warmed.timeline().map(Timeline::start), Some(last));
        assert!(warmed.first().verified.is_some_and(|verified| verified.reads > 67), "all are checked");
    }
}

#[test]
fn a_warm_up_and_a_stop_by_time_end_at_their_instants() {
    let device = device(DEVICES[0]);
    let (warm, measured) = (Span::from_ms(7), Span::from_ms(11));
    for pacing in [EIGHT, Pacing::Open] {
        let session = session(&device, 1_000, pacing).warm_up(WarmUp::Time(warm)).stop(Stop::Time(measured));
        let mut records: Vec<Record> = Vec::new();
        let outcome = session.log(&mut records).run().unwrap_or_else(|error| panic!("{error}"));
        let result = &outcome.first().result;
        assert_eq!(result.before.at - result.at_rest.at, warm, "{pacing:?}");
        let end = result.before.at + measured;
        assert!(records.iter().all(|record| record.arrival < end && record.end > result.before.at), "{pacing:?}");
        assert!(records.iter().any(|record| record.arrival + Span::from_ms(2) > end), "{pacing:?}");
        assert!(result.warmed_up > 5 && result.completed == records.len() as u64, "{pacing:?}: {result:?}");
    }
}

#[test]
fn the_flows_of_a_session_are_warmed_up_together() {
    let device = device(DEVICES[0]);
    let open = Flow::of("mixture", mixture(&device, 400, Pacing::Open));
    let session = session(&device, 400, EIGHT).flow(open).warm_up(WarmUp::Requests(50)).stop(Stop::Requests(150));
    let names: Vec<_> = session.flows().iter().map(Flow::name).collect();
    assert_eq!(names, ["mixture", "mixture-2"]);
    let mut records: Vec<Record> = Vec::new();
    let outcome = session.log(&mut records).run().unwrap_or_else(|error| panic!("{error}"));
    let result = &outcome.first().result;
    assert_eq!((result.submitted, records.len()), (150, 150));
    for (flow, number) in result.flows.iter().zip(0..) {
        let own = records.iter().filter(|record| record.flow == number).count() as u64;
        assert!(own > 0 && (flow.submitted, flow.completed) == (own, own), "{flow:?}");
        assert!(flow.started >= result.before.at);
    }
}

#[test]
fn a_workload_that_ends_in_its_warm_up_is_an_error() {
    let device = device(DEVICES[0]);
    for warm_up in [WarmUp::Requests(100), WarmUp::Requests(5_000), WarmUp::Time(Span::from_secs(9))] {
        let error = session(&device, 100, EIGHT).warm_up(warm_up).run().expect_err("nothing is left").to_string();
        assert!(error.starts_with("the workload ends after 100 requests, before the warm-up does"), "{error}");
    }
    let error = session(&device, 0, EIGHT).warm_up(WarmUp::Requests(5)).run().expect_err("nothing at all").to_string();
    assert!(error.contains("yields no request"), "{error}");
    assert!(matches!(Session::new(&device).run(), Err(SessionError::NoFlow)));
}

/// A drive with four servers that take 100 us for each request.
fn drive() -> FixedDrive<u64> {
    FixedDrive::new(Sectors::new(1 << 20), 4, Span::from_us(100))
}

/// The simplest drive, for sessions.
struct TestDrive(FixedDrive<u64>);

impl Drive<u64> for TestDrive {
    fn capacity(&self) -> Sectors {
        self.0.capacity()
    }
    fn discard_granularity(&self) -> Sectors {
        self.0.discard_granularity()
    }
    fn submit(&mut self, now: Time, request: Request<u64>) {
        self.0.submit(now, request);
    }
    fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }
    fn advance(&mut self, to: Time, completions: &mut Vec<ssd::Completion<u64>>) -> Time {
        self.0.advance(to, completions)
    }
    fn counters(&self) -> ssd::Counters {
        self.0.counters()
    }
}

impl Inspect for TestDrive {
    fn erase_counts(&self) -> Vec<u32> {
        Vec::new()
    }
    fn energy(&self, _: &ssd::Counters) -> Vec<(String, base::units::Energy)> {
        Vec::new()
    }
}

#[test]
fn a_lost_write_is_found_in_the_warm_up_and_after_it() {
    let device = device(DEVICES[0]);
    for (bug, wanted) in
        [(None, None), (Some(Bug::Forgets(50)), Some("of write 50")), (Some(Bug::Forgets(800)), Some("800"))]
    {
        let kinds = [IoKind::Write, IoKind::Read];
        let source = List::cycle(&kinds, 2_000, 8, 248, 0, EIGHT);
        let session = Session::new(&device).flow(Flow::of("w", source)).warm_up(WarmUp::Requests(400));
        let mut tested = TestDrive(bug.map_or_else(drive, |bug| drive().with(bug)));
        let outcome = session.run_on(&mut tested, &mut Oracle::blank(Sectors::new(1)));
        match (outcome, wanted) {
            (Ok(outcome), None) => assert_eq!(outcome.first().verified.expect("it was checked").reads, 1_000),
            (Err(error), Some(wanted)) => {
                assert!(error.is_bug() && error.workload() == Some("w"), "{error:?}");
                assert!(error.to_string().contains(wanted), "{error}");
            }
            (outcome, _) => panic!("{bug:?}: {outcome:?}"),
        }
    }
}

#[test]
fn counters_that_do_not_reconcile_are_a_bug() {
    let device = device(DEVICES[0]);
    let source = List::cycle(&[IoKind::Write], 100, 8, 256, 0, EIGHT);
    let session = Session::new(&device).flow(Flow::of("w", source)).warm_up(WarmUp::Requests(40));
    let error = session.run_on(&mut TestDrive(drive().with(Bug::Miscounts)), &mut Oracle::blank(Sectors::new(1)));
    let error = error.expect_err("it miscounts");
    assert!(error.is_bug() && error.to_string().contains("do not reconcile"), "{error}");
}

#[test]
fn an_interrupted_session_ends_at_once_with_an_error() {
    let device = device(DEVICES[0]);
    let interrupt = AtomicBool::new(false);
    let count = 1 << 20;
    let seen = Cell::new(0);
    let mut log: Vec<Record> = Vec::new();
    let session = session(&device, count, EIGHT).interrupt(&interrupt).log(&mut log).progress(|progress| {
        if let Progress::Running { run, requests, .. } = progress {
            assert_eq!(requests, Some(count));
            seen.set(run.completed);
            interrupt.store(true, Ordering::Relaxed);
        }
    });
    let error = session.run().expect_err("it was interrupted");
    assert!(
        !error.is_bug()
            && matches!(&error, SessionError::Run { error, .. } if matches!(**error, RunError::Interrupted))
    );
    assert!(seen.get() > 0 && log.len() as u64 == seen.get(), "{} of {}", log.len(), seen.get());
    // An interruption between two steps of preconditioning ends the session, too.
    let both = Session::new(&device).precondition(vec![FILL, FILL]).interrupt(&interrupt);
    assert!(both.prepare::<()>().is_err_and(|error| error.to_string().contains("interrupted")));
    // An interruption within a step ends the session as well.
    interrupt.store(false, Ordering::Relaxed);
    let units = Cell::new((0, 0));
    let long = Session::new(&device).precondition(vec![Precondition::RandomOverwrite(1000.0)]).interrupt(&interrupt);
    let long = long.progress(|progress| {
        if let Progress::Preconditioning { done, total, .. } = progress {
            units.set((done, total));
            interrupt.store(true, Ordering::Relaxed);
        }
    });
    assert!(long.prepare::<()>().is_err_and(|error| error.to_string().contains("interrupted")));
    assert!(units.get().0 > 0 && units.get().0 < units.get().1 / 2, "{units:?}");
}

#[test]
fn a_session_saves_a_snapshot_and_another_continues_from_it() {
    let dir = tempfile::tempdir().expect("a directory");
    for of in DEVICES {
        let (device, path) = (device(of), dir.path().join(of.0));
        let steps = vec![FILL, Precondition::RandomOverwrite(0.3)];
        let first = Session::new(&device).seed(3).precondition(steps).verify(true);
        let first = first.save_snapshot(|state| state.write(File::create(&path)?));
        let first = first.flow(Flow::of("w", mixture(&device, 200, EIGHT))).run().expect("sound");
        let again = Session::new(&device).seed(3).load_snapshot(&path).verify(true);
        let again = again.flow(Flow::of("w", mixture(&device, 200, EIGHT))).run().expect("sound");
        let (first, again) = (first.first(), again.first());
        assert_eq!(first.erase_counts, again.erase_counts, "{}", of.0);
        assert_eq!(first.verified, again.verified, "{}", of.0);
        assert_eq!(first.result.span(), again.result.span(), "{}", of.0);
        // A map unit has a clock during preconditioning, so the run starts later, and its event hash differs.
        assert!(first.event_hash() == again.event_hash() || first.result.at_rest.at > Time::ZERO, "{}", of.0);
        let about = &again.about.config["run"];
        assert_eq!(about["snapshot"].as_str(), path.to_str());
    }
    let device = device(DEVICES[0]);
    let full = |_: &Snapshot<'_>| Err(io::Error::other("no room"));
    let error = session(&device, 10, EIGHT).save_snapshot(full).run().expect_err("it cannot be kept");
    assert_eq!(error.to_string(), "no room");
    let error = session(&device, 10, EIGHT).load_snapshot("no/such").run().expect_err("it is not there");
    assert!(error.to_string().starts_with("no/such: "), "{error}");
}

#[test]
fn a_drive_ages_before_its_first_request_and_a_snapshot_keeps_its_age() {
    let text = r#"name = "e"
[flash]
part = "tlc-72l"
channels = 1
chips = 1
blocks = 20
pages = 18
controllers = "none"
errors = { cycles = 1000 }
ecc = { decode = { rate = "1GB/s" }, hard-limit = 180 }
[ftl]
map-unit = "4KiB"
over-provisioning = "50%"
"#;
    let document = Document::parse(Path::new("device.toml"), text.to_owned()).expect("TOML");
    let old = catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"));
    let reads = || {
        let io = |i: u64| Io::new(IoKind::Read, Lba::new(i * 8), Sectors::new(8));
        List::new((0..200).map(|i| Arrival::new(Time::ZERO, io(i))).collect(), EIGHT)
    };
    let session = || Session::new(&old).seed(3).flow(Flow::of("reads", reads()));
    let retries = |session: Session<'_>| {
        let outcome = session.run().expect("sound");
        let counters = outcome.first().result.counters();
        (counters.flash.op(flash::backend::Op::Read).retries, counters.event_hash)
    };
    let (month, forty) = ("30d".parse().expect("an age"), "40C".parse().ok());
    let (none, _) = retries(session().precondition(vec![FILL]));
    let (some, hash) = retries(session().precondition(vec![FILL]).age(month, forty));
    assert!(none == 0 && some > 20, "{none} retries, and {some} after a month");
    // A month before the run has the same effect as a month before its snapshot.
    let dir = tempfile::tempdir().expect("a directory");
    let [new, aged] = ["new", "aged"].map(|name| dir.path().join(name));
    let save = |path: &Path| {
        let file = File::create(path).expect("a file");
        move |state: &Snapshot<'_>| state.write(file)
    };
    retries(session().precondition(vec![FILL]).save_snapshot(save(&new)));
    retries(session().precondition(vec![FILL]).age(month, forty).save_snapshot(save(&aged)));
    assert_eq!(retries(session().load_snapshot(&new).age(month, forty)).0, some);
    assert_eq!(retries(session().load_snapshot(&aged)).0, some);
    assert_ne!(hash, 0);
    let error = |session: Session<'_>| session.check().expect_err("it cannot age so").to_string();
    let plain = device(DEVICES[0]);
    let message = error(Session::new(&plain).age(month, None));
    assert!(message.starts_with("--age: reads of this drive have no errors"), "{message}");
    let message = error(session().age("client".parse().expect("a condition"), forty));
    assert!(message.starts_with("--temperature: `age` of client has a temperature of its own"), "{message}");
    let message = error(session().age("1y".parse().expect("an age"), "85C".parse().ok()));
    assert!(message.starts_with("--age: 1y at 85C are ") && message.contains("at most 100 years"), "{message}");
}

#[test]
fn check_refuses_a_session_that_cannot_run() {
    let device = device(DEVICES[0]);
    let limit = |bytes| Limit { bytes: Bytes::new(bytes), name: "--memory".into() };
    let error = session(&device, 10, EIGHT).memory_limit(limit(1 << 20)).check().expect_err("too large").to_string();
    assert!(
        error.starts_with("page: the simulation needs ") && error.contains("1MiB are available (--memory)"),
        "{error}"
    );
    assert!(session(&device, 10, EIGHT).memory_limit(limit(1 << 40)).check().is_ok());
    let wrong = vec![FILL, Precondition::RandomOverwrite(-1.0)];
    let error = Session::new(&device).precondition(wrong).check().expect_err("no such share").to_string();
    assert!(error.starts_with("--precondition random:x-1: cannot overwrite -1 capacities"), "{error}");
    let steady = |steps: &[Precondition]| Session::new(&device).precondition(steps.to_vec());
    for steps in [&[Precondition::Steady][..], &[Precondition::RandomOverwrite(1.0), Precondition::Steady]] {
        let error = steady(steps).check().expect_err("an empty drive").to_string();
        assert!(error.starts_with("--precondition steady: ") && error.ends_with("use fill,steady"), "{error}");
    }
    assert!(steady(&[FILL, Precondition::Steady]).check().is_ok());
    // A snapshot may contain a full drive.
    assert!(steady(&[Precondition::Steady]).load_snapshot("state").check().is_ok());
}

#[test]
fn stages_follow_each_other_and_stop_together() {
    let device = device(DEVICES[0]);
    let stages = |stop| {
        let stage = |name: &str| catalogue::Stage {
            name: name.into(),
            source: Box::new(mixture(&device, 100, EIGHT)),
            measured: Default::default(),
            beside: None,
        };
        let stages = vec![stage("one"), stage("two")];
        let workload = catalogue::Workload::of(stages, toml::Table::new());
        let mut records: Vec<Record> = Vec::new();
        let session = Session::new(&device).flow(Flow::new(workload)).warm_up(WarmUp::Requests(20)).stop(stop);
        let outcome = session.verify(true).log(&mut records).run().unwrap_or_else(|error| panic!("{error}"));
        let tags: Vec<u64> = records.iter().map(|record| record.tag).collect();
        let counts: Vec<_> =
            outcome.measurements.iter().map(|stage| (stage.about.workload.clone(), stage.result.completed)).collect();
        (counts, tags)
    };
    let (counts, mut tags) = stages(Stop::AtEnd);
    assert_eq!(counts[1], ("two".to_owned(), 100));
    let first = 200 - tags.len() as u64;
    tags.sort_unstable();
    assert_eq!(tags.last(), Some(&199), "numbers go on: {first}");
    assert!((20..28).contains(&first) && counts[0].1 == 100 - first, "{counts:?}");
    assert_eq!(stages(Stop::Requests(50)).0, [("one".to_owned(), 50)]);
    assert_eq!(stages(Stop::Requests(90)).0[1], ("two".to_owned(), 90 - (100 - first)));
}

const DESCRIBED: &str = r#"name = "w"
requests = 20
arrivals = { kind = "closed", depth = 2 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

/// The number of requests of a run with this limit, and the notes of its result.
fn limited(workload: &str, limit: u64) -> (u64, Vec<String>) {
    let device = device(DEVICES[0]);
    let file = WorkloadFile::parse(workload).expect("TOML");
    let session = Session::new(&device).stop(Stop::Requests(limit));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    let summary = outcome.first().summary();
    (summary.requests, summary.notes)
}

#[test]
fn a_limit_above_its_requests_extends_a_described_workload() {
    for (limit, ran) in [(5, 5), (20, 20), (50, 50)] {
        assert_eq!(limited(DESCRIBED, limit), (ran, Vec::new()), "{limit}");
    }
}

#[test]
fn a_limit_that_is_not_reached_is_noted() {
    let total = DESCRIBED.replace("arrivals", "total = \"40KiB\"\narrivals");
    let request = "[[request]]\nkind = \"write\"\nsize = \"4KiB\"\n";
    let script = format!("name = \"s\"\ndepth = 1\n{request}{request}");
    for (workload, ran) in [(&total, 10), (&script, 2)] {
        let note = format!("the workload ended after {ran} requests: the limit of 50 was not reached");
        assert_eq!(limited(workload, 50), (ran, vec![note]));
        assert_eq!(limited(workload, ran), (ran, Vec::new()), "the limit is the end");
    }
}

#[test]
fn memory_is_that_of_what_the_run_can_touch() {
    let device = Device::open("tlc-1tb").expect("it comes with Flashloom");
    let file = WorkloadFile::find("mixed-70-30-4k").expect("it comes with Flashloom");
    let spec = |limit| RunSpec { limit, verify: true, ..RunSpec::default() };
    let memory = |limit| Session::new(&device).spec(&spec(limit)).memory_under([&file]).total().get();
    let [few, many] = [20_000, 2_000_000].map(|limit| memory(Some(limit)));
    assert!(few < 8 << 30 && few < many, "{few} {many}");
    // Collection may copy the content of a full drive to any block.
    let full = Session::new(&device).spec(&RunSpec { precondition: vec![FILL], ..spec(Some(20_000)) });
    assert!(full.memory_under([&file]).total().get() > 16 << 30);
    // An opened workload needs as much as its file, and a workload with an unknown number of requests may touch all
    // blocks.
    let session = Session::new(&device).spec(&spec(Some(20_000)));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.flow(flow).memory().total().get(), few);
    let unknown = Flow::of("list", List::new(Vec::new(), EIGHT));
    assert!(Session::new(&device).spec(&spec(Some(20_000))).flow(unknown).memory().total().get() > 30 << 30);
}

/// A drive whose FTL chooses the stream of a write by the time of the next write.
fn with_oracle() -> Device {
    device(("oracle", "streams = { host = { policy = \"oracle\", limits = [\"64KiB\"] } }"))
}

#[test]
fn an_oracle_makes_a_run_twice_and_then_knows_its_writes() {
    let device = with_oracle();
    let file = catalogue::workload(Path::new("zipf-write-4k")).expect("a built-in workload");
    let run = || {
        let session = Session::new(&device).seed(3).precondition(vec![FILL]).verify(true).stop(Stop::Requests(3000));
        let flow = session.open(&file, &TraceOptions::default()).expect("a workload");
        session.flow(flow).run().expect("sound")
    };
    let (first, again) = (run(), run());
    assert_eq!(first.first().event_hash(), again.first().event_hash(), "a run repeats");
    let streams = first.first().result.counters().streams.clone().expect("two streams");
    assert!(streams.host.iter().all(|units| *units > 100), "both streams take data: {streams:?}");
}

#[test]
fn what_cannot_be_made_twice_has_no_oracle() {
    let device = with_oracle();
    let error = Session::new(&device).prepare::<()>().expect_err("a client").to_string();
    assert!(error.starts_with("ftl.streams.host: the policy `oracle` needs a run that can be made twice"), "{error}");
    let error = session(&device, 10, EIGHT).run().expect_err("requests that are read once").to_string();
    assert!(error.contains("can be read only once"), "{error}");
}
