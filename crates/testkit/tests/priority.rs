//! The conservation law on one bank: reads gain from read priority as much as writes lose.
//!
//! One bank is one server. As long as it interrupts no request and never idles while one waits, the work V(t) still to
//! do falls by a second each second and rises by S_i when request i arrives: the same curve in any order of service.
//! Request i adds S_i to V while it waits, for W_i, and on average S_i/2 while it is served, for S_i. So the area under
//! V is the sum of S_i W_i + S_i^2/2. As V and the S_i do not depend on the order, neither does the sum of S_i W_i:
//! reads gain, weighted with their service time, exactly as much as writes lose, weighted with theirs (Kleinrock's
//! conservation law, on every path and not only on average). Times are whole picoseconds, so it holds exactly, with
//! nothing to round.
//!
//! Dirik and Jacob's terms (dirik.md, D6): with one service time for all reads and one for all writes, and equal
//! numbers of both, dW_write S_write = -dW_read S_read; at 25 MB/s a read of 26 KB that comes a millisecond earlier
//! costs a write 0.41 ms, at 100 MB/s 0.15 ms.
//!
//! With several banks on one bus the law does not hold: the time that a bank needs for a request depends on the other
//! banks that want the bus meanwhile, so the S_i change with the order, and a bank that waits for the bus has work and
//! does not do it. With several buses and no common link it holds for each bank alone, but a read of several banks ends
//! with its last part. A link that costs time is a second server behind the bank.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use proptest::prelude::*;
use ssd::{Drive, QueueId, Request, Spec, Ssd};

/// The number of preloaded pages, which the test reads.
const OLD: u64 = 650;

/// Shape of a drive with a single bank.
#[derive(Clone, Copy, Debug)]
struct Bank {
    mbps: u64,
    cache: bool,
    gang: u32,
    pages: u32,
}

/// A bank with a slow bus and blocks of 65 pages of 2 KB, which are five requests of 26 KB.
const SLOW: Bank = Bank { mbps: 25, cache: true, gang: 1, pages: 65 };

/// A request: the gap since the previous arrival, the kind, and the number of pages.
type PriorityRequest = (Span, IoKind, u64);

/// A served request with its service time and its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServiceTimes {
    kind: IoKind,
    arrival: Time,
    service: Span,
    wait: Span,
}

impl Bank {
    fn drive(self, order: &str, written: u64) -> Ssd<()> {
        let Self { mbps, cache, gang, pages } = self;
        let blocks = 16 + 2 * (OLD + written * u64::from(gang)) / u64::from(pages * gang);
        let text = format!(
            r#"name = "bank"
[flash]
part = "dirik-2009"
channels = 1
chips = 1
gang = {gang}
blocks = {blocks}
pages = {pages}
lane-rate = "{mbps}MB/s"
cache-mode = {cache}
controllers = "per-die"
arbitration = {{ commands = "{order}" }}
[host]
queue-depth = 32768
link = "none"
[ftl]
capacity = "{}KiB"
"#,
            2 * (OLD + written)
        );
        let spec: Spec = toml::from_str(&text).expect("a device");
        Ssd::new(&spec.resolve().expect("a valid device"), 1)
    }

    /// Serves the requests in this order of commands. Reads walk through the preloaded data in requests of 13 pages,
    /// and writes go to unwritten addresses, so that no request waits for another at the host side. The drive places a
    /// write when it arrives, so the order of service does not change the place.
    fn serve(self, order: &str, asked: &[PriorityRequest]) -> Vec<ServiceTimes> {
        let written = asked.iter().filter(|(_, kind, _)| *kind == IoKind::Write).map(|(.., pages)| pages).sum();
        let mut drive = self.drive(order, written);
        for page in (0..OLD).step_by(13) {
            submit(&mut drive, Time::ZERO, 0, IoKind::Write, page, 13);
        }
        let mut completions = Vec::new();
        drive.drain(&mut completions);
        completions.clear();
        let (mut at, mut old, mut fresh) = (drive.now(), 0, OLD);
        for (tag, (gap, kind, pages)) in asked.iter().enumerate() {
            at += *gap;
            while drive.advance(at, &mut completions) < at {}
            let next = if *kind == IoKind::Read { &mut old } else { &mut fresh };
            let page = if *kind == IoKind::Read { *next % (OLD - 13) / 13 * 13 } else { *next };
            *next += if *kind == IoKind::Read { 13 } else { *pages };
            submit(&mut drive, at, tag, *kind, page, *pages);
        }
        drive.drain(&mut completions);
        assert_eq!(completions.len(), asked.len());
        assert_eq!(drive.counters().flash.op(flash::backend::Op::Erase).commands, 0, "nothing is collected");
        // The bank is one server, so a service begins when the previous one ends, or when its request arrives.
        let mut served: Vec<_> = completions.iter().map(|completion| (completion.tag, None, completion)).collect();
        let mut free = Time::ZERO;
        for (_, served, completion) in &mut served {
            let start = free.max(completion.arrival);
            free = completion.end;
            *served = Some(ServiceTimes {
                kind: completion.io.kind,
                arrival: completion.arrival,
                service: completion.end - start,
                wait: start - completion.arrival,
            });
        }
        served.sort_by_key(|(tag, ..)| *tag);
        served.into_iter().filter_map(|(_, served, _)| served).collect()
    }
}

fn submit(drive: &mut Ssd<()>, at: Time, tag: usize, kind: IoKind, page: u64, pages: u64) {
    let io = Io::new(kind, Lba::new(page * 4), Sectors::new(pages * 4));
    let items = if kind == IoKind::Write { 4 * pages as usize } else { 0 };
    drive.submit(at, Request { tag: tag as u64, queue: QueueId::default(), io, data: vec![(); items] });
}

fn ps(span: Span) -> u128 {
    u128::from(span.as_ps())
}

/// Returns the sum of S_i W_i in square picoseconds.
fn weighted_wait(served: &[ServiceTimes]) -> u128 {
    served.iter().map(|served| ps(served.service) * ps(served.wait)).sum()
}

/// Returns twice the area under V(t), computed from arrivals and service times alone.
fn unfinished_work(served: &[ServiceTimes]) -> u128 {
    // Twice the area of a fall from `high` that lasts `time`.
    let fall = |high: u128, time: u128| high * high - high.saturating_sub(time).pow(2);
    let mut work = 0;
    let mut area = 0;
    let mut last = Time::ZERO;
    for served in served {
        let time = ps(served.arrival - last);
        area += fall(work, time);
        work = work.saturating_sub(time) + ps(served.service);
        last = served.arrival;
    }
    area + fall(work, work)
}

/// Checks the law on one sequence of requests in both orders, and returns the served requests of each.
fn conserve(bank: Bank, asked: &[PriorityRequest]) -> [Vec<ServiceTimes>; 2] {
    let both = ["fifo", "read-first"].map(|order| bank.serve(order, asked));
    let services = |served: &[ServiceTimes]| served.iter().map(|served| served.service).collect::<Vec<_>>();
    assert_eq!(services(&both[0]), services(&both[1]), "a service takes the same in any order: {bank:?}");
    assert_eq!(weighted_wait(&both[0]), weighted_wait(&both[1]), "the sum of S W is not conserved: {bank:?}");
    for served in &both {
        let squares: u128 = served.iter().map(|served| ps(served.service).pow(2)).sum();
        assert_eq!(
            2 * weighted_wait(served) + squares,
            unfinished_work(served),
            "the bank rested or hurried: {bank:?}"
        );
    }
    both
}

/// Returns the sum of the waits of a kind in picoseconds.
fn waits(served: &[ServiceTimes], kind: IoKind) -> u128 {
    served.iter().filter(|served| served.kind == kind).map(|served| ps(served.wait)).sum()
}

fn exponential(rng: &mut Rng, mean: Span) -> Span {
    Span::from_ps((-(1.0 - rng.unit()).ln() * mean.as_ps() as f64) as u64)
}

/// Draws reads and writes in equal numbers, in random order, of `pages` pages each, or of 1 to 13 if `pages` is `None`.
fn halves(
    rng: &mut Rng,
    count: usize,
    pages: Option<u64>,
    mut gap: impl FnMut(&mut Rng) -> Span,
) -> Vec<PriorityRequest> {
    let mut left = [count / 2, count / 2];
    let mut draw = || {
        let read = rng.below((left[0] + left[1]) as u64) < left[0] as u64;
        left[usize::from(!read)] -= 1;
        let kind = if read { IoKind::Read } else { IoKind::Write };
        let pages = pages.unwrap_or_else(|| rng.below(13) + 1);
        (gap(rng), kind, pages)
    };
    std::iter::repeat_with(&mut draw).take(count / 2 * 2).collect()
}

/// Draws the gaps of bursts: 20 requests on average, `gap` apart on average, with a second between bursts.
fn bursts(gap: Span) -> impl FnMut(&mut Rng) -> Span {
    move |rng| if rng.below(20) == 0 { exponential(rng, Span::from_secs(1)) } else { exponential(rng, gap) }
}

fn poisson(gap: Span) -> impl FnMut(&mut Rng) -> Span {
    move |rng| exponential(rng, gap)
}

#[test]
fn waits_weighted_by_service_are_conserved() {
    for (turn, mbps) in [25, 100, 400].into_iter().enumerate() {
        for (cache, gang) in [(true, 1), (false, 1), (true, 4), (false, 2)] {
            let bank = Bank { mbps, cache, gang, pages: 64 };
            let mut rng = Rng::stream(turn as u64, "priority");
            conserve(bank, &halves(&mut rng, 600, None, bursts(Span::from_ms(1))));
            // Under this heavy load the bank is busy nearly all the time.
            let [fifo, first] = conserve(bank, &halves(&mut rng, 600, None, poisson(Span::from_us(700))));
            assert!(waits(&first, IoKind::Read) < waits(&fifo, IoKind::Read), "reads gain: {bank:?}");
            assert!(waits(&first, IoKind::Write) > waits(&fifo, IoKind::Write), "and writes lose: {bank:?}");
        }
    }
}

#[test]
fn a_read_gains_what_a_write_loses_by_the_ratio_of_their_services() {
    // dirik.md, D6: 26 KB at 25 and at 100 MB/s, in cache mode.
    for (mbps, ratio) in [(25, 0.41), (100, 0.15)] {
        let bank = Bank { mbps, ..SLOW };
        let loads: [(&str, Vec<PriorityRequest>); 2] = {
            let mut rng = Rng::stream(mbps, "priority.constant");
            let heavy = halves(&mut rng, 1000, Some(13), poisson(Span::from_us(2100)));
            [("bursts", halves(&mut rng, 1000, Some(13), bursts(Span::from_ms(1)))), ("Poisson", heavy)]
        };
        for (load, asked) in loads {
            let [fifo, first] = conserve(bank, &asked);
            let service = |kind| fifo.iter().find(|served| served.kind == kind).map(|served| served.service);
            let (read, write) = (service(IoKind::Read).expect("reads"), service(IoKind::Write).expect("writes"));
            for served in &fifo {
                let constant = if served.kind == IoKind::Read { read } else { write };
                assert_eq!(served.service, constant, "one service time for each kind");
            }
            assert!((read.as_us_f64() / write.as_us_f64() - ratio).abs() < 0.005, "{read} to {write}");
            let gain = waits(&fifo, IoKind::Read) - waits(&first, IoKind::Read);
            let loss = waits(&first, IoKind::Write) - waits(&fifo, IoKind::Write);
            assert!(gain > 0, "{load}: reads gain");
            assert_eq!(loss * ps(write), gain * ps(read), "{load} at {mbps} MB/s");
            let us = |sum: u128| sum as f64 / 500.0 * 1e-6;
            println!("{load} at {mbps} MB/s: reads gain {:.1} us, writes lose {:.1} us", us(gain), us(loss));
        }
    }
}

#[test]
fn an_idle_bank_with_work_breaks_the_conservation() {
    let us = Span::from_us;
    let served = |at: u64, service, wait| ServiceTimes {
        kind: IoKind::Read,
        arrival: Time::from_ps(at * 1_000_000),
        service: us(service),
        wait: us(wait),
    };
    let holds = |path: &[ServiceTimes]| {
        let squares: u128 = path.iter().map(|served| ps(served.service).pow(2)).sum();
        2 * weighted_wait(path) + squares == unfinished_work(path)
    };
    // Three requests come within 20 us; the second and the third may be served in either order.
    assert!(holds(&[served(0, 50, 0), served(10, 30, 40), served(20, 100, 60)]));
    assert!(holds(&[served(0, 50, 0), served(10, 30, 140), served(20, 100, 30)]));
    // In these cases the bank idles for a microsecond before the last request, or begins it a microsecond early.
    assert!(!holds(&[served(0, 50, 0), served(10, 30, 40), served(20, 100, 61)]));
    assert!(!holds(&[served(0, 50, 0), served(10, 30, 40), served(20, 100, 59)]));
}

proptest! {
    #[test]
    fn conservation_holds_for_any_arrivals_and_sizes(
        asked in prop::collection::vec((0u64..3_000_000_000, any::<bool>(), 1u64..=13), 1..60),
        mbps in prop::sample::select(vec![25u64, 50, 400]),
        cache in any::<bool>(),
        gang in 1u32..=4,
    ) {
        let asked: Vec<PriorityRequest> = asked
            .into_iter()
            .map(|(gap, read, pages)| {
                // A third of the requests arrive together with the previous one.
                let gap = Span::from_ps(gap.saturating_sub(1_000_000_000));
                (gap, if read { IoKind::Read } else { IoKind::Write }, pages)
            })
            .collect();
        conserve(Bank { mbps, cache, gang, pages: 16 }, &asked);
    }
}
