//! The command on the simplest disk there is.

use std::fs;
use std::path::Path;

use clap::{Args, FromArgMatches};
use flash::io::IoKind;
use flash::units::{Sectors, Time};
use ssd::{Completion, Counters, Request};
use testkit::{Bug, FixedDrive, List};
use workload::Pacing;

use super::*;

/// A disk that can be inspected.
struct Disk<S>(FixedDrive<S>);

impl<S: Copy + Default> Drive<S> for Disk<S> {
    fn capacity(&self) -> Sectors {
        self.0.capacity()
    }
    fn submit(&mut self, now: Time, request: Request<S>) {
        self.0.submit(now, request);
    }
    fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        self.0.advance(to, completions)
    }
    fn counters(&self) -> Counters {
        self.0.counters()
    }
}

impl<S: Copy + Default> Inspect for Disk<S> {
    fn erase_counts(&self) -> Vec<u32> {
        vec![1, 2, 3]
    }
    fn energy(&self) -> Vec<(String, Energy)> {
        vec![("program".into(), Energy::from_joules(self.0.counters().requests[1] as f64))]
    }
}

fn disk<S: Copy + Default>() -> FixedDrive<S> {
    FixedDrive::new(Sectors::new(1 << 16), 4, Span::from_us(100))
}

fn mix() -> List {
    let kinds = [IoKind::Write, IoKind::Read, IoKind::Discard, IoKind::Write, IoKind::Flush];
    List::cycle(&kinds, 2_000, 8, 248, 0, Pacing::Closed { depth: 8 })
}

fn args(arguments: &[&str]) -> RunArgs {
    let all = ["run", "disk.toml", "mix.toml", "--quiet"].iter().chain(arguments);
    let matches = RunArgs::augment_args(clap::Command::new("run")).try_get_matches_from(all).expect("sound");
    RunArgs::from_arg_matches(&matches).expect("sound")
}

fn run(arguments: &[&str]) -> Result<String, Failure> {
    let (args, mut results) = (args(arguments), Vec::new());
    timing(&mut Disk(disk()), &mut mix(), &args, &about(&args, toml::Table::new()), &mut results)?;
    Ok(String::from_utf8(results).expect("text"))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_run_prints_a_table_or_json() {
    let table = run(&[]).expect("it runs");
    assert!(table.starts_with("disk under mix (closed, depth 8)\n") && table.contains("energy: 800J"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json", "--depth", "2"]).expect("runs")).expect("JSON");
    assert_eq!(json["pacing"], "closed, depth 2");
    assert_eq!(json["kinds"]["read"]["queue_wait_us"]["max"], 0.0);
}

#[test]
fn two_runs_print_the_same() {
    assert_eq!(run(&["--json"]).expect("it runs"), run(&["--json"]).expect("it runs"));
}

#[test]
fn files_are_written_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let (out, log) = (dir.path().join("out"), dir.path().join("all.parquet"));
    run(&["--out", &out.to_string_lossy(), "--requests", &log.to_string_lossy()]).expect("it runs");
    assert_eq!(names(dir.path()), ["all.parquet", "out"]);
}

#[test]
fn a_run_that_fails_leaves_nothing_and_says_whose_fault_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let args = args(&["--verify", "--seed", "9", "--out", &out.to_string_lossy()]);
    let about = about(&args, toml::Table::new());

    let mut forgetful = Disk(disk::<u64>().with(Bug::Forgets(400)));
    let failure = verified(&mut forgetful, &mut mix(), true, &args, &about, &mut Vec::new()).expect_err("it forgets");
    assert_eq!(failure.code(), 101);
    assert!(failure.to_string().contains("of write 400") && failure.to_string().contains("--seed 9"), "{failure}");

    let mut wrong = Disk(disk::<u64>().with(Bug::Miscounts));
    let failure = verified(&mut wrong, &mut mix(), true, &args, &about, &mut Vec::new()).expect_err("it miscounts");
    assert!(failure.code() == 101 && failure.to_string().contains("do not reconcile"), "{failure}");

    let mut small = Disk(FixedDrive::<u64>::new(Sectors::new(10), 1, Span::from_us(1)));
    let failure = verified(&mut small, &mut mix(), true, &args, &about, &mut Vec::new()).expect_err("too small");
    assert!(failure.code() == 2 && failure.to_string().contains("--extent wrap"), "{failure}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_verified_run_says_what_it_compared() {
    let (args, mut results) = (args(&["--verify"]), Vec::new());
    let about = about(&args, toml::Table::new());
    verified(&mut Disk(disk::<u64>()), &mut mix(), true, &args, &about, &mut results).expect("sound");
    let text = String::from_utf8(results).expect("text");
    assert!(text.contains("verified: 3200 sectors of 400 reads"), "{text}");
}

#[test]
fn a_place_that_cannot_be_written_is_known_before_the_run() {
    let failure = run(&["--out", "no/such/place/out"]).expect_err("no such place");
    assert!(failure.code() == 2 && failure.to_string().contains("cannot be written"), "{failure}");
    let failure = run(&["--requests", "no/such/place/log"]).expect_err("no such place");
    assert_eq!(failure.code(), 2);
}
