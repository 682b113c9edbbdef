//! Suspension against the closed forms of queues in which urgent customers interrupt others.

use super::*;
use crate::backend::{StopPoint, SuspendSpec};
use base::engine::Rng;

const READ: f64 = 50.0;
const PROGRAM: f64 = 1000.0;

/// A die whose reads take 50 us and programs 1 ms, with a channel that takes nearly no time.
struct Die {
    bench: Bench,
    rng: Rng,
    programs: u32,
    /// The kind and the arrival of each list; a list's tag is its index here.
    arrivals: Vec<(Op, Time)>,
}

impl Die {
    fn new(suspend: Option<SuspendSpec>, seed: u64) -> Self {
        Self::with_lanes(suspend, Rate::new(1 << 50), seed)
    }

    /// A die with a channel of this rate.
    fn with_lanes(suspend: Option<SuspendSpec>, rate: Rate, seed: u64) -> Self {
        let mut part = Part::preset("dirik-2009").expect("a preset").clone();
        part.timing.read = vec![Span::from_us(READ as u64)];
        part.timing.program = vec![Span::from_us(PROGRAM as u64)];
        part.bus.command = Span::ZERO;
        let geometry = Geometry::new(1, 1, 1, 1, 1, 64, 64, 1, 4).expect("a small array");
        let config = Config {
            arbitration: Arbitration { commands: Order::ReadFirst, ..Arbitration::default() },
            suspend,
            ..Config::new(Timing::new(&part, &geometry, rate, false).expect("a valid part"))
        };
        let mut bench = Bench::new(geometry, &config, seed);
        let first = bench.list(Op::Program, 0, 0, 1);
        bench.submit(first);
        bench.run();
        Self { bench, rng: Rng::stream(seed, "arrivals"), programs: 0, arrivals: Vec::new() }
    }

    /// Submits a read of the first page, or a program of the next page, which arrives at `at`.
    fn arrive(&mut self, op: Op, at: Time) {
        let Bench { backend, events, .. } = &mut self.bench;
        let class = if op == Op::Read { Class::HostRead } else { Class::Other };
        let list = backend.open_list(class, self.arrivals.len() as u32);
        self.arrivals.push((op, at));
        let command = match op {
            Op::Read => backend.add_read(list, Cause::Host, SuperblockId::new(0)),
            _ => {
                // The programs go from block to block; no block is used again while a program of its previous round
                // waits.
                let (block, page) = (1 + self.programs / 64 % 63, self.programs % 64);
                if page == 0 {
                    backend.media_mut().erase(SuperblockId::new(block));
                }
                self.programs += 1;
                let target = Target { superblock: SuperblockId::new(block), offset: page };
                backend.add_program(list, Cause::Host, target, Stream::HOST)
            }
        };
        let psn = if op == Op::Read { 0 } else { self.programs };
        backend.push_slot(command, slot(psn, psn));
        backend.submit(at, list, events);
    }

    /// The time to the next event of a Poisson process with a mean gap of `mean` microseconds.
    fn gap(&mut self, mean: f64) -> Span {
        Span::from_ps((-(1.0 - self.rng.unit()).ln() * mean * 1e6) as u64)
    }

    /// Handles the next event, if it comes before `before`. Returns the kind and the response time of each list that
    /// ends.
    fn step(&mut self, before: Time) -> Option<Vec<(Op, f64)>> {
        let (at, event) = self.bench.events.pop_due(before)?;
        self.bench.backend.handle(at, event, &mut self.bench.events, &mut self.bench.hash);
        let mut ended = Vec::new();
        while let Some(list) = self.bench.backend.take_finished() {
            let (op, arrival) = self.arrivals[self.bench.backend.list(list).tag() as usize];
            ended.push((op, (at - arrival).as_us_f64()));
            self.bench.backend.release(list);
        }
        // Only the latest phases can still be open.
        let phases = self.bench.phases();
        if phases.len() > 1000 {
            phases.drain(..900);
        }
        Some(ended)
    }

    /// Submits reads and programs as Poisson processes with these mean gaps, in microseconds. Returns the mean response
    /// times of reads and of programs.
    fn open(mut self, gaps: [f64; 2], programs: u32) -> [f64; 2] {
        let mut next = gaps.map(|gap| Time::from_ps(10_000_000_000) + self.gap(gap));
        let (mut sums, mut counts) = ([0.0; 2], [0_u32; 2]);
        while counts[1] < programs {
            let kind = usize::from(next[1] < next[0]);
            while let Some(ended) = self.step(next[kind]) {
                for (op, response) in ended {
                    let kind = usize::from(op == Op::Program);
                    (sums[kind], counts[kind]) = (sums[kind] + response, counts[kind] + 1);
                }
            }
            self.arrive([Op::Read, Op::Program][kind], next[kind]);
            next[kind] += self.gap(gaps[kind]);
        }
        [sums[0] / f64::from(counts[0]), sums[1] / f64::from(counts[1])]
    }

    /// Submits one program after another, and reads as a Poisson process. Returns the mean time of a program.
    fn closed(mut self, gap: f64, programs: u32) -> f64 {
        let start = Time::from_ps(10_000_000_000);
        self.arrive(Op::Program, start);
        let (mut next, mut sum, mut count) = (start + self.gap(gap), 0.0, 0);
        while count < programs {
            while let Some(ended) = self.step(next) {
                for (_, response) in ended.into_iter().filter(|(op, _)| *op == Op::Program) {
                    (sum, count) = (sum + response, count + 1);
                    let (_, arrival) = self.arrivals.iter().rfind(|(op, _)| *op == Op::Program).expect("the program");
                    let now = *arrival + Span::from_ps((response * 1e6).round() as u64);
                    self.arrive(Op::Program, now);
                }
            }
            self.arrive(Op::Read, next);
            next += self.gap(gap);
        }
        sum / f64::from(count)
    }
}

fn rules(stop: StopPoint) -> SuspendSpec {
    SuspendSpec { stop, program_time: Span::ZERO, program_resume: Span::ZERO, ..SuspendSpec::default() }
}

fn within_one_percent(got: f64, expected: f64, what: &str) {
    assert!((got / expected - 1.0).abs() < 0.01, "{what}: {got} us, the formula gives {expected} us");
}

#[test]
fn suspension_without_loss_is_the_preemptive_resume_queue() {
    for [reads, programs] in [[200.0, 2500.0], [100.0, 4000.0]] {
        let [got_reads, got_programs] = Die::new(Some(rules(StopPoint::AnyTime)), 1).open([reads, programs], 150_000);
        let (rho_reads, rho_programs) = (READ / reads, PROGRAM / programs);
        let second_reads = READ * READ / reads;
        let second_both = second_reads + PROGRAM * PROGRAM / programs;
        within_one_percent(got_reads, READ + second_reads / (2.0 * (1.0 - rho_reads)), "reads");
        let of_programs =
            PROGRAM / (1.0 - rho_reads) + second_both / (2.0 * (1.0 - rho_reads) * (1.0 - rho_reads - rho_programs));
        within_one_percent(got_programs, of_programs, "programs");
    }
}

#[test]
fn operations_that_may_not_be_suspended_are_the_queue_with_priorities_alone() {
    let [reads, programs] = [200.0, 2500.0];
    let never = SuspendSpec { limit: Some(0), ..rules(StopPoint::AnyTime) };
    let (rho_reads, rho_programs) = (READ / reads, PROGRAM / programs);
    let residual = (READ * READ / reads + PROGRAM * PROGRAM / programs) / 2.0;
    for suspend in [None, Some(never)] {
        let [got_reads, got_programs] = Die::new(suspend, 2).open([reads, programs], 100_000);
        within_one_percent(got_reads, READ + residual / (1.0 - rho_reads), "reads");
        let of_programs = PROGRAM + residual / ((1.0 - rho_reads) * (1.0 - rho_reads - rho_programs));
        within_one_percent(got_programs, of_programs, "programs");
    }
}

#[test]
fn a_step_that_is_lost_is_repeated_as_long_as_reads_come() {
    // Preemptive repeat identical, step by step: a step ends if no read comes while it works. Each read that comes
    // begins a busy period of reads.
    let (gap, steps) = (400.0, 4.0);
    let busy_period = READ / (1.0 - READ / gap);
    let step = ((PROGRAM / steps / gap).exp() - 1.0) * (gap + busy_period);
    let cancel = SuspendSpec { program_steps: steps as u32, ..rules(StopPoint::Cancel) };
    within_one_percent(Die::new(Some(cancel), 3).closed(gap, 60_000), steps * step, "programs");
    let whole = SuspendSpec { program_steps: 1, ..cancel };
    let once = ((PROGRAM / gap).exp() - 1.0) * (gap + busy_period);
    within_one_percent(Die::new(Some(whole), 4).closed(gap, 60_000), once, "programs of one step");
}

#[test]
fn each_suspension_costs_the_times_to_stop_and_to_go_on() {
    // A read at 300 us meets a program that stops at once, or at the end of a step of 125 us.
    for (stop, works_until) in [(StopPoint::AnyTime, 300.0), (StopPoint::Steps, 375.0), (StopPoint::Cancel, 300.0)] {
        let spec = SuspendSpec { program_time: Span::from_us(20), program_resume: Span::from_us(10), ..rules(stop) };
        let mut die = Die::new(Some(spec), 5);
        let start = Time::from_ps(10_000_000_000);
        die.arrive(Op::Program, start);
        die.step(start + Span::from_us(10));
        die.arrive(Op::Read, start + Span::from_us(300));
        let mut ends = Vec::new();
        while let Some(ended) = die.step(Time::MAX) {
            ends.extend(ended);
        }
        let tally = die.bench.backend.account(Time::MAX).of(Op::Program, Cause::Host);
        assert_eq!((tally.suspensions, tally.suspend_overhead), (1, Span::from_us(30)));
        // The channel takes some picoseconds, hence the rounding.
        let us = |span: Span| span.as_us_f64().round() as u64;
        assert_eq!(us(tally.suspend_gain), (PROGRAM - works_until - 20.0) as u64, "{stop:?}");
        assert_eq!(us(tally.suspended), READ as u64);
        let lost = if stop == StopPoint::Cancel { 50.0 } else { 0.0 };
        let ends: Vec<f64> = ends.iter().map(|(_, response)| response.round()).collect();
        assert_eq!(ends, [works_until - 300.0 + 20.0 + READ, PROGRAM + 20.0 + READ + 10.0 + lost], "{stop:?}");
        // The earlier program took 1 ms, too.
        assert_eq!(us(tally.array), (2.0 * PROGRAM + 30.0 + lost) as u64);
    }
}

#[test]
fn a_read_that_comes_while_a_program_receives_its_data_suspends_the_program_when_it_begins() {
    let mut die = Die::with_lanes(Some(rules(StopPoint::AnyTime)), Rate::new(20_000_000), 5);
    let transfer = die.bench.backend.account(Time::MAX).of(Op::Program, Cause::Host).bus.as_us_f64();
    assert!(transfer > 100.0, "{transfer} us for the data of a page");
    let start = Time::from_ps(10_000_000_000);
    die.arrive(Op::Program, start);
    die.arrive(Op::Read, start + Span::from_us(10));
    let mut ends = Vec::new();
    while let Some(ended) = die.step(Time::MAX) {
        ends.extend(ended);
    }
    let tally = die.bench.backend.account(Time::MAX).of(Op::Program, Cause::Host);
    assert_eq!((ends[0].0, tally.suspensions), (Op::Read, 1));
    let expected = transfer - 10.0 + READ + transfer;
    assert!((ends[0].1 - expected).abs() < 0.01, "{} us, not {expected} us", ends[0].1);
}

#[test]
fn a_power_cut_tears_what_is_suspended() {
    let torn = |cut: u64, seed| {
        let mut die = Die::new(Some(rules(StopPoint::AnyTime)), seed);
        let start = Time::from_ps(10_000_000_000);
        die.arrive(Op::Program, start);
        die.step(start + Span::from_us(10));
        die.arrive(Op::Read, start + Span::from_us(300));
        while die.step(start + Span::from_us(cut)).is_some() {}
        die.bench.backend.cut_power(start + Span::from_us(cut));
        let geometry = die.bench.backend.geometry();
        let place = geometry.slot(SuperblockId::new(1), 0);
        die.bench.backend.media().spare(place) == crate::nand::Spare::Torn
    };
    // The program works, stands still from 300 to 350 us, works again until 1,050 us, and is done.
    for (cut, may_tear) in [(200, true), (320, true), (700, true), (1049, true), (1060, false)] {
        assert_eq!((0..20).any(|seed| torn(cut, seed)), may_tear, "a cut {cut} us behind the begin");
    }
}
