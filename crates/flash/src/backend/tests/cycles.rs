//! Command, address and column cycles with ONFI's waits, against closed forms, and the serial path against events.

use super::*;
use base::engine::Rng;

const COMMAND: f64 = 1.0;
const COLUMN: f64 = 2.0;
const CCS: f64 = 3.0;
const ADL: f64 = 5.0;
const RHW: f64 = 7.0;
const WB: f64 = 11.0;
const PAGE: f64 = 81.92;

/// A part whose times are all at least a microsecond, and all different.
fn part() -> Part {
    let us = |time: f64| Span::from_ps((time * 1e6) as u64);
    let mut part = Part::preset("dirik-2009").expect("a preset");
    part.bus.command = us(COMMAND);
    (part.bus.change_column, part.bus.t_ccs) = (us(COLUMN), us(CCS));
    (part.bus.t_adl, part.bus.t_rhw, part.bus.t_wb) = (us(ADL), us(RHW), us(WB));
    part.timing.program = vec![Span::from_us(200)];
    part
}

/// A bench with one die of `planes` planes in gangs of `gang` chips, with programs of `one_shot` rows.
fn bench(planes: u32, gang: u32, one_shot: u32, between_pages: bool) -> Bench {
    let mut part = part();
    part.timing.one_shot = one_shot;
    let stripe = planes * gang;
    let geometry = Geometry::new(1, 1, 1, stripe, stripe, 16, 60, 2, 2).expect("a small array");
    let mut timing = Timing::new(&part, &geometry, Rate::new(25_000_000), false).expect("a valid part");
    timing.gang = gang;
    let arbitration = Arbitration { between_pages, ..Arbitration::default() };
    let config = Config { arbitration, ..Config::new(timing) };
    let media = Media::new(geometry, 100, one_shot, Faults::new(&FaultSpec::default(), 1));
    Bench {
        backend: observed(media, &config),
        events: EventQueue::default(),
        hash: EventHash::default(),
        now: Time::ZERO,
    }
}

/// Runs one command with these slots of superblock 0; returns its time in us.
fn one(bench: &mut Bench, op: Op, slots: std::ops::Range<u32>) -> f64 {
    let list = bench.backend.open_list(Class::Other, 0);
    let superblock = SuperblockId::new(if op == Op::CopyBack { 1 } else { 0 });
    let target = Target { superblock, offset: slots.start };
    let command = match op {
        Op::Read => bench.backend.add_read(list, Cause::Host, superblock),
        Op::Program => bench.backend.add_program(list, Cause::Host, target, Stream::HOST),
        Op::CopyBack => bench.backend.add_copy_back(list, Cause::Host, target, Stream::COPIES),
        Op::Erase => bench.backend.add_erase(list, Cause::Host, superblock),
    };
    for i in slots {
        let psn = bench.backend.geometry().slot(SuperblockId::new(0), i).get();
        bench.backend.push_slot(command, slot(psn, psn));
    }
    bench.submit(list);
    bench.run()[0].1.as_us_f64()
}

#[test]
fn each_plane_and_each_page_has_its_cycles() {
    for between_pages in [false, true] {
        let mut bench = bench(4, 1, 3, between_pages);
        // A word line of three rows of four planes, with two slots in a page.
        let program = 12.0 * (COMMAND + ADL + PAGE) + WB + 200.0;
        close(one(&mut bench, Op::Program, 0..24), program);
        // Reads of four sizes: a row; one page; half a page; half of each of two pages.
        let read = |pages: f64, data: f64| pages * (COMMAND + COLUMN + CCS) + WB + 25.0 + data * PAGE + RHW;
        close(one(&mut bench, Op::Read, 0..8), read(4.0, 4.0));
        close(one(&mut bench, Op::Read, 2..4), read(1.0, 1.0));
        close(one(&mut bench, Op::Read, 2..3), read(1.0, 0.5));
        close(one(&mut bench, Op::Read, 3..5), read(2.0, 1.0));
        close(one(&mut bench, Op::Erase, 0..0), 4.0 * COMMAND + WB + 3000.0);
    }
}

#[test]
fn a_gang_has_the_cycles_of_one_chip_and_a_copy_back_those_of_a_read_and_a_program() {
    let mut bench = bench(1, 4, 1, true);
    close(one(&mut bench, Op::Program, 0..8), COMMAND + ADL + 4.0 * PAGE + WB + 200.0);
    close(one(&mut bench, Op::Read, 0..8), COMMAND + WB + 25.0 + COLUMN + CCS + 4.0 * PAGE + RHW);
    close(one(&mut bench, Op::CopyBack, 0..8), 2.0 * COMMAND + WB + 25.0 + 200.0);
    close(one(&mut bench, Op::Erase, 0..0), COMMAND + WB + 3000.0);
}

#[test]
fn a_one_shot_program_is_copied_back_from_a_page_of_each_plane_for_each_of_its_rows() {
    let mut bench = bench(2, 1, 3, false);
    one(&mut bench, Op::Program, 0..12);
    close(one(&mut bench, Op::CopyBack, 0..12), 12.0 * COMMAND + WB + 3.0 * 25.0 + 200.0);
    let tally = bench.backend.account(bench.now).of(Op::CopyBack, Cause::Host);
    assert_eq!((tally.commands, tally.pages, tally.slots, tally.bytes.get()), (1, 6, 12, 0));
}

#[test]
fn other_chips_may_use_the_channel_while_a_die_waits_for_its_array() {
    // tWB occupies the die, and the channel carries the command of the next chip in that time.
    let shape = Shape { chips: 2, cache: false, controllers: Controllers::None, ..Shape::default() };
    let mut bench = shape.build();
    bench.backend.rules.timing.cycles.busy = Span::from_us(11);
    for chip in 0..2 {
        let list = bench.list(Op::Program, chip * 16, 0, 1);
        bench.submit(list);
    }
    let ends = bench.run();
    close(ends[0].1.as_us_f64(), PAGE + WB + 200.0);
    close(ends[1].1.as_us_f64(), 2.0 * PAGE + WB + 200.0);
}

#[test]
fn serial_lists_and_events_take_the_same() {
    let mut rng = Rng::stream(1, "cycles.serial");
    let mut end = Time::ZERO;
    let (mut by_events, mut serial) = (bench(1, 1, 1, true), bench(1, 1, 1, true));
    for row in 0..60_u32 {
        for op in [Op::Program, Op::Read] {
            let slots = if op == Op::Program { 0..2 } else { 0..1 + rng.below(2) as u32 };
            let slots = slots.start + row * 2..slots.end + row * 2;
            let took = one(&mut by_events, op, slots.clone());
            let list = serial.backend.open_list(Class::Other, 0);
            let superblock = SuperblockId::new(0);
            let target = Target { superblock, offset: slots.start };
            let command = match op {
                Op::Program => serial.backend.add_program(list, Cause::Host, target, Stream::HOST),
                _ => serial.backend.add_read(list, Cause::Host, superblock),
            };
            slots.for_each(|i| {
                serial.backend.push_slot(command, slot(i, i));
            });
            let begin = end;
            end = serial.backend.begin_serial(begin, list).expect("time is on");
            serial.backend.end_serial(end, &mut serial.hash);
            let finished = serial.backend.take_finished().expect("it ended");
            serial.backend.release(finished);
            close((end - begin).as_us_f64(), took);
        }
    }
    let (a, b) = (by_events.backend.account(by_events.now), serial.backend.account(end));
    assert_eq!((a.op(Op::Read), a.op(Op::Program)), (b.op(Op::Read), b.op(Op::Program)));
}
