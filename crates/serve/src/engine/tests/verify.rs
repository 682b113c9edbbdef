//! Drives that are verified while they are served.

use std::sync::atomic::{AtomicU64, Ordering};

use base::engine::Rng;
use ssd::FlushPolicy;
use testkit::conformance::{Setting, settings};

use super::power::PanicLabel;
use super::thread::{done, submit};
use super::*;
use crate::state::{Durability, State, StateDir};
use crate::verify::VerifyStatus;

/// Requests under way at a time.
const DEPTH: usize = 16;

/// Requests of several clients, which may overlap, and power cuts.
pub(super) struct Clients {
    pub(super) bench: Bench,
    pub(super) rng: Rng,
    /// The number of sectors that the clients use.
    sectors: u64,
    byte: u8,
}

impl Clients {
    fn new(setting: &Setting, on_cut: CutPolicy, seed: u64) -> Self {
        Self::of(Core::new(Box::new(Ssd::new(&setting.spec.resolve().expect("valid"), seed)), on_cut), seed)
    }

    /// Clients of a new drive.
    pub(super) fn of(mut core: Core, seed: u64) -> Self {
        core.verify(true);
        let sectors = core.capacity().get().min(96);
        Self { bench: Bench::new(core), rng: Rng::stream(seed, "verify"), sectors, byte: 0 }
    }

    pub(super) fn submit(&mut self) {
        let start = self.rng.below(self.sectors);
        let sectors = 1 + self.rng.below(12.min(self.sectors - start));
        let fua = self.rng.chance(0.1);
        match self.rng.below(20) {
            0 => self.bench.submit(Operation::Flush, 0, 0),
            1..10 => {
                self.byte = self.byte % 250 + 1;
                self.bench.write(start, self.byte, sectors, fua)
            }
            10 => self.bench.submit(Operation::WriteZeroes { fua }, start, sectors),
            11 => self.bench.submit(Operation::Discard, start, sectors),
            _ => self.bench.submit(Operation::Read, start, sectors),
        };
    }

    pub(super) fn read_all(&mut self) {
        (0..self.sectors).for_each(|sector| _ = self.bench.alone(Operation::Read, sector, 1));
    }

    pub(super) fn cut(&mut self) {
        self.bench.core.cut_power(self.bench.now, &mut self.bench.answers).expect("it is on");
        self.bench.results();
        self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
        if self.rng.chance(0.5) {
            self.bench.drain();
            self.read_all();
        }
    }

    /// Runs `steps` steps; returns the violations and the status of the verifier.
    pub(super) fn run(mut self, steps: u32) -> (Vec<String>, VerifyStatus) {
        for _ in 0..steps {
            match self.rng.below(200) {
                0 => self.cut(),
                1 => {
                    self.bench.core.power_off(self.bench.now, &mut self.bench.answers).expect("it is on");
                    self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
                }
                2..120 if self.bench.core.outstanding() < DEPTH => self.submit(),
                _ => {
                    let span = Span::from_ns(self.rng.below(100_000));
                    self.bench.advance(span);
                }
            }
        }
        self.bench.drain();
        self.cut();
        self.bench.drain();
        self.read_all();
        let violations = self.bench.core.take_violations().iter().map(ToString::to_string).collect();
        (violations, self.bench.core.status().verify.expect("it is verified"))
    }
}

fn ignores_flushes(setting: &Setting) -> bool {
    setting.spec.buffer.as_ref().is_some_and(|of| of.flush == FlushPolicy::Ignore)
}

/// Runs every `nth` drive of all families; returns the number of sectors that were compared.
fn accuse_honest_drives(first: u64, nth: usize, steps: u32) -> u64 {
    let (all, mut compared) = (settings(), 0);
    for (seed, setting) in (first..).zip(all.iter().filter(|setting| !ignores_flushes(setting)).step_by(nth)) {
        let on_cut = if seed % 3 == 0 { CutPolicy::Hold } else { CutPolicy::End };
        let _say = PanicLabel(format!("seed {seed}, {:?}, {on_cut:?}", setting.name));
        let (violations, status) = Clients::new(setting, on_cut, seed).run(steps);
        assert!(violations.is_empty(), "{violations:#?}");
        compared += status.sectors;
    }
    compared
}

#[test]
fn an_honest_drive_of_any_family_is_not_accused() {
    let compared = accuse_honest_drives(0, 2, 600);
    assert!(compared > 30_000, "only {compared} sectors were compared");
}

#[test]
#[ignore = "make soak"]
fn honest_drives_of_every_family_are_not_accused_in_long_lives() {
    let first = u64::from(std::process::id()) << 32;
    let compared: u64 = (0..20).map(|round| accuse_honest_drives(first + round * 10_000, 1, 3000)).sum();
    println!("{compared} sectors were compared");
}

#[test]
fn a_drive_that_ignores_flushes_is_found_by_its_verification() {
    let all = settings();
    let lies: Vec<_> = all.iter().filter(|setting| ignores_flushes(setting)).collect();
    assert!(!lies.is_empty());
    let found = |setting, seed| {
        let (violations, status) = Clients::new(setting, CutPolicy::End, seed).run(600);
        assert_eq!(violations.is_empty(), status.violations == 0);
        violations.iter().any(|text| text.contains("after a power cut; expected") && text.contains("(durable)"))
    };
    for setting in lies {
        assert!((0..20).any(|seed| found(setting, seed)), "{:?} is not found", setting.name);
    }
}

#[test]
fn content_that_was_damaged_is_a_violation_where_nothing_else_finds_it() {
    let mut core = core("", CutPolicy::End);
    core.verify(true);
    let mut bench = Bench::new(core);
    bench.write(0, 1, 4, false);
    bench.write(4, 2, 4, false);
    bench.drain();
    assert_eq!(bench.byte(1), 1);
    assert!(bench.core.take_violations().is_empty());
    let status = bench.core.status().verify.expect("it is verified");
    assert_eq!((status.reads, status.sectors, status.violations), (1, 1, 0));
    // The flash of another drive, whose sectors 0 to 3 hold something else.
    let mut other = Bench::new(self::core("", CutPolicy::End));
    other.write(0, 3, 4, false);
    other.write(4, 2, 4, false);
    other.drain();
    bench.core.drive = other.core.drive;
    bench.now = bench.now.max(bench.core.now());
    assert_eq!(bench.byte(5), 2);
    assert_eq!(bench.alone(Operation::Read, 0, 8).map(|data| data[0]), Ok(3));
    let [violation] = &bench.core.take_violations()[..] else { panic!("one violation") };
    let text = violation.to_string();
    assert!(text.starts_with("sectors 0 to 3 hold data that no known write brought"), "{text}");
    assert!(text.ends_with("expected data written at 0.000 s (durable)"), "{text}");
}

/// The options of a drive that counts its violations.
fn verified(device: Device, keep: Option<PersistenceSettings>) -> (EngineOptions, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let on_violation: ViolationCallback = Box::new(move |_| _ = counted.fetch_add(1, Ordering::Relaxed));
    (EngineOptions { pace: Pace::Max, verify: Some(on_violation), keep, ..EngineOptions::new(device) }, count)
}

#[test]
fn a_served_drive_says_its_violations_before_the_client_has_the_data() {
    let device = small("buffer = { size = \"256KiB\", flush = \"ignore\" }\n");
    let (options, violations) = verified(device, None);
    let incidents = options.incidents.clone();
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let write = Operation::Write { data: vec![7; 4096], fua: false };
    assert_eq!(done(&submit(&engine, write, 8, 8)), Ok(Vec::new()));
    assert_eq!(done(&submit(&engine, Operation::Flush, 0, 0)), Ok(Vec::new()));
    assert_eq!(done(&submit(&engine, Operation::Read, 8, 8)), Ok(vec![7; 4096]));
    assert_eq!(violations.load(Ordering::Relaxed), 0);
    assert!(engine.command(Command::PowerCut).is_ok() && engine.command(Command::PowerOn).is_ok());
    assert_eq!(done(&submit(&engine, Operation::Read, 0, 16)), Ok(vec![0; 8192]));
    assert_eq!(violations.load(Ordering::Relaxed), 1);
    let noted = incidents.after(0).into_iter().map(|incident| incident.text).find(|text| text.contains("expected"));
    let text = noted.expect("it is noted");
    assert!(text.starts_with("sectors 8 to 15 read as zeros at "), "{text}");
    let status = engine.stop().expect("it was served").status;
    let of = status.verify.as_ref().expect("it is verified");
    assert_eq!((of.violations, &of.first_violations[..]), (8, &[text][..]));
    assert!(status.prometheus().contains("flashloom_violated_sectors_total 8\n"));
}

#[test]
fn a_damaged_file_is_unreadable_sectors_and_no_other_data() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("drive");
    let device = small("");
    let keep = || {
        let dir = StateDir::lock(&dir, &device.resolved).unwrap_or_else(|error| panic!("{error}"));
        Some(PersistenceSettings { dir, durability: Durability::Process, on_notice: None })
    };
    let (options, violations) = verified(small(""), keep());
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    for n in 0..8 {
        let write = Operation::Write { data: vec![n as u8 + 1; 2048], fua: true };
        assert_eq!(done(&submit(&engine, write, n * 4, 4)), Ok(Vec::new()));
    }
    let path = dir.join("main.content");
    let mut content = std::fs::read(&path).expect("there");
    let at = content.windows(512).position(|bytes| bytes == [5; 512]).expect("it is stored");
    content[at + 100] ^= 1;
    // Overwrites in place, because the drive has the file open.
    let file = std::fs::File::options().write(true).open(&path).expect("there");
    std::os::unix::fs::FileExt::write_all_at(&file, &content[at..at + 512], at as u64).expect("written");
    for n in 0..8 {
        let read = done(&submit(&engine, Operation::Read, n * 4, 4));
        assert_eq!(
            read,
            if n == 4 { Err(JobFailure::Drive(ssd::Status::Uncorrectable)) } else { Ok(vec![n as u8 + 1; 2048]) }
        );
    }
    let Ok(Reply::Status(status)) = engine.command(Command::Status) else { panic!("a status") };
    let of = status.verify.as_ref().expect("it is verified");
    assert_eq!((of.unreadable, of.violations, of.sectors), (4, 0, 28));
    assert_eq!((status.uncorrectable_requests, status.damaged_reads, status.read_only), (1, Some(1), false));
    assert!(engine.stop().is_some());
    assert_eq!(violations.load(Ordering::Relaxed), 0);
}

#[test]
fn what_was_known_outlives_an_orderly_end_and_not_a_process_that_does_not_verify() {
    let home = tempfile::tempdir().expect("a folder");
    let dir = home.path().join("drive");
    let started = |verifies| {
        let device = small(BUFFER);
        let locked = StateDir::lock(&dir, &device.resolved).unwrap_or_else(|error| panic!("{error}"));
        let keep = PersistenceSettings { dir: locked, durability: Durability::Process, on_notice: None };
        let (mut options, _) = verified(device, Some(keep));
        options.verify = options.verify.filter(|_| verifies);
        Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
    };
    let ended = |engine: Engine| engine.stop().expect("it was served").status.verify;
    let engine = started(true);
    let write = Operation::Write { data: vec![7; 2048], fua: false };
    assert_eq!(done(&submit(&engine, write, 0, 4)), Ok(Vec::new()));
    ended(engine);
    // After a process without verification, the next verifier knows nothing and accepts the eight sectors that it
    // reads.
    for (verifies, adopted) in [(true, Some(0)), (true, Some(0)), (false, None), (true, Some(8)), (true, Some(0))] {
        let engine = started(verifies);
        assert_eq!(done(&submit(&engine, Operation::Read, 0, 8)), Ok([[7; 2048], [0; 2048]].concat()));
        assert_eq!(ended(engine).map(|of| of.adopted), adopted);
    }
    // Damaged files of the verifier are no damage of the drive.
    std::fs::write(dir.join("verify.known"), "everything").expect("written");
    let engine = started(true);
    assert_eq!(done(&submit(&engine, Operation::Read, 0, 8)).map(|data| data.len()), Ok(4096));
    assert_eq!(ended(engine).map(|of| (of.adopted, of.violations)), Some((8, 0)));
}

#[test]
fn what_a_killed_process_had_acknowledged_is_known_to_the_next() {
    let found = |flush: &str| {
        let home = tempfile::tempdir().expect("a folder");
        let device = small(&format!("buffer = {{ size = \"256KiB\", flush = \"{flush}\" }}\n"));
        let open = || {
            let opened = State::open_or_create(home.path(), &device.resolved, 1, Durability::Process);
            let (state, drive) = opened.unwrap_or_else(|error| panic!("{error}"));
            let mut core = Core::new(Box::new(drive), CutPolicy::End);
            core.verify(true);
            (state, core)
        };
        let (state, mut core) = open();
        assert!(core.keep_verification(home.path(), false).expect("files"));
        let mut bench = Bench::new(core);
        bench.write(0, 1, 8, true);
        bench.drain();
        bench.write(0, 2, 4, false);
        bench.drain();
        bench.submit(Operation::Flush, 0, 0);
        bench.drain();
        bench.write(4, 3, 4, false);
        // The drive is dropped without being switched off.
        drop((bench, state));
        let (_state, mut core) = open();
        core.recover();
        core.verify(false);
        assert!(core.keep_verification(home.path(), true).expect("files"), "the process before has left it");
        let mut bench = Bench::new(core);
        bench.now = bench.core.now();
        assert!(bench.alone(Operation::Read, 0, 16).is_ok());
        assert_eq!(bench.core.status().verify.expect("it is verified").adopted, 0);
        bench.core.take_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found("write-back"), Vec::<String>::new());
    // Forced unit access is a flush behind the write.
    let violations = found("ignore");
    let [flushed, forced] = &violations[..] else { panic!("{violations:?}") };
    assert!(
        flushed.starts_with("sectors 0 to 3 read as zeros") && forced.starts_with("sectors 4 to 7 "),
        "{violations:?}"
    );
}

#[test]
fn a_worn_out_drive_says_that_it_takes_no_more_writes() {
    let mut bench = Bench::new(core("", CutPolicy::End));
    assert!(!bench.core.status().read_only);
    bench
        .core
        .plan(Fault { operation: flash::nand::FaultKind::Erase, after: 0, count: 1_000_000, drive: None })
        .expect("one drive");
    bench
        .core
        .plan(Fault { operation: flash::nand::FaultKind::Program, after: 1000, count: 1_000_000, drive: None })
        .expect("one drive");
    let mut written = 0_u64;
    while !bench.core.status().read_only {
        assert!(written < 100_000, "it goes on");
        bench.write(written % 64 * 4, 1, 4, false);
        bench.drain();
        written += 1;
    }
    assert_eq!(
        bench.alone(Operation::Write { data: vec![2; 512], fua: false }, 0, 1),
        Err(JobFailure::Drive(ssd::Status::ReadOnly))
    );
    let status = bench.core.status();
    assert!(status.to_string().contains("bad, takes no more writes"), "{status}");
    assert!(status.prometheus().contains("flashloom_read_only 1\n"));
}
