//! Tests of programs behind a failed program of the same block: the backend does not begin one if the FTL could not
//! know of the failure, and the media refuse one if the FTL could.

use super::hydra::{Hydra, block_of};
use super::*;

/// The failures of the lists' commands, in order.
fn ends(bench: &mut Bench, lists: &[Handle<List>]) -> Vec<bool> {
    while let Some((at, event)) = bench.events.pop() {
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
    }
    lists.iter().for_each(|list| assert_eq!(bench.backend.take_finished(), Some(*list)));
    let mut ends = Vec::new();
    for list in lists {
        let mut next = bench.backend.list(*list).first();
        while let Some(command) = next {
            next = bench.backend.command(command).sibling();
            ends.push(bench.backend.command(command).failed);
        }
        bench.backend.release(*list);
    }
    ends
}

#[test]
fn programs_submitted_before_a_failure_fail_without_array_time() {
    for (cache, timed) in [(true, true), (false, true), (false, false)] {
        let mut bench = Shape { cache, ..Shape::default() }.build();
        bench.backend.set_timed(timed);
        bench.backend.media_mut().faults_mut().fail_program(1);
        // The second list is opened before the FTL has the first one back.
        let first = bench.list(Op::Program, 0, 0, 4);
        let second = bench.list(Op::Program, 0, 4, 2);
        let other = bench.list(Op::Program, 1, 0, 1);
        [first, second, other].into_iter().for_each(|list| bench.submit(list));
        assert_eq!(ends(&mut bench, &[first, second, other]), [false, true, true, true, true, true, false]);
        let media = bench.backend.media();
        let spare = |page| media.spare(Psn::new(page));
        assert!(media.holds_data(Psn::new(0)) && !media.holds_data(Psn::new(1)) && !media.holds_data(Psn::new(2)));
        assert_eq!(
            [1, 2, 5].map(spare),
            [crate::nand::Spare::Torn, crate::nand::Spare::Empty, crate::nand::Spare::Empty]
        );
        let programs = bench.backend.account(bench.now).op(Op::Program);
        assert_eq!((programs.commands, programs.pages), (3, 3), "an operation that has not begun is not counted");
        if timed && !cache {
            assert_eq!(programs.array, Span::from_us(600));
            assert_eq!(programs.bytes.get(), 7 * 2048, "their data had crossed the channel");
        }
    }
}

/// Whether a program behind a failed one of its block fails too, with or without a list in between that reports the
/// failure.
fn behind(reported: bool, erased: bool) -> bool {
    let mut bench = Shape::default().build();
    bench.backend.media_mut().faults_mut().fail_program(0);
    let first = bench.list(Op::Program, 0, 0, 1);
    bench.submit(first);
    if reported {
        ends(&mut bench, &[first]);
    }
    if erased {
        let list = bench.backend.open_list(Class::Other, 0);
        bench.backend.add_erase(list, Cause::Gc, SuperblockId::new(0));
        bench.submit(list);
        ends(&mut bench, &[list]);
    }
    let second = bench.list(Op::Program, 0, 1, 1);
    bench.submit(second);
    let lists = [first, second];
    *ends(&mut bench, if reported { &lists[1..] } else { &lists }).last().expect("it ended")
}

#[test]
fn programs_behind_an_unreported_failure_fail_until_an_erase() {
    assert!(behind(false, false));
    assert!(!behind(true, true));
}

#[test]
#[should_panic(expected = "behind a program that failed")]
fn a_program_behind_a_reported_failure_is_refused() {
    behind(true, false);
}

#[test]
#[should_panic(expected = "behind a program that failed")]
fn a_program_behind_a_failure_is_refused_after_a_power_cut_too() {
    let mut bench = Shape::default().build();
    bench.backend.media_mut().faults_mut().fail_program(0);
    let first = bench.list(Op::Program, 0, 0, 1);
    bench.submit(first);
    ends(&mut bench, &[first]);
    bench.backend.cut_power(bench.now);
    let list = bench.list(Op::Program, 0, 1, 1);
    bench.submit(list);
    ends(&mut bench, &[list]);
}

#[test]
fn copy_backs_behind_a_failure_do_not_begin() {
    let mut bench = Hydra { chips: 1, ..Hydra::default() }.build();
    bench.backend.media_mut().faults_mut().fail_program(0);
    let list = bench.background(1);
    bench.copy(list, 3, 1, 0);
    bench.copy(list, 3, 1, 1);
    let patched = bench.copy(list, 3, 1, 2);
    bench.backend.set_sectors(patched, 16);
    bench.program(list, 3, 1, 3);
    bench.submit(list);
    assert_eq!(ends(&mut bench, &[list]), [true; 4]);
    let account = bench.backend.account(bench.now);
    assert_eq!((account.op(Op::CopyBack).commands, account.op(Op::Program).commands), (1, 0));
    let media = bench.backend.media();
    assert!(media.is_failing(block_of(3, 1)));
    assert!((1..4).all(|row| media.spare(bench.psn(3, 1, row)) == crate::nand::Spare::Empty));
}

#[test]
fn a_serial_list_skips_the_rest_of_a_failing_block_and_so_does_a_cut() {
    let program = |cut: Option<u64>| {
        let mut bench = Shape { cache: false, ..Shape::default() }.build();
        bench.backend.media_mut().faults_mut().fail_program(1);
        let list = bench.list(Op::Program, 0, 0, 4);
        let end = bench.backend.begin_serial(bench.now, list).expect("it takes time");
        match cut {
            // The cut is in the last program. Faults at the moment of a cut are not modelled, so no program is refused.
            Some(us) => bench.backend.cut_power(Time::from_ps(us * 1_000_000)),
            None => {
                bench.backend.end_serial(end, &mut bench.hash);
                assert_eq!(ends(&mut bench, &[list]), [false, true, true, true]);
            }
        }
        (0..4).map(|page| bench.backend.media().spare(Psn::new(page))).collect::<Vec<_>>()
    };
    let ended = program(None);
    assert!(matches!(
        ended[..],
        [
            crate::nand::Spare::Data { .. },
            crate::nand::Spare::Torn,
            crate::nand::Spare::Empty,
            crate::nand::Spare::Empty
        ]
    ));
    let cut = program(Some(1000));
    assert!(cut[..3].iter().all(|spare| matches!(spare, crate::nand::Spare::Data { .. })), "{cut:?}");
}

#[test]
fn capacitors_program_nothing_behind_a_failure() {
    let mut bench = Shape::default().build();
    bench.backend.media_mut().faults_mut().fail_program(0);
    let list = bench.list(Op::Program, 0, 0, 3);
    bench.submit(list);
    // The cut is in the program of the first page, whose failure the FTL has not learned of.
    bench.until(Time::from_ps(150_000_000));
    bench.backend.save(bench.now, &[list]);
    let mut next = bench.backend.list(list).first();
    while let Some(command) = next {
        next = bench.backend.command(command).sibling();
        assert!(bench.backend.command(command).failed);
    }
    bench.backend.cut_power(bench.now);
    let media = bench.backend.media();
    assert!((0..3).all(|page| !media.holds_data(Psn::new(page))) && media.is_failing(SuperblockId::new(0)));
}
