//! Compares quiet ends of reads with events for all of them. An observer of the flash makes every end an event, so a
//! drive with one and a drive without must agree at every moment.

use base::engine::Rng;
use base::io::IoKind;
use base::units::Span;
use flash::backend::Op;
use flash::nand::{FaultKind, Stamp};
use ssd::{Drive, Precondition, ResolvedDevice, Ssd};

use crate::twins::{SilentObserver, TwinStep, end_alike, happens, resolve};

const UNIT: u64 = 8;

fn drive(part: &str, flash: &str, rest: &str) -> ResolvedDevice {
    resolve(&format!(
        "name = \"small\"\nhost = {{ queue-depth = 48, link = \"pcie-3-x4\" }}\n\
         [flash]\n{part}\nchannels = 2\nchips = 6\nblocks = 14\npages = 16\n{flash}\n\
         [ftl]\nmap-unit = \"4KiB\"\nover-provisioning = \"60%\"\n{rest}\n"
    ))
}

/// Mostly reads: their channels are busy most of the time.
fn draw(rng: &mut Rng, sectors: u64, with_faults: bool) -> TwinStep {
    let units = sectors / UNIT;
    let start = rng.below(units) * UNIT;
    match rng.below(200) {
        0 => TwinStep::CutPower,
        1 if with_faults => TwinStep::Fail(FaultKind::ALL[rng.below(3) as usize], rng.below(40)),
        2..90 => TwinStep::Submit(IoKind::Read, start, UNIT),
        90..105 => TwinStep::Submit(IoKind::Read, start + rng.below(UNIT), 1),
        105..120 => TwinStep::Submit(IoKind::Read, start, UNIT * (1 + rng.below((units - start / UNIT).min(9)))),
        120..140 => TwinStep::Submit(IoKind::Write, start, UNIT * (1 + rng.below((units - start / UNIT).min(3)))),
        140..143 => TwinStep::Submit(IoKind::Discard, start, UNIT),
        // Requests that come together have commands that end together.
        143..160 => TwinStep::Pass(Span::from_us(5 * rng.below(20))),
        _ => TwinStep::Pass(Span::from_ns(rng.below(30_000))),
    }
}

/// Runs both drives and compares them at each step. Returns the number of steps that the quiet drive took without an
/// event.
fn compare(resolved: &ResolvedDevice, seed: u64, steps: u64, with_faults: bool) -> u64 {
    let mut rng = Rng::stream(seed, "quiet");
    let mut quiet = Ssd::<Stamp>::new(resolved, seed);
    let mut loud = Ssd::<Stamp>::new(resolved, seed).observed_by(SilentObserver);
    // The drive is full and overwritten, so that writes start collection, whose reads are not the host's.
    for step in [Precondition::Fill, Precondition::RandomOverwrite(3.0)] {
        quiet.precondition(step, &mut |_, _| {});
        loud.precondition(step, &mut |_, _| {});
    }
    let sectors = quiet.capacity().get();
    let mut without = 0;
    for tag in 0..steps {
        let event = draw(&mut rng, sectors, with_faults);
        let left = happens(&mut quiet, event, tag, Stamp(tag + 1));
        let right = happens(&mut loud, event, tag, Stamp(tag + 1));
        let at = format!("seed {seed}, step {tag}, {event:?}");
        assert_eq!(format!("{left:?}"), format!("{right:?}"), "{at}");
        assert_eq!(quiet.counters(), loud.counters(), "{at}");
        without += u64::from(quiet.next_event() > loud.next_event());
    }
    if resolved.backend.suspend.is_some() && !with_faults {
        let suspensions = |op| quiet.counters().flash.op(op).suspensions;
        assert!(suspensions(Op::Program) > 0 && suspensions(Op::Erase) > 0, "seed {seed}: nothing was suspended");
    }
    end_alike(&mut quiet, &mut loud, seed);
    without
}

const FMMU: &str = "part = \"FMMU-V2\"";
/// Slow transfers, so that six chips are more than a channel can serve.
const SLOW: &str = "lane-rate = \"200MB/s\"";

/// A drive that suspends programs and erases.
fn suspending(stop: &str, more: &str) -> ResolvedDevice {
    let times = "program-time = \"5us\", erase-time = \"20us\"";
    let suspend = format!("suspend = {{ stop = \"{stop}\", {times}, {more} }}");
    drive(FMMU, &format!("{SLOW}\ncontrollers = \"none\"\n{suspend}"), "")
}

/// Parts and arrays whose reads may end quietly, one for each mechanism that such an end interacts with.
fn drives() -> Vec<ResolvedDevice> {
    let two = "custom-part = { like = \"FMMU-V2\", timing = { read = [\"30us\", \"61us\"] } }";
    let no_cycles = "custom-part = { like = \"FMMU-V2\", bus = { command = \"0us\" } }";
    let pages = "custom-part = { like = \"FMMU-V2\", timing = { one_shot = 1, program = [\"200us\"] } }";
    vec![
        drive(FMMU, SLOW, ""),
        drive(no_cycles, SLOW, ""),
        drive(FMMU, &format!("{SLOW}\ncontrollers = \"none\""), ""),
        drive(two, SLOW, ""),
        drive(pages, &format!("{SLOW}\ncontrollers = \"none\""), "discard = \"durable\""),
        drive(FMMU, &format!("{SLOW}\narbitration = {{ bus = \"fifo\" }}"), ""),
        drive(FMMU, &format!("{SLOW}\narbitration = {{ bus = \"data-first\", between-pages = false }}"), ""),
        drive(two, &format!("{SLOW}\ncontrollers = \"none\"\narbitration = {{ bus = \"read-first\" }}"), ""),
        drive(FMMU, &format!("{SLOW}\ncontrollers = \"none\"\narbitration = {{ commands = \"read-first\" }}"), ""),
        drive(FMMU, SLOW, "map = { kind = \"uncached\" }"),
        drive(FMMU, &format!("{SLOW}\ncontrollers = \"none\"\nplane-reads = {{ reads = \"all\" }}"), ""),
        drive(no_cycles, &format!("{SLOW}\ncontrollers = \"none\"\nplane-reads = {{ at-once = 2 }}"), ""),
        suspending("any-time", "operations = \"both\""),
        suspending("steps", "reads = \"all\", program-resume = \"2us\", erase-resume = \"3us\""),
        suspending("cancel", "writes = true, limit = 3, progress = \"20us\""),
    ]
}

#[test]
fn quiet_ends_are_the_same_as_events_at_every_moment() {
    for (i, resolved) in drives().iter().enumerate() {
        let without: u64 = (0..6).map(|seed| compare(resolved, 10 * i as u64 + seed, 1500, false)).sum();
        assert!(without > 100, "drive {i} went without an event in {without} steps only");
    }
}

#[test]
fn faults_and_quiet_ends_do_not_meet() {
    for (i, resolved) in drives().iter().enumerate() {
        for seed in 0..4 {
            compare(resolved, 1000 + 10 * i as u64 + seed, 800, true);
        }
    }
}
