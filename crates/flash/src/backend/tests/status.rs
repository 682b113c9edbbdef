//! Status reads after R/B#, and polling, against closed forms.

use super::*;

const STATUS: f64 = 0.5;
const PAGE: f64 = 81.92;

/// A bench of one channel with `chips` dies; a page takes 81.92 us, tR 25 us, tPROG 200 us, a status 0.5 us.
fn bench(chips: u32, completion: Completion, across: bool) -> Bench {
    let mut part = Part::preset("dirik-2009").expect("a preset");
    (part.bus.status, part.timing.cache_program_copy) = (Span::from_ns(500), Span::ZERO);
    let geometry = Geometry::new(1, chips, 1, 1, 1, 16, 64, 1, 4).expect("a small array");
    let mut timing = Timing::new(&part, &geometry, Rate::new(25_000_000), across).expect("a valid part");
    timing.cache_across = across;
    let config = Config { completion, ..Config::new(timing) };
    Bench::new(geometry, &config, 1)
}

const fn polling(us: u64) -> Completion {
    Completion::Polling(Span::from_us(us))
}

#[test]
fn a_status_is_read_after_a_program_and_an_erase_and_not_after_a_read() {
    let mut bench = bench(1, Completion::ReadyBusy, false);
    close(bench.time(Op::Program, 1), PAGE + 200.0 + STATUS);
    close(bench.time(Op::Read, 1), 25.0 + PAGE);
    let list = bench.backend.open_list(Class::Other, 0);
    bench.backend.add_erase(list, Cause::Gc, SuperblockId::new(0));
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), 3000.0 + STATUS);
    let account = bench.backend.account(bench.now);
    close(account.op(Op::Program).bus.as_us_f64(), PAGE + STATUS);
    assert_eq!(account.op(Op::Program).bytes.get(), 2048, "a status is no data");
    close(account.op(Op::Erase).bus.as_us_f64(), STATUS);
}

#[test]
fn cache_mode_goes_on_while_a_status_waits() {
    // The next page has arrived when the array ends, so the array works without a gap.
    let mut bench = bench(1, Completion::ReadyBusy, true);
    close(bench.time(Op::Program, 4), PAGE + 4.0 * 200.0 + STATUS);
}

#[test]
fn a_page_that_comes_in_before_the_status_begins_all_the_same() {
    // A page takes longer than its program. The status of the previous page waits for the page that is crossing, whose
    // program begins as soon as it has crossed.
    let mut bench = bench(1, Completion::ReadyBusy, true);
    bench.backend.rules.timing.transfer[1] = Span::from_us(400);
    // The third and the fourth page wait for the status of the first and the second.
    close(bench.time(Op::Program, 4), 4.0 * 400.0 + 2.0 * STATUS + 200.0 + STATUS);
}

#[test]
fn a_controller_that_polls_learns_of_the_end_with_the_first_status_behind_it() {
    for interval in [7, 30, 60, 199, 250] {
        let gap = interval as f64;
        // The k-th status begins after k pauses and k - 1 earlier statuses.
        let noticed = |table: f64| {
            let ends = (1..).map(|k| f64::from(k) * (gap + STATUS));
            let k = (1..).zip(ends).find(|(_, end)| *end >= table).expect("it ends").0;
            (f64::from(k) * (gap + STATUS), f64::from(k) * STATUS)
        };
        let mut bench = bench(1, polling(interval), false);
        let ((write, polls), (read, _)) = (noticed(200.0), noticed(25.0));
        close(bench.time(Op::Program, 1), PAGE + write);
        close(bench.time(Op::Read, 1), read + PAGE);
        close(bench.backend.account(bench.now).op(Op::Program).bus.as_us_f64(), PAGE + polls);
    }
}

#[test]
fn the_power_ends_all_polls() {
    let mut bench = bench(2, polling(5), false);
    for chip in 0..2 {
        let list = bench.list(Op::Program, chip * 16, 0, 1);
        bench.submit(list);
    }
    let begin = bench.now;
    bench.until(begin + Span::from_us(100));
    bench.backend.cut_power(bench.now);
    let hash = bench.hash.value();
    bench.run();
    assert_eq!(bench.hash.value(), hash, "no poll outlives the power");
    let list = bench.backend.open_list(Class::Other, 0);
    bench.backend.add_erase(list, Cause::Gc, SuperblockId::new(0));
    bench.now = Time::ZERO + Span::from_ms(1);
    bench.submit(list);
    // 545 pauses and statuses take 2,997.5 us, so the 546th reports that the erase is done.
    close(bench.run()[0].1.as_us_f64(), 546.0 * 5.5);
}
