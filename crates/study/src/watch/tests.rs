//! Compares observers with the drive's own numbers, for every family of devices.

use std::collections::BTreeMap;

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::backend::{Cause, Primitive, Resource};
use ssd::{Precondition, ResolvedDevice, Spec, Ssd};
use testkit::{List, conformance, requests};
use workload::{Arrival, Pacing};

use super::Watch;
use super::explain::Band;
use super::journey::{Journey, JourneyPart};
use super::timeline::{Timeline, Window};
use crate::oracle::Blank;
use crate::run::{Record, Rules, RunResult};

fn watch_of(drive: &Ssd<()>) -> &Watch {
    drive.observer().expect("it is watched")
}

/// Runs requests with and without an observer, and checks that the results are equal.
fn run(resolved: &ResolvedDevice, ios: &[Io], depth: u32, watch: Watch, log: &mut Vec<Record>) -> (RunResult, Ssd<()>) {
    let arrivals: Vec<_> = ios.iter().map(|io| Arrival::new(Time::ZERO, *io)).collect();
    let source = || List::new(arrivals.clone(), Pacing::Closed { depth });
    let mut watched = Ssd::<()>::new(resolved, 1).observed_by(watch);
    let mut plain = Ssd::<()>::new(resolved, 1);
    watched.precondition(Precondition::Fill, &mut |_, _| {});
    plain.precondition(Precondition::Fill, &mut |_, _| {});
    let start = watched.now();
    watched.observer_mut::<Watch>().expect("it is watched").begin(start);
    let rules = || Rules::settle(Span::from_secs(10));
    let result = Rules { log: Some(log), ..rules() }.run(&mut watched, &mut source(), &mut Blank).expect("it runs");
    let same = rules().run(&mut plain, &mut source(), &mut Blank).expect("it runs");
    assert_eq!(result.after.event_hash, same.after.event_hash, "watching changes nothing");
    (result, watched)
}

fn small(text: &str) -> ResolvedDevice {
    let text = format!(
        r#"name = "s"
flash = {{ part = "dirik-2009", channels = 1, chips = 1, blocks = 40, pages = 16 {text} }}
host = {{ link = "none" }}
ftl = {{ over-provisioning = "40%" }}
"#
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    spec.resolve().expect("valid")
}

fn parts(journey: &Journey) -> BTreeMap<&'static str, f64> {
    let all = JourneyPart::ALL.into_iter().map(|part| (part.name(), journey.parts[part as usize].as_us_f64()));
    all.filter(|(_, us)| *us > 0.0).collect()
}

#[test]
fn every_request_is_explained_without_a_gap_on_every_kind_of_device() {
    // Every tenth of the suite's settings, so that all families and controllers occur, and all settings with further
    // times.
    let more = ["decoders", "firmware", "a slow RAM", "as they come", "suspen", "bit errors", "power", "by heat"];
    let settings = conformance::settings();
    let chosen = settings.iter().enumerate().filter(|(i, of)| i % 10 == 0 || more.iter().any(|n| of.name.contains(n)));
    for (_, setting) in chosen {
        let Ok(resolved) = setting.spec.resolve() else { panic!("{}", setting.name) };
        let mut rng = Rng::stream(7, "watch");
        let capacity = resolved.capacity().get();
        let ios: Vec<_> = (0..250).map(|_| requests::draw(&mut rng, capacity)).collect();
        let mut log = Vec::new();
        let window = Window { from: Span::ZERO, until: Span::from_secs(3600) };
        let watch = Watch::default().journeys(Some(3)).timeline(Timeline::new(window));
        let (_, drive) = run(&resolved, &ios, 8, watch, &mut log);
        let seen = watch_of(&drive);
        assert_eq!(seen.finished().len(), log.len(), "{}", setting.name);
        for (journey, record) in seen.finished().iter().zip(&log) {
            let name = format!("{}, request {}: {journey:?}", setting.name, journey.tag);
            assert_eq!((journey.tag, journey.io, journey.end), (record.tag, record.io, record.end), "{name}");
            assert_eq!(journey.parts.iter().copied().sum::<Span>(), record.end - record.arrival, "{name}");
            let waits = |parts: &[JourneyPart]| parts.iter().map(|part| journey.parts[*part as usize]).sum::<Span>();
            let admission = waits(&[JourneyPart::Queue, JourneyPart::PowerState, JourneyPart::Throttle]);
            assert_eq!(admission, record.start - record.arrival, "{name}");
            // The parts into which a wait is divided are never more than the wait.
            let of = |causes: &[Span]| causes.iter().copied().sum::<Span>();
            let elsewhere = [JourneyPart::Queue, JourneyPart::Overlap, JourneyPart::Buffer, JourneyPart::Ftl];
            assert!(
                of(&journey.behind)
                    <= waits(&[
                        JourneyPart::Controller,
                        JourneyPart::Die,
                        JourneyPart::Channel,
                        JourneyPart::Suspended,
                        JourneyPart::PowerCap,
                        JourneyPart::Rebuild
                    ]),
                "{name}"
            );
            assert!(of(&journey.ahead) <= waits(&[JourneyPart::Queue]), "{name}");
            assert!(of(&journey.meanwhile) <= waits(&elsewhere), "{name}");
        }
        let one = seen.finished().iter().find(|journey| journey.tag == 3).expect("it ended");
        let mut now = one.arrival;
        for leg in seen.legs() {
            assert_eq!(leg.from, now, "{}: {:?}", setting.name, seen.legs());
            now = leg.until;
        }
        assert_eq!(now, one.end, "{}: {:?}", setting.name, seen.legs());
        alone(seen.seen().expect("a timeline"), &setting.name);
    }
}

/// Checks that no resource works for two commands at once.
fn alone(timeline: &Timeline, name: &str) {
    let mut until: BTreeMap<Resource, Time> = BTreeMap::new();
    for slice in timeline.slices() {
        let before = until.insert(slice.resource, slice.until).unwrap_or(Time::ZERO);
        assert!(slice.from >= before && slice.until >= slice.from, "{name}: {slice:?} before {before}");
    }
}

#[test]
fn a_lone_read_is_array_time_and_transfer_time() {
    let resolved = small(", controllers = \"none\"");
    let read = |unit: u64| Io::new(IoKind::Read, Lba::new(unit * 4), Sectors::new(4));
    let (_, drive) = run(&resolved, &[read(0)], 1, Watch::default().journeys(None), &mut Vec::new());
    let alone = watch_of(&drive).finished()[0];
    let timing = &resolved.backend.timing;
    let (array, transfer) = (timing.read[0].as_us_f64(), timing.transfer[1].as_us_f64());
    assert_eq!(parts(&alone), BTreeMap::from([("array", array), ("transfer", transfer)]));
    assert_eq!(alone.behind, [Span::ZERO; Cause::COUNT]);
    // Behind another request on the die, the wait equals that request's time on the die.
    let (_, drive) = run(&resolved, &[read(0), read(1)], 2, Watch::default().journeys(None), &mut Vec::new());
    let second = watch_of(&drive).finished()[1];
    let waited = parts(&second)["die-wait"];
    assert!((waited - array - transfer).abs() < 1e-6, "{waited}");
    assert_eq!(second.behind[Cause::Host as usize], second.parts[JourneyPart::Die as usize]);
    // With a controller for each die, the request waits for the controller.
    let (_, drive) = run(&small(""), &[read(0), read(1)], 2, Watch::default().journeys(None), &mut Vec::new());
    let third = watch_of(&drive).finished()[1];
    assert_eq!(third.parts[JourneyPart::Controller as usize], second.parts[JourneyPart::Die as usize]);
    assert_eq!(third.behind, second.behind);
}

#[test]
fn decoding_is_a_part_of_its_own_with_the_wait_for_a_decoder() {
    let rate = "controllers = \"none\", ecc = { decode = { rate = \"2048MB/s\", latency = \"7us\" } }";
    let (slow, fast) = (rate.replace("2048", "20.48"), rate);
    let read = |unit: u64| Io::new(IoKind::Read, Lba::new(unit * 4), Sectors::new(4));
    for (rate, codeword) in [(fast, 1.0), (&*slow, 100.0)] {
        let resolved = small(&format!(", {rate}"));
        let reads = [read(0), read(1)];
        let (_, drive) = run(&resolved, &reads, 2, Watch::default().journeys(Some(1)), &mut Vec::new());
        let timing = &resolved.backend.timing;
        let (array, transfer) = (timing.read[0].as_us_f64(), timing.transfer[1].as_us_f64());
        let [first, second] = [0, 1].map(|i| watch_of(&drive).finished()[i]);
        let alone = BTreeMap::from([("array", array), ("transfer", transfer), ("decode", codeword + 7.0)]);
        assert_eq!(parts(&first), alone);
        // The transfer of a page takes 106.92 us, so every codeword finds its decoder free.
        let mut waits = alone;
        waits.insert("die-wait", array + transfer);
        let seen = parts(&second);
        assert!(waits.iter().all(|(part, us)| (seen[part] - us).abs() < 1e-6), "{seen:?}, {waits:?}");
        assert_eq!(watch_of(&drive).legs().last().map(|leg| leg.part), Some(JourneyPart::Decode));
    }
}

#[test]
fn retries_are_a_part_of_their_own_and_wait_like_other_reads() {
    // Every bit error rate is at least 2 %: the first attempt fails, and the single step of the table corrects all.
    let errors = "errors = {}, ecc = { decode = { rate = \"2048MB/s\", latency = \"7us\" }, hard-limit = 200 }";
    let part = "[flash.custom-part]\nlike = \"dirik-2009\"\nerrors = { base = 2e-2, wear = 0.0, wear_exponent = 0.0, \
                retention = 0.0, retention_cycles = 0.0, retention_time = 0.0, disturb = 0.0, disturb_cycles = 0.0, \
                disturb_reads = 0.0, temperature = \"30C\", activation_ev = 1.1, page_types = [1.0], block_spread = \"0%\", \
                layers = 1, layer_spread = \"0%\", retry_rber = [\"20%\"], retry_time = [\"3us\"] }\n";
    let text = format!(
        "name = \"s\"\nhost = {{ link = \"none\" }}\nftl = {{ over-provisioning = \"40%\" }}\n[flash]\nchannels = 1\nchips = 1\n\
         blocks = 40\npages = 16\ncontrollers = \"none\"\n{}\n{part}",
        errors.replace(", ecc", "\necc")
    );
    let resolved = toml::from_str::<Spec>(&text).unwrap_or_else(|error| panic!("{error}: {text}")).resolve();
    let resolved = resolved.unwrap_or_else(|faults| panic!("{faults:?}"));
    let read = |unit: u64| Io::new(IoKind::Read, Lba::new(unit * 4), Sectors::new(4));
    let timing = &resolved.backend.timing;
    let (array, transfer) = (timing.read[0].as_us_f64(), timing.transfer[1].as_us_f64());
    let (_, drive) = run(&resolved, &[read(0)], 1, Watch::default().journeys(Some(0)), &mut Vec::new());
    let first = BTreeMap::from([("array", array), ("transfer", transfer), ("decode", 8.0)]);
    let mut alone = first.clone();
    alone.insert("retry", array + 3.0 + transfer + 8.0);
    assert_eq!(parts(&watch_of(&drive).finished()[0]), alone);
    let legs: Vec<_> = watch_of(&drive).legs().iter().map(|leg| leg.part.name()).collect();
    assert_eq!(legs, ["array", "transfer", "decode", "retry", "retry", "retry"]);
    // The retry finds the die at work for the second read, and waits for its end.
    let (_, drive) = run(&resolved, &[read(0), read(1)], 2, Watch::default().journeys(Some(0)), &mut Vec::new());
    let waits = parts(&watch_of(&drive).finished()[0])["die-wait"];
    assert!((waits - (array + transfer - 8.0)).abs() < 4.0, "{waits}");
    let legs: Vec<_> = watch_of(&drive).legs().iter().map(|leg| leg.part.name()).collect();
    assert_eq!(legs, ["array", "transfer", "decode", "die-wait", "retry", "retry", "retry"]);
}

#[test]
fn a_suspended_program_is_cut_and_its_request_waits_for_the_read() {
    let rules = "suspend = { program-time = \"5us\", program-resume = \"2us\" }";
    let resolved = small(&format!(", controllers = \"none\", {rules}"));
    let io = |kind, unit: u64| Io::new(kind, Lba::new(unit * 4), Sectors::new(4));
    let window = Window { from: Span::ZERO, until: Span::from_secs(1) };
    let watch = Watch::default().journeys(Some(0)).timeline(Timeline::new(window));
    let ios = [io(IoKind::Write, 0), io(IoKind::Read, 1)];
    let (_, drive) = run(&resolved, &ios, 2, watch, &mut Vec::new());
    let [read, write] = [0, 1].map(|i| watch_of(&drive).finished()[i]);
    let timing = &resolved.backend.timing;
    let [array, program] = [timing.read[0], timing.program[0]];
    let transfer = timing.transfer[1];
    let [stop, resume] = [5, 2].map(Span::from_us);
    let of = |journey: &Journey, part: JourneyPart| journey.parts[part as usize];
    // The read arrives while the data of the program crosses the channel, and waits for the end of this transfer and
    // for the stop.
    let parts = [JourneyPart::Die, JourneyPart::Array, JourneyPart::Transfer].map(|part| of(&read, part));
    assert_eq!(parts, [transfer + stop, array, transfer]);
    let parts = [JourneyPart::Transfer, JourneyPart::Array, JourneyPart::Suspended].map(|part| of(&write, part));
    assert_eq!(parts, [transfer, program + stop + resume, array + transfer]);
    assert_eq!(write.behind[Cause::Host as usize], of(&write, JourneyPart::Suspended));
    let legs: Vec<_> = watch_of(&drive).legs().iter().map(|leg| leg.part.name()).collect();
    assert_eq!(legs, ["transfer", "array", "suspended", "array", "array"], "stop; resumption and the rest");
    let slices = watch_of(&drive).seen().expect("a timeline").slices();
    let of_die = slices.iter().filter(|slice| slice.resource == Resource::Array(0)).map(|slice| slice.primitive);
    assert_eq!(
        of_die.collect::<Vec<_>>(),
        [Primitive::Suspend, Primitive::Read, Primitive::Resume, Primitive::Program],
        "the array had not worked when it was stopped"
    );
}

#[test]
fn a_partial_write_reads_the_rest_of_its_page_first() {
    let resolved = small("");
    let write = Io::new(IoKind::Write, Lba::new(1), Sectors::new(1));
    let (_, drive) = run(&resolved, &[write], 1, Watch::default().journeys(Some(0)), &mut Vec::new());
    let legs: Vec<_> = watch_of(&drive).legs().iter().map(|leg| leg.part.name()).collect();
    assert_eq!(legs, ["array", "transfer", "transfer", "array"], "read, data out, data in, program");
}

#[test]
fn the_queue_of_an_overloaded_drive_is_what_the_requests_ahead_wait_for() {
    let text = r#"name = "q"
flash = { part = "dirik-2009", channels = 1, chips = 1, blocks = 40, pages = 16 }
host = { link = "none", queue-depth = 1 }
ftl = { over-provisioning = "40%" }
"#;
    let resolved = toml::from_str::<Spec>(text).expect("TOML").resolve().expect("valid");
    let write = |unit: u64| Io::new(IoKind::Write, Lba::new(unit * 4), Sectors::new(4));
    let ios: Vec<Io> = (0..800).map(|i| write(i * 7 % 40)).collect();
    let (_, drive) = run(&resolved, &ios, 16, Watch::default().journeys(None), &mut Vec::new());
    // Each write waits for fifteen others, and some of these wait for garbage collection.
    let late = &watch_of(&drive).finished()[400..];
    let sum = |of: &dyn Fn(&Journey) -> Span| late.iter().map(of).sum::<Span>().as_us_f64();
    let queue = sum(&|journey| journey.parts[JourneyPart::Queue as usize]);
    let ahead = sum(&|journey| journey.ahead.iter().copied().sum());
    let gc = sum(&|journey| journey.meanwhile[Cause::Gc as usize]);
    let host = sum(&|journey| journey.meanwhile[Cause::Host as usize]);
    assert!((ahead / queue - 1.0).abs() < 1e-3, "all of the queue has a reason: {ahead} of {queue}");
    assert!(gc > 0.1 * queue && host > 0.1 * queue && gc + host <= queue, "{gc} and {host} of {queue}");
}

#[test]
fn bands_run_from_the_fastest_to_the_slowest_requests() {
    let resolved = small(", controllers = \"per-die\"");
    let mut rng = Rng::stream(3, "bands");
    let ios: Vec<_> = (0..2000).map(|_| requests::draw(&mut rng, resolved.capacity().get())).collect();
    let (_, drive) = run(&resolved, &ios, 16, Watch::default().journeys(None), &mut Vec::new());
    let explained = watch_of(&drive).bands();
    // Sums that were reported in between count, too.
    let mut asked = watch_of(&drive).clone();
    assert_eq!(asked.explained(), explained);
    assert_eq!((asked.explained(), asked.bands()), (Vec::new(), explained.clone()));
    let read = explained.iter().find(|of| of.kind == "read").expect("reads");
    let (all, bands) = read.bands.split_last().expect("bands");
    assert_eq!(bands.iter().map(|band| band.requests).sum::<u64>(), all.requests);
    assert!(bands.windows(2).all(|two| two[0].latency_us <= two[1].latency_us), "{bands:?}");
    for band in &read.bands {
        let sum: f64 = band.parts_us.iter().map(|(_, us)| us).sum();
        assert!((sum - band.latency_us).abs() < 1e-6 * band.latency_us, "{band:?}");
    }
    // The bands are those of a sort of all requests, within 0.5 %.
    let mut each: Vec<&Journey> = watch_of(&drive).finished().iter().filter(|of| of.io.kind == IoKind::Read).collect();
    each.sort_by_key(|journey| journey.latency());
    let mut from = 0;
    for band in bands {
        let some = &each[from..from + band.requests as usize];
        let mean =
            |of: &dyn Fn(&Journey) -> Span| some.iter().map(|j| of(j).as_us_f64()).sum::<f64>() / some.len() as f64;
        let latency = mean(&|journey| journey.latency());
        assert!((band.latency_us / latency - 1.0).abs() < 5e-3, "{band:?}, {latency}");
        for part in JourneyPart::ALL {
            let exact = mean(&|journey| journey.parts[part as usize]);
            assert!((band.part_us(part) - exact).abs() < 2e-2 * latency, "{band:?}: {part:?} is {exact}");
        }
        from += band.requests as usize;
    }
    let together = Band::together("the same", bands.iter()).expect("bands");
    assert!((together.latency_us / all.latency_us - 1.0).abs() < 1e-9 && together.requests == all.requests);
}

#[test]
fn a_window_keeps_the_spans_that_touch_it() {
    let resolved = small("");
    let mut rng = Rng::stream(5, "window");
    let ios: Vec<_> = (0..400).map(|_| requests::draw(&mut rng, resolved.capacity().get())).collect();
    let window = Window { from: Span::from_ms(2), until: Span::from_ms(4) };
    let (_, drive) = run(&resolved, &ios, 4, Watch::default().timeline(Timeline::new(window)), &mut Vec::new());
    let timeline = watch_of(&drive).seen().expect("a timeline");
    let (from, until) = (timeline.start() + window.from, timeline.start() + window.until);
    assert!(timeline.slices().len() > 10 && timeline.dropped() == 0);
    assert!(timeline.slices().iter().all(|slice| slice.from < until && slice.until > from));
    assert!(timeline.requests().iter().all(|of| of.arrival <= of.begun && of.begun <= of.end && of.arrival < until));
    assert!(timeline.held().iter().all(|held| held.from < until && held.until > from));
    assert!(timeline.levels().iter().all(|reading| (from..until).contains(&reading.at)));
    assert!(!timeline.requests().is_empty() && !timeline.held().is_empty() && !timeline.levels().is_empty());
}

#[test]
fn windows_are_parsed() {
    let window: Window = "1ms..2500us".parse().expect("a window");
    assert_eq!((window.from, window.until), (Span::from_ms(1), Span::from_us(2500)));
    for (text, wanted) in [("5ms", "FROM..UNTIL"), ("2ms..1ms", "is empty"), ("1..2", "unit"), ("x..y", "")] {
        let error = text.parse::<Window>().expect_err(text).to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

/// On a drive without parallelism, the times of the commands of a request's list add up, and the next request waits for
/// this sum.
#[test]
fn serial_lists_are_observed_on_both_arrays() {
    let text = r#"name = "h"
host = { link = "none" }
flash = { part = "K9GAG08U0M", channels = 1, chips = 1, blocks = 40, pages = 16 }
slc = { part = "K9WAG08U1A", blocks = 16, pages = 8 }
ftl = { kind = "chang", over-provisioning = "40%", chang = { throttle = false } }
"#;
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let resolved = spec.resolve().expect("valid");
    let write = |first: u64, sectors: u64| Io::new(IoKind::Write, Lba::new(first), Sectors::new(sectors));
    let window = Window { from: Span::ZERO, until: Span::from_secs(1) };
    let watch = Watch::default().journeys(None).timeline(Timeline::new(window));
    let (_, drive) = run(&resolved, &[write(0, 32), write(64, 8)], 2, watch, &mut Vec::new());
    let (large, small) = (watch_of(&drive).finished()[0], watch_of(&drive).finished()[1]);
    let timing = &resolved.backend.timing;
    let slc = &resolved.slc_array.as_ref().expect("SLC flash").backend.timing;
    // Four pages of 4 KiB; then two of 2 KiB.
    let program = timing.program[0].as_us_f64() * 4.0;
    let close = |journey: &Journey, us: f64| assert!((parts(journey)["array"] - us).abs() < 1e-6, "{journey:?}");
    close(&large, program);
    close(&small, slc.program[0].as_us_f64() * 2.0);
    assert_eq!(small.parts[JourneyPart::Controller as usize], large.latency());
    assert_eq!(small.behind[Cause::Host as usize], large.latency());
    let timeline = watch_of(&drive).seen().expect("a timeline");
    let arrays: Vec<_> = timeline.slices().iter().map(|slice| slice.resource).collect();
    let (mlc, of_slc) = (Resource::Array(0), Resource::Array(1));
    assert_eq!(arrays.iter().filter(|resource| **resource == mlc).count(), 4, "{arrays:?}");
    assert_eq!(arrays.iter().filter(|resource| **resource == of_slc).count(), 2, "{arrays:?}");
    assert!(timeline.slices().iter().all(|slice| slice.about.request.is_some()), "{arrays:?}");
}

#[test]
fn copies_in_bulk_are_explained_like_copies_one_by_one() {
    let slc = "[slc]\npart = \"K9WAG08U1A\"\nblocks = 6\n";
    for (front, depth) in [("", 2), (slc, 2), (slc, 1)] {
        let text = format!(
            r#"name = "small"
host = {{ link = "none", queue-depth = {depth} }}
[flash]
part = "K9GAG08U0M"
channels = 1
chips = 1
blocks = 24
pages = 16
{front}[ftl]
kind = "chang"
over-provisioning = "50%"
wear = {{ threshold = 8 }}
chang = {{ mapping-cache = 4 }}
"#
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}"));
        let mut rng = Rng::stream(11, "copies");
        let capacity = resolved.capacity().get();
        let ios: Vec<_> = (0..1500).map(|_| requests::draw(&mut rng, capacity)).collect();
        let window = Window { from: Span::ZERO, until: Span::from_secs(3600) };
        let each = Watch::default().journeys(None).timeline(Timeline::new(window));
        let (_, each) = run(&resolved, &ios, 4, each, &mut Vec::new());
        let (_, bulk) = run(&resolved, &ios, 4, Watch::default().journeys(None), &mut Vec::new());
        let folds = ssd::Drive::counters(&bulk).slc_mlc.expect("Chang's disk").folds;
        assert!(folds > 40, "{folds} folds, {front}");
        assert_eq!(watch_of(&each).finished().len(), watch_of(&bulk).finished().len());
        for (each, bulk) in watch_of(&each).finished().iter().zip(watch_of(&bulk).finished()) {
            // Sums of the drive's work in other pieces are rounded differently.
            let near = |(a, b): (&Span, &Span)| a.as_ps().abs_diff(b.as_ps()) <= 1000;
            assert!(each.meanwhile.iter().zip(&bulk.meanwhile).all(near), "{front}: {each:?}, {bulk:?}");
            assert_eq!(Journey { meanwhile: bulk.meanwhile, ..*each }, *bulk, "{front}");
        }
    }
}
