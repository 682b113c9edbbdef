//! Planes that read by themselves, against the closed system of a few planes and against arithmetic.

use std::collections::BTreeMap;

use super::*;
use crate::backend::{PlaneReadSpec, StopPoint, SuspendSpec};
use base::engine::Rng;

const PLANES: u32 = 4;
const READ: f64 = 50.0;
const PROGRAM: f64 = 1000.0;

/// A die of four planes. Its first block holds one page in each plane.
struct FourPlaneDie {
    bench: Bench,
    ends: Vec<(u32, f64)>,
}

fn spec(at_once: Option<u32>) -> Option<PlaneReadSpec> {
    Some(PlaneReadSpec { at_once, ..PlaneReadSpec::default() })
}

impl FourPlaneDie {
    fn new(plane_reads: Option<PlaneReadSpec>, rate: Rate, commands: Order, suspend: Option<SuspendSpec>) -> Self {
        let mut part = Part::preset("dirik-2009").expect("a preset").clone();
        part.timing.read = vec![Span::from_us(READ as u64)];
        part.timing.program = vec![Span::from_us(PROGRAM as u64)];
        part.bus.command = Span::ZERO;
        let geometry = Geometry::new(1, 1, 1, PLANES, 1, 8, 64, 1, 4).expect("a small array");
        let config = Config {
            arbitration: Arbitration { commands, ..Arbitration::default() },
            suspend,
            plane_reads,
            ..Config::new(Timing::new(&part, &geometry, rate, false).expect("a valid part"))
        };
        let mut bench = Bench::new(geometry, &config, 1);
        bench.backend.set_timed(false);
        for plane in 0..PLANES {
            let list = bench.list(Op::Program, 8 * plane, 0, 1);
            bench.submit(list);
            bench.run();
        }
        bench.backend.set_timed(true);
        Self { bench, ends: Vec::new() }
    }

    fn fast(plane_reads: Option<PlaneReadSpec>) -> Self {
        Self::new(plane_reads, Rate::new(1 << 50), Order::Fifo, None)
    }

    fn read(&mut self, tag: u32, plane: u32, at: Time) {
        let Bench { backend, events, .. } = &mut self.bench;
        let list = backend.open_list(Class::HostRead, tag);
        let superblock = SuperblockId::new(8 * plane);
        let psn = backend.geometry().slot(superblock, 0).get();
        let read = backend.add_read(list, Cause::Host, superblock);
        backend.push_slot(read, slot(psn, psn));
        backend.submit(at, list, events);
    }

    fn program(&mut self, tag: u32, at: Time) {
        let Bench { backend, events, .. } = &mut self.bench;
        let list = backend.open_list(Class::Other, tag);
        let target = Target { superblock: SuperblockId::new(1), offset: 0 };
        let program = backend.add_program(list, Cause::Host, target, Stream::HOST);
        backend.push_slot(program, slot(7, 0));
        backend.submit(at, list, events);
    }

    /// Handles all events before a time, and keeps the tags and ends (in microseconds) of the lists that end.
    fn until(&mut self, before: Time) {
        while let Some((at, event)) = self.bench.events.pop_due(before) {
            self.bench.backend.handle(at, event, &mut self.bench.events, &mut self.bench.hash);
            while let Some(list) = self.bench.backend.take_finished() {
                self.ends.push((self.bench.backend.list(list).tag(), (at - Time::ZERO).as_us_f64().round()));
                self.bench.backend.release(list);
            }
        }
    }

    /// The reads per second of a closed system: after each read that ends, a read of a random plane begins.
    fn closed(mut self, outstanding: u32, reads: usize) -> f64 {
        let mut rng = Rng::stream(1, "planes");
        (0..outstanding).for_each(|_| self.read(0, rng.below(u64::from(PLANES)) as u32, Time::ZERO));
        let mut now = Time::ZERO;
        while self.ends.len() < reads {
            let (at, event) = self.bench.events.pop().expect("reads are under way");
            now = at;
            self.bench.backend.handle(at, event, &mut self.bench.events, &mut self.bench.hash);
            while let Some(list) = self.bench.backend.take_finished() {
                self.ends.push((0, 0.0));
                self.bench.backend.release(list);
                self.read(0, rng.below(u64::from(PLANES)) as u32, at);
            }
            self.bench.phases().clear();
        }
        1e6 * reads as f64 / (now - Time::ZERO).as_us_f64()
    }
}

const fn at(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// The mean number of working planes in a closed system in which all planes read in step: each plane with reads ends
/// one, and a read of a random plane follows. Computed from the stationary distribution of the numbers of reads.
fn mean_working(outstanding: u32) -> f64 {
    let mut states: BTreeMap<Vec<u32>, f64> = BTreeMap::from([(vec![outstanding, 0, 0, 0], 1.0)]);
    for _ in 0..60 {
        let mut next: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for (state, probability) in &states {
            let rest: Vec<u32> = state.iter().map(|reads| reads.saturating_sub(1)).collect();
            let ended = state.iter().filter(|reads| **reads > 0).count() as u32;
            for choice in 0..PLANES.pow(ended) {
                let mut after = rest.clone();
                (0..ended).for_each(|i| after[(choice / PLANES.pow(i) % PLANES) as usize] += 1);
                // The order of the planes does not matter.
                after.sort_unstable();
                *next.entry(after).or_default() += probability / f64::from(PLANES.pow(ended));
            }
        }
        states = next;
    }
    states
        .iter()
        .map(|(state, probability)| state.iter().filter(|reads| **reads > 0).count() as f64 * probability)
        .sum()
}

#[test]
fn planes_read_as_the_closed_system_says() {
    for outstanding in [1, 2, 4, 8, 16] {
        let got = FourPlaneDie::fast(spec(None)).closed(outstanding, 40_000);
        let expected = 1e6 * mean_working(outstanding) / READ;
        assert!((got / expected - 1.0).abs() < 0.01, "{outstanding} reads: {got} per second, not {expected}");
    }
}

#[test]
fn as_many_planes_read_at_once_as_the_part_allows_or_the_channel_carries() {
    let close = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 0.001, "{got}, not {expected}");
    close(FourPlaneDie::fast(None).closed(64, 20_000), 1e6 / READ);
    close(FourPlaneDie::fast(spec(Some(2))).closed(64, 20_000), 2e6 / READ);
    // The data of a page takes longer than its read, so two planes keep the channel busy.
    let slow = FourPlaneDie::new(spec(None), Rate::new(30_000_000), Order::Fifo, None);
    let transfer = slow.bench.backend.timing().transfer[1].as_us_f64();
    assert!(transfer > READ, "{transfer} us");
    close(slow.closed(64, 20_000), 1e6 / transfer);
}

#[test]
fn a_program_waits_until_all_planes_are_idle_and_lets_no_later_read_pass() {
    for (order, ends) in
        [(Order::Fifo, [(1, 50.0), (2, 1050.0), (3, 1100.0)]), (Order::ReadFirst, [(1, 50.0), (3, 70.0), (2, 1070.0)])]
    {
        let mut die = FourPlaneDie::new(spec(None), Rate::new(1 << 50), order, None);
        die.read(1, 0, at(0));
        die.until(at(10));
        die.program(2, at(10));
        die.until(at(20));
        die.read(3, 1, at(20));
        die.until(Time::MAX);
        assert_eq!(die.ends, ends, "{order:?}");
    }
}

#[test]
fn reads_of_several_planes_meet_one_suspended_program() {
    let suspend = SuspendSpec { stop: StopPoint::AnyTime, program_time: Span::from_us(10), ..SuspendSpec::default() };
    let mut die = FourPlaneDie::new(spec(None), Rate::new(1 << 50), Order::ReadFirst, Some(suspend));
    die.program(1, at(0));
    die.until(at(300));
    (0..3).for_each(|plane| die.read(2 + plane, plane, at(300)));
    die.read(5, 0, at(300));
    die.until(Time::MAX);
    assert_eq!(die.ends, [(2, 360.0), (3, 360.0), (4, 360.0), (5, 410.0), (1, 1110.0)]);
    let tally = die.bench.backend.account(Time::MAX).of(Op::Program, Cause::Host);
    assert_eq!(tally.suspensions, 1);
}
