//! No host I/O allocates memory once a drive is warm.
//!
//! [`allocation_counter`] counts what this program allocates; the drive is driven directly, with a vector
//! of completions that is used again.

use flash::engine::Rng;
use flash::io::{Io, IoKind};
use flash::units::{Lba, Sectors, Time};
use ssd::{Completion, Drive, Precondition, Request, Spec, Ssd};

/// Sectors of a mapping unit of 4 KiB.
const UNIT: u64 = 8;
const DEPTH: u32 = 64;
const WARM: u64 = 200_000;
const COUNTED: u64 = 200_000;

/// A small drive of two channels, full and with garbage collection in its steady state.
fn drive(extra: &str) -> Ssd<()> {
    let text = format!(
        r#"
        name = "warm"
        flash = {{ part = "FMMU-V2", channels = 2, chips = 2, blocks = 32, pages = 32, {extra}
        "#
    );
    let spec: Spec = toml::from_str(&text).expect("a description");
    let mut drive = Ssd::new(&spec.resolve().expect("a device"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    drive
}

/// A closed loop: `pick` says what is asked next.
struct Loop<P> {
    drive: Ssd<()>,
    pick: P,
    rng: Rng,
    completions: Vec<Completion<()>>,
    submitted: u64,
}

impl<P: FnMut(&mut Rng, u64) -> Io> Loop<P> {
    fn new(drive: Ssd<()>, pick: P) -> Self {
        let mut under_test =
            Self { drive, pick, rng: Rng::stream(1, "allocations"), completions: Vec::new(), submitted: 0 };
        (0..DEPTH).for_each(|_| under_test.submit(under_test.drive.now()));
        under_test
    }

    fn submit(&mut self, now: Time) {
        let io = (self.pick)(&mut self.rng, self.drive.capacity().get() / UNIT);
        let items = if io.kind == IoKind::Write { io.sectors.get() as usize } else { 0 };
        self.drive.submit(now, Request { tag: self.submitted, io, data: vec![(); items] });
        self.submitted += 1;
    }

    fn run(&mut self, requests: u64) {
        let mut left = requests;
        while left > 0 {
            let now = self.drive.advance(Time::MAX, &mut self.completions);
            let finished = self.completions.len() as u64;
            assert!(finished > 0, "nothing completes any more");
            self.completions.clear();
            (0..finished).for_each(|_| self.submit(now));
            left = left.saturating_sub(finished);
        }
    }
}

/// Allocations and bytes while a warm drive works.
fn allocations(drive: Ssd<()>, pick: impl FnMut(&mut Rng, u64) -> Io) -> (u64, u64) {
    let mut under_test = Loop::new(drive, pick);
    under_test.run(WARM);
    let counted = allocation_counter::measure(|| under_test.run(COUNTED));
    (counted.count_total, counted.bytes_total)
}

fn io(kind: IoKind, unit: u64, units: u64) -> Io {
    Io { kind, start: Lba::new(unit * UNIT), sectors: Sectors::new(units * UNIT) }
}

/// One request of 4 KiB anywhere.
fn anywhere(kind: IoKind) -> impl FnMut(&mut Rng, u64) -> Io {
    move |rng, units| io(kind, rng.below(units), 1)
}

/// Reads, writes, discards and flushes of 4 KiB to 64 KiB on a few units: most wait for another.
fn overlapping(rng: &mut Rng, units: u64) -> Io {
    let length = rng.below(16) + 1;
    let place = if rng.chance(0.8) { rng.below(64) } else { rng.below(units - length) };
    match rng.below(20) {
        0 => Io { kind: IoKind::Flush, start: Lba::new(0), sectors: Sectors::new(0) },
        1 => io(IoKind::Discard, place, length),
        n if n < 11 => io(IoKind::Read, place, length),
        _ => io(IoKind::Write, place, length),
    }
}

const THROUGH: &str = r#"multi-plane = false }
        ftl = { map-unit = "4KiB", over-provisioning = "28%" }"#;
const BUFFERED: &str = r#"}
        ftl = { map-unit = "4KiB", over-provisioning = "28%" }
        buffer = { size = "4MiB" }"#;

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!((counted.count_total, counted.bytes_total), (1, 100));
}

#[test]
fn random_reads_allocate_nothing() {
    assert_eq!(allocations(drive(THROUGH), anywhere(IoKind::Read)), (0, 0));
}

#[test]
fn random_writes_allocate_nothing() {
    assert_eq!(allocations(drive(THROUGH), anywhere(IoKind::Write)), (0, 0));
}

#[test]
fn buffered_random_writes_allocate_nothing() {
    assert_eq!(allocations(drive(BUFFERED), anywhere(IoKind::Write)), (0, 0));
}

#[test]
fn overlapping_requests_allocate_nothing() {
    assert_eq!(allocations(drive(THROUGH), overlapping), (0, 0));
}

#[test]
fn overlapping_buffered_requests_allocate_nothing() {
    assert_eq!(allocations(drive(BUFFERED), overlapping), (0, 0));
}
