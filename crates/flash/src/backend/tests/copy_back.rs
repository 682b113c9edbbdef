//! Copy-back with partial data in: three phases, the content of the copy, and its state after a power cut.

use super::hydra::{FORWARDED, Hydra, block_of};
use super::*;
use crate::nand::{SectorMask, Spare, Stamp};

const NEW: Stamp = Stamp(1000);

/// Submits a copy of row 0 of die 0 to its block 1, with the sectors of `mask` new.
fn merge(bench: &mut Bench, mask: SectorMask, slot: Slot) -> Handle<List> {
    let list = bench.background(5);
    let target = Target { superblock: block_of(0, 1), offset: 0 };
    let command = bench.backend.add_copy_back(list, Cause::Merge, target, Stream::COPIES);
    let place = bench.backend.push_slot(command, Slot { psn: bench.psn(0, 0, 0), mask, ..slot });
    for sector in (0..16).filter(|sector| mask & (1 << sector) != 0) {
        bench.backend.content_mut(place).put_sector(sector, NEW);
    }
    bench.backend.set_sectors(command, mask.count_ones());
    list
}

/// A bench whose row 0 of die 0 is full of distinct stamps.
fn full(hydra: Hydra, seed: u64) -> Bench {
    let mut bench = hydra.seeded(SectorKind::Stamp, seed);
    bench.backend.set_timed(false);
    let list = bench.background(0);
    bench.erase(list, 0, 0);
    let target = Target { superblock: block_of(0, 0), offset: 0 };
    let command = bench.backend.add_program(list, Cause::Host, target, Stream::HOST);
    let slot = Slot { lpn: Lpn::new(77), version: 3, ..Slot::default() };
    let place = bench.backend.push_slot(command, slot);
    for i in 0..16 {
        bench.backend.content_mut(place).put_sector(i, Stamp(i as u64 + 1));
    }
    bench.submit(list);
    bench.run();
    bench.backend.reset_account();
    bench.backend.set_timed(true);
    bench
}

/// The content that a read of the copy returns, and its spare area.
fn copied(bench: &mut Bench) -> (Vec<Stamp>, Spare) {
    let psn = bench.psn(0, 1, 0);
    let list = bench.backend.open_list(Class::HostRead, 6);
    let read = bench.backend.add_read(list, Cause::Host, block_of(0, 1));
    let place = bench.backend.push_slot(read, Slot { psn, ..Slot::default() });
    bench.submit(list);
    while let Some((at, event)) = bench.events.pop() {
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
    }
    ((0..16).map(|i| bench.backend.content_of(place).sector(i)).collect(), bench.backend.media().spare(psn))
}

#[test]
fn a_copy_back_is_a_read_a_data_in_and_a_program() {
    // B7.2: 20 us to read, five sectors of 3.3 us on four buses, 200 us to program. The bus is free in the first and
    // the last phase.
    let mut bench = full(Hydra::default(), 1);
    let list = merge(&mut bench, 0b1_1111, Slot::default());
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), 20.0 + 16.5 + 200.0);
    let phases = bench.phases().iter().filter(|phase| phase.op == Op::CopyBack);
    let phases: Vec<_> = phases.map(|phase| (phase.primitive, (phase.until - phase.from).as_ns())).collect();
    assert_eq!(phases, [(Primitive::Read, 20_000), (Primitive::DataIn, 16_500), (Primitive::Program, 200_000)]);
    let tally = bench.backend.account(bench.now).of(Op::CopyBack, Cause::Merge);
    assert_eq!((tally.commands, tally.pages, tally.slots), (1, 1, 1));
    assert_eq!((tally.bytes.get(), tally.bus.as_ns(), tally.array.as_ns()), (5 * 528, 16_500, 220_000));
    assert_eq!(bench.backend.die_busy(bench.now).sum::<Span>(), tally.array);
}

#[test]
fn other_commands_use_the_channel_during_the_read_and_the_program_of_a_copy_back() {
    let mut bench = full(Hydra::default(), 1);
    let list = merge(&mut bench, 0xFFF, Slot::default());
    bench.submit(list);
    // The page of one die comes in while die 0 reads, and that of another while die 0 programs.
    let list = bench.background(1);
    (0..2).for_each(|die| bench.program(list, die + 1, 1, 0));
    bench.submit(list);
    let ends = bench.run();
    // The bus carries the data of die 1 (52.8 us), of die 2, and then of the copy-back, which requested the bus after
    // 20 us.
    close(ends[0].1.as_us_f64(), 2.0 * 52.8 + 200.0);
    close(ends[1].1.as_us_f64(), 2.0 * 52.8 + 12.0 * 3.3 + 200.0);
}

#[test]
fn new_sectors_replace_those_of_the_source() {
    for timed in [false, true] {
        let mut bench = full(Hydra::default(), 1);
        bench.backend.set_timed(timed);
        let own = Slot { lpn: Lpn::new(77), version: 9, expected: true, ..Slot::default() };
        let list = merge(&mut bench, 0x8001, own);
        bench.submit(list);
        bench.run();
        let (data, spare) = copied(&mut bench);
        let expected: Vec<_> = (1..=16).map(|i| if i == 1 || i == 16 { NEW } else { Stamp(i) }).collect();
        assert_eq!(data, expected);
        assert_eq!(spare, Spare::Data { lpn: Lpn::new(77), version: 9 });
    }
    // Slots that the FTL does not name keep the mapping unit of their source.
    let mut bench = full(Hydra::default(), 1);
    let list = merge(&mut bench, 0b10, Slot::default());
    bench.submit(list);
    bench.run();
    assert_eq!(copied(&mut bench).1, Spare::Data { lpn: Lpn::new(77), version: 3 });
}

#[test]
fn the_copy_of_an_unreadable_source_is_unreadable() {
    let mut bench = full(Hydra::default(), 1);
    bench.backend.media_mut().faults_mut().fail_read(0);
    let list = merge(&mut bench, 0b10, Slot::default());
    bench.submit(list);
    bench.run();
    assert!(bench.backend.media().is_unreadable(bench.psn(0, 1, 0)));
}

fn aborts(slot: Slot, mask: SectorMask, change: impl FnOnce(&mut Bench, Handle<List>)) -> String {
    let mut bench = full(Hydra::default(), 1);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let list = merge(&mut bench, mask, slot);
        change(&mut bench, list);
        bench.submit(list);
        bench.run();
    }));
    let panic = panic.expect_err("the judge lets it pass");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_copy_back_keeps_the_rules_of_the_media() {
    let wrong = Slot { lpn: Lpn::new(78), expected: true, ..Slot::default() };
    assert!(aborts(wrong, 1, |_, _| ()).contains("the map is wrong"));
    let unpaid = aborts(Slot::default(), 0b111, |bench, list| {
        let command = bench.backend.list(list).first().expect("a command");
        bench.backend.set_sectors(command, 2);
    });
    assert!(unpaid.contains("3 sectors of a copy-back are new and 2 cross"), "{unpaid}");
    let elsewhere = aborts(Slot::default(), 1, |bench, list| {
        let target = Target { superblock: block_of(1, 1), offset: 0 };
        let command = bench.backend.add_copy_back(list, Cause::Merge, target, Stream::COPIES);
        bench.backend.push_slot(command, Slot { psn: bench.psn(0, 0, 0), ..Slot::default() });
        bench.backend.set_sectors(command, 1);
    });
    assert!(elsewhere.contains("leaves its plane"), "{elsewhere}");
    let none = aborts(Slot::default(), 1, |bench, list| {
        let command = bench.backend.list(list).first().expect("a command");
        bench.backend.set_sectors(command, 17);
    });
    assert_eq!(none, "17 of 16 sectors to move");
}

#[test]
fn a_power_cut_in_any_phase_tears_the_target_of_a_copy_back() {
    // The read lasts until 20 us, data in until 72.8 us, the program until 272.8 us. At each of these times the event
    // is not handled yet.
    let after_cut = |us_tenths: u64, seed| {
        let mut bench = full(Hydra { arbitration: FORWARDED, ..Hydra::default() }, seed);
        let list = merge(&mut bench, 0xFFFF, Slot::default());
        bench.submit(list);
        bench.until(Time::from_ps(us_tenths * 100_000));
        bench.backend.cut_power(bench.now);
        assert!(bench.backend.is_idle());
        let account = bench.backend.account(bench.now);
        assert_eq!(bench.backend.die_busy(bench.now).sum::<Span>(), account.op(Op::CopyBack).array);
        assert_eq!(bench.backend.channel_busy(bench.now).sum::<Span>(), account.op(Op::CopyBack).bus);
        bench.backend.media().spare(bench.psn(0, 1, 0))
    };
    for at in [1, 100, 200, 201, 500, 728, 729, 1500, 2727] {
        let left: Vec<_> = (0..40).map(|seed| after_cut(at, seed)).collect();
        let torn = left.iter().filter(|spare| **spare == Spare::Torn).count();
        let whole = left.iter().filter(|spare| matches!(spare, Spare::Data { .. })).count();
        assert!(torn + whole == 40 && (20..40).contains(&torn), "at {at}: {torn} torn, {whole} whole of 40");
    }
    assert!((0..40).all(|seed| matches!(after_cut(2728, seed), Spare::Data { .. })), "it was done");
}

#[test]
fn a_power_cut_before_a_copy_back_begins_leaves_its_target_erased() {
    // The command cycles of the copy-back wait behind a page of another die.
    let mut bench = full(Hydra { command: Span::from_us(1), ..Hydra::default() }, 1);
    let list = bench.background(1);
    bench.program(list, 1, 1, 0);
    bench.submit(list);
    let list = merge(&mut bench, 0xF, Slot::default());
    bench.submit(list);
    bench.until(Time::from_ps(30_000_000));
    bench.backend.cut_power(bench.now);
    assert!(bench.backend.media().is_erased(block_of(0, 1)));
}
