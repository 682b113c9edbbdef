//! A test that every key of a device, a workload and a run is a part of the store's key, because the store returns the
//! same result for equal keys. The exceptions are listed, each with its reason.
//!
//! The keys come from the schemas, as in `keys.rs`: a new key is tested without being listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};
use ssd::ResolvedDevice;
use study::catalogue::{Device, WorkloadFile};
use study::plan::{ConcurrentWorkload, FlowSpec, Point, RunSpec};
use study::store::{Digest, Digests, Key};
use testkit::keys::drives::fixtures;
use testkit::keys::{self, every_key};
use workload::generate::GeneratorSpec;
use workload::script::ScriptSpec;

use super::keys::{WORKLOADS, each, read};

/// A key that is no part of the store's key, with the reason.
type Exception = (&'static str, &'static str);

fn digest(point: &Point, seed: u64) -> Digest {
    Key::of(point, seed, &mut Digests::default()).unwrap_or_else(|error| panic!("{error}")).digest()
}

fn workload(text: &str) -> WorkloadFile {
    WorkloadFile::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).expect("the folder is writable");
    path
}

/// The text of a trace with one request.
const TRACE: &str = "time,op,offset,size\n0,W,0,4096\n";

/// Creates a point of this device and workload, run with all defaults.
fn point(resolved: ResolvedDevice, workload: WorkloadFile) -> Point {
    let device = Device { name: "device".into(), resolved, replaced: Vec::new() };
    Point { labels: Vec::new(), device, workload, beside: Vec::new(), run: RunSpec::default() }
}

/// Creates a point of the device of the first fixture under a plain workload.
fn plain() -> Point {
    point(fixtures()[0].spec.resolve().expect("valid"), workload(WORKLOADS[3]))
}

/// The outcome for the keys of a schema.
#[derive(Default)]
struct KeyTally {
    /// Keys whose other value changed the store's key (`changed`) or did not (`unseen`).
    changed: BTreeSet<String>,
    unseen: BTreeSet<String>,
}

impl KeyTally {
    fn note(&mut self, name: &str, is_seen: bool) {
        let keys = if is_seen { &mut self.changed } else { &mut self.unseen };
        keys.insert(name.to_owned());
    }

    fn check(&self, exceptions: &[Exception]) {
        let mut wrong = Vec::new();
        let listed: BTreeMap<&str, &str> = exceptions.iter().copied().collect();
        for key in self.unseen.iter().filter(|key| !listed.contains_key(&***key)) {
            wrong.push(format!("{key}: the store returns the result of a run with another value"));
        }
        for (key, reason) in listed.iter().filter(|(key, _)| self.changed.contains(**key)) {
            wrong.push(format!("{key}: is a part of the store's key, and is listed: {reason}"));
        }
        for (key, _) in listed.iter().filter(|(key, _)| !self.unseen.contains(**key)) {
            wrong.push(format!("{key}: is listed, and no other value was accepted"));
        }
        assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// Checks that every key of the schema was set to another value. For devices and workloads `keys.rs` checks that.
    fn check_all_tried(&self, schema: &Value) {
        let tried = |key: &String| self.changed.contains(key) || self.unseen.contains(key);
        let untried: Vec<_> = every_key(schema).into_iter().filter(|key| !tried(key)).collect();
        assert_eq!(untried, [""; 0], "no other value was tried");
    }
}

#[test]
fn every_key_of_a_device_is_a_part_of_the_store_s_key() {
    let schema = serde_json::to_value(schemars::schema_for!(ssd::Spec)).expect("a schema");
    let (fixtures, tally) = (fixtures(), Mutex::new(KeyTally::default()));
    // A trace fits a device of any capacity.
    let folder = tempfile::tempdir().expect("a folder");
    let trace = WorkloadFile::find(file(folder.path(), "a.csv", TRACE)).expect("a trace");
    each(fixtures.len(), |i| {
        let described = serde_json::to_value(&fixtures[i].spec).expect("a description");
        let resolved = read(&described).expect("a fixture is valid");
        let before = digest(&point(resolved.clone(), trace.clone()), 0);
        for key in keys::keys(&schema, &described) {
            let accepted = key.alternatives.iter().filter_map(|value| read(&key.set(&described, value)));
            for other in accepted.filter(|other| other.spec != resolved.spec).take(2) {
                let is_seen = digest(&point(other, trace.clone()), 0) != before;
                tally.lock().expect("no thread has panicked").note(&key.name, is_seen);
            }
        }
    });
    let tally = tally.into_inner().expect("no thread has panicked");
    tally.check(&[("description", "informs the reader of the file")]);
}

#[test]
fn every_key_of_a_workload_is_a_part_of_the_store_s_key() {
    let schema = serde_json::to_value(schemars::schema_for!(GeneratorSpec)).expect("a schema");
    let mut tally = KeyTally::default();
    for text in WORKLOADS {
        let spec: GeneratorSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        vary(&mut tally, &schema, &spec);
    }
    tally.check(&[]);
    let schema = serde_json::to_value(schemars::schema_for!(ScriptSpec)).expect("a schema");
    let spec: ScriptSpec = toml::from_str(
        "name = \"s\"\nevery = \"1ms\"\n[[request]]\nat = \"5us\"\nkind = \"write\"\nstart = \"4KiB\"\nsize = \"4KiB\"\n",
    )
    .expect("a script");
    let mut tally = KeyTally::default();
    vary(&mut tally, &schema, &spec);
    tally.check(&[]);
}

/// Sets each key of a workload to its alternative values.
fn vary<T>(tally: &mut KeyTally, schema: &Value, spec: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq,
{
    let plain = plain();
    let described = serde_json::to_value(spec).expect("a description");
    let of = |spec: &T| {
        let text = toml::to_string(spec).expect("a description can be written");
        let point = Point { workload: workload(&text), ..plain.clone() };
        Some(Key::of(&point, 0, &mut Digests::default()).ok()?.digest())
    };
    let before = of(spec).expect("it is valid");
    for key in keys::keys(schema, &described) {
        let values = key.alternatives.iter().cloned().chain(more_values(&key.name));
        for value in values {
            let Ok(other) = serde_json::from_value::<T>(key.set(&described, &value)) else { continue };
            if let (true, Some(now)) = (other != *spec, of(&other)) {
                tally.note(&key.name, now != before);
            }
        }
    }
}

/// Lists values for keys whose text has a syntax of its own.
fn more_values(key: &str) -> Vec<Value> {
    match key {
        "warm-up" | "measure" | "round" => vec![json!("100"), json!("1MiB"), json!("5ms")],
        "until" => vec![json!("steady"), json!("steady:waf")],
        "precondition" => vec![json!(["fill", "random:x0.5"])],
        "precondition[]" => vec![json!("steady")],
        "kind" => vec![json!("read"), json!("discard")],
        _ => Vec::new(),
    }
}

/// Describes a run with a second workload at the same time.
fn described_run() -> RunSpec {
    let flow = FlowSpec { depth: Some(2), ..FlowSpec::new("b.toml") };
    let precondition = vec!["fill".parse().expect("a step")];
    RunSpec { precondition, depth: Some(4), flows: BTreeMap::from([("b".to_owned(), flow)]), ..RunSpec::default() }
}

/// Sets each key of `[run]` and of its flow to its alternative values.
fn vary_run(plain: &Point, exceptions: &[Exception], of_flow: &[Exception]) {
    let run = serde_json::to_value(&plain.run).expect("a description");
    let before = digest(plain, 0);
    let other_digest = |value: Value| {
        let run: RunSpec = serde_json::from_value(value).ok()?;
        (run != plain.run).then(|| digest(&Point { run, ..plain.clone() }, 0))
    };
    let schema = serde_json::to_value(schemars::schema_for!(RunSpec)).expect("a schema");
    let mut tally = KeyTally::default();
    // The store's key has snapshots with their content, which another test changes. Flows are tried key by key.
    let apart = ["load-snapshot", "flows"];
    let mut alone = run.clone();
    alone.as_object_mut().expect("a table").remove("flows");
    for key in keys::keys(&schema, &alone).into_iter().filter(|key| !apart.contains(&&*key.name)) {
        for value in key.alternatives.iter().cloned().chain(more_values(&key.name)) {
            if let Some(now) = other_digest(key.set(&run, &value)) {
                tally.note(&key.name, now != before);
            }
        }
    }
    tally.check(exceptions);
    tally.changed.extend(apart.map(ToOwned::to_owned));
    tally.check_all_tried(&schema);
    let schema = serde_json::to_value(schemars::schema_for!(FlowSpec)).expect("a schema");
    let mut tally = KeyTally::default();
    let flow = &run["flows"]["b"];
    for key in keys::keys(&schema, flow) {
        let values = key.alternatives.iter().cloned();
        for value in values.chain((key.name == "set").then(|| json!({ "requests": 7 }))) {
            let mut run = run.clone();
            run["flows"]["b"] = key.set(flow, &value);
            if let Some(now) = other_digest(run) {
                tally.note(&key.name, now != before);
            }
        }
    }
    tally.check(of_flow);
    tally.check_all_tried(&schema);
}

/// The keys of a run that change none of its results.
const RUN: [Exception; 2] = [
    ("save-snapshot", "a run that saves its drive has the same result"),
    ("weight", "the resolved device has the weight"),
];

/// The keys of a flow that change none of its results.
const FLOW: [Exception; 3] = [
    ("weight", "the resolved device has the weight"),
    ("workload", "the list of workloads has its content"),
    ("set", "the list of workloads has its content"),
];

/// The keys that say how to read a trace, which have no effect on described workloads.
const READING: [&str; 14] = [
    "skip",
    "repeat",
    "event",
    "extent",
    "format",
    "columns",
    "time-unit",
    "size-unit",
    "address-unit",
    "strict",
    "gap-limit",
    "tolerance",
    "volume",
    "volumes",
];

fn with_a_flow(mut point: Point) -> Point {
    point.run = described_run();
    point.beside = vec![ConcurrentWorkload { name: "b".into(), workload: workload(WORKLOADS[1]) }];
    point
}

#[test]
fn every_key_of_a_run_is_a_part_of_the_store_s_key() {
    let described = with_a_flow(plain());
    let no_trace = READING.map(|key| (key, "no workload of the run is a trace"));
    let in_flow = [no_trace.to_vec(), vec![("limit", "it ends the reading of a trace, and the flow is none")]].concat();
    vary_run(&described, &[&RUN[..], &no_trace].concat(), &[&FLOW[..], &in_flow].concat());
    let folder = tempfile::tempdir().expect("a folder");
    let trace = file(folder.path(), "a.csv", TRACE);
    let traced = Point { workload: WorkloadFile::find(trace).expect("a trace"), ..described };
    vary_run(&traced, &RUN, &FLOW);
}

#[test]
fn seeds_workloads_names_of_flows_and_contents_of_files_are_a_part_of_the_store_s_key() {
    let point = with_a_flow(plain());
    let before = digest(&point, 0);
    assert_ne!(digest(&point, 1), before, "the seed");
    let mut other = point.clone();
    other.beside[0].workload = workload(WORKLOADS[2]);
    assert_ne!(digest(&other, 0), before, "the workload beside");
    let mut renamed = point.clone();
    let flow = renamed.run.flows.remove("b").expect("it is there");
    renamed.run.flows.insert("c".into(), flow);
    renamed.beside[0].name = "c".into();
    assert_ne!(digest(&renamed, 0), before, "the name of a flow");
    let folder = tempfile::tempdir().expect("a folder");
    let [first, same, other] = [("a", "one"), ("b", "one"), ("c", "two")].map(|(name, content)| {
        let run = RunSpec { load_snapshot: Some(file(folder.path(), name, content)), ..point.run.clone() };
        digest(&Point { run, ..point.clone() }, 0)
    });
    assert!(first == same && first != other && first != before, "a snapshot counts by its content");
    let traces = [("a.csv", "4096"), ("b.csv", "8192")].map(|(name, size)| {
        let text = format!("time,op,offset,size\n0,W,0,{size}\n");
        let trace = file(folder.path(), name, &text);
        digest(&Point { workload: WorkloadFile::find(trace).expect("a trace"), ..point.clone() }, 0)
    });
    assert!(traces[0] != traces[1] && traces[0] != before);
}
