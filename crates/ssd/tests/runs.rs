//! Compares runs of copy-backs, whose boundaries are no events, with copy-backs that are commands. An observer of the
//! flash makes every drive use commands, so a drive with one and a drive without must agree at every moment.

use base::engine::Rng;
use base::io::IoKind;
use base::units::Span;
use flash::nand::{FaultKind, Sector, Stamp};
use ssd::{Drive, Precondition, ResolvedDevice, Ssd};

use crate::twins::{SilentObserver, TwinStep, end_alike, happens, resolve};

const UNIT: u64 = 4;

fn drive(flash: &str, rest: &str) -> ResolvedDevice {
    resolve(&format!(
        "name = \"small\"\nhost = {{ queue-depth = 8 }}\n\
         [flash]\nchannels = 1\nblocks = 24\npages = 16\n{flash}\n\
         [ftl]\nkind = \"hydra\"\nover-provisioning = \"60%\"\n{rest}\n"
    ))
}

/// Draws reads, small writes for which merges copy a block, and pauses of which some end at a boundary.
fn draw(rng: &mut Rng, units: u64, with_faults: bool) -> TwinStep {
    // Most requests are for a few superblocks, so that wear has to be levelled.
    let start = if rng.chance(0.7) { rng.below(units / 8) } else { rng.below(units) };
    match rng.below(100) {
        0..2 => TwinStep::CutPower,
        2 if with_faults => TwinStep::Fail(FaultKind::ALL[rng.below(3) as usize], rng.below(40)),
        3..32 => TwinStep::Submit(IoKind::Write, start * UNIT, UNIT * (1 + rng.below((units - start).min(6)))),
        32..36 => TwinStep::Submit(IoKind::Write, start * UNIT + 1, 2),
        36..56 => TwinStep::Submit(IoKind::Read, start * UNIT, UNIT * (1 + rng.below((units - start).min(3)))),
        56..58 => TwinStep::Submit(IoKind::Discard, start * UNIT, UNIT),
        58..60 => TwinStep::Submit(IoKind::Flush, 0, 0),
        // The drive is idle and levels the wear; the next requests arrive meanwhile.
        60..63 => TwinStep::Pass(Span::from_us(50_000 + rng.below(1000) * 20)),
        // Without a link many events fall on multiples of the time of a read.
        _ => TwinStep::Pass(Span::from_us(rng.below(75) * 20 + 7 * rng.below(2))),
    }
}

/// Runs both drives and compares them at each step. Returns the number of steps that the drive with runs took without
/// an event.
fn compare<S: Sector>(
    resolved: &ResolvedDevice,
    seed: u64,
    (steps, with_faults): (u64, bool),
    content: impl Fn(u64) -> S,
) -> u64 {
    let mut rng = Rng::stream(seed, "runs");
    let (mut runs, mut single) =
        (Ssd::<S>::new(resolved, seed), Ssd::<S>::new(resolved, seed).observed_by(SilentObserver));
    runs.precondition(Precondition::Fill, &mut |_, _| {});
    single.precondition(Precondition::Fill, &mut |_, _| {});
    let units = runs.capacity().get() / UNIT;
    let mut without = 0;
    for tag in 0..steps {
        let event = draw(&mut rng, units, with_faults);
        let left = happens(&mut runs, event, tag, content(tag));
        let right = happens(&mut single, event, tag, content(tag));
        let at = format!("seed {seed}, step {tag}, {event:?}");
        assert_eq!(format!("{left:?}"), format!("{right:?}"), "{at}");
        assert_eq!(runs.counters(), single.counters(), "{at}");
        without += u64::from(runs.next_event() > single.next_event());
    }
    end_alike(&mut runs, &mut single, seed);
    without
}

/// Drives that merge by copy-back, one for each mechanism that a run interacts with.
fn drives() -> Vec<ResolvedDevice> {
    let part = "part = \"K9K8G08U0M\"";
    // Pages of one word line that take different times.
    let paired = "custom-part = { like = \"K9K8G08U0M\", timing = { read = [\"25us\", \"40us\"], program = [\"200us\", \"450us\"] }, cell = \"mlc\" }";
    let forwards =
        "controllers = { background = 2 }\narbitration = { commands = \"read-first\", bus = \"read-first\" }";
    let buffer = "[buffer]\nsize = \"256KiB\"\npolicy = \"superblock\"\nhigh = \"70%\"";
    vec![
        drive(&format!("{part}\nchips = 4\n{forwards}"), "hydra = { chips = 2 }"),
        drive(&format!("{part}\nchips = 4\n{forwards}"), &format!("hydra = {{ chips = 2 }}\n{buffer}")),
        drive(
            &format!("{part}\nchips = 4\ngang = 2\nwidth = 16\ncontrollers = {{ background = 3 }}"),
            "hydra = { chips = 4 }",
        ),
        drive(&format!("{paired}\nchips = 4\ncontrollers = {{ shared = 4 }}"), "hydra = { chips = 1 }"),
        drive(
            &format!("{part}\nchips = 2\n{forwards}"),
            "wear = { threshold = 1, check-every = 1 }\nhydra = { chips = 2 }",
        ),
    ]
}

fn stamp(tag: u64) -> Stamp {
    Stamp(tag + 1)
}

#[test]
fn runs_are_the_same_as_commands_at_every_moment() {
    for (i, resolved) in drives().iter().enumerate() {
        let mut without = 0;
        for seed in 0..6 {
            let seed = 10 * i as u64 + seed;
            without += compare(resolved, seed, (1200, false), stamp);
            without += compare(resolved, seed, (1200, false), |_| ());
        }
        assert!(without > 200, "drive {i} went without an event in {without} steps only");
    }
}

#[test]
fn a_fault_that_is_planned_during_a_run_hits_the_same_operation() {
    for (i, resolved) in drives().iter().enumerate() {
        for seed in 0..8 {
            compare(resolved, 1000 + 10 * i as u64 + seed, (400, true), stamp);
        }
    }
}
