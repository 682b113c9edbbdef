//! A comparison of the engine with the second model (`testkit::model`), over Dirik and Jacob's organisations and more.
//!
//! Both get the same requests: a sequential fill, partly overwritten, and then streams of reads, writes and both, in
//! closed loops and in bursts. Mean latencies of reads and of writes, and throughput, must agree within 1 %. Writes of
//! a stream overlap no other request, because the host side orders overlapping requests and the second model has no
//! host side. Flash is large enough that nothing is collected, and the test checks that.
//!
//! `cargo test --workspace --test it second_model:: -- --nocapture` shows how closely they agree.

use std::collections::BTreeMap;

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Rate, Sectors, Span, Time};
use flash::nand::Part;
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd};
use testkit::model::{Model, Pace, RequestTimes, Shape};

/// The number of preloaded pages, which the streams read.
const OLD: u64 = 1024;
const REQUESTS: usize = 300;
const LONGEST: u64 = 32;
const TOLERANCE: f64 = 0.01;

/// An organisation of channels, banks and gangs, from which both models are made.
#[derive(Clone, Copy, Debug)]
struct Organisation {
    channels: u32,
    banks: u32,
    gang: u32,
    mbps: u64,
    cache: bool,
    command: Span,
    link: Link,
    /// The number of requests that the device works on at once.
    places: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    None,
    Ata133,
    /// A link slow enough to limit the rate, with an overhead.
    Slow,
}

impl Link {
    fn rate(self) -> Option<Rate> {
        match self {
            Self::None => None,
            Self::Ata133 => Some(Rate::new(133_000_000)),
            Self::Slow => Some(Rate::new(20_000_000)),
        }
    }

    fn overhead(self) -> Span {
        if self == Self::Slow { Span::from_us(20) } else { Span::ZERO }
    }

    fn toml(self) -> &'static str {
        match self {
            Self::None => "\"none\"",
            Self::Ata133 => "\"ata-133\"",
            Self::Slow => "{ rate = \"20MB/s\", overhead = \"20us\", duplex = \"half\" }",
        }
    }
}

impl Organisation {
    /// Lists the compared organisations: every number of channels, banks and chips in a gang, at every rate, with and
    /// without cache mode. The other values are drawn.
    fn all() -> Vec<Self> {
        let mut rng = Rng::stream(1, "second.organisations");
        let mut pick = |of: u64| rng.below(of) as usize;
        let mut all = Vec::new();
        for channels in [1, 2, 4] {
            for banks in [1, 2, 4, 8] {
                for gang in [1, 2, 4] {
                    for mbps in [25, 50, 100, 200, 400] {
                        for cache in [true, false] {
                            let link = [Link::None, Link::None, Link::Ata133, Link::Slow][pick(4)];
                            let command = [Span::ZERO, Span::ZERO, Span::from_ns(500)][pick(3)];
                            let places = [1024, 1024, 1024, 4][pick(4)];
                            all.push(Self { channels, banks, gang, mbps, cache, command, link, places });
                        }
                    }
                }
            }
        }
        all
    }

    fn class(&self) -> &'static str {
        match (self.channels * self.banks, self.channels, self.gang) {
            (1, _, 1) => "one bank",
            (1, _, _) => "one gang",
            (_, 1, 1) => "banks on one bus",
            (_, 1, _) => "gangs on one bus",
            (_, _, 1) => "banks on several buses",
            _ => "gangs on several buses",
        }
    }

    fn part() -> Part {
        Part::preset("dirik-2009").expect("a preset").clone()
    }

    fn engine(&self) -> Ssd<()> {
        let (channels, banks, gang, mbps) = (self.channels, self.banks, self.gang, self.mbps);
        // The array has four times the written pages, because rows and banks do not fill evenly.
        let written = 2 * OLD + REQUESTS as u64 * LONGEST;
        let blocks = 12 + 4 * written / u64::from(64 * channels * banks * gang);
        let text = format!(
            r#"name = "second"
[flash]
channels = {channels}
chips = {banks}
gang = {gang}
blocks = {blocks}
lane-rate = "{mbps}MB/s"
cache-mode = {}
controllers = "per-die"
arbitration = {{ bus = "fifo" }}
[host]
queue-depth = {}
link = {}
[ftl]
capacity = "{}KiB"
placement = {{ policy = "request-round-robin" }}
"#,
            self.cache,
            self.places,
            self.link.toml(),
            2 * Self::pages(),
        );
        let mut spec: Spec = toml::from_str(&text).expect("a device");
        let mut part = Self::part();
        part.bus.command = self.command;
        spec.flash.custom_part = Some(part.into());
        Ssd::new(&spec.resolve().expect("a valid device"), 1)
    }

    /// The shape for the second model, with numbers from the paper, not from the engine's resolved part.
    fn shape(&self) -> Shape {
        Shape {
            channels: self.channels as usize,
            banks: self.banks as usize,
            gang: u64::from(self.gang),
            rows: 64,
            sectors: 4,
            read: Span::from_us(25),
            program: Span::from_us(200),
            cache: self.cache.then_some(Span::from_us(3)),
            command: self.command,
            transfer: Rate::new(self.mbps * 1_000_000).time(Bytes::new(2048)),
            link: self.link.rate(),
            overhead: self.link.overhead(),
        }
    }

    fn second(&self) -> Model {
        Model::new(self.shape(), Self::pages() as usize)
    }

    fn pages() -> u64 {
        OLD + REQUESTS as u64 * LONGEST
    }
}

fn io(kind: IoKind, page: u64, pages: u64) -> Io {
    Io::new(kind, Lba::new(page * 4), Sectors::new(pages * 4))
}

/// Draws a size in pages of 2 KB: 1 to 4 pages for half of the requests, 5 to 16 for a third, and [`LONGEST`] (64 KB) for
/// the others.
fn size(rng: &mut Rng) -> u64 {
    match rng.below(100) {
        0..50 => rng.below(4) + 1,
        50..85 => rng.below(12) + 5,
        _ => LONGEST,
    }
}

/// Lists the preload: every page once, in order, and half as many random overwrites.
fn preload() -> Vec<Io> {
    let mut rng = Rng::stream(1, "second.preload");
    let mut requests = Vec::new();
    let mut at = 0;
    while at < OLD {
        let pages = size(&mut rng).min(OLD - at);
        requests.push(io(IoKind::Write, at, pages));
        at += pages;
    }
    for _ in 0..requests.len() / 2 {
        let pages = size(&mut rng);
        requests.push(io(IoKind::Write, rng.below(OLD - pages), pages));
    }
    requests
}

/// Draws a stream with `reads` percent of reads, which begin and end inside pages.
fn stream(rng: &mut Rng, reads: u64) -> Vec<Io> {
    let mut fresh = OLD;
    let mut draw = |_| {
        let pages = size(rng);
        if rng.below(100) < reads {
            let start = rng.below((OLD - pages) * 4);
            return Io::new(IoKind::Read, Lba::new(start), Sectors::new(pages * 4 - rng.below(4)));
        }
        fresh += pages;
        io(IoKind::Write, fresh - pages, pages)
    };
    (0..REQUESTS).map(&mut draw).collect()
}

fn exponential(rng: &mut Rng, mean: Span) -> Span {
    Span::from_ps((-(1.0 - rng.unit()).ln() * mean.as_ps() as f64) as u64)
}

/// Draws arrivals in bursts of 20 requests on average, 1 ms apart on average, with a second between bursts.
fn bursts(rng: &mut Rng, from: Time) -> Vec<Time> {
    let mut at = from;
    let gap = |rng: &mut Rng| match rng.below(20) {
        0 => exponential(rng, Span::from_secs(1)),
        _ => exponential(rng, Span::from_ms(1)),
    };
    let mut next = || {
        at += gap(rng);
        at
    };
    std::iter::repeat_with(&mut next).take(REQUESTS).collect()
}

/// Runs the requests on the engine at this pace, and returns their times.
fn serve(drive: &mut Ssd<()>, requests: &[Io], pace: Pace<'_>) -> Vec<RequestTimes> {
    let none = RequestTimes { arrival: Time::ZERO, end: Time::ZERO };
    let mut served = vec![none; requests.len()];
    let mut completions: Vec<Completion<()>> = Vec::new();
    let submit = |drive: &mut Ssd<()>, at: Time, tag: usize| {
        let io = requests[tag];
        let items = if io.kind == IoKind::Write { io.sectors.get() as usize } else { 0 };
        drive.submit(at, Request { tag: tag as u64, queue: QueueId::default(), io, data: vec![(); items] });
    };
    let mut next = 0;
    let mut left = requests.len();
    if let Pace::Closed(depth) = pace {
        while next < depth.min(requests.len()) {
            submit(drive, drive.now(), next);
            next += 1;
        }
    }
    while left > 0 {
        let until = match pace {
            Pace::Open(arrivals, _) => arrivals.get(next).copied().unwrap_or(Time::MAX),
            Pace::Closed(_) => Time::MAX,
        };
        let now = drive.advance(until, &mut completions);
        for completion in completions.drain(..) {
            served[completion.tag as usize] = RequestTimes { arrival: completion.arrival, end: completion.end };
            left -= 1;
            if matches!(pace, Pace::Closed(_)) && next < requests.len() {
                submit(drive, now, next);
                next += 1;
            }
        }
        if matches!(pace, Pace::Open(..)) && now == until {
            submit(drive, now, next);
            next += 1;
        }
    }
    served
}

/// Returns the mean latencies of reads and of writes in microseconds, and the requests per second.
fn figures(requests: &[Io], served: &[RequestTimes]) -> [Option<f64>; 3] {
    let mean = |kind: IoKind| {
        let spans = requests.iter().zip(served).filter(|(io, _)| io.kind == kind).map(|(_, s)| s.end - s.arrival);
        let (count, sum) = spans.fold((0u32, 0.0), |(n, sum), span| (n + 1, sum + span.as_us_f64()));
        (count > 0).then(|| sum / f64::from(count))
    };
    let first = served.iter().map(|s| s.arrival).min().unwrap_or_default();
    let last = served.iter().map(|s| s.end).max().unwrap_or_default();
    [mean(IoKind::Read), mean(IoKind::Write), Some(served.len() as f64 / (last - first).as_secs_f64())]
}

/// Returns the largest relative difference between the figures of the two models.
fn deviation(requests: &[Io], engine: &[RequestTimes], second: &[RequestTimes]) -> f64 {
    let pairs = figures(requests, engine).into_iter().zip(figures(requests, second));
    pairs.filter_map(|(a, b)| Some((a? / b? - 1.0).abs())).fold(0.0, f64::max)
}

/// The results of all points of a class of organisations and a kind of stream.
#[derive(Clone, Copy, Default)]
struct Tally {
    points: u32,
    /// The number of points at which every request ends at the same picosecond (`exact`), and of those without a tie
    /// (`untied`).
    exact: u32,
    untied: u32,
    worst: f64,
}

#[test]
fn the_engine_and_the_second_model_agree() {
    let before = preload();
    let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    let mut bad = Vec::new();
    for (turn, organisation) in Organisation::all().into_iter().enumerate() {
        let mut filled = (organisation.engine(), organisation.second());
        let pace = Pace::Closed(1);
        let same = serve(&mut filled.0, &before, pace) == filled.1.run(&before, pace);
        assert!(same, "one request at a time must take the same to the picosecond: {organisation:?}");
        for (kind, reads) in [("reads", 100), ("writes", 0), ("mixed", 50)] {
            let mut rng = Rng::stream(turn as u64, kind);
            let requests = stream(&mut rng, reads);
            let arrivals = bursts(&mut rng, filled.0.now());
            let open = Pace::Open(&arrivals, organisation.places);
            let paces = [Pace::Closed(1), Pace::Closed(4), Pace::Closed(32), open];
            // Requests of a closed loop deeper than the device would wait outside.
            let pace = if organisation.places < 32 { open } else { paces[rng.below(4) as usize] };
            let (mut engine, mut second) = filled.clone();
            let ties = second.ties();
            let a = serve(&mut engine, &requests, pace);
            let b = second.run(&requests, pace);
            let tied = second.ties() > ties;
            assert!(tied || a == b, "there were no ties, so there is no excuse: {kind}, {pace:?}, {organisation:?}");
            assert_eq!(engine.counters().flash.op(flash::backend::Op::Erase).commands, 0, "nothing is collected");
            let tally = tallies.entry((organisation.class(), kind)).or_default();
            let off = deviation(&requests, &a, &b);
            tally.points += 1;
            tally.exact += u32::from(a == b);
            tally.untied += u32::from(!tied);
            tally.worst = tally.worst.max(off);
            if off > TOLERANCE {
                let depth = if let Pace::Closed(depth) = pace { depth } else { 0 };
                bad.push(format!("{kind}, depth {depth}: {:.2} % off at {organisation:?}", off * 100.0));
            }
        }
    }
    let points: u32 = tallies.values().map(|tally| tally.points).sum();
    println!("{points} points of {REQUESTS} requests");
    println!("organisation             stream  worst off   points  equal to the ps  without ties");
    for ((class, kind), tally) in &tallies {
        let Tally { points, exact, untied, worst } = tally;
        println!("{class:24} {kind:6} {:9.4} % {points:8} {exact:16} {untied:13}", worst * 100.0);
    }
    assert!(bad.is_empty(), "{} points disagree:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn a_second_model_of_another_device_does_not_agree() {
    let right = Organisation {
        channels: 1,
        banks: 4,
        gang: 1,
        mbps: 25,
        cache: true,
        command: Span::ZERO,
        link: Link::None,
        places: 1024,
    };
    let off = |shape: Shape| {
        let (mut engine, mut second) = (right.engine(), Model::new(shape, Organisation::pages() as usize));
        let before = preload();
        serve(&mut engine, &before, Pace::Closed(1));
        second.run(&before, Pace::Closed(1));
        let requests = stream(&mut Rng::stream(1, "other"), 50);
        let pace = Pace::Closed(1);
        deviation(&requests, &serve(&mut engine, &requests, pace), &second.run(&requests, pace))
    };
    let same = right.shape();
    assert!(off(same.clone()) < TOLERANCE);
    let slower = |span: Span| Span::from_ps(span.as_ps() * 103 / 100);
    // One request is under way at a time, because a slow bus that several banks keep busy hides much of the difference.
    let others = [
        Shape { transfer: slower(same.transfer), ..same.clone() },
        Shape { program: slower(same.program), ..same.clone() },
        Shape { cache: None, ..same.clone() },
        Shape { gang: 2, ..same.clone() },
        Shape { overhead: Span::from_us(20), ..same.clone() },
    ];
    for shape in others {
        let off = off(shape.clone());
        assert!(off > TOLERANCE, "{:.2} % for {shape:?}", off * 100.0);
    }
}
