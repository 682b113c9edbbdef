//! Checks that the published configurations take the published times (Woo and Min, Sec. 5.2, Fig. 10).

use base::units::{Bytes, Lpn, Span};

use super::super::{AnyMapUnit, Ask, Asker, CdftlSpec, CostSpec, Costs, DftlSpec, FmmuSpec, MapSpec, MapUnit};
use super::rig::Rig;

const PAGE: u32 = 1024;
const UNITS: u32 = 2048 * PAGE;

fn rig(spec: MapSpec) -> Rig {
    Rig::new(AnyMapUnit::new(&spec, UNITS, Bytes::new(4096)).expect("a map unit"), UNITS, PAGE, Span::ZERO, 1)
}

fn dftl(cores: u32) -> MapSpec {
    MapSpec::Dftl(DftlSpec { cores, ..DftlSpec::PUBLISHED })
}

fn cdftl(cores: u32) -> MapSpec {
    MapSpec::Cdftl(CdftlSpec { cores, ..CdftlSpec::PUBLISHED })
}

const FMMU: MapSpec = MapSpec::Fmmu(FmmuSpec::PUBLISHED);

/// Busy time of all cores or machines, in nanoseconds.
fn busy(rig: &Rig) -> f64 {
    rig.counters().busy.iter().map(|span| span.as_us_f64() * 1_000.0).sum()
}

/// Mean busy time of a lookup of `unit(i)` without a place, over the later half of `count` lookups, in nanoseconds. No
/// flash command follows such a lookup, so this is the time of the map alone (T_FTL_map).
fn mean(spec: MapSpec, count: u32, unit: impl Fn(u32) -> u32) -> f64 {
    mean_in(rig(spec), count, unit)
}

/// Mean busy time as [`mean`] gives it, for mapping units with a place.
fn mean_found(spec: MapSpec, count: u32, unit: impl Fn(u32) -> u32) -> f64 {
    mean_in(rig(spec).written(|lpn| lpn + 1), count, unit)
}

fn mean_in(mut rig: Rig, count: u32, unit: impl Fn(u32) -> u32) -> f64 {
    let mut half = 0.0;
    for i in 0..count {
        if i == count / 2 {
            half = busy(&rig);
        }
        rig.ask(Asker::Host, Ask::Lookup { first: Lpn::new(unit(i)), count: 1 });
        rig.run_until_idle();
    }
    (busy(&rig) - half) / f64::from(count - count / 2)
}

/// A new block at each call, in the same few translation pages: the CMT misses, the CTP hits.
fn blocks(i: u32) -> u32 {
    i % 2048 * 16
}

/// A new translation page and a new block of it at each call: both levels miss.
fn pages(i: u32) -> u32 {
    i % 2048 * PAGE + i * 7 % 64 * 16
}

#[track_caller]
fn close(measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() < 0.02, "{measured} ns instead of {expected} ns");
}

#[test]
fn hits_take_the_times_of_figure_10a() {
    close(mean(dftl(1), 100, |_| 5), 1_500.0);
    close(mean(cdftl(1), 8192, blocks), 4_000.0);
    close(mean(FMMU, 8192, blocks), 160.0);
}

#[test]
fn misses_take_the_times_of_figure_10b() {
    // 40,000 blocks in turn, more than the 17,408 that fit.
    close(mean(dftl(1), 80_000, |i| i % 40_000 * 16), 4_500.0);
    close(mean(cdftl(1), 8192, pages), 4_700.0);
    close(mean(FMMU, 8192, pages), 185.0);
}

#[test]
fn a_lookup_that_finds_a_mapped_page_takes_one_command_more() {
    // Sec. 5.2: 0.2 us in software. FMMU's 17 % of busy time (Sec. 5.3) leave no room for a command.
    close(mean_found(dftl(1), 100, |_| 5), 1_500.0 + 200.0);
    close(mean_found(dftl(1), 80_000, |i| i % 40_000 * 16), 4_500.0 + 200.0);
    close(mean_found(cdftl(1), 8192, blocks), 4_000.0 + 200.0);
    close(mean_found(cdftl(1), 8192, pages), 4_700.0 + 200.0);
    close(mean_found(FMMU, 8192, blocks), 160.0);
    let costs = CostSpec::Custom(Costs { command: Span::from_ns(200), ..Costs::FMMU });
    let slower = MapSpec::Fmmu(FmmuSpec { costs, ..FmmuSpec::PUBLISHED });
    close(mean_found(slower, 8192, blocks), 160.0 + 200.0);
    close(mean(slower, 8192, blocks), 160.0);
}

#[test]
fn a_lookup_costs_one_command_for_all_its_places_and_an_update_none() {
    let mut rig = rig(dftl(1)).written(|lpn| lpn + 1);
    let mut takes = |ask| {
        let before = busy(&rig);
        rig.ask(Asker::Host, ask);
        rig.run_until_idle();
        busy(&rig) - before
    };
    takes(Ask::Lookup { first: Lpn::new(0), count: 1 });
    close(takes(Ask::Lookup { first: Lpn::new(0), count: 16 }), 1_700.0);
    close(takes(Ask::Update { lpn: Lpn::new(5), to: None }), 1_500.0);
    close(takes(Ask::Lookup { first: Lpn::new(5), count: 1 }), 1_500.0);
    close(takes(Ask::Lookup { first: Lpn::new(4), count: 2 }), 1_700.0);
}

#[test]
fn four_cores_answer_as_many_as_figure_10a_says() {
    // A quarter of 4 us is 1 us; DFTL's 0.4 us are more than a quarter of 1.5 us, so its cores wait for each other.
    for (spec, expected) in [(dftl(4), 400.0), (cdftl(4), 1_000.0)] {
        let mut rig = rig(spec);
        let warm = |rig: &mut Rig| {
            let start = rig.now;
            for i in 0..2048 {
                // Each core has eight of 32 pages; DFTL keeps all of their blocks, CDFTL only the pages.
                rig.ask(Asker::Host, Ask::Lookup { first: Lpn::new(i % 32 * PAGE + i / 32 * 16), count: 1 });
            }
            rig.run_until_idle();
            (rig.now - start).as_us_f64() * 1_000.0 / 2048.0
        };
        warm(&mut rig);
        close(warm(&mut rig), expected);
    }
}

/// Busy time of flushing one page with `dirty` blocks, in microseconds.
fn flush(spec: MapSpec, dirty: u32) -> f64 {
    let mut rig = rig(spec);
    for i in 0..dirty {
        rig.ask(Asker::Host, Ask::Update { lpn: Lpn::new(i * 16), to: None });
        rig.run_until_idle();
    }
    let (before, asked) = (busy(&rig), rig.counters());
    assert_eq!((asked.flushes, asked.flush_time), (0, Span::ZERO));
    assert!((asked.question_time.as_us_f64() * 1_000.0 - before).abs() < 0.1, "all of it was for questions");
    rig.flush();
    let flushed = rig.counters();
    let took = (busy(&rig) - before) / 1_000.0;
    assert_eq!((flushed.flushes, flushed.question_time), (1, asked.question_time));
    assert!((flushed.flush_time.as_us_f64() - took).abs() < 1e-3, "all of it was for the flush");
    took
}

#[test]
fn busy_times_end_at_the_moment_of_the_query() {
    for (spec, takes) in [(dftl(1), 1_500), (cdftl(2), 1_500), (FMMU, 30)] {
        let mut rig = rig(spec);
        rig.ask(Asker::Host, Ask::Lookup { first: Lpn::new(5), count: 1 });
        rig.run_until_idle();
        let (start, before) = (rig.now, rig.counters());
        rig.ask(Asker::Host, Ask::Lookup { first: Lpn::new(5), count: 1 });
        let busy = |after: Span| {
            let since = rig.unit.counters(start + after).since(&before);
            since.busy.iter().copied().max()
        };
        for ns in [0, takes / 3, takes, 2 * takes] {
            assert_eq!(busy(Span::from_ns(ns)), Some(Span::from_ns(ns.min(takes))), "{spec:?}");
        }
    }
}

#[test]
fn flushes_take_the_times_of_figure_10c() {
    let fmmu = flush(FMMU, 64);
    assert!(fmmu < 10.0, "{fmmu} us for all blocks of a page");
    let (one, two) = (flush(dftl(1), 1), flush(cdftl(1), 1));
    // Apart from the search, one block takes little time: the ratio is 17, that of 1,088 KiB to 64 KiB.
    assert!((one / two - 17.0).abs() < 2.0, "{one} us and {two} us");
    // 17,408 and 1,024 blocks, each tested in the 21 cycles that are calibrated to Fig. 11(c).
    assert!((914.0..930.0).contains(&one) && (53.7..60.0).contains(&two), "{one} us and {two} us");
    // Each further dirty block moves its sixteen entries, in 40 cycles each.
    assert!((flush(dftl(1), 5) - one - 4.0 * 1.6).abs() < 1e-3);
    let larger = MapSpec::Dftl(DftlSpec { block: Bytes::new(128), ..DftlSpec::PUBLISHED });
    let ratio = flush(larger, 1) / one;
    assert!((ratio - 0.5).abs() < 0.02, "half as many blocks to be tested: {ratio}");
}

#[test]
fn more_ways_cost_more_and_ideal_map_units_cost_nothing() {
    let ways = |ways| mean(MapSpec::Dftl(DftlSpec { ways, ..DftlSpec::PUBLISHED }), 100, |_| 5);
    close(ways(8) - ways(4), ways(16) / 2.0 - ways(8) / 2.0);
    assert!(ways(8) > 1.7 * ways(4), "tags are most of it");
    for spec in [
        MapSpec::Dftl(DftlSpec { costs: CostSpec::Ideal, ..DftlSpec::PUBLISHED }),
        MapSpec::Cdftl(CdftlSpec { costs: CostSpec::Ideal, ..CdftlSpec::PUBLISHED }),
        MapSpec::Fmmu(FmmuSpec { costs: CostSpec::Ideal, ..FmmuSpec::PUBLISHED }),
    ] {
        assert_eq!(mean(spec, 200, pages).to_bits(), 0);
    }
}
