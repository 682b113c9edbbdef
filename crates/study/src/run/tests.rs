//! Tests of runs with a drive whose numbers follow from a formula.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use testkit::{Bug, FixedDrive, List, small};
use workload::generate::{Generator, GeneratorSpec};
use workload::{Arrival, SourceError};

use super::result::index;
use super::*;
use crate::oracle::{Blank, Oracle};

const READ: &[IoKind] = &[IoKind::Read];
const MIXED: &[IoKind] = &[IoKind::Write, IoKind::Read, IoKind::Discard, IoKind::Flush, IoKind::Write, IoKind::Read];

fn closed(kinds: &[IoKind], count: u64, depth: u32) -> List {
    // 31 places, so that every kind of request reaches every place.
    List::cycle(kinds, count, 8, 248, 0, Pacing::Closed { depth })
}

#[test]
fn a_closed_loop_keeps_its_depth_outstanding() {
    // Four servers of 100 us: a single request does not wait, sixteen wait for three rounds.
    for (depth, queue_wait_us, span_us) in [(1, 0, 40_000), (4, 0, 10_000), (16, 300, 10_000)] {
        let result = Rules::default()
            .run(&mut small::four_servers(), &mut closed(READ, 400, depth), &mut Blank)
            .expect("it runs");
        let reads = result.kind(IoKind::Read);
        assert_eq!(result.span(), Span::from_us(span_us), "depth {depth}");
        assert_eq!(reads.queue_wait.max(), Some(Span::from_us(queue_wait_us)), "depth {depth}");
        assert_eq!(reads.service.mean(), Some(Span::from_us(100)));
        assert_eq!(reads.latency.max(), Some(Span::from_us(100 + queue_wait_us)));
        assert_eq!((result.submitted, result.completed), (400, 400));
    }
}

#[test]
fn throughput_of_less_than_a_second_is_finite() {
    let result =
        Rules::default().run(&mut small::four_servers(), &mut closed(READ, 400, 4), &mut Blank).expect("it runs");
    assert_eq!(result.requests_per_second(), Some(40_000.0));
    assert_eq!(result.throughput(IoKind::Read), Some(40_000.0 * 4096.0));
    assert_eq!(result.throughput(IoKind::Write), None);
}

#[test]
fn an_open_loop_submits_at_the_times_of_arrival() {
    // One request per 10 us against 25 us per request: the last request waits longest.
    let mut source = List::cycle(READ, 100, 8, 256, 10_000_000, Pacing::Open);
    let result = Rules::default().run(&mut small::four_servers(), &mut source, &mut Blank).expect("it runs");
    assert_eq!(result.span(), Span::from_us(2_530));
    assert_eq!(result.kind(IoKind::Read).latency.min(), Some(Span::from_us(100)));
    assert_eq!(result.kind(IoKind::Read).latency.max(), Some(Span::from_us(2_530 - 990)));
    // Arrivals are three times as far apart, so no request waits.
    let mut source = List::cycle(READ, 100, 8, 256, 10_000_000, Pacing::Open);
    let result = Rules { time_scale: Some(3.0), ..Rules::default() }
        .run(&mut small::four_servers(), &mut source, &mut Blank)
        .expect("it runs");
    assert_eq!(result.kind(IoKind::Read).queue_wait.max(), Some(Span::ZERO));
    assert_eq!(result.span(), Span::from_us(99 * 30 + 100));
}

#[test]
fn arrivals_out_of_order_are_counted_and_served() {
    let at = |us: u64| Arrival::new(Time::from_ps(us * 1_000_000), Io::new(IoKind::Read, Lba::new(0), Sectors::new(1)));
    let mut source = List::new(vec![at(0), at(500), at(400), at(600)], Pacing::Open);
    let result = Rules::default().run(&mut small::four_servers(), &mut source, &mut Blank).expect("it runs");
    assert_eq!((result.inversions, result.completed), (1, 4));
}

#[test]
fn a_replayed_request_waits_for_its_time_and_for_a_worker() {
    // Each read takes 100 us. Two arrive together, the third long after.
    let at = |us: u64| Arrival::new(Time::from_ps(us * 1_000_000), Io::new(IoKind::Read, Lba::new(0), Sectors::new(1)));
    let arrivals = vec![at(0), at(0), at(1_000)];
    for (pacing, first, span) in [
        (Pacing::Replay { depth: 1 }, 200, 1_100),
        (Pacing::Replay { depth: 2 }, 100, 1_100),
        (Pacing::Closed { depth: 1 }, 200, 300),
    ] {
        let mut log = Vec::new();
        let mut source = List::new(arrivals.clone(), pacing);
        let rules = Rules { log: Some(&mut log), ..Rules::default() };
        let result = rules.run(&mut small::four_servers(), &mut source, &mut Blank).expect("it runs");
        assert_eq!((result.completed, result.inversions), (3, 0), "{pacing:?}");
        assert_eq!(result.span(), Span::from_us(span), "{pacing:?}");
        assert_eq!(log[1].end, Time::from_ps(first * 1_000_000), "{pacing:?}");
        // Beside a flow that never starts, the replay runs as it does alone.
        let (mut source, mut none) = (List::new(arrivals.clone(), pacing), List::new(Vec::new(), Pacing::Open));
        let flow = |name: &str, source| Flow { name: name.into(), source, pacing: None, queue: QueueId::default() };
        let flows = vec![flow("replay", &mut source as &mut dyn Source), flow("none", &mut none)];
        let beside = Rules::default().run_several(&mut small::four_servers(), flows, &mut Blank).expect("it runs");
        assert_eq!((beside.span(), beside.after.event_hash), (result.span(), result.after.event_hash), "{pacing:?}");
    }
    let mut source = List::new(arrivals, Pacing::Replay { depth: 0 });
    let refused = Rules::default().run(&mut small::four_servers(), &mut source, &mut Blank);
    assert!(matches!(refused, Err(RunError::NoDepth)));
}

#[test]
fn the_limit_and_the_pacing_of_the_user_override_the_source() {
    let mut source = List::cycle(READ, 100, 8, 256, 1_000_000_000, Pacing::Open);
    let flow = Flow { pacing: Some(Pacing::Closed { depth: 4 }), ..Flow::of(&mut source) };
    let result = Rules::limit(40).run_several(&mut small::four_servers(), vec![flow], &mut Blank).expect("it runs");
    assert_eq!((result.completed, result.span()), (40, Span::from_us(1_000)));
}

#[test]
fn a_closed_loop_ends_after_the_duration_of_its_source() {
    let spec = r"name = 'w'
duration = '1ms'
arrivals = { kind = 'closed', depth = 4 }
[[stream]]
reads = '100%'
sizes = [{ size = '4KiB' }]
address = { pattern = 'uniform' }
";
    let spec = GeneratorSpec::from_toml(spec).expect("a description");
    let mut drive = small::four_servers();
    let mut source = Generator::new(&spec, ssd::Drive::<()>::capacity(&drive), 1).expect("a workload");
    let result = Rules { first_tag: 7, ..Rules::default() }.run(&mut drive, &mut source, &mut Blank).expect("it runs");
    // Ten rounds of 100 us begin within the millisecond.
    assert_eq!((result.completed, result.span()), (40, Span::from_ms(1)));
}

#[test]
fn two_runs_share_their_hash_and_a_second_run_starts_where_the_first_ended() {
    let mut one = small::four_servers();
    let first = Rules::default().run(&mut one, &mut closed(MIXED, 600, 8), &mut Blank).expect("it runs");
    let other =
        Rules::default().run(&mut small::four_servers(), &mut closed(MIXED, 600, 8), &mut Blank).expect("it runs");
    assert_eq!(first.after.event_hash, other.after.event_hash);
    let second = Rules::default().run(&mut one, &mut closed(MIXED, 600, 8), &mut Blank).expect("it runs");
    assert_eq!(second.started, first.ended);
    assert_eq!((second.span(), second.counters().requests), (first.span(), first.counters().requests));
    assert_eq!(second.counters().events, 600);
}

#[test]
fn the_series_adds_up_to_the_run() {
    let result =
        Rules::default().run(&mut small::four_servers(), &mut closed(MIXED, 6_000, 8), &mut Blank).expect("it runs");
    let intervals: Vec<_> = result.series.intervals().collect();
    assert!((SERIES_POINTS / 2 - 1..=SERIES_POINTS).contains(&intervals.len()), "{}", intervals.len());
    assert_eq!(intervals.iter().map(|i| i.span()).sum::<Span>(), result.span());
    for kind in IoKind::ALL {
        let windows = || intervals.iter().map(|i| i.windows[index(kind)]);
        assert_eq!(windows().map(|window| window.count).sum::<u64>(), result.kind(kind).latency.count());
        assert_eq!(windows().map(|window| window.sum_ps).sum::<u128>(), result.kind(kind).latency.sum_ps());
    }
}

#[test]
fn the_log_holds_every_request_once() {
    let mut log: Vec<Record> = Vec::new();
    let rules = Rules { log: Some(&mut log), ..Rules::default() };
    let result = rules.run(&mut small::four_servers(), &mut closed(MIXED, 600, 8), &mut Blank).expect("runs");
    let mut tags: Vec<_> = log.iter().map(|record| record.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..600).collect::<Vec<_>>());
    let reads: u128 = log
        .iter()
        .filter(|record| record.io.kind == IoKind::Read)
        .map(|record| u128::from((record.end - record.arrival).as_ps()))
        .sum();
    assert_eq!(reads, result.kind(IoKind::Read).latency.sum_ps());
}

#[test]
fn a_correct_drive_passes_verification_and_one_that_forgets_a_write_fails() {
    let mut oracle = Oracle::blank(Sectors::new(1));
    Rules::default().run(&mut small::four_servers::<u64>(), &mut closed(MIXED, 6_000, 8), &mut oracle).expect("sound");
    assert_eq!(oracle.verified().sectors, 2_000 * 8);
    let mut drive = small::four_servers::<u64>().with(Bug::Forgets(1_200));
    let error = Rules::default().run(&mut drive, &mut closed(MIXED, 6_000, 1), &mut Oracle::blank(Sectors::new(1)));
    let Err(RunError::Mismatch(mismatch)) = error else { panic!("{error:?}") };
    assert!(mismatch.to_string().contains("of write 1200"), "{mismatch}");
}

#[test]
#[should_panic(expected = "1 requests are under way, but nothing is")]
fn a_lost_request_ends_the_run() {
    let _ = Rules::default().run(&mut small::four_servers().with(Bug::Loses(7)), &mut closed(READ, 20, 2), &mut Blank);
}

/// A drive that is always busy and never completes a request; its events are `step` apart.
struct Circles {
    step: Span,
    now: Time,
    events: u64,
}

impl ssd::Drive<()> for Circles {
    fn capacity(&self) -> Sectors {
        Sectors::new(1 << 10)
    }
    fn discard_granularity(&self) -> Sectors {
        Sectors::new(8)
    }
    fn submit(&mut self, now: Time, _: ssd::Request<()>) {
        self.now = now;
    }
    fn next_event(&self) -> Option<Time> {
        Some(self.now + self.step)
    }
    fn advance(&mut self, to: Time, _: &mut Vec<ssd::Completion<()>>) -> Time {
        self.events += (to - self.now).as_ps() / self.step.as_ps();
        self.now = to;
        to
    }
    fn counters(&self) -> ssd::Counters {
        ssd::Counters { events: self.events, ..crate::testing::counters_at(self.now) }
    }
}

/// A drive that checks announcements against submissions.
struct AnnouncementChecker {
    drive: FixedDrive<()>,
    announced: Vec<Io>,
    submitted: Vec<Io>,
}

impl ssd::Drive<()> for AnnouncementChecker {
    fn capacity(&self) -> Sectors {
        self.drive.capacity()
    }
    fn discard_granularity(&self) -> Sectors {
        self.drive.discard_granularity()
    }
    fn submit(&mut self, now: Time, request: ssd::Request<()>) {
        self.submitted.push(request.io);
        self.drive.submit(now, request);
    }
    fn announce(&mut self, coming: &[Io]) {
        assert!(coming.is_empty() || self.announced.len() == self.submitted.len(), "nothing is told twice");
        self.announced.extend(coming);
    }
    fn next_event(&self) -> Option<Time> {
        self.drive.next_event()
    }
    fn advance(&mut self, to: Time, completions: &mut Vec<ssd::Completion<()>>) -> Time {
        self.drive.advance(to, completions)
    }
    fn counters(&self) -> ssd::Counters {
        self.drive.counters()
    }
}

#[test]
fn a_closed_loop_announces_each_request_before_it_submits_it() {
    let text = r#"name = "t"
requests = 100
arrivals = { kind = "closed", depth = 3 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;
    let mut told = AnnouncementChecker { drive: small::four_servers(), announced: Vec::new(), submitted: Vec::new() };
    let spec = GeneratorSpec::from_toml(text).expect("it is valid");
    let mut source = Generator::new(&spec, told.drive.capacity(), 1).expect("it is valid");
    // The first run ends amid the announced requests; the second begins with the rest of them.
    for requests in [37, 63] {
        let result = Rules::limit(requests).run(&mut told, &mut source, &mut Blank).expect("it runs");
        assert_eq!(result.completed, requests);
        told.announced.truncate(told.submitted.len());
        assert_eq!(told.announced, told.submitted);
    }
    // No request is left out or submitted twice.
    let mut again = Generator::new(&spec, told.drive.capacity(), 1).expect("it is valid");
    let drawn: Vec<Io> = std::iter::from_fn(|| again.next().expect("it is valid")).map(|next| next.io).collect();
    assert_eq!(told.submitted, drawn);
    // A source that does not draw ahead announces nothing.
    Rules::default().run(&mut told, &mut closed(READ, 50, 2), &mut Blank).expect("it runs");
    assert_eq!((told.announced.len(), told.submitted.len()), (100, 150));
}

#[test]
#[should_panic(expected = "2 requests are under way, but none was submitted or completed for")]
fn a_drive_that_makes_no_progress_ends_the_run() {
    let mut drive = Circles { step: Span::from_us(1), now: Time::ZERO, events: 0 };
    let _ = Rules::default().run(&mut drive, &mut closed(READ, 20, 2), &mut Blank);
}

#[test]
fn a_drive_that_outlasts_simulated_time_is_no_bug() {
    let mut drive = Circles { step: Span::from_secs(10_000_000), now: Time::ZERO, events: 0 };
    let error = Rules::default().run(&mut drive, &mut closed(READ, 20, 2), &mut Blank).expect_err("time is over");
    assert!(matches!(error, RunError::EndOfTime { outstanding: 2, last_sign: Time::ZERO }), "{error:?}");
    assert!(error.to_string().contains("207 days") && error.to_string().contains("--limit"), "{error}");
}

/// Runs 60 writes, 60 reads and a flush on a small drive, filled first if `fill`.
fn on_a_drive(text: &str, fill: bool) -> Result<RunResult, RunError> {
    let spec: ssd::Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut drive: ssd::Ssd<()> = ssd::Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    if fill {
        drive.precondition(ssd::Precondition::Fill, &mut |_, _| {});
        drive.precondition(ssd::Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    }
    let kinds = [[IoKind::Write; 60], [IoKind::Read; 60]].concat();
    let mut source = List::cycle(&kinds, 120, 8, 248, 0, Pacing::Closed { depth: 4 });
    Rules::settle(Span::from_secs(60)).run(&mut drive, &mut source, &mut Blank)
}

#[test]
fn a_very_slow_drive_is_simulated() {
    let flash = "name = 's'\nflash = { part = 'dirik-2009', channels = 1, chips = 2, blocks = 16, pages = 16";
    let op = "ftl = { over-provisioning = '45%'";
    for (slow, wanted) in [
        // Each request brings its 4 KiB over the bus at a byte a second; on a link the last requests overlap.
        (format!("{flash}, lane-rate = '1B/s' }}\n{op} }}"), 120 * 4096),
        (format!("{flash} }}\n{op} }}\nhost = {{ link = {{ rate = '1B/s' }} }}"), 110 * 4096),
        (format!("{flash} }}\n{op} }}\nhost = {{ link = {{ overhead = '5000s' }} }}"), 110 * 5_000),
        (format!("{flash}, software-controllers = '5000s' }}\n{op} }}"), 50 * 5_000),
        (format!("{flash} }}\n{op}, map = {{ kind = 'table', service = '4000s' }} }}"), 110 * 4_000),
    ] {
        for fill in [false, true] {
            let result = on_a_drive(&slow, fill).unwrap_or_else(|error| panic!("{slow}: {error}"));
            assert_eq!(result.completed, 120);
            assert!(result.span() >= Span::from_secs(wanted), "{slow}: {}", result.span());
        }
    }
}

#[test]
fn a_drive_too_slow_for_simulated_time_is_an_error() {
    let flash = "name = 's'\nflash = { part = 'dirik-2009', channels = 1, chips = 2, blocks = 16, pages = 16";
    let op = "ftl = { over-provisioning = '45%'";
    for slow in [
        format!("{flash} }}\n{op} }}\nhost = {{ link = {{ overhead = '1000000s' }} }}"),
        format!("{flash}, software-controllers = '18446744s' }}\n{op} }}"),
        format!("{flash} }}\n{op}, map = {{ kind = 'table', service = '18446744s' }} }}"),
        format!(
            "{flash} }}\n{op}, map = {{ kind = 'fmmu', cmt = '1KiB', ctp = '64KiB', costs = {{ custom = {{ \
                 packet = '9000000s', tag = '0s', victim = '0s', entry = '0s', list = '0s', issue = '0s', scan = '0s', \
                 command = '0s' }} }} }} }}"
        ),
    ] {
        for fill in [false, true] {
            let error = on_a_drive(&slow, fill).expect_err(&slow);
            assert!(matches!(error, RunError::EndOfTime { .. }), "{slow}: {error}");
        }
    }
}

#[test]
#[should_panic(expected = "the tags that came back")]
fn a_mistaken_tag_ends_the_run() {
    let _ =
        Rules::default().run(&mut small::four_servers().with(Bug::Mistakes(7)), &mut closed(READ, 20, 2), &mut Blank);
}

#[test]
fn a_source_that_cannot_run_is_an_error() {
    let empty = Rules::default().run(&mut small::four_servers(), &mut closed(READ, 0, 1), &mut Blank);
    assert!(matches!(empty, Err(RunError::Empty)));
    let no_depth = Rules::default().run(&mut small::four_servers(), &mut closed(READ, 10, 0), &mut Blank);
    assert!(matches!(no_depth, Err(RunError::NoDepth)));
    let mut small = FixedDrive::new(Sectors::new(100), 1, Span::from_us(1));
    let beyond = Rules::default().run(&mut small, &mut closed(READ, 20, 1), &mut Blank).expect_err("too small");
    assert!(beyond.to_string().contains("request 12 (read of 8 sectors from sector 96) ends beyond"), "{beyond}");
    let broken = SourceError::new("short line", "fix it").at_line(3);
    let result =
        Rules::default().run(&mut small::four_servers(), &mut closed(READ, 20, 1).then(broken.clone()), &mut Blank);
    assert!(matches!(result, Err(RunError::Source(error)) if error == broken));
}

#[test]
fn progress_is_reported() {
    let mut told = Vec::new();
    let mut progress = |progress: Progress| told.push(progress.completed);
    let rules = Rules { progress: Some(&mut progress), ..Rules::default() };
    rules.run(&mut small::four_servers(), &mut closed(READ, 40_000, 4), &mut Blank).expect("it runs");
    assert_eq!(told, [1 << 14, 2 << 14]);
}

/// A list of requests that arrive at these picoseconds.
fn at_times(times: &[u64]) -> List {
    let io = Io::new(IoKind::Read, Lba::new(0), Sectors::new(1));
    List::new(times.iter().map(|ps| Arrival::new(Time::from_ps(*ps), io)).collect(), Pacing::Open)
}

#[test]
fn no_request_arrives_after_the_end_of_time() {
    let last = time::LAST.as_ps();
    let week = 604_800_000_000_000_000;
    for (times, scale, ends) in [
        (&[0, last][..], None, None),
        (&[0, last + 1][..], None, Some(1)),
        (&[0, 5, u64::MAX][..], None, Some(2)),
        (&[0, week][..], Some(28.0), None),
        (&[0, week][..], Some(31.0), Some(1)),
        (&[0, 1][..], Some(1e300), Some(1)),
        (&[u64::MAX][..], Some(1e-12), None),
    ] {
        // With and without a factor, alone and beside another flow.
        let rules = || Rules { time_scale: scale, ..Rules::settle(Span::MAX) };
        let alone =
            rules().run(&mut small::four_servers(), &mut at_times(times), &mut Blank).map(|result| result.completed);
        let (mut first, mut second) = (closed(READ, 3, 1), at_times(times));
        let flows = vec![
            Flow { name: "a".into(), source: &mut first, pacing: None, queue: QueueId::new(0) },
            Flow { name: "b".into(), source: &mut second, pacing: None, queue: QueueId::new(0) },
        ];
        let both = rules().run_several(&mut small::four_servers(), flows, &mut Blank).map(|result| result.completed);
        for (outcome, more) in [(alone, 0), (both, 3)] {
            match (outcome, ends) {
                (Ok(completed), None) => assert_eq!(completed, times.len() as u64 + more, "{times:?} by {scale:?}"),
                (Err(RunError::Source(error)), Some(number)) => {
                    let wanted = format!("request {number} arrives after the end of simulated time, 200 days");
                    assert!(error.message().starts_with(&wanted) && error.remedy().contains("--time-scale"), "{error}");
                }
                (outcome, _) => panic!("{times:?} by {scale:?}: {outcome:?}"),
            }
        }
    }
}

#[test]
fn a_run_that_begins_at_the_end_of_time_is_refused() {
    let mut drive = small::four_servers();
    let late = Time::from_ps(time::END.as_ps() + 1);
    Drive::<()>::advance(&mut drive, late, &mut Vec::new());
    let error = Rules::default().run(&mut drive, &mut closed(READ, 3, 1), &mut Blank).expect_err("time is over");
    assert!(matches!(error, RunError::EndOfTime { outstanding: 1, .. }), "{error}");
    let mut source = at_times(&[0]);
    assert!(matches!(Rules::default().run(&mut drive, &mut source, &mut Blank), Err(RunError::Source(_))));
    // A duration beyond the end of time has no effect.
    let spec = r"name = 'w'
duration = '200days'
requests = 9
arrivals = { kind = 'closed', depth = 4 }
[[stream]]
reads = '100%'
sizes = [{ size = '4KiB' }]
address = { pattern = 'uniform' }
"
    .replace("200days", "17280000s");
    let spec = GeneratorSpec::from_toml(&spec).expect("sound");
    let mut generator = Generator::new(&spec, Sectors::new(256), 0).expect("sound");
    let mut drive = small::four_servers();
    Drive::<()>::advance(&mut drive, Time::from_ps(time::LAST.as_ps() / 2), &mut Vec::new());
    assert_eq!(Rules::default().run(&mut drive, &mut generator, &mut Blank).expect("it runs").completed, 9);
}
