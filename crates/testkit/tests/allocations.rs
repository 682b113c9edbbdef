//! No host I/O allocates memory once a drive is warm.
//!
//! [`allocation_counter`] counts the allocations of a test's thread; the test calls the drive directly and reuses its
//! vector of completions. Queues inside the drive grow to their greatest length so far, and a new greatest length may
//! come at any time, only more and more rarely. So the test warms the drive up under twice the load, and then one of a
//! few long stretches must pass without any allocation: code that allocates for each request, or for each collected
//! block, allocates in every stretch.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::backend::{Cause, Op};
use ssd::{Completion, Drive, FlushPolicy, Precondition, QueueId, Request, Spec, Ssd};

/// The number of sectors of a mapping unit of 4 KiB.
const UNIT: u64 = 8;
const DEPTH: u64 = 64;
const WARM: u64 = 100_000;
const COUNTED: u64 = 50_000;
const STRETCHES: usize = 8;

/// Creates a small drive of two channels, full and in the steady state of garbage collection.
fn drive(extra: &str) -> Ssd<()> {
    let text = format!(
        r#"
        name = "warm"
        flash = {{ part = "FMMU-V2", channels = 2, chips = 2, blocks = 32, pages = 32, {extra}
        host = {{ queue-depth = 256 }}
        "#
    );
    let spec: Spec = toml::from_str(&text).expect("a description");
    let mut drive = Ssd::new(&spec.resolve().expect("a device"), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {});
    drive
}

/// A closed loop of requests that `pick` draws.
struct Loop<P> {
    drive: Ssd<()>,
    pick: P,
    rng: Rng,
    completions: Vec<Completion<()>>,
    submitted: u64,
    outstanding: u64,
}

impl<P: FnMut(&mut Rng, u64) -> Io> Loop<P> {
    /// Keeps `depth` requests under way until `requests` have completed.
    fn run(&mut self, requests: u64, depth: u64) {
        let mut left = requests;
        while left > 0 {
            while self.outstanding < depth {
                self.submit();
            }
            self.drive.advance(Time::MAX, &mut self.completions);
            let finished = self.completions.len() as u64;
            assert!(finished > 0, "nothing completes any more");
            self.completions.clear();
            self.outstanding -= finished;
            left = left.saturating_sub(finished);
        }
    }

    /// Returns the smallest number of allocations, with their bytes, of a stretch of `requests` requests. Ends at the
    /// first stretch without any.
    fn least(&mut self, requests: u64) -> (u64, u64) {
        let mut least = (u64::MAX, u64::MAX);
        for _ in 0..STRETCHES {
            let counted = allocation_counter::measure(|| self.run(requests, DEPTH));
            least = least.min((counted.count_total, counted.bytes_total));
            if least == (0, 0) {
                break;
            }
        }
        least
    }

    fn submit(&mut self) {
        let io = (self.pick)(&mut self.rng, self.drive.capacity().get() / UNIT);
        let items = if io.kind == IoKind::Write { io.sectors.get() as usize } else { 0 };
        self.drive.submit(
            self.drive.now(),
            Request { tag: self.submitted, queue: QueueId::default(), io, data: vec![(); items] },
        );
        self.submitted += 1;
        self.outstanding += 1;
    }
}

/// Returns the smallest number of allocations, and bytes, of all stretches of a warm drive.
fn allocations(drive: Ssd<()>, pick: impl FnMut(&mut Rng, u64) -> Io) -> (u64, u64) {
    let rng = Rng::stream(1, "allocations");
    let mut warm = Loop { drive, pick, rng, completions: Vec::new(), submitted: 0, outstanding: 0 };
    warm.run(WARM, 2 * DEPTH);
    let least = warm.least(COUNTED);
    let counters = warm.drive.counters();
    let writes = counters.requests[IoKind::Write as usize] > 0;
    assert_eq!(writes, counters.flash.of(Op::Erase, Cause::Gc).commands > 0, "writes, and garbage collection");
    least
}

fn io(kind: IoKind, unit: u64, units: u64) -> Io {
    Io::new(kind, Lba::new(unit * UNIT), Sectors::new(units * UNIT))
}

/// Draws one request of 4 KiB anywhere on the drive.
fn anywhere(kind: IoKind) -> impl FnMut(&mut Rng, u64) -> Io {
    move |rng, units| io(kind, rng.below(units), 1)
}

/// Draws reads, writes, discards and flushes of 4 KiB to 64 KiB on a few mapping units, so that most wait for another
/// request.
fn overlapping(rng: &mut Rng, units: u64) -> Io {
    let length = rng.below(16) + 1;
    let place = if rng.chance(0.8) { rng.below(64) } else { rng.below(units - length) };
    match rng.below(20) {
        0 => Io::new(IoKind::Flush, Lba::new(0), Sectors::new(0)),
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

/// A page-mapped drive with six streams; the host's stream is chosen by address.
const STREAMS: &str = r#"multi-plane = false }
        ftl = { map-unit = "4KiB", over-provisioning = "45%", streams = { host = { policy = "lru", levels = [64, 256, 1024] }, copies = { policy = "same" } } }"#;
/// A page-mapped drive with streams by the size of requests, which the buffer remembers.
const SIZES: &str = r#"multi-plane = false }
        ftl = { map-unit = "4KiB", over-provisioning = "45%", streams = { host = { policy = "size", limits = ["8KiB"] }, copies = { policy = "generations", streams = 3 } } }
        buffer = { size = "4MiB" }"#;

/// A map unit with caches that hold a small part of the map.
const FMMU: &str = r#"multi-plane = false }
        ftl = { map-unit = "4KiB", over-provisioning = "45%", map = { kind = "fmmu", cmt = "4KiB", ctp = "32KiB" } }"#;

/// Creates Hydra's prototype with fewer blocks, which merges instead of collecting.
fn hydra(blocks: u32, change: impl FnOnce(&mut Spec)) -> Ssd<()> {
    let text = ssd::builtin().iter().find(|(name, _)| *name == "hydra-prototype").expect("it is built in").1;
    let mut spec: Spec = toml::from_str(text).expect("a device");
    spec.flash.blocks = Some(blocks);
    change(&mut spec);
    let mut drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    drive
}

/// Draws requests of 4 KiB on a few superblocks, most of them reads, with flushes among them.
fn merged(rng: &mut Rng, _: u64) -> Io {
    let place = rng.below(16 * 256);
    match rng.below(64) {
        0 => Io::new(IoKind::Flush, Lba::new(0), Sectors::new(0)),
        n if n < 8 => io(IoKind::Write, place, 1),
        _ => io(IoKind::Read, place, 1),
    }
}

/// The number of requests in a stretch of a drive that merges, because each merge takes hundreds of commands.
const FEWER: u64 = 20_000;

#[test]
fn merges_and_flushes_allocate_nothing() {
    for flush in [FlushPolicy::WriteBack, FlushPolicy::Log] {
        let drive = hydra(96, |spec| {
            spec.ftl.over_provisioning = Some("50%".parse().expect("a share"));
            spec.buffer.as_mut().expect("a buffer").flush = flush;
        });
        let rng = Rng::stream(1, "allocations");
        let mut warm = Loop { drive, pick: merged, rng, completions: Vec::new(), submitted: 0, outstanding: 0 };
        // The queues of the buffer and of the log reach their largest lengths late.
        warm.run(5 * FEWER, 2 * DEPTH);
        assert_eq!(warm.least(FEWER), (0, 0), "{flush:?}");
        assert!(warm.drive.counters().merges.expect("an FTL of merges").merges > 0);
    }
}

/// The drive has 64 blocks of sixteen pages of 2 KiB, with and without SLC flash. Requests cause folds or collections.
#[test]
fn an_slc_mlc_drive_allocates_nothing() {
    for mapping in ["chains", "pages"] {
        for slc in ["", "slc = { part = 'K9WAG08U1A', blocks = 8, pages = 16 }"] {
            let text = format!(
                "name = 'slc-mlc'\nflash = {{ part = 'dirik-2009', channels = 2, chips = 2, blocks = 16, pages = 16, \
                 planes = 1 }}\n{slc}\nftl = {{ kind = 'chang', over-provisioning = '50%', \
                 chang = {{ mapping = '{mapping}' }} }}\n"
            );
            let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}")), 1);
            let pick = |rng: &mut Rng, units: u64| {
                let kind = if rng.chance(0.3) { IoKind::Read } else { IoKind::Write };
                io(kind, rng.below(units), 1)
            };
            let rng = Rng::stream(1, "allocations");
            let mut warm = Loop { drive, pick, rng, completions: Vec::new(), submitted: 0, outstanding: 0 };
            warm.run(FEWER, 2 * DEPTH);
            let stretches = (0..STRETCHES).map(|_| {
                let counted = allocation_counter::measure(|| warm.run(FEWER, DEPTH));
                (counted.count_total, counted.bytes_total)
            });
            assert_eq!(stretches.min(), Some((0, 0)), "{mapping}, {slc}");
            let slc_mlc = warm.drive.counters().slc_mlc.expect("an SLC/MLC drive");
            assert!(slc_mlc.folds > 0 && (slc.is_empty() || slc_mlc.cleaned > 0), "{mapping}, {slc}: {slc_mlc:?}");
        }
    }
}

/// Without payload, a drive takes at most two bytes for each page of 2 KiB: seven for a row of four pages, and the
/// tables of superblocks.
#[test]
fn hydra_keeps_two_bytes_per_page() {
    let mut drive = None;
    let counted = allocation_counter::measure(|| drive = Some(hydra(1024, |_| {})));
    let resolved = drive.as_ref().expect("it was made").resolved();
    let pages = u64::from(resolved.geometry.slot_count()) * u64::from(resolved.geometry.sectors) / 4;
    // Memory that does not depend on the drive's size: mainly the buffer and the commands under way.
    let fixed = 1 << 20;
    let bytes = counted.bytes_current.max(0) as u64;
    assert!(bytes > pages && bytes < 2 * pages + fixed, "{bytes} bytes for {pages} pages");
}

#[test]
fn the_allocation_counter_counts() {
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
fn random_writes_to_several_streams_allocate_nothing() {
    assert_eq!(allocations(drive(STREAMS), anywhere(IoKind::Write)), (0, 0));
    assert_eq!(allocations(drive(SIZES), overlapping), (0, 0));
}

#[test]
fn overlapping_requests_allocate_nothing() {
    assert_eq!(allocations(drive(THROUGH), overlapping), (0, 0));
}

#[test]
fn overlapping_buffered_requests_allocate_nothing() {
    assert_eq!(allocations(drive(BUFFERED), overlapping), (0, 0));
}

#[test]
fn reads_through_a_map_unit_allocate_nothing() {
    assert_eq!(allocations(drive(FMMU), anywhere(IoKind::Read)), (0, 0));
}

#[test]
fn writes_through_a_map_unit_allocate_nothing() {
    assert_eq!(allocations(drive(FMMU), anywhere(IoKind::Write)), (0, 0));
}
