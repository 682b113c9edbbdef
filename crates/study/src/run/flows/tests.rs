//! Tests of several flows on one drive: their shares, and the sum of their results.

use base::io::IoKind;
use base::units::Span;
use ssd::{Precondition, Spec, Ssd, Status};
use testkit::{List, small};
use workload::generate::{Generator, GeneratorSpec};

use super::*;
use crate::oracle::{Blank, Oracle};
use crate::reconcile::reconcile;
use crate::run::{Record, Rules, RunResult};

fn closed(kind: IoKind, count: u64, depth: u32) -> List {
    List::cycle(&[kind], count, 8, 1 << 12, 0, Pacing::Closed { depth })
}

fn flow<'a>(name: &str, source: &'a mut List, queue: u16) -> Flow<'a> {
    Flow { name: name.into(), source, pacing: None, queue: QueueId::new(queue) }
}

/// A drive with two queues of weights three and one.
fn drive() -> Ssd<()> {
    let text = r#"name = "two"
[flash]
part = "FMMU-V2"
channels = 2
chips = 2
blocks = 32
pages = 16
[host]
queue-depth = 32
arbitration = "weighted"
[[host.queue]]
weight = 3
[[host.queue]]
[ftl]
map-unit = "4KiB"
over-provisioning = "30%"
"#;
    let spec: Spec = toml::from_str(text).expect("a description");
    let mut drive = Ssd::new(&spec.resolve().expect("a device"), 3);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

fn two(reads: u64, writes: u64) -> (RunResult, Vec<Record>) {
    let (mut one, mut other) = (closed(IoKind::Read, reads, 64), closed(IoKind::Write, writes, 48));
    let mut log = Vec::new();
    let flows = vec![flow("one", &mut one, 0), flow("other", &mut other, 1)];
    let rules = Rules { log: Some(&mut log), ..Rules::settle(Span::from_secs(1)) };
    let result = rules.run_several(&mut drive(), flows, &mut Blank).expect("it runs");
    (result, log)
}

#[test]
fn the_results_of_flows_add_up_to_those_of_the_run() {
    let (result, log) = two(6_000, 2_000);
    reconcile(&result).expect("the books balance");
    let [one, other] = &result.flows[..] else { panic!("two flows") };
    assert_eq!((one.name.as_str(), one.completed, other.completed, result.completed), ("one", 6_000, 2_000, 8_000));
    assert_eq!(one.with_status(Status::Done) + other.with_status(Status::Done), result.with_status(Status::Done));
    assert_eq!(one.started.min(other.started), result.started);
    assert_eq!(one.ended.max(other.ended), result.ended);
    for (flow, kind) in [(one, IoKind::Read), (other, IoKind::Write)] {
        let (part, all) = (flow.kind(kind), result.kind(kind));
        assert_eq!((part.latency.count(), part.latency.max()), (all.latency.count(), all.latency.max()));
        assert_eq!(part.queue_wait.sum_ps() + part.service.sum_ps(), all.latency.sum_ps());
        assert_eq!(part.commands, all.commands);
    }
    // The log attributes each request to its flow.
    assert!(log.iter().all(|record| (record.io.kind == IoKind::Write) == (record.flow == 1)));
    assert!(log.iter().all(|record| record.queue.get() == record.flow));
    let (again, _) = two(6_000, 2_000);
    assert_eq!(again.after.event_hash, result.after.event_hash);
}

#[test]
fn weights_are_shares_of_the_throughput() {
    let (mut one, mut other) = (closed(IoKind::Read, 90_000, 64), closed(IoKind::Read, 30_000, 64));
    let flows = vec![flow("one", &mut one, 0), flow("other", &mut other, 1)];
    let result = Rules::default().run_several(&mut drive(), flows, &mut Blank).expect("it runs");
    // Three times as many requests in the same time.
    let [one, other] = &result.flows[..] else { panic!("two flows") };
    let ratio = one.requests_per_second().expect("a rate") / other.requests_per_second().expect("a rate");
    assert!((ratio / 3.0 - 1.0).abs() < 0.01, "{ratio}");
    assert!((one.span().as_secs_f64() / other.span().as_secs_f64() - 1.0).abs() < 0.01);
}

#[test]
fn a_flow_beside_an_empty_one_equals_a_run_alone() {
    for pacing in [Pacing::Closed { depth: 6 }, Pacing::Open] {
        let source = || List::cycle(&[IoKind::Read, IoKind::Write], 4_000, 8, 1 << 12, 20_000_000, pacing);
        let alone = Rules::default().run(&mut drive(), &mut source(), &mut Blank).expect("it runs");
        let (mut same, mut none) = (source(), List::new(Vec::new(), Pacing::Closed { depth: 3 }));
        let flows = vec![flow("same", &mut same, 0), flow("none", &mut none, 1)];
        let result = Rules::default().run_several(&mut drive(), flows, &mut Blank).expect("it runs");
        assert_eq!(result.after.event_hash, alone.after.event_hash, "{pacing:?}");
        assert_eq!((result.flows[0].completed, result.flows[1].completed), (4_000, 0));
        assert_eq!(result.flows[0].span(), alone.span());
    }
}

#[test]
fn open_and_closed_loops_run_side_by_side() {
    // Four servers of 100 us. A request of the open loop, one per millisecond, waits at most for the requests that the
    // closed loop has outstanding before it.
    let mut open = List::cycle(&[IoKind::Write], 50, 8, 256, 1_000_000_000, Pacing::Open);
    let mut closed = closed(IoKind::Read, 2_000, 8);
    let flows = vec![flow("open", &mut open, 0), flow("closed", &mut closed, 0)];
    let mut oracle = Oracle::blank(base::units::Sectors::new(1));
    let result = Rules::default().run_several(&mut small::four_servers::<u64>(), flows, &mut oracle).expect("it runs");
    let [open, closed] = &result.flows[..] else { panic!("two flows") };
    assert_eq!((open.completed, closed.completed, open.inversions), (50, 2_000, 0));
    assert!(open.kind(IoKind::Write).latency.max() <= Some(Span::from_us(300)));
    assert_eq!(open.span(), Span::from_us(49_000) + open.kind(IoKind::Write).latency.min().expect("some"));
    assert!(closed.span() < Span::from_ms(53));
    assert_eq!(oracle.verified().reads, 2_000);
}

#[test]
fn a_limit_counts_all_flows_and_an_unknown_queue_is_refused() {
    let (mut one, mut other) = (closed(IoKind::Read, 500, 4), closed(IoKind::Read, 500, 4));
    let flows = vec![flow("one", &mut one, 0), flow("other", &mut other, 0)];
    let result = Rules::limit(100).run_several(&mut small::four_servers(), flows, &mut Blank).expect("it runs");
    assert_eq!((result.completed, result.flows[0].completed, result.flows[1].completed), (100, 50, 50));
    let flows = vec![flow("one", &mut one, 0), flow("other", &mut other, 2)];
    let error = Rules::default().run_several(&mut drive(), flows, &mut Blank).expect_err("there are two queues");
    assert!(error.to_string().contains("submitted to queue 2, but the device has 2"), "{error}");
}

#[test]
fn closed_flows_that_draw_ahead_go_on_with_their_next_request() {
    let text = r#"name = "t"
requests = 60
arrivals = { kind = "closed", depth = 3 }
[[stream]]
reads = "100%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;
    let spec = GeneratorSpec::from_toml(text).expect("it is valid");
    let mut drive = drive();
    let mut sources = [1, 2].map(|seed| Generator::new(&spec, drive.capacity(), seed).expect("it is valid"));
    let drawn = sources.clone().map(|mut source| {
        std::iter::from_fn(|| source.next().expect("it is valid")).map(|next| next.io).collect::<Vec<_>>()
    });
    // The first two runs end amid the requests that the sources have drawn ahead.
    let mut logs = [37, 50, 33].map(|requests| (requests, Vec::<Record>::new()));
    for (requests, log) in &mut logs {
        let flows = (0..).zip(&mut sources).map(|(queue, source)| Flow {
            name: queue.to_string(),
            source,
            pacing: None,
            queue: QueueId::new(queue),
        });
        let rules = Rules { log: Some(log), ..Rules::limit(*requests) };
        rules.run_several(&mut drive, flows.collect(), &mut Blank).expect("it runs");
    }
    for (flow, drawn) in (0..).zip(&drawn) {
        // Each run numbers its tags anew.
        let submitted = logs.iter_mut().flat_map(|(_, log)| {
            log.sort_unstable_by_key(|record| record.tag);
            log.iter().filter(|record| record.flow == flow).map(|record| record.io).collect::<Vec<_>>()
        });
        assert_eq!(submitted.collect::<Vec<_>>(), *drawn);
    }
}

fn described(keys: &str) -> Generator {
    let text = format!(
        "name = \"w\"\n{keys}\narrivals = {{ kind = \"closed\", depth = 2 }}\n[[stream]]\nreads = \"100%\"\n\
         sizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\n"
    );
    let spec = GeneratorSpec::from_toml(&text).expect("a description");
    Generator::new(&spec, drive().capacity(), 5).expect("it is sound")
}

/// The requests of a workload that runs alone, in order of submission.
fn alone(keys: &str) -> Vec<Record> {
    let mut log = Vec::new();
    let result = Rules { log: Some(&mut log), ..Rules::default() }
        .run(&mut drive(), &mut described(keys), &mut Blank)
        .expect("it runs");
    assert!(result.flows.is_empty(), "it is no flow among others");
    log.sort_by_key(|record| record.tag);
    log
}

#[test]
fn a_pause_begins_when_all_requests_before_it_have_completed() {
    let log = alone("requests = 16\nthink = { time = \"1ms\", every = 4 }");
    assert_eq!(log.len(), 16);
    for batches in log.chunks(4).collect::<Vec<_>>().windows(2) {
        let ended = batches[0].iter().map(|record| record.end).max().expect("requests");
        assert_eq!(batches[1][0].arrival - ended, Span::from_ms(1));
        assert_eq!(batches[1][1].arrival, batches[1][0].arrival, "the queue is filled at once");
    }
}

#[test]
fn a_late_closed_loop_begins_after_its_delay_and_ends_after_its_duration() {
    let log = alone("start = \"5ms\"\nduration = \"2ms\"");
    assert_eq!(log[0].arrival, Time::ZERO + Span::from_ms(5));
    assert!(log.iter().all(|record| record.arrival < Time::ZERO + Span::from_ms(7)));
    assert!(log.len() > 10, "{}", log.len());
}

#[test]
fn flows_that_begin_late_or_pause_run_beside_others() {
    let (mut late, mut pausing) =
        (described("requests = 8\nstart = \"3ms\""), described("requests = 6\nthink = { time = \"2ms\" }"));
    let (mut steady, mut log) = (closed(IoKind::Write, 500, 4), Vec::new());
    let flow = |name: &str, source| Flow { name: name.to_owned(), source, pacing: None, queue: QueueId::new(0) };
    let flows =
        vec![flow("late", &mut late as &mut dyn Source), flow("pausing", &mut pausing), flow("steady", &mut steady)];
    let result = Rules { log: Some(&mut log), ..Rules::default() }
        .run_several(&mut drive(), flows, &mut Blank)
        .expect("it runs");
    reconcile(&result).expect("the books balance");
    assert_eq!(result.flows.iter().map(|flow| flow.completed).collect::<Vec<_>>(), [8, 6, 500]);
    assert_eq!(result.flows[0].started, Time::ZERO + Span::from_ms(3));
    let mut pauses: Vec<Time> = log.iter().filter(|record| record.flow == 1).map(|record| record.arrival).collect();
    pauses.sort_unstable();
    assert!(pauses.windows(2).all(|pair| pair[1] - pair[0] > Span::from_ms(2)), "{pauses:?}");
}
