//! Software controllers: a processor that issues all commands except host reads (Seong et al., Sec. 4.2.3, Fig. 17).

use super::hydra::{Hydra, ROWS};
use super::*;

/// The time in microseconds to program superblocks of four superchips of one chip each.
fn programs(software: Option<Span>, controllers: u32) -> f64 {
    let hydra = Hydra { chips: 1, software, controllers: Controllers::Background(controllers), ..Hydra::default() };
    let mut bench = hydra.build();
    for die in 0..4 {
        let list = bench.background(die);
        (0..ROWS).for_each(|row| bench.program(list, die, 1, row));
        bench.submit(list);
    }
    bench.run().last().expect("all of them").1.as_us_f64()
}

#[test]
fn each_command_costs_its_time_before_its_die_begins_it() {
    // With one controller, one die works at a time, and no other work hides the processor's time.
    let rows = f64::from(4 * ROWS);
    close(programs(None, 1), rows * 252.8);
    close(programs(Some(Span::from_us(5)), 1), rows * 257.8);
    // Four controllers keep the processor busy: a command every 100 us.
    close(programs(Some(Span::from_us(100)), 4), rows * 100.0 + 252.8);
}

#[test]
fn a_faster_processor_is_faster_and_hardware_is_fastest() {
    // HY12: a cost in proportion to 1/f, 400 us at 10 MHz.
    let times: Vec<f64> =
        [10, 20, 40, 80, 160].map(|mhz| programs(Some(Span::from_us(4000 / mhz)), 4)).into_iter().collect();
    assert!(times.windows(2).all(|pair| pair[1] < pair[0]), "{times:?}");
    assert!(programs(None, 4) < times[4]);
}

#[test]
fn a_host_read_bypasses_the_processor() {
    let software = Some(Span::from_us(500));
    let mut bench = Hydra { software, ..Hydra::default() }.build();
    let list = bench.background(0);
    bench.program(list, 0, 1, 0);
    bench.submit(list);
    // The processor works on a program of this very die, which is free until then.
    bench.until(Time::from_ps(100_000_000));
    bench.host_read(1, 0, 0, 16);
    let ends = bench.run();
    assert_eq!(ends[0].0, 1);
    close(ends[0].1.as_us_f64(), 72.8);
    close(ends[1].1.as_us_f64(), 400.0 + 252.8);
}

#[test]
fn ftl_jobs_and_commands_alternate_on_the_processor() {
    let software = Some(Span::from_us(10));
    let mut bench = Hydra { software, ..Hydra::default() }.build();
    bench.backend.use_cpu(bench.now, Span::from_us(30), 7, &mut bench.events);
    let list = bench.background(0);
    bench.erase(list, 0, 1);
    bench.submit(list);
    bench.backend.use_cpu(bench.now, Span::from_us(5), 8, &mut bench.events);
    let mut log = Vec::new();
    while let Some((at, event)) = bench.events.pop() {
        // The busy time of the processor grows evenly.
        let middle = Time::from_ps((bench.now.as_ps() + at.as_ps()) / 2);
        let until = Time::from_ps(middle.as_ps().min(45_000_000));
        assert_eq!(bench.backend.processor_busy(middle), until - Time::ZERO);
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
        while let Some(token) = bench.backend.take_cpu_done() {
            log.push((token, at.as_ps() / 1_000_000));
        }
    }
    assert_eq!(log, [(7, 30), (8, 45)]);
    assert_eq!(bench.now, Time::from_ps(2_040_000_000), "the erase began at 40 us");
}

#[test]
fn hardware_leaves_the_processor_to_the_ftl() {
    let mut bench = Hydra::default().build();
    let list = bench.background(0);
    bench.erase(list, 0, 1);
    bench.submit(list);
    assert!(!bench.backend.is_idle());
    bench.run();
    assert_eq!(bench.backend.processor_busy(bench.now), Span::ZERO);
    // With time off, a job of the processor takes no time.
    bench.backend.set_timed(false);
    bench.backend.use_cpu(bench.now, Span::from_us(30), 7, &mut bench.events);
    assert!(!bench.backend.is_idle(), "it waits to be taken");
    assert_eq!((bench.backend.take_cpu_done(), bench.backend.take_cpu_done()), (Some(7), None));
    assert!(bench.backend.is_idle() && bench.events.pop().is_none());
}

#[test]
fn a_power_cut_drops_the_work_of_the_processor() {
    let mut bench = Hydra { software: Some(Span::from_us(10)), ..Hydra::default() }.build();
    bench.backend.use_cpu(bench.now, Span::from_us(30), 7, &mut bench.events);
    let list = bench.background(0);
    bench.erase(list, 0, 1);
    bench.submit(list);
    let now = Time::from_ps(20_000_000);
    bench.backend.cut_power(now);
    bench.events.clear();
    assert!(bench.backend.is_idle());
    assert_eq!(bench.backend.processor_busy(now + Span::from_us(1)), Span::from_us(20));
    // The processor accepts new work after the cut.
    bench.now = now;
    let list = bench.background(1);
    bench.erase(list, 0, 1);
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), 2010.0);
}
