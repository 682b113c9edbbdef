//! The soak: the swarm over as many seeds as the time allows, on all cores, and among them the conformance
//! suite, one setting per seed, with longer scripts than in the tests.
//!
//! `soak [SECONDS [FIRST_SEED]]` runs for that long; a failing seed prints one line that replays it, and so does one that
//! does not end.
//! `soak replay SEED` prints the drive of one seed, runs it again and does not catch its failure. `soak check CHECK SETTING SEED EFFORT` applies
//! one check of the conformance suite again.
#![allow(clippy::disallowed_methods)] // A soak is measured in wall time and runs on threads; the device does neither.

use std::collections::BTreeSet;
use std::panic;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Swarm, conformance};

/// Seeds per run of the conformance suite, whose scripts are cut at every moment.
const SUITE_EVERY: u64 = 200;

/// The time that a seed may take after the end of the soak; the slowest seeds take some seconds.
const GRACE: Duration = Duration::from_secs(180);

/// Runs a seed; returns the completed requests and the survived power cuts.
fn run(seed: u64) -> (u64, u64) {
    if seed.is_multiple_of(SUITE_EVERY) {
        let work = conformance::soak(seed / SUITE_EVERY).unwrap_or_else(|failure| panic!("{failure}"));
        return (work.requests, work.cuts);
    }
    let outcome = swarm(seed).run(seed);
    (outcome.completed, outcome.cuts)
}

/// The swarm of a seed: every third seed without power cuts, every second one with failing blocks.
fn swarm(seed: u64) -> Swarm {
    Swarm {
        requests: 1200,
        cuts: if seed.is_multiple_of(3) { 0 } else { 12 },
        faults: seed.is_multiple_of(2),
        queues: seed % 5 < 2,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| match arguments.get(i) {
        None => Some(default),
        Some(text) => text.parse::<u64>().ok(),
    };
    if arguments.first().is_some_and(|first| first == "replay") {
        let Some(seed) = arguments.get(1).and_then(|seed| seed.parse::<u64>().ok()) else { return usage() };
        if !seed.is_multiple_of(SUITE_EVERY) {
            println!("{:#?}", swarm(seed).device(seed));
        }
        let (requests, cuts) = run(seed);
        println!("seed {seed}: {requests} requests, {cuts} power cuts");
        return ExitCode::SUCCESS;
    }
    if let [word, check, setting, seed, effort] = &arguments[..]
        && word == "check"
    {
        let Ok(seed) = seed.parse() else { return usage() };
        return match conformance::replay(check, setting, seed, effort) {
            Some(Ok(work)) => {
                println!("{work:?}");
                ExitCode::SUCCESS
            }
            Some(Err(failure)) => {
                eprintln!("{failure}");
                ExitCode::FAILURE
            }
            None => usage(),
        };
    }
    let (Some(seconds), Some(first)) = (number(0, 60), number(1, 1_000_000)) else { return usage() };
    println!("from seed {first} on");
    panic::set_hook(Box::new(|_| {}));
    let end = Instant::now() + Duration::from_secs(seconds);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let soak = Arc::new(Soak { next: AtomicU64::new(first), ..Soak::default() });
    let (ended, wait) = mpsc::channel();
    for _ in 0..workers {
        let (soak, ended) = (Arc::clone(&soak), ended.clone());
        thread::spawn(move || {
            soak.run_seeds(end);
            // The receiver is dropped if another worker took too long.
            let _ = ended.send(());
        });
    }
    let left = || (end + GRACE).saturating_duration_since(Instant::now());
    let all_ended = (0..workers).all(|_| wait.recv_timeout(left()).is_ok());
    for seed in soak.under_way.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("DOES NOT END: replay with `make soak REPLAY={seed}`");
    }
    let [seeds, failures, cuts, requests] =
        [&soak.next, &soak.failures, &soak.cuts, &soak.requests].map(|count| count.load(Ordering::Relaxed));
    println!("{} seeds, {requests} requests, {cuts} power cuts, {failures} failures", seeds - first);
    if failures > 0 || !all_ended { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The counts of the seeds so far.
#[derive(Debug, Default)]
struct Soak {
    next: AtomicU64,
    failures: AtomicU64,
    cuts: AtomicU64,
    requests: AtomicU64,
    under_way: Mutex<BTreeSet<u64>>,
}

impl Soak {
    /// Runs seeds until the time is over.
    fn run_seeds(&self, end: Instant) {
        let under_way = || self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        while Instant::now() < end {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            under_way().insert(seed);
            match panic::catch_unwind(|| run(seed)) {
                Ok((completed, survived)) => {
                    self.requests.fetch_add(completed, Ordering::Relaxed);
                    self.cuts.fetch_add(survived, Ordering::Relaxed);
                }
                Err(_) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    println!("FAILED: replay with `make soak REPLAY={seed}`");
                }
            }
            under_way().remove(&seed);
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("soak [SECONDS [FIRST_SEED]] | soak replay SEED | soak check CHECK SETTING SEED EFFORT");
    ExitCode::from(2)
}
