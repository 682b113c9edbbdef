//! Cache mode across lists, against closed forms and a second model of one die.

use super::*;
use base::engine::Rng;

/// A die behind a channel of `mbps` MB/s: a page takes 2048 / mbps us, tR 25 us, tPROG 200 us.
fn bench(mbps: u64, across: bool, program_copy: u64, arbitration: Arbitration) -> Bench {
    let mut part = Part::preset("dirik-2009").expect("a preset");
    part.timing.cache_program_copy = Span::from_us(program_copy);
    let geometry = Geometry::new(1, 1, 1, 1, 1, 16, 64, 1, 4).expect("a small array");
    let mut timing = Timing::new(&part, &geometry, Rate::new(mbps * 1_000_000), true).expect("a valid part");
    timing.cache_across = across;
    let config = Config { arbitration, ..Config::new(timing) };
    Bench::new(geometry, &config, 1)
}

fn plain(mbps: u64, across: bool) -> Bench {
    bench(mbps, across, 0, Arbitration::default())
}

/// The time in us until the end of `n` commands of a page each, every command in a list and a block of its own.
fn apart(bench: &mut Bench, op: Op, n: u32) -> f64 {
    for block in 0..n {
        let list = bench.list(op, block, 0, 1);
        bench.submit(list);
    }
    bench.run().last().expect("an end").1.as_us_f64()
}

#[test]
fn programs_of_different_lists_hide_their_data_behind_each_other() {
    for mbps in [5, 25, 100] {
        let transfer = 2048.0 / mbps as f64;
        // The slower of the array and the channel decides.
        close(apart(&mut plain(mbps, true), Op::Program, 8), transfer + 7.0 * transfer.max(200.0) + 200.0);
        close(apart(&mut plain(mbps, false), Op::Program, 8), 8.0 * (transfer + 200.0));
    }
    // Each program is issued so that another may follow, and so takes the time of the copy.
    close(apart(&mut bench(25, true, 3, Arbitration::default()), Op::Program, 8), 81.92 + 8.0 * 203.0);
}

#[test]
fn reads_anywhere_hide_their_data_behind_each_other() {
    for (mbps, wanted) in [(25, 28.0 + 8.0 * 81.92), (100, 8.0 * 28.0 + 20.48)] {
        let mut bench = plain(mbps, true);
        apart(&mut bench, Op::Program, 8);
        close(apart(&mut bench, Op::Read, 8), wanted);
        let mut bench = plain(mbps, false);
        apart(&mut bench, Op::Program, 8);
        close(apart(&mut bench, Op::Read, 8), 8.0 * (25.0 + 2048.0 / mbps as f64));
    }
}

#[test]
fn a_read_that_comes_while_the_array_reads_lets_the_page_be_copied_late() {
    let mut bench = plain(100, true);
    apart(&mut bench, Op::Program, 2);
    let begin = bench.now;
    let list = bench.list(Op::Read, 0, 0, 1);
    bench.submit(list);
    bench.until(begin + Span::from_us(10));
    let list = bench.list(Op::Read, 1, 0, 1);
    bench.submit(list);
    let ends: Vec<f64> = bench.run().iter().map(|(_, end)| end.as_us_f64() + 10.0).collect();
    // The first read takes 25 us and the copy, then the data; the second reads and is copied meanwhile.
    close(ends[0], 28.0 + 20.48);
    close(ends[1], 28.0 + 28.0 + 20.48);
    // A read that comes while the data is being sent finds the register occupied.
    let begin = bench.now;
    let list = bench.list(Op::Read, 0, 0, 1);
    bench.submit(list);
    bench.until(begin + Span::from_us(30));
    let list = bench.list(Op::Read, 1, 0, 1);
    bench.submit(list);
    let ends: Vec<f64> = bench.run().iter().map(|(_, end)| end.as_us_f64() + 30.0).collect();
    close(ends[0], 25.0 + 20.48);
    close(ends[1], 2.0 * (25.0 + 20.48));
}

#[test]
fn a_host_read_waits_for_one_program_and_not_for_one_that_has_not_come_in() {
    let first = Arbitration { commands: Order::ReadFirst, ..Arbitration::default() };
    let mut bench = bench(25, true, 0, first);
    apart(&mut bench, Op::Program, 1);
    let begin = bench.now;
    let list = bench.list(Op::Program, 1, 0, 1);
    bench.submit(list);
    bench.until(begin + Span::from_us(100));
    for (op, block, offset) in [(Op::Read, 0, 0), (Op::Program, 2, 0)] {
        let list = bench.list(op, block, offset, 1);
        bench.submit(list);
    }
    let ends: Vec<(u32, f64)> = bench.run().iter().map(|(tag, end)| (*tag, end.as_us_f64() + 100.0)).collect();
    assert_eq!(ends.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [1, 0, 2]);
    close(ends[1].1, 281.92 + 25.0 + 81.92);
    close(ends[2].1, 281.92 + 25.0 + 81.92 + 281.92);
}

#[derive(Clone, Copy)]
struct ModelCommand {
    write: bool,
    came: f64,
}

/// The second model: a die and its channel as the times at which they are next free, first come first served. It shares
/// no code with the backend.
fn model(commands: &[ModelCommand], transfer: f64, (read_copy, program_copy): (f64, f64)) -> Vec<f64> {
    let (read, program) = (25.0, 200.0);
    let mut ends = Vec::new();
    // The times at which the array, the register, and the whole die are free for the next command.
    let (mut array, mut register, mut empty) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (i, one) in commands.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| commands[i]);
        let next = commands.get(i + 1);
        if one.write {
            let follows = before.is_some_and(|before| before.write);
            let from = if follows { one.came.max(register) } else { one.came.max(empty) };
            let begin = (from + transfer).max(if follows { array } else { 0.0 });
            register = begin;
            array = begin + program_copy + program;
            empty = array;
            ends.push(array);
            continue;
        }
        // If the previous command was a read, `array` is the time at which its page moved to the register: this read
        // joins it if it was waiting by then.
        let joins = before.is_some_and(|before| !before.write) && one.came <= array;
        let begin = if joins { array } else { one.came.max(empty) };
        let waits = |at: f64| next.is_some_and(|next| !next.write && next.came <= at);
        let copied = joins || waits(begin);
        let mut done = begin + read + if copied { read_copy } else { 0.0 };
        if !copied && waits(done) {
            done += read_copy;
        }
        let moved = if joins { done.max(register) } else { done };
        array = moved;
        register = moved + transfer;
        empty = register;
        ends.push(register);
    }
    ends
}

/// Enters the end times of the lists that have finished.
fn take(bench: &mut Bench, begin: Time, ends: &mut [f64]) {
    while let Some(list) = bench.backend.take_finished() {
        ends[bench.backend.list(list).tag() as usize] = (bench.now - begin).as_us_f64();
        bench.backend.release(list);
    }
}

#[test]
fn a_die_agrees_with_a_second_model_under_any_arrivals() {
    let mut rng = Rng::stream(1, "cache.model");
    for turn in 0..400 {
        let mbps = [5, 25, 50, 100, 400][rng.below(5) as usize];
        let copy = [0, 3][rng.below(2) as usize];
        let mut bench = bench(mbps, true, copy, Arbitration::default());
        // The test reads blocks that it does not write.
        for block in 8..16 {
            let list = bench.list(Op::Program, block, 0, 64);
            bench.submit(list);
        }
        bench.run();
        let begin = bench.now;
        // The steps are odd, so that no command comes at the moment at which another ends.
        let gap = [20_000_003, 120_000_007, 400_000_009][rng.below(3) as usize];
        let mut at = 0;
        let mut commands = Vec::new();
        let mut ends = vec![0.0; 40];
        let mut next = [0; 8];
        for tag in 0..40_u32 {
            at += rng.below(gap) + 1;
            let write = rng.chance(0.5);
            commands.push(ModelCommand { write, came: at as f64 / 1e6 });
            while let Some((time, event)) = bench.events.pop_due(begin + Span::from_ps(at)) {
                bench.now = time;
                bench.backend.handle(time, event, &mut bench.events, &mut bench.hash);
                take(&mut bench, begin, &mut ends);
            }
            bench.now = begin + Span::from_ps(at);
            let block = if write { rng.below(8) } else { 8 + rng.below(8) } as u32;
            let list = bench.backend.open_list(Class::Other, tag);
            let superblock = SuperblockId::new(block);
            let command = if write {
                let target = Target { superblock, offset: next[block as usize] };
                next[block as usize] += 1;
                bench.backend.add_program(list, Cause::Host, target, Stream::HOST)
            } else {
                bench.backend.add_read(list, Cause::Host, superblock)
            };
            let offset = if write { next[block as usize] - 1 } else { rng.below(64) as u32 };
            let psn = bench.backend.geometry().slot(superblock, offset).get();
            bench.backend.push_slot(command, slot(psn, psn));
            bench.submit(list);
        }
        while let Some((time, event)) = bench.events.pop() {
            bench.now = time;
            bench.backend.handle(time, event, &mut bench.events, &mut bench.hash);
            take(&mut bench, begin, &mut ends);
        }
        let wanted = model(&commands, 2048.0 / mbps as f64, (3.0, copy as f64));
        for (i, (got, wanted)) in ends.iter().zip(&wanted).enumerate() {
            assert!((got - wanted).abs() < 1e-3, "turn {turn}, command {i}: {got} us, the model says {wanted} us");
        }
    }
}
