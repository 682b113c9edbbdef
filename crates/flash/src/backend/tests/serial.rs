//! Tests of serial lists: their times add up, and a power cut tears the command under way.

use super::*;
use crate::nand::Spare;

/// A bench of two chips, with pages of 2 KiB at 100 MB/s: 20.48 us each on the bus, without cache mode.
fn bench() -> Bench {
    Shape { chips: 2, rate: Rate::new(100_000_000), cache: false, ..Shape::default() }.build()
}

const PAGE: Span = Span::from_ns(20_480);

fn begin(bench: &mut Bench, list: Handle<List>) -> Span {
    bench.backend.begin_serial(bench.now, list).expect("time is on") - bench.now
}

/// A list with a program of two pages, and then an erase of a block of the other chip.
fn two_pages_and_an_erase(bench: &mut Bench) -> Handle<List> {
    let list = bench.list(Op::Program, 0, 0, 2);
    bench.backend.add_erase(list, Cause::Gc, SuperblockId::new(16));
    list
}

#[test]
fn a_serial_list_takes_the_sum_of_its_commands() {
    let mut bench = bench();
    let list = two_pages_and_an_erase(&mut bench);
    let end = begin(&mut bench, list);
    // The commands run one after another, although they are on two chips.
    assert_eq!(end, (PAGE + Span::from_us(200)) * 2 + Span::from_us(3_000));
    bench.now += end;
    bench.backend.end_serial(bench.now, &mut bench.hash);
    assert_eq!(bench.backend.take_finished(), Some(list));
    let account = bench.backend.account(bench.now);
    assert_eq!(account.of(Op::Program, Cause::Host).array, Span::from_us(400));
    assert_eq!(account.of(Op::Program, Cause::Host).bus, PAGE * 2);
    assert_eq!(account.of(Op::Erase, Cause::Gc).commands, 1);
    let busy: Vec<Span> = bench.backend.die_busy(bench.now).collect();
    assert_eq!(busy, [Span::from_us(400), Span::from_us(3_000)]);
}

#[test]
fn a_scan_of_spare_areas_takes_as_long_as_reads() {
    let mut bench = bench();
    let list = bench.backend.open_list(Class::Other, 0);
    bench.backend.add_scan(list, Cause::Map, SuperblockId::new(0), 3);
    let end = begin(&mut bench, list);
    assert_eq!(end, (PAGE + Span::from_us(25)) * 3);
    bench.now += end;
    bench.backend.end_serial(bench.now, &mut bench.hash);
    let looks = bench.backend.account(bench.now).of(Op::Read, Cause::Map);
    assert_eq!((looks.commands, looks.pages, looks.array), (3, 3, Span::from_us(75)));
}

#[test]
fn a_serial_list_forwards_read_data_to_its_programs() {
    let mut bench = bench();
    let list = bench.list(Op::Program, 0, 0, 2);
    let end = begin(&mut bench, list);
    bench.now += end;
    bench.backend.end_serial(bench.now, &mut bench.hash);
    let copy = bench.backend.open_list(Class::Other, 0);
    let read = bench.backend.add_read(copy, Cause::Gc, SuperblockId::new(0));
    let from = bench.backend.push_slot(read, slot(1, 1));
    let target = Target { superblock: SuperblockId::new(16), offset: 0 };
    let program = bench.backend.add_program(copy, Cause::Gc, target, Stream::COPIES);
    let to = bench.backend.push_slot(program, Slot::default());
    bench.backend.forward_serial(from, to);
    let end = begin(&mut bench, copy);
    bench.now += end;
    bench.backend.end_serial(bench.now, &mut bench.hash);
    let there = bench.backend.media().spare(bench.backend.geometry().slot(SuperblockId::new(16), 0));
    assert!(matches!(there, Spare::Data { lpn, .. } if lpn == Lpn::new(1)), "{there:?}");
}

/// The cut comes in the second program: the first is complete, the second torn or complete, and the erase has not
/// begun.
#[test]
fn a_power_cut_keeps_finished_commands_and_tears_the_one_under_way() {
    let mut torn = 0;
    for seed in 0..32 {
        let mut bench = bench();
        bench.backend.media_mut().faults_mut().restart(seed);
        let list = two_pages_and_an_erase(&mut bench);
        begin(&mut bench, list);
        bench.now += (PAGE + Span::from_us(200)) + PAGE + Span::from_us(100);
        bench.backend.cut_power(bench.now);
        let spare = |page| bench.backend.media().spare(Psn::new(page));
        assert!(matches!(spare(0), Spare::Data { .. }));
        assert_ne!(spare(1), Spare::Empty);
        torn += u32::from(spare(1) == Spare::Torn);
        assert_eq!(bench.backend.media().erases(SuperblockId::new(16)), 0);
        let programs = bench.backend.account(bench.now).of(Op::Program, Cause::Host);
        assert_eq!((programs.commands, programs.array), (1, Span::from_us(300)));
        assert!(bench.backend.is_idle());
    }
    assert!((1..32).contains(&torn), "{torn} of 32 were torn");
}

/// While the data of a program crosses the bus, its page is untouched.
#[test]
fn a_power_cut_during_the_data_transfer_leaves_the_page_erased() {
    let mut bench = bench();
    let list = bench.list(Op::Program, 0, 0, 1);
    begin(&mut bench, list);
    bench.now += PAGE;
    bench.backend.cut_power(bench.now);
    assert!(bench.backend.media().is_erased(SuperblockId::new(0)));
}

/// A block in SLC mode takes two pages and a read of the second; blocks in full mode take their usual times.
#[test]
fn a_block_in_slc_mode_has_its_own_times() {
    let mut bench = bench();
    let (read, program) = (Span::from_us(10), Span::from_us(90));
    bench.backend.rules.timing.slc_mode = Some(SlcTiming { read, program, bits: 2, endurance: None });
    let list = bench.list(Op::Program, 0, 0, 2);
    let mut next = bench.backend.list(list).first();
    while let Some(page) = next {
        next = bench.backend.command(page).sibling();
        bench.backend.in_slc_mode(page);
    }
    let other = bench.backend.add_program(
        list,
        Cause::Host,
        Target { superblock: SuperblockId::new(16), offset: 0 },
        Stream::HOST,
    );
    bench.backend.push_slot(other, slot(9, 9));
    let end = begin(&mut bench, list);
    assert_eq!(end, (PAGE + program) * 2 + PAGE + Span::from_us(200));
    bench.now += end;
    bench.backend.end_serial(bench.now, &mut bench.hash);
    let list = bench.list(Op::Read, 0, 0, 1);
    assert_eq!(begin(&mut bench, list), PAGE + read);
}
