//! The command on the simplest drive.

use std::fs;

use base::io::IoKind;
use base::units::{Energy, Sectors, Span, Time};
use clap::{Args, FromArgMatches};
use flash::backend::Op;
use ssd::{Completion, Counters, Drive, Request};
use study::catalogue::{Stage, Workload};
use study::inspect::Inspect;
use study::oracle::{Blank, Oracle, Payload};
use testkit::{Bug, FixedDrive, List, names};
use workload::Pacing;

use super::*;

/// A drive that tests can inspect.
struct TestDrive<S>(FixedDrive<S>);

impl<S: Copy + Default> Drive<S> for TestDrive<S> {
    fn capacity(&self) -> Sectors {
        self.0.capacity()
    }
    fn discard_granularity(&self) -> Sectors {
        self.0.discard_granularity()
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

impl<S: Copy + Default> Inspect for TestDrive<S> {
    fn erase_counts(&self) -> Vec<u32> {
        vec![1, 2, 3]
    }
    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        vec![("program".into(), Energy::from_joules(counted.flash.op(Op::Program).commands as f64))]
    }
}

fn drive<S: Copy + Default>() -> FixedDrive<S> {
    FixedDrive::new(Sectors::new(1 << 16), 4, Span::from_us(100))
}

fn mix() -> List {
    let kinds = [IoKind::Write, IoKind::Read, IoKind::Discard, IoKind::Write, IoKind::Flush];
    List::cycle(&kinds, 2_000, 8, 248, 0, Pacing::Closed { depth: 8 })
}

fn args(arguments: &[&str]) -> RunArgs {
    let all = ["run", "drive.toml", "mix.toml", "--quiet"].iter().chain(arguments);
    let matches = RunArgs::augment_args(clap::Command::new("run")).try_get_matches_from(all).expect("sound");
    RunArgs::from_arg_matches(&matches).expect("sound")
}

fn on<S, P: Payload<S>>(
    mut drive: TestDrive<S>,
    payload: &mut P,
    arguments: &[&str],
    stages: usize,
) -> Result<String, Failure>
where
    S: Copy + Default,
{
    let (args, mut results) = (args(arguments), Vec::new());
    let device = Device { name: "drive".into(), ..crate::device::device(Path::new("demo"), &[])? };
    let stages = (1..=stages).map(|n| Stage::alone(format!("part {n}"), mix())).collect();
    let flow = Flow::new(Workload::of(stages, toml::Table::new())).named("mix");
    let session = session(&args, &device, None).flow(flow.pacing(args.issue.pacing()));
    let mut outputs = Outputs::create(&args, &session)?;
    let outcome = outputs.attach(session).run_on(&mut drive, payload);
    let outcome = outcome.map_err(|error| failure(&error, outputs.provenance()))?;
    let summaries = outcome.summaries();
    outputs.finish(&outcome, &summaries)?;
    print_results(&args, &summaries, &mut results)?;
    Ok(String::from_utf8(results).expect("text"))
}

fn run(arguments: &[&str]) -> Result<String, Failure> {
    on(TestDrive(drive()), &mut Blank, arguments, 1)
}

fn verified(drive: FixedDrive<u64>, arguments: &[&str], stages: usize) -> Result<String, Failure> {
    let granularity = drive.discard_granularity();
    on(TestDrive(drive), &mut Oracle::blank(granularity), arguments, stages)
}

#[test]
fn a_run_prints_a_table_or_json() {
    let table = run(&[]).expect("it runs");
    assert!(table.starts_with("drive under mix (closed, depth 8)\n") && table.contains("energy: 800J"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json", "--depth", "2"]).expect("runs")).expect("JSON");
    assert_eq!(json["pacing"], "closed, depth 2");
    assert_eq!(json["kinds"]["read"]["queue_wait_us"]["max"], 0.0);
}

#[test]
fn two_runs_print_the_same() {
    assert_eq!(run(&["--json"]).expect("it runs"), run(&["--json"]).expect("it runs"));
}

#[test]
fn every_output_file_is_written_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let [out, log, page] = ["out", "all.parquet", "page.html"].map(|name| dir.path().join(name));
    let [out, log, shown] = [&out, &log, &page].map(|path| path.to_string_lossy().into_owned());
    run(&["--out", &out, "--requests", &log, "--report", &shown]).expect("it runs");
    assert_eq!(names(dir.path()), ["all.parquet", "out", "page.html"]);
    let text = fs::read_to_string(&page).expect("there");
    assert_eq!(text, fs::read_to_string(dir.path().join("out/report.html")).expect("there"));
}

#[test]
fn a_failed_run_leaves_no_file_and_its_exit_code_tells_bug_from_input() {
    let dir = tempfile::tempdir().expect("a directory");
    let [out, page] = ["out", "page.html"].map(|name| dir.path().join(name).to_string_lossy().into_owned());
    let arguments = ["--verify", "--seed", "9", "--out", &out, "--report", &page];

    let failure = verified(drive().with(Bug::Forgets(400)), &arguments, 1).expect_err("it forgets");
    assert_eq!(failure.code(), 101);
    assert!(failure.to_string().contains("of write 400") && failure.to_string().contains("--seed 9"), "{failure}");

    let failure = verified(drive().with(Bug::Miscounts), &arguments, 1).expect_err("it miscounts");
    assert!(failure.code() == 101 && failure.to_string().contains("do not reconcile"), "{failure}");

    let small = FixedDrive::new(Sectors::new(10), 1, Span::from_us(1));
    let failure = verified(small, &arguments, 1).expect_err("too small");
    assert!(failure.code() == 2 && failure.to_string().contains("--extent wrap"), "{failure}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_verified_run_reports_the_sectors_it_compared() {
    let text = verified(drive(), &["--verify"], 1).expect("sound");
    assert!(text.contains("verified: 3200 sectors of 400 reads"), "{text}");
}

#[test]
fn each_stage_has_its_own_results() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let arguments = ["--out", &out.to_string_lossy(), "--json"];
    let text = verified(drive(), &arguments, 2).expect("sound");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json[0]["workload"], &json[1]["workload"]), (&"part 1".into(), &"part 2".into()));
    assert_eq!(json[1]["requests"], json[0]["requests"]);
    assert_eq!(names(&out), ["stage-1", "stage-2", "summary.json"]);
    let page = dir.path().join("page.html");
    verified(drive(), &["--report", &page.to_string_lossy()], 2).expect("sound");
    let html = fs::read_to_string(&page).expect("there");
    assert!(html.contains("<h2>Stage 1: part 1</h2>") && html.contains("data-of=\"/1/kinds/read/latency_us/p99\""));
    // The first stage has exactly the requests that the command asks for.
    let json: serde_json::Value =
        serde_json::from_str(&verified(drive(), &["--limit", "2000", "--json"], 2).expect("sound")).expect("JSON");
    assert_eq!(json["requests"], 2_000);

    // The second stage writes the sectors of the first; the oracle must distinguish the writes of the stages.
    let failure = verified(drive().with(Bug::Forgets(2_400)), &[], 2).expect_err("it forgets in the second stage");
    assert!(failure.to_string().contains("of write 2400"), "{failure}");
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let failure = run(&["--out", "no/such/place/out"]).expect_err("no such place");
    assert!(failure.code() == 2 && failure.to_string().contains("cannot be written"), "{failure}");
    for option in ["--requests", "--report"] {
        let failure = run(&[option, "no/such/place/file"]).expect_err("no such place");
        assert_eq!(failure.code(), 2);
    }
    let failure = run(&["--out", "one", "--report", "one"]).expect_err("one place for two results");
    assert_eq!(failure.code(), 2);
    assert_eq!(
        failure.to_string(),
        "error: one: --out and --report write to the same path; give each option its own \
                                     path"
    );
}
