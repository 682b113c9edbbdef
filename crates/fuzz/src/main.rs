//! `fuzz [SECONDS [TARGET]]` gives every target an equal share of the time, on all cores. `fuzz count N [TARGET]` gives
//! each target N inputs. `fuzz replay TARGET SEED` runs one input again and does not catch its failure. `fuzz list`
//! prints the names of the targets. A failing input is written to `out/fuzz`.
#![allow(clippy::disallowed_methods)] // It is measured in wall time and runs on threads; what it tests does neither.

use std::panic;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fuzz::{Scratch, Target, Verdict, keep, targets};

/// The time after which an input counts as a failure: the largest input is 64 KiB.
const SLOW: Duration = Duration::from_secs(20);

/// The folder for failing inputs.
const KEPT: &str = "out/fuzz";

/// The end of the runs of a target.
#[derive(Clone, Copy)]
enum EndCondition {
    Inputs(u64),
    Passed(Duration),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = targets();
    let named = |name: &str| all.iter().filter(|target| target.name.starts_with(name)).collect::<Vec<_>>();
    let number = |text: &str| text.parse::<u64>().ok();
    let (until, chosen) = match words[..] {
        ["list"] => {
            all.iter().for_each(|target| println!("{}", target.name));
            return ExitCode::SUCCESS;
        }
        ["replay", name, seed] => return replay(&all, name, seed),
        ["count", inputs] => (number(inputs).map(EndCondition::Inputs), named("")),
        ["count", inputs, name] => (number(inputs).map(EndCondition::Inputs), named(name)),
        [] => (Some(share(60, all.len())), named("")),
        [seconds] => (number(seconds).map(|seconds| share(seconds, all.len())), named("")),
        [seconds, name] => (number(seconds).map(|seconds| share(seconds, named(name).len())), named(name)),
        _ => (None, Vec::new()),
    };
    let (Some(until), false) = (until, chosen.is_empty()) else {
        eprintln!("fuzz [SECONDS [TARGET]] | fuzz count N [TARGET] | fuzz replay TARGET SEED | fuzz list");
        return ExitCode::from(2);
    };
    panic::set_hook(Box::new(|_| {}));
    let failures: u64 = chosen.into_iter().map(|target| run(target, until)).sum();
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// An equal share of the time.
fn share(seconds: u64, targets: usize) -> EndCondition {
    EndCondition::Passed(Duration::from_secs(seconds) / targets.max(1) as u32)
}

fn replay(all: &[Target], name: &str, seed: &str) -> ExitCode {
    let (Some(target), Ok(seed)) = (all.iter().find(|target| target.name == name), seed.parse()) else {
        eprintln!("no target is called `{name}`, or `{seed}` is no seed");
        return ExitCode::from(2);
    };
    match keep(target, seed, Path::new(KEPT)) {
        Ok(path) => println!("the input is {}", path.display()),
        Err(error) => eprintln!("note: the input cannot be kept: {error}"),
    }
    let scratch = Scratch::new().expect("a place for files");
    println!("{:?}", (target.run)(&target.input(seed), seed, &scratch));
    ExitCode::SUCCESS
}

/// Runs a target on all cores and returns the number of its failures.
fn run(target: &Target, until: EndCondition) -> u64 {
    let start = Instant::now();
    let [next, taken, failures] = [0, 0, 0].map(AtomicU64::new);
    let more = |seed: u64| match until {
        EndCondition::Inputs(inputs) => seed < inputs,
        EndCondition::Passed(time) => start.elapsed() < time,
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let scratch = Scratch::new().expect("a place for files");
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !more(seed) {
                        break;
                    }
                    let begun = Instant::now();
                    let fault = match target.try_seed(seed, &scratch) {
                        Ok(Verdict::Taken) => {
                            taken.fetch_add(1, Ordering::Relaxed);
                            None
                        }
                        Ok(Verdict::Refused(_)) => None,
                        Err(panicked) => Some(panicked.to_string()),
                    };
                    let slow = || (begun.elapsed() > SLOW).then(|| format!("took {:?}", begun.elapsed()));
                    if let Some(fault) = fault.or_else(slow) {
                        failures.fetch_add(1, Ordering::Relaxed);
                        println!("FAILED: replay with `make soak FUZZ=\"replay {} {seed}\"`: {fault}", target.name);
                    }
                }
            });
        }
    });
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let [inputs, taken, failures] = [next, taken, failures].map(AtomicU64::into_inner);
    let inputs = inputs - threads;
    println!("{}: {inputs} inputs, {taken} taken, {failures} failures", target.name);
    failures
}
