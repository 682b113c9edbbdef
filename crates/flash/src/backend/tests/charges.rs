//! Tests that time is charged as phases end, and that the event of an aborted phase is dropped.

use super::hydra::{FORWARDED, Hydra};
use super::*;

#[test]
fn an_event_takes_eight_bytes_with_its_generation() {
    // The queue keeps millions of events, each with its key.
    assert_eq!((size_of::<Event>(), size_of::<Option<Event>>()), (8, 8));
}

/// Calls `look` at each event and in the middle between two events.
fn follow(bench: &mut Bench, mut look: impl FnMut(&Backend, Time)) {
    while let Some((at, event)) = bench.events.pop() {
        look(&bench.backend, Time::from_ps((bench.now.as_ps() + at.as_ps()) / 2));
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
        look(&bench.backend, at);
    }
}

#[test]
fn a_phase_is_charged_only_at_its_end() {
    let mut bench = Shape { command: Span::from_us(1), ..Shape::default() }.build();
    let list = bench.list(Op::Program, 0, 0, 1);
    bench.submit(list);
    let mut seen = Vec::new();
    follow(&mut bench, |backend, now| {
        let us = |span: Span| span.as_us_f64().round() as u64;
        let (charged, read) = (backend.account.op(Op::Program), backend.account(now).op(Op::Program));
        seen.push([charged.bus, read.bus, charged.array, read.array].map(us));
        assert_eq!((charged.bytes.get(), read.bytes.get()), (if charged.bus.is_zero() { 0 } else { 2048 }, 2048));
    });
    // Four readings: in the middle of the transfer, at its end, in the middle of the program, at its end.
    assert_eq!(seen, [[0, 41, 0, 0], [83, 83, 0, 0], [83, 83, 0, 100], [83, 83, 200, 200]]);
}

#[test]
fn busy_times_of_a_held_channel_and_of_a_copy_equal_the_account_at_any_moment() {
    for hold in [false, true] {
        let arbitration = Arbitration { hold, ..FORWARDED };
        let hydra = Hydra { chips: 1, command: Span::from_us(2), arbitration, ..Hydra::default() };
        let mut bench = hydra.build();
        let list = bench.background(1);
        bench.erase(list, 0, 1);
        bench.submit(list);
        let list = bench.background(2);
        let command = bench.copy(list, 1, 1, 0);
        bench.backend.set_sectors(command, 16);
        bench.submit(list);
        let mut before = Span::ZERO;
        follow(&mut bench, |backend, now| {
            let account = backend.account(now);
            let sum = |of: fn(&Tally) -> Span| Op::ALL.into_iter().map(|op| of(&account.op(op))).sum::<Span>();
            assert_eq!(backend.die_busy(now).sum::<Span>(), sum(|tally| tally.array));
            assert_eq!(backend.channel_busy(now).sum::<Span>(), sum(|tally| tally.bus));
            assert!(sum(|tally| tally.bus) >= before, "an earlier reading stays");
            before = sum(|tally| tally.bus);
        });
        let array = bench.backend.account(bench.now).op(Op::Erase).array;
        let bus = bench.backend.account(bench.now).op(Op::Erase).bus;
        assert_eq!(bus, Span::from_us(2) + if hold { array } else { Span::ZERO });
    }
}

#[test]
fn events_of_phases_that_a_power_cut_ended_are_dropped() {
    let mut bench = Shape { channels: 2, ..Shape::default() }.build();
    for die in 0..2 {
        let list = bench.list(Op::Program, die * 16, 0, 2);
        bench.submit(list);
    }
    // At the cut both arrays work on the first page and both channels move the second.
    let cut = Time::from_ps(100_000_000);
    bench.until(cut);
    bench.backend.use_cpu(cut, Span::from_us(500), 7, &mut bench.events);
    let events = bench.events.len();
    assert_eq!(events, 5);
    bench.backend.cut_power(cut);
    let (hash, account) = (bench.hash.value(), bench.backend.account(cut));
    assert_eq!(account.op(Op::Program).array, bench.backend.die_busy(cut).sum());
    // New work begins before the events of the old work are due, and these do not end the new work.
    let list = bench.list(Op::Erase, 1, 0, 0);
    bench.backend.add_erase(list, Cause::Gc, SuperblockId::new(1));
    bench.submit(list);
    bench.backend.use_cpu(cut, Span::from_us(900), 8, &mut bench.events);
    let mut effects = 0;
    while let Some((at, event)) = bench.events.pop() {
        let before = bench.hash.value();
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
        effects += u32::from(bench.hash.value() != before);
    }
    assert!(bench.hash.value() != hash);
    assert_eq!(effects, 2, "the erase and the thought, and none of the {events} events from before");
    assert_eq!((bench.backend.take_cpu_done(), bench.backend.take_cpu_done()), (Some(8), None));
    assert_eq!(bench.now, cut + Span::from_ms(3), "the erase took its whole time");
    assert_eq!(bench.backend.account(bench.now).op(Op::Program), account.op(Op::Program));
}
