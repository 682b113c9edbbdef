//! Tests that flows of a study run with their own keys, and that each fault names its key.

use std::fs;
use std::path::Path;

use super::*;
use crate::execute::{self, Program, StudyOutcome};
use crate::plan::Plan;
use crate::summary::Summary;

/// A drive with one die, so that two loops of depth 1 take turns.
const DRIVE: &str = r#"name = "one die"
flash = { part = "K9K8G08U0M", channels = 1, chips = 1, planes = 1, blocks = 32, pages = 8 }
ftl = { over-provisioning = "60%" }
[host]
link = "none"
queue-depth = 8
arbitration = "weighted"
[[host.queue]]
weight = 2
[[host.queue]]
"#;

const READER: &str = r#"name = "a reader"
requests = 200
arrivals = { kind = "closed", depth = 1 }
[[stream]]
reads = "100%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"#;

const HEAD: &str = "name = \"s\"\ndevice = \"drive.toml\"\nworkload = \"reader.toml\"\n";

/// A folder with the drive, the reader, and a study of these lines.
fn folder(study: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("drive.toml"), DRIVE).expect("written");
    fs::write(dir.path().join("reader.toml"), READER).expect("written");
    fs::write(dir.path().join("study.toml"), format!("{HEAD}{study}")).expect("written");
    dir
}

fn plan(dir: &Path) -> Result<Plan, Faults> {
    Document::read(&dir.join("study.toml")).and_then(|document| Plan::new(&document))
}

fn outcome(study: &str) -> StudyOutcome {
    let dir = folder(study);
    let plan = plan(dir.path()).unwrap_or_else(|faults| panic!("{faults}"));
    execute::run(plan, &Program::default(), None, &|_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn value(summary: &Summary, metric: &str) -> f64 {
    let metric: Metric = metric.parse().unwrap_or_else(|error| panic!("{error}"));
    metric.of(summary).unwrap_or_else(|| panic!("{metric} has no value"))
}

const TWO: &str =
    "run = { precondition = [\"fill\"], name = \"own\", flows.other = { workload = \"reader.toml\", queue = 1 } }\n";

#[test]
fn two_equal_readers_of_one_die_slow_each_other_down_by_two() {
    let study = format!("{TWO}metrics = [\"flow.own.slowdown\", \"fairness\"]\n");
    let outcome = outcome(&study);
    let summary = &outcome.runs[0][0];
    let names: Vec<_> = summary.flows.iter().map(|flow| (flow.name.as_str(), flow.queue, flow.requests)).collect();
    assert_eq!(names, [("own", 0, 200), ("other", 1, 200)]);
    for (metric, wanted) in [
        ("flow.own.slowdown", 2.0),
        ("flow.other.slowdown", 2.0),
        ("flow.own.rate-slowdown", 2.0),
        ("flow.own.read.mean / flow.own.alone.read.mean", 2.0),
        ("fairness", 1.0),
        ("unfairness", 1.0),
        ("max-slowdown", 2.0),
        ("weighted-speedup", 1.0),
        ("harmonic-speedup", 0.5),
    ] {
        let value = value(summary, metric);
        assert!((value / wanted - 1.0).abs() < 0.02, "{metric}: {value}, not {wanted}");
    }
    assert!((value(summary, "flow.own.rate") + value(summary, "flow.other.rate")) / value(summary, "rate") > 0.99);
}

#[test]
fn a_flow_alone_is_the_same_session_without_the_others() {
    // Requests of the warm-up do not count for the flow alone either.
    let study =
        format!("{}metrics = [\"max-slowdown\"]\n", TWO.replace("name =", "warm-up = 40, verify = true, name ="));
    let compared = outcome(&study).runs.remove(0).remove(0);
    let fairness = compared.fairness.as_ref().expect("a metric asks for it");
    for (beside, alone) in compared.flows.iter().zip(&fairness.flows) {
        assert_eq!((&beside.name, beside.requests), (&alone.name, alone.alone.requests));
    }
    // The first flow alone has the seed of the only flow of the other study.
    let requests = fairness.flows[0].alone.requests;
    let study = format!("run = {{ precondition = [\"fill\"], warm-up = {} }}\n", 200 - requests);
    let only = outcome(&study).runs.remove(0).remove(0);
    assert_eq!(only.kinds["read"].latency_us, fairness.flows[0].alone.kinds["read"].latency_us);
    // Without such a metric no flow runs alone, and nothing else changes.
    let plain = outcome(&study.replace("run = {", &format!("{}#", TWO.replace("name =", "warm-up = 40, name ="))));
    assert!(plain.runs[0][0].fairness.is_none());
    assert_eq!(plain.runs[0][0].event_hash, compared.event_hash);
}

#[test]
fn axes_change_keys_of_flows() {
    let axes = r#"[[axis]]
name = "depth"
key = "run.flows.other.depth"
values = [1, 4]
[[axis]]
name = "load"
point = [{ at = "alone" }, { at = "heavy", set.run.flows.other = { queue = 1, weight = 7, set = { requests = 50, stream = [{ reads = "0%", sizes = [{ size = "4KiB" }], address = { pattern = "uniform" } }] } } }]
"#;
    let study = "run = { name = \"own\", flows.other.workload = \"reader.toml\" }\n".to_owned();
    let dir = folder(&format!("{study}metrics = [\"flow.other.requests-per-s\"]\n{axes}"));
    let plan = plan(dir.path()).unwrap_or_else(|faults| panic!("{faults}"));
    let seen: Vec<_> = plan
        .points
        .iter()
        .map(|point| {
            let WorkloadFile::Described(beside) = &point.beside[0].workload else { panic!("it is described") };
            let weights: Vec<u32> = point.device.resolved.host.queues.queues.iter().map(|queue| queue.weight).collect();
            (point.run.flows["other"].depth, beside.table()["requests"].as_integer(), weights)
        })
        .collect();
    let wanted = [
        (Some(1), Some(200), vec![2, 1]),
        (Some(1), Some(50), vec![2, 7]),
        (Some(4), Some(200), vec![2, 1]),
        (Some(4), Some(50), vec![2, 7]),
    ];
    assert_eq!(seen, wanted);
    let outcome = execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs");
    let written = |point: usize| outcome.runs[point][0].flows[1].kinds.get("write").map(|kind| kind.requests);
    assert_eq!([written(0), written(1)], [None, Some(50)]);
    assert!(outcome.runs[2][0].flows[1].pacing == "closed, depth 4");
}

#[test]
fn a_flow_plays_a_trace_beside_the_study_with_its_own_units() {
    let study = r#"run = { name = "own", flows.other = { workload = "disk.csv", limit = 3, format = "csv", extent = "wrap" } }
[[axis]]
name = "columns"
key = "run.flows.other.columns"
values = ["time=1:ms,op=2,offset=3:B,size=4:B,header=no", "time=1:us,op=2,offset=3:B,size=4:B,header=no"]
"#;
    let dir = folder(study);
    fs::write(dir.path().join("disk.csv"), "0,R,0,4096\n7,W,4096,4096\n9,R,0,4096\n11,R,0,4096\n").expect("written");
    let plan = plan(dir.path()).unwrap_or_else(|faults| panic!("{faults}"));
    assert!(plan.plays_a_trace() && plan.named.iter().any(|path| path.ends_with("disk.csv")));
    let outcome = execute::run(plan, &Program::default(), None, &|_, _| {}).unwrap_or_else(|error| panic!("{error}"));
    let of = |point: usize| &outcome.runs[point][0].flows[1];
    assert_eq!((of(0).name.as_str(), of(0).pacing.as_str(), of(0).requests), ("other", "open", 3));
    assert!(of(0).simulated_s >= 0.009 && of(1).simulated_s < 0.003, "{} {}", of(0).simulated_s, of(1).simulated_s);
}

#[test]
fn every_fault_of_a_flow_names_its_key() {
    for (study, wanted) in [
        ("run.flows.a = {}", "run.flows.a.workload: is missing"),
        ("run.flows.a.worklod = \"x\"", "run.flows.a.worklod: is not a known key; did you mean `workload`?"),
        ("run.flows.\"a b\".workload = \"reader.toml\"", "`a b` is not a name for a flow; use letters"),
        ("run.flows.a = { workload = \"reader.toml\", depth = 0 }", "study.toml:4: run.flows.a.depth: a closed loop"),
        ("run.flows.a = { workload = \"reader.toml\", depth = 2, open = true }", "run.flows.a.open: requests cannot"),
        (
            "run.flows.a = { workload = \"reader.toml\", queue = 2 }",
            "study.toml:4: run.flows.a.queue: there is no queue 2: the drive has 2, counted from 0; use a smaller",
        ),
        ("run.queue = 7", "study.toml:4: run.queue: there is no queue 7"),
        ("run.weight = 0", "study.toml:4: run.weight: sets host.queue[0].weight of "),
        (
            "run.flows.a = { workload = \"reader.toml\", queue = 5, weight = 2 }",
            "run.flows.a.weight: the drive does not describe its queue 5; describe it in a [[host.queue]]",
        ),
        (
            "run.flows.a = { workload = \"reader.toml\", skip = 1 }",
            "study.toml:4: run.flows.a.skip: has no effect here: the flow plays no trace; leave it out",
        ),
        ("run.flows.a = { workload = \"t.csv\", event = \"cmplete\" }", "did you mean `complete`?"),
        (
            "run.flows.a.workload = \"no.csv\"",
            "study.toml:4: run.flows.a.workload: `no.csv` is neither a file nor a workload that comes with Flashloom; \
             check its name: a file's path is relative to the study's file",
        ),
        (
            "run.flows.other.workload = \"reader.toml\"\nmetrics = [\"flow.othr.read.p99\"]",
            "study.toml:5: metrics[0]: `flow.othr.read.p99`: there is no flow `othr`; did you mean `other`? the flows \
             are a reader, other",
        ),
        ("metrics = [\"unfairness\"]", "study.toml:4: metrics[0]: `unfairness` compares several workloads"),
        ("run.fairness = true", "study.toml:4: run.fairness: has no effect here: there is one workload"),
        ("run.name = \"b\"\nrun.flows.b.workload = \"reader.toml\"", "run.flows: two flows are named `b`"),
        (
            "[[axis]]\nname = \"x\"\nkey = \"run.flows.a.queue\"\nvalues = [0, 9]\n[run.flows.a]\nworkload = \"reader.toml\"",
            "study.toml:7: axis[0].values[1]: at x=9, there is no queue 9",
        ),
        (
            "[[axis]]\nname = \"x\"\npoint = [{ at = \"y\", workload = \"no.csv\" }]",
            "study.toml:6: axis[0].point[0].workload: at x=y, `no.csv` is neither a file",
        ),
    ] {
        let dir = folder(study);
        fs::write(dir.path().join("t.csv"), "").expect("written");
        let text = plan(dir.path()).map(|_| study).expect_err("it is faulty").to_string();
        assert!(text.contains(wanted), "{study}:\n{text}\nnot: {wanted}");
    }
}
