//! Host reads between the pages of a program, against closed forms.

use super::*;
use base::engine::Rng;

/// A bench of two chips of four planes on a channel: a page takes 81.92 us, tR 25 us, tPROG 200 us.
fn bench(bus: BusOrder, between_pages: bool) -> Bench {
    let arbitration = Arbitration { bus, between_pages, ..Arbitration::default() };
    let controllers = Controllers::None;
    let mut bench = Shape { chips: 4, stripe: 4, cache: false, controllers, arbitration, ..Shape::default() }.build();
    // Every chip except the first gets data to read.
    for chip in 1..4 {
        let list = bench.list(Op::Program, chip * 16, 0, 4);
        bench.submit(list);
    }
    bench.run();
    bench
}

/// The end times in us of a program of four pages on the first chip, and of reads of a page that come after it.
fn ends(bench: &mut Bench, class: Class, offset: u32, reads: &[(u32, u64)]) -> Vec<f64> {
    let begin = bench.now;
    let list = bench.list(Op::Program, 0, offset, 4);
    bench.submit(list);
    let mut at = vec![0.0; 4];
    for (chip, ns) in reads {
        bench.until(begin + Span::from_ns(*ns));
        let list = bench.backend.open_list(class, *chip);
        let superblock = SuperblockId::new(chip * 16);
        let command = bench.backend.add_read(list, Cause::Host, superblock);
        let psn = bench.backend.geometry().slot(superblock, 0).get();
        bench.backend.push_slot(command, slot(psn, psn));
        bench.submit(list);
    }
    let since = bench.now - begin;
    for (tag, end) in bench.run() {
        at[tag as usize / if tag < 4 { 1 } else { 16 }] = (end + since).as_us_f64();
    }
    at
}

const PAGE: f64 = 81.92;

#[test]
fn a_host_read_waits_for_one_page_and_not_for_a_program() {
    for bus in BusOrder::EVERY {
        // The read is ready at 125 us, during the second page, and goes before the third.
        let at = ends(&mut bench(bus, true), Class::HostRead, 0, &[(1, 100_000)]);
        close(at[1], 3.0 * PAGE);
        close(at[0], 5.0 * PAGE + 200.0);
        // With the program's data in one piece, the read waits for all four pages.
        let at = ends(&mut bench(bus, false), Class::HostRead, 0, &[(1, 100_000)]);
        close(at[1], 5.0 * PAGE);
        close(at[0], 4.0 * PAGE + 200.0);
        // No host waits for a read of garbage collection, so it does not go between.
        let at = ends(&mut bench(bus, true), Class::Other, 0, &[(1, 100_000)]);
        close(at[1], 5.0 * PAGE);
        close(at[0], 4.0 * PAGE + 200.0);
    }
}

#[test]
fn the_order_of_the_channel_decides_what_goes_before_the_next_page() {
    let three = [(1, 100_000), (2, 101_000), (3, 102_000)];
    for bus in BusOrder::EVERY {
        let at = ends(&mut bench(bus, true), Class::HostRead, 0, &three);
        // After each page one read passes; all pass at once if the order gives the program no precedence over them.
        let at_once = matches!(bus, BusOrder::DataFirst | BusOrder::ReadFirst);
        let wanted = if at_once { [3.0, 4.0, 5.0] } else { [3.0, 5.0, 7.0] };
        for (chip, pages) in wanted.into_iter().enumerate() {
            close(at[chip + 1], pages * PAGE);
        }
        close(at[0], if at_once { 7.0 } else { 6.0 } * PAGE + 200.0);
    }
}

#[test]
fn reads_at_any_moment_wait_for_the_page_under_way_and_no_byte_is_lost() {
    let mut bench = bench(BusOrder::CommandFirst, true);
    let mut rng = Rng::stream(1, "pages");
    for row in 0..60 {
        // The data of the program ends at 327.68 us; a read that is ready by then goes behind the page under way.
        let came = rng.below(300_000) + 1;
        let ready = came as f64 / 1e3 + 25.0;
        let before = bench.backend.account(bench.now).op(Op::Program);
        let at = ends(&mut bench, Class::HostRead, row * 4, &[(1, came)]);
        let from = ((ready / PAGE).ceil() * PAGE).min(4.0 * PAGE).max(ready);
        close(at[1], from + PAGE);
        let split = if from < 4.0 * PAGE { PAGE } else { 0.0 };
        close(at[0], 4.0 * PAGE + split + 200.0);
        let after = bench.backend.account(bench.now).op(Op::Program);
        assert_eq!((after.bytes - before.bytes).get(), 4 * 2048, "the pages of a program cross once each");
        close((after.bus - before.bus).as_us_f64(), 4.0 * PAGE);
    }
}

#[test]
fn a_program_that_no_read_disturbs_crosses_with_one_event() {
    let mut bench = bench(BusOrder::CommandFirst, true);
    let (handled, phases) = (bench.hash.events(), bench.phases().len());
    ends(&mut bench, Class::HostRead, 0, &[]);
    assert_eq!(bench.hash.events() - handled, 2, "the end of the transfer and of the program");
    assert_eq!(bench.phases().len() - phases, 2);
}

#[test]
fn an_observer_learns_that_a_transfer_was_shortened() {
    let mut bench = bench(BusOrder::CommandFirst, true);
    let (begin, seen) = (bench.now, bench.phases().len());
    ends(&mut bench, Class::HostRead, 0, &[(1, 100_000), (2, 200_000)]);
    let bus = bench.phases()[seen..].iter().filter(|phase| phase.resource == Resource::Channel(0));
    let bus: Vec<_> =
        bus.map(|phase| [phase.from, phase.until].map(|at| ((at - begin).as_us_f64() / PAGE).round())).collect();
    // Two pages, a read, a page, a read, the last page.
    assert_eq!(bus, [[0.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0], [5.0, 6.0]]);
    assert!(bus.windows(2).all(|two| two[0][1] <= two[1][0]), "one transfer at a time");
}

#[test]
fn a_read_that_arrives_at_the_end_of_a_page_goes_before_the_next() {
    for page in 1..4 {
        // The array of the read takes 25 us.
        let came = (f64::from(page) * PAGE * 1e3) as u64 - 25_000;
        let at = ends(&mut bench(BusOrder::CommandFirst, true), Class::HostRead, 0, &[(1, came)]);
        close(at[1], f64::from(page + 1) * PAGE);
        close(at[0], 5.0 * PAGE + 200.0);
    }
}

#[test]
fn bytes_count_when_their_page_begins_also_if_the_power_fails() {
    let mut bench = bench(BusOrder::CommandFirst, true);
    let begin = bench.now;
    let before = bench.backend.account(begin).op(Op::Program).bytes.get();
    let list = bench.list(Op::Program, 0, 0, 4);
    bench.submit(list);
    for (pages, us) in [(1, 1), (1, 80), (2, 83), (3, 200), (4, 300)] {
        let account = bench.backend.account(begin + Span::from_us(us)).op(Op::Program);
        assert_eq!(account.bytes.get() - before, pages * 2048, "after {us} us");
    }
    bench.until(begin + Span::from_us(200));
    bench.backend.cut_power(bench.now);
    let account = bench.backend.account(bench.now).op(Op::Program);
    assert_eq!(account.bytes.get() - before, 3 * 2048);
    bench.run();
    assert_eq!(bench.backend.account(bench.now).op(Op::Program), account, "the event of the transfer is dropped");
}
