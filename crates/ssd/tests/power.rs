//! Power states, heat and energy of whole drives, against closed forms.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::backend::Op;
use ssd::{Completion, Drive, QueueId, Request, Spec, Ssd};

fn drive(power: &str) -> Ssd<()> {
    let base = "name = 'small'\nflash = { part = 'dirik-2009', channels = 1, chips = 4, blocks = 48, pages = 16 }\n";
    let spec: Spec = toml::from_str(&format!("{base}{power}")).unwrap_or_else(|error| panic!("{error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

const STATES: &str = "power = { controller = { active = '3W', idle = '1W' }, states = [\
    { power = '70mW', idle-after = '10ms', entry = '2ms', exit = '1ms' }, \
    { power = '5mW', idle-after = '1s', entry = '15ms', exit = '65ms' }] }\n";

/// Lets time pass, submits a request and waits for it.
fn after(drive: &mut Ssd<()>, pause: Span, kind: IoKind) -> Completion<()> {
    let mut completions = Vec::new();
    let at = drive.now() + pause;
    while drive.now() < at {
        drive.advance(at, &mut completions);
    }
    let io = Io::new(kind, Lba::new(0), Sectors::new(4));
    let data = if kind == IoKind::Write { vec![(); 4] } else { Vec::new() };
    drive.submit(at, Request { tag: 1, queue: QueueId::default(), io, data });
    drive.drain(&mut completions);
    completions.pop().expect("a completion")
}

#[test]
fn the_exit_of_a_power_state_adds_to_the_first_request_and_to_no_other() {
    let [mut plain, mut drive] = ["", STATES].map(drive);
    for (pause, extra) in [(0, 0), (9, 0), (11, 2), (500, 1), (1001, 79), (5000, 65), (0, 0)] {
        let pause = Span::from_ms(pause);
        let [without, with] = [&mut plain, &mut drive].map(|drive| after(drive, pause, IoKind::Write).latency());
        // A request that comes during an entry waits for the rest of the entry: the drive has been idle since its last
        // completion.
        assert_eq!(with - without, Span::from_ms(extra), "after {pause}");
    }
    let power = drive.counters().power.expect("counters");
    assert_eq!((power.wakes, power.wake_time), (4, Span::from_ms(2 + 1 + 79 + 65)));
    assert_eq!(power.states.iter().map(|state| state.entries).collect::<Vec<_>>(), [4, 2]);
}

#[test]
fn a_power_cut_in_a_power_state_ends_it() {
    let mut drive = drive(STATES);
    after(&mut drive, Span::ZERO, IoKind::Write);
    let at = drive.now() + Span::from_secs(3);
    drive.advance(at, &mut Vec::new());
    drive.cut_power();
    drive.power_on(at + Span::from_secs(5));
    drive.drain(&mut Vec::new());
    let power = drive.counters().power.expect("counters");
    let states: Span = power.states.iter().map(|state| state.residency).sum();
    let all = power.active + power.idle + power.transition + states;
    assert_eq!(all + Span::from_secs(5), drive.now() - Time::ZERO, "no time without power counts");
    // A cut while a request waits for the exit: the request is lost, and the next one waits for nothing.
    let at = drive.now() + Span::from_secs(3);
    drive.advance(at, &mut Vec::new());
    let io = Io::new(IoKind::Read, Lba::new(0), Sectors::new(4));
    drive.submit(at, Request { tag: 9, queue: QueueId::default(), io, data: Vec::new() });
    drive.advance(at + Span::from_ms(20), &mut Vec::new());
    assert_eq!(drive.cut_power(), [9]);
    drive.power_on(at + Span::from_ms(30));
    drive.drain(&mut Vec::new());
    assert!(after(&mut drive, Span::ZERO, IoKind::Read).latency() < Span::from_ms(1));
}

#[test]
fn the_energy_of_a_drive_is_that_of_its_parts() {
    // One program of 200 us at 3.3 V x 15 mA, data in at 25 MB/s, and a controller that draws 3 W meanwhile.
    let mut drive = drive(STATES);
    let before = drive.counters();
    let completion = after(&mut drive, Span::ZERO, IoKind::Write);
    let counters = drive.counters();
    let program = drive.energy(&counters.flash).as_joules();
    let tally = counters.flash.op(Op::Program);
    assert_eq!(tally.array, Span::from_us(200));
    let bus = drive.resolved().part.bus_energy(tally.bytes).as_joules();
    assert!((program - bus - 3.3 * 0.015 * 200e-6).abs() < 1e-9, "{program}");
    let all = drive.power_draw().between(&before, &counters).as_joules();
    let controller = 3.0 * completion.latency().as_secs_f64();
    assert!((all - program - controller).abs() < 1e-12, "{all}");
}

const HOT: &str = "power = { controller = { active = '5W', idle = '0W' }, thermal = { ambient = '25C', \
    resistance = '10K/W', time-constant = '50ms', sample = '1ms', throttle = { style = 'on-off', from = '55C', to = '65C', \
    lowest-rate = '1MB/s' } } }\n";

#[test]
fn a_hot_drive_keeps_to_its_rate_until_it_is_cool() {
    let mut drive = drive(HOT);
    after(&mut drive, Span::ZERO, IoKind::Write);
    // 5 W are 50 K above the air in steady state, so the throttle begins after 50 ms x ln(50 / 10) of work.
    let begin = Span::from_secs_f64(0.05 * 5.0_f64.ln());
    let mut throttled = None;
    let mut starts = Vec::new();
    while throttled.is_none_or(|at| drive.now() < at + Span::from_ms(20)) {
        let completion = after(&mut drive, Span::ZERO, IoKind::Read);
        starts.push(completion.start);
        let power = drive.counters().power.expect("counters");
        if power.throttled > 0 {
            throttled = throttled.or(Some(completion.arrival));
        }
    }
    let at = throttled.expect("it gets hot") - Time::ZERO;
    // The flash draws power beside the controller, so the drive becomes a little hotter.
    let early = begin.as_secs_f64() - at.as_secs_f64();
    assert!((-0.002..0.006).contains(&early), "{at}, expected {begin}");
    // 2 KiB at 1 MB/s, from the start of one request to that of the next.
    let last = &starts[starts.len() - 2..];
    assert_eq!(last[1] - last[0], Span::from_us(2048));
    let power = drive.counters().power.expect("counters");
    let [celsius, hottest] = power.celsius.expect("a thermal model");
    assert!(hottest >= 65.0 && celsius <= hottest, "{celsius} of {hottest}");
    // The drive is cool again: no delay.
    let cool = after(&mut drive, Span::from_secs(1), IoKind::Read);
    assert_eq!(cool.queue_wait(), Span::ZERO);
}

/// Overwrites in a closed loop of 32 requests, each of one page. Returns the completions of the second half, and the drive.
fn overwrites(power: &str) -> (Ssd<()>, Vec<Time>) {
    overwrites_with(power, |_| ())
}

/// Runs [`overwrites`], and calls `change` with the drive when half of the requests have completed.
fn overwrites_with(power: &str, change: impl FnOnce(&mut Ssd<()>)) -> (Ssd<()>, Vec<Time>) {
    let mut change = Some(change);
    let mut drive = drive(&format!("{power}[ftl]\nplacement = {{ policy = 'page-round-robin' }}\n"));
    let (mut completions, mut ends, mut submitted) = (Vec::new(), Vec::new(), 0);
    while ends.len() < 800 {
        if ends.len() >= 400
            && let Some(change) = change.take()
        {
            change(&mut drive);
        }
        while submitted < 800 && submitted < ends.len() as u64 + 32 {
            let io = Io::new(IoKind::Write, Lba::new(submitted * 4 % 1600), Sectors::new(4));
            drive.submit(drive.now(), Request { tag: submitted, queue: QueueId::default(), io, data: vec![(); 4] });
            submitted += 1;
        }
        let at = drive.next_event().expect("a request is under way");
        drive.advance(at, &mut completions);
        ends.extend(completions.drain(..).map(|completion| completion.end));
    }
    (drive, ends.split_off(400))
}

#[test]
fn a_cap_of_n_programs_lets_n_run_at_a_time() {
    for programs in [1, 2] {
        // 3.3 V x 15 mA are 49.5 mW.
        let (drive, ends) = overwrites(&format!("power.cap.peak = '{}mW'\n", programs * 50));
        let expected = programs as f64 / 200e-6;
        let rate = (ends.len() - 1) as f64 / (ends[ends.len() - 1] - ends[0]).as_secs_f64();
        assert!((rate / expected - 1.0).abs() < 0.02, "{programs} at a time: {rate} a second, expected {expected}");
        let cap = drive.counters().power.and_then(|power| power.cap).expect("a cap");
        assert!(cap.highest.as_uw() == programs * 49_500 && cap.waits > 300, "{cap:?}");
    }
}

#[test]
fn a_cap_on_the_average_lets_as_many_programs_begin_in_a_window_as_its_energy_allows() {
    // A program takes 49.5 mW x 200 us = 9.9 uJ, and a window of 1 ms has 40 uJ: four programs.
    // One of 10 us has less than a program, which uses the energy of the next windows, too.
    for (window, expected) in [("1ms", 4000.0), ("10us", 0.04 / 9.9e-6)] {
        let (_, ends) = overwrites(&format!("power.cap = {{ average = '40mW', window = '{window}' }}\n"));
        let rate = (ends.len() - 1) as f64 / (ends[ends.len() - 1] - ends[0]).as_secs_f64();
        assert!((rate / expected - 1.0).abs() < 0.02, "{window}: {rate} a second");
    }
}

/// The controller draws 1 W.
const OPERATIONAL: &str = "power = { controller = { active = '1W', idle = '1W' }, select = SELECT, \
    operational = [{ power = '8W' }, { power = '1.1W' }, { power = '1.05W' }] }\n";

#[test]
fn an_operational_power_state_is_the_cap_that_it_leaves_for_the_arrays() {
    for (state, cap) in [(1, "100mW"), (2, "50mW")] {
        let [limited, capped] = [
            OPERATIONAL.replace("SELECT", &state.to_string()),
            format!("power = {{ controller = {{ active = '1W', idle = '1W' }}, cap = {{ peak = '{cap}' }} }}\n"),
        ];
        let [limited, capped] = [limited, capped].map(|power| overwrites(&power).0);
        assert_eq!(
            (limited.counters().event_hash, limited.now()),
            (capped.counters().event_hash, capped.now()),
            "state {state}"
        );
    }
    let [free, unlimited] = ["", &OPERATIONAL.replace("SELECT", "0")].map(|power| overwrites(power).0);
    assert_eq!(
        (unlimited.counters().event_hash, unlimited.now()),
        (free.counters().event_hash, free.now()),
        "8 W limit nothing"
    );
}

/// Programs of 200 us: one at a time in state 2, two in state 1. In state 0 the channel is the limit: 2 KiB at 25 MB/s.
#[test]
fn a_host_changes_the_power_state_under_load() {
    for (from, to, at_once) in [(2, 0, 200.0 / 81.92), (0, 2, 1.0), (2, 1, 2.0), (1, 2, 1.0)] {
        let power = OPERATIONAL.replace("SELECT", &from.to_string());
        let (_, ends) = overwrites_with(&power, |drive| assert_eq!(drive.select_power_state(to), Some(Span::ZERO)));
        // Skips the programs that were under way or waited at the change.
        let ends = &ends[50..];
        let rate = (ends.len() - 1) as f64 / (ends[ends.len() - 1] - ends[0]).as_secs_f64();
        let expected = at_once / 200e-6;
        assert!((0.85..1.02).contains(&(rate / expected)), "{from} to {to}: {rate} a second, expected {expected}");
    }
}
