//! Compares page copies in bulk with the same copies as commands. An observer of the flash makes every drive use
//! commands, so a drive with one and a drive without must agree at every moment.

use base::engine::Rng;
use base::io::IoKind;
use base::units::Span;
use flash::nand::{FaultKind, Sector, Stamp};
use ssd::{Counters, Drive, ResolvedDevice, Ssd};

use crate::twins::{SilentObserver, TwinStep, end_alike, happens, resolve};

const PAGE: u64 = 8;

fn drive(kind: &str, controllers: &str, log: &str) -> ResolvedDevice {
    resolve(&format!(
        r#"name = "small"
host = {{ queue-depth = 16 }}
[flash]
part = "K9XXG08"
channels = 2
chips = 2
dies = 1
planes = 1
blocks = 12
pages = 16
{controllers}
[ftl]
kind = "{kind}"
over-provisioning = "80%"
log = {{ {log} }}
"#
    ))
}

fn draw(rng: &mut Rng, pages: u64, with_faults: bool) -> TwinStep {
    let start = rng.below(pages);
    match rng.below(100) {
        0 => TwinStep::CutPower,
        1 if with_faults => TwinStep::Fail(FaultKind::ALL[rng.below(3) as usize], rng.below(40)),
        2..45 => TwinStep::Submit(IoKind::Write, start * PAGE, PAGE * (1 + rng.below((pages - start).min(3)))),
        45..50 => TwinStep::Submit(IoKind::Read, start * PAGE, PAGE),
        50..52 => TwinStep::Submit(IoKind::Discard, start * PAGE, PAGE),
        // Most steps end within a phase, and some at its end.
        _ => TwinStep::Pass(Span::from_us(rng.below(40) * 25 + 7 * rng.below(2))),
    }
}

/// The folds since power-on.
fn folds(counters: &Counters) -> u64 {
    let folds = counters.log_merges.map(|merges| merges.folds);
    folds.or(counters.slc_mlc.as_ref().map(|disk| disk.folds)).expect("a drive that folds")
}

/// Runs both drives and compares them at each step. Returns the number of folds.
fn compare<S: Sector>(
    resolved: &ResolvedDevice,
    seed: u64,
    (steps, with_faults): (u64, bool),
    content: impl Fn(u64) -> S,
) -> u64 {
    let mut rng = Rng::stream(seed, "copies");
    let (mut bulk, mut single) =
        (Ssd::<S>::new(resolved, seed), Ssd::<S>::new(resolved, seed).observed_by(SilentObserver));
    let pages = bulk.capacity().get() / PAGE;
    let mut folded = 0;
    for tag in 0..steps {
        let event = draw(&mut rng, pages, with_faults);
        if matches!(event, TwinStep::CutPower) {
            folded += folds(&bulk.counters());
        }
        let left = happens(&mut bulk, event, tag, content(tag));
        let right = happens(&mut single, event, tag, content(tag));
        let at = format!("seed {seed}, step {tag}, {event:?}");
        assert_eq!(format!("{left:?}"), format!("{right:?}"), "{at}");
        assert_eq!(bulk.next_event(), single.next_event(), "{at}");
        let (left, right) = (bulk.counters(), single.counters());
        assert_eq!(left, right, "{at}");
    }
    end_alike(&mut bulk, &mut single, seed);
    folded + folds(&bulk.counters())
}

fn stamp(tag: u64) -> Stamp {
    Stamp(tag + 1)
}

const PER_CHANNEL: &str = "controllers = \"per-channel\"";
const SHARED: &str = "controllers = { shared = 2 }\ntransfer = \"controller\"";

#[test]
fn copies_in_bulk_are_the_same_as_commands_at_every_moment() {
    let mut all = 0;
    for (i, (kind, controllers, log)) in [
        ("bast", PER_CHANNEL, "blocks = 4"),
        ("fast", PER_CHANNEL, "blocks = 3"),
        ("fast", PER_CHANNEL, "blocks = 5, parallel = 2, allocation = \"same\""),
        ("bast", SHARED, "blocks = 4, parallel = 3"),
        ("fast", SHARED, "blocks = 4, parallel = 2, allocation = \"any\""),
        ("bast", PER_CHANNEL, "blocks = 3, allocation = \"any\", erase = \"read\""),
    ]
    .into_iter()
    .enumerate()
    {
        let resolved = drive(kind, controllers, log);
        for seed in 0..6 {
            all += compare(&resolved, 10 * i as u64 + seed, (1500, false), stamp);
        }
    }
    assert!(all > 300, "only {all} folds");
}

#[test]
fn a_fault_that_is_planned_during_copies_hits_the_same_operation() {
    for (i, (kind, controllers, log)) in [
        ("bast", PER_CHANNEL, "blocks = 4"),
        ("fast", PER_CHANNEL, "blocks = 3, parallel = 2"),
        ("fast", SHARED, "blocks = 4, parallel = 2"),
    ]
    .into_iter()
    .enumerate()
    {
        let resolved = drive(kind, controllers, log);
        for seed in 0..12 {
            compare(&resolved, 100 + 20 * i as u64 + seed, (400, true), stamp);
        }
    }
}

/// Chang's disk, with or without SLC flash in front.
fn chang(front: &str, ftl: &str) -> ResolvedDevice {
    resolve(&format!(
        "name = \"small\"\nhost = {{ link = \"none\", queue-depth = 2 }}\n\
         [flash]\npart = \"K9GAG08U0M\"\nchannels = 1\nchips = 1\nblocks = 24\npages = 16\n{front}\
         [ftl]\nkind = \"chang\"\nover-provisioning = \"50%\"\nwear = {{ threshold = 8 }}\n{ftl}\n"
    ))
}

#[test]
fn folds_in_serial_lists_are_the_same_in_bulk() {
    let slc = "[slc]\npart = \"K9WAG08U1A\"\nblocks = 6\n";
    let mut all = 0;
    for (i, resolved) in [
        chang("", "chang = { mapping-cache = 4 }"),
        chang(slc, "chang = { mapping-cache = 4 }"),
        chang(slc, "chang = { fold-assistance = false }"),
    ]
    .iter()
    .enumerate()
    {
        for seed in 0..8 {
            let seed = 1000 + 10 * i as u64 + seed;
            all += compare(resolved, seed, (900, false), stamp);
            all += compare(resolved, seed, (900, false), |_| ());
            compare(resolved, seed, (400, true), |_| ());
        }
    }
    assert!(all > 300, "only {all} folds");
}
