//! A test that every accepted key has an effect, and that the written description of a device gives the same device.

mod exceptions;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base::units::Sectors;
use serde_json::Value;
use ssd::{ResolvedDevice, Spec};
use testkit::keys::drives::{Fixture, Load, RunResults, fixtures, run};
use testkit::keys::{self, Key, every_key};
use workload::Source;
use workload::generate::{Generator, GeneratorSpec};

use exceptions::{EXCEPTIONS, Exception};

/// The outcome of setting a key to its alternative values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyEffect {
    /// No other value is accepted.
    Refused,
    /// Other values are accepted, and no event and no erase count changes.
    Nothing,
    /// An event or an erase count changes.
    Changes,
}

fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Spec)).expect("a schema")
}

pub(crate) fn read(description: &Value) -> Option<ResolvedDevice> {
    let spec: Spec = serde_json::from_value(description.clone()).ok()?;
    spec.resolve().ok()
}

/// Checks that the resolved description, written and parsed again, resolves to the same device.
fn reads_back(resolved: &ResolvedDevice, of: &str) {
    let text = toml::to_string(&resolved.spec).unwrap_or_else(|error| panic!("{of}: {error}"));
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{of}: {text}: {error}"));
    let again = spec.resolve().unwrap_or_else(|faults| panic!("{of}: {text}: {faults:?}"));
    // A run depends only on the resolved device and the seed.
    assert_eq!(format!("{again:?}"), format!("{resolved:?}"), "{of}");
}

/// A device as described, and its runs.
struct Plain<'a> {
    fixture: &'a Fixture,
    described: Value,
    resolved: ResolvedDevice,
    before: Vec<(Load, RunResults)>,
}

impl<'a> Plain<'a> {
    fn new(fixture: &'a Fixture) -> Self {
        let described = serde_json::to_value(&fixture.spec).expect("a description");
        let resolved =
            read(&described).unwrap_or_else(|| panic!("{}: {:?}", fixture.name, fixture.spec.resolve().err()));
        reads_back(&resolved, &fixture.name);
        let before = Load::EVERY.map(|load| (load, run(&resolved, load))).to_vec();
        Self { fixture, described, resolved, before }
    }

    /// Sets a key to other values, and returns the outcome.
    fn outcome(&self, key: &Key) -> KeyEffect {
        let mut best = KeyEffect::Refused;
        for value in &key.alternatives {
            let Some(resolved) = read(&key.set(&self.described, value)) else { continue };
            let what = format!("{}, {} = {value}", self.fixture.name, key.name);
            reads_back(&resolved, &what);
            if resolved.spec == self.resolved.spec {
                // The value is the same one in another notation.
                continue;
            }
            let changes = self.before.iter().any(|(load, before)| {
                let ran = catch_unwind(AssertUnwindSafe(|| run(&resolved, *load)));
                ran.unwrap_or_else(|_| panic!("{what}, under {load:?}")) != *before
            });
            if changes {
                return KeyEffect::Changes;
            }
            best = KeyEffect::Nothing;
        }
        best
    }
}

/// Calls a function for every number below `count`, on all cores.
pub(crate) fn each(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < count) {
            work(i);
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(count);
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter().for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

#[test]
fn every_key_has_an_effect_or_is_refused() {
    let (schema, fixtures) = (schema(), fixtures());
    let outcomes: Mutex<BTreeMap<String, BTreeMap<&str, KeyEffect>>> = Mutex::default();
    each(fixtures.len(), |i| {
        let plain = Plain::new(&fixtures[i]);
        for key in keys::keys(&schema, &plain.described) {
            // Keys that only change printed text do so on any device, so one device suffices.
            let printed =
                EXCEPTIONS.iter().any(|exception| exception.devices.is_empty() && exception.covers(&key.name));
            if printed && !["page, one queue", "chang, chains behind SLC"].contains(&&*plain.fixture.name) {
                continue;
            }
            let outcome = plain.outcome(&key);
            let mut outcomes = outcomes.lock().expect("no thread has panicked");
            let known = outcomes.entry(key.name).or_default().entry(&*plain.fixture.name).or_insert(outcome);
            *known = outcome.max(*known);
        }
    });
    let outcomes = outcomes.into_inner().expect("no thread has panicked");
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (key, by_device) in &outcomes {
        for (device, outcome) in by_device {
            let listed = EXCEPTIONS.iter().position(|exception| exception.is_about(device, key));
            match (outcome, listed) {
                (KeyEffect::Nothing, Some(number)) => {
                    used.insert(number);
                }
                (KeyEffect::Nothing, None) => wrong.push(format!("{device}: {key} is accepted and has no effect")),
                (KeyEffect::Changes, Some(number)) => {
                    let Exception { reason, .. } = EXCEPTIONS[number];
                    wrong.push(format!("{device}: {key} has an effect, and is listed as one that has none: {reason}"));
                }
                _ => {}
            }
        }
        let counts = |wanted: KeyEffect| by_device.values().any(|outcome| *outcome == wanted);
        if !counts(KeyEffect::Changes) && !is_table(&outcomes, key) {
            if let Some(number) = EXCEPTIONS.iter().position(|exception| exception.covers(key)) {
                used.insert(number);
                continue;
            }
            wrong.push(format!("{key}: no other value was tried: give a device a value that can be changed"));
        }
    }
    for key in every_key(&schema).iter().filter(|key| !outcomes.contains_key(*key)) {
        if let Some(number) = EXCEPTIONS.iter().position(|of| of.devices.is_empty() && of.covers(key)) {
            used.insert(number);
            continue;
        }
        wrong.push(format!("{key}: no device has it: add one to testkit::keys::drives"));
    }
    for (number, exception) in EXCEPTIONS.iter().enumerate().filter(|(number, _)| !used.contains(number)) {
        wrong.push(format!("exception {number} is not needed any more: {exception:?}"));
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// Writes the parts of a resolved device that a run depends on as text.
fn acts(resolved: &ResolvedDevice) -> String {
    let ResolvedDevice { part, geometry, slc_array, backend, ftl, host, buffer, units, gang, family, .. } = resolved;
    let queues = (&resolved.spec.ram, &resolved.spec.flash.faults);
    format!(
        "{part:?} {geometry:?} {slc_array:?} {backend:?} {ftl:?} {host:?} {buffer:?} {units} {gang} {family:?} {queues:?}"
    )
}

/// A key that is set alone, with the resulting device as text.
struct SingleKey<'a> {
    key: &'a Key,
    value: &'a Value,
    acts: String,
}

/// Lists the keys of a device that change it, each with the first of its alternative values that does.
fn alone<'a>(plain: &ResolvedDevice, described: &Value, keys: &'a [Key]) -> Vec<SingleKey<'a>> {
    let plain = acts(plain);
    let first = |key: &'a Key| {
        key.alternatives.iter().find_map(|value| {
            let acts = acts(&read(&key.set(described, value))?);
            (acts != plain).then_some(SingleKey { key, value, acts })
        })
    };
    keys.iter().filter_map(first).collect()
}

/// Pairs of keys of which the first limits the second: the abilities of a part limit the rules of a drive, and the
/// power states of a drive limit which state a host selects and how much power the controller may draw.
const CAPABILITIES: [(&str, &str); 6] = [
    ("flash.multi-plane", "flash.custom-part.features.multi_plane"),
    ("power.operational[].power", "power.select"),
    ("power.operational[].power", "power.controller.active"),
    ("power.select", "power.controller.active"),
    ("power.select", "power.operational[].power"),
    ("power.controller.active", "power.operational[].power"),
];

#[test]
fn of_every_pair_of_keys_both_have_an_effect_or_the_pair_is_refused() {
    let (schema, fixtures) = (schema(), fixtures());
    let wrong: Mutex<BTreeSet<String>> = Mutex::default();
    let pairs = AtomicUsize::new(0);
    each(fixtures.len(), |i| {
        let described = serde_json::to_value(&fixtures[i].spec).expect("a description");
        let plain = read(&described).expect("sound");
        let keys = keys::keys(&schema, &described);
        let alone = alone(&plain, &described, &keys);
        for (n, first) in alone.iter().enumerate() {
            let with_first = first.key.set(&described, first.value);
            for second in alone[n + 1..].iter().filter(|second| !second.key.overlaps(first.key)) {
                pairs.fetch_add(1, Ordering::Relaxed);
                let Some(both) = read(&second.key.set(&with_first, second.value)) else { continue };
                let both = acts(&both);
                for (idle, other) in [(second, first), (first, second)] {
                    // Another value of the key may have an effect beside the other key, even if this one has none
                    // there.
                    let with_other = other.key.set(&described, other.value);
                    let acts_beside = |value| read(&idle.key.set(&with_other, value)).map(|beside| acts(&beside));
                    let any =
                        || idle.key.alternatives.iter().filter_map(acts_beside).any(|beside| beside != other.acts);
                    let pair = (&*idle.key.name, &*other.key.name);
                    if both == other.acts && !CAPABILITIES.contains(&pair) && !any() {
                        let pair = format!("{} has no effect beside {}", pair.0, pair.1);
                        wrong.lock().expect("no thread has panicked").insert(pair);
                    }
                }
            }
        }
    });
    assert!(pairs.into_inner() > 50_000, "so few pairs");
    let wrong = Vec::from_iter(wrong.into_inner().expect("no thread has panicked"));
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns true if a key is a table or a list whose keys are tried one by one.
fn is_table(outcomes: &BTreeMap<String, BTreeMap<&str, KeyEffect>>, key: &str) -> bool {
    outcomes.keys().any(|other| other.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '(', '['])))
}

#[test]
fn a_builtin_device_resolves_the_same_after_being_written() {
    let all = ssd::builtin();
    each(all.len(), |i| {
        let (name, text) = all[i];
        let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        reads_back(&resolved, name);
    });
}

/// Workloads that together have every key.
pub(crate) const WORKLOADS: [&str; 5] = [
    r#"name = "w"
    requests = 300
    duration = "70ms"
    total = "900KiB"
    arrivals = { kind = "bursts", length = 4.5, gap = "20us", rate = "4k/s" }
    [[stream]]
    name = "a"
    share = "60%"
    requests = 150
    total = "3%"
    region = { start = "10%", size = "60%" }
    align = "2KiB"
    reads = "40%"
    discards = "10%"
    sizes = [{ size = "4KiB" }]
    read_sizes = [{ size = "2KiB..8KiB", share = "70%" }, { size = "16KiB", share = "30%" }]
    write_sizes = [{ size = "2KiB" }]
    discard_sizes = [{ size = "8KiB" }]
    address = { pattern = "hot-cold", hot_space = "20%", hot_access = "80%" }
    sequential = { runs = [2, 5] }
    flush = { every = 3 }
    discard_first = true
    placement-id = [1, 3]
    [[stream]]
    share = "40%"
    reads = "30%"
    sizes = [{ size = "4KiB" }]
    address = { pattern = "zoned", zones = [{ space = "30%", access = "60%" }, { space = "70%", access = "40%" }] }
    sequential = { share = "30%" }
    flush = { share = "20%" }
    "#,
    r#"name = "w"
    requests = 200
    arrivals = { kind = "closed", depth = 3 }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "zipf", theta = 0.9 }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "sequential", streams = 2 }
    "#,
    r#"name = "w"
    requests = 200
    arrivals = { kind = "poisson", rate = "1k/s" }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "pareto", power = 0.2 }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "working-set", size = "10%", period = 20 }
    "#,
    r#"name = "w"
    requests = 200
    arrivals = { kind = "fixed", rate = "1k/s" }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "uniform" }
    "#,
    r#"name = "w"
    requests = 200
    start = "1ms"
    arrivals = { kind = "closed", depth = 3 }
    think = { time = "2ms", every = 10 }
    [[stream]]
    reads = "30%"
    sizes = [{ size = "8KiB" }]
    address = { pattern = "strided", zone = "64KiB", step = "256KiB", bytes = "128KiB", backwards = true }
    "#,
];

/// Returns all requests of a workload as text; `None` if its description is refused.
fn asked(description: &Value) -> Option<(GeneratorSpec, String)> {
    let spec: GeneratorSpec = serde_json::from_value(description.clone()).ok()?;
    let drawn = |spec: &GeneratorSpec| {
        let mut generator = Generator::new(spec, Sectors::new(8192), 5).ok()?;
        let mut all = format!("{:?} {:?}", generator.pacing(), generator.duration());
        all += &format!("{:?} {:?}", generator.start(), generator.think());
        for _ in 0..2_000 {
            let Some(arrival) = generator.next().ok()? else { break };
            all += &format!("{arrival:?}");
        }
        Some(all)
    };
    let all = drawn(&spec)?;
    let text = toml::to_string(&spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    let again: GeneratorSpec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(drawn(&again).as_ref(), Some(&all), "{text}");
    Some((spec, all))
}

#[test]
fn every_key_of_a_workload_has_an_effect_or_is_refused() {
    let schema = serde_json::to_value(schemars::schema_for!(GeneratorSpec)).expect("a schema");
    let mut outcomes: BTreeMap<String, KeyEffect> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, text) in WORKLOADS.iter().enumerate() {
        let spec: GeneratorSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let described = serde_json::to_value(&spec).expect("a description");
        let (plain, before) = asked(&described).unwrap_or_else(|| panic!("workload {number} is refused"));
        for key in keys::keys(&schema, &described) {
            let others = key.alternatives.iter().filter_map(|value| asked(&key.set(&described, value)));
            let others: Vec<_> = others.filter(|(spec, _)| *spec != plain).collect();
            let outcome = match &others[..] {
                [] => KeyEffect::Refused,
                others if others.iter().any(|(_, asked)| *asked != before) => KeyEffect::Changes,
                _ => KeyEffect::Nothing,
            };
            let known = outcomes.entry(key.name).or_insert(outcome);
            *known = outcome.max(*known);
        }
    }
    for key in every_key(&schema).into_iter().filter(|key| !MEASURED.contains(&&**key)) {
        let table = outcomes
            .keys()
            .any(|other| other.strip_prefix(&*key).is_some_and(|rest| rest.starts_with(['.', '(', '['])));
        match (outcomes.get(&key), WORDS.contains(&&*key), SUMS.contains(&&*key)) {
            (None, ..) => wrong.push(format!("{key}: no workload has it: add one")),
            (Some(KeyEffect::Refused), _, false) if !table => wrong.push(format!("{key}: no other value was tried")),
            (Some(KeyEffect::Nothing), false, false) if !table => {
                wrong.push(format!("{key}: is accepted and never has an effect"))
            }
            (Some(KeyEffect::Changes), true, _) | (Some(KeyEffect::Changes), _, true) => {
                wrong.push(format!("{key}: has an effect, and is listed as one that has none"));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// Keys that end a workload or a stream: only the key that is reached first has an effect.
const ENDS: [&str; 5] = ["requests", "duration", "total", "stream[].requests", "stream[].total"];

#[test]
fn of_every_pair_of_keys_of_a_workload_both_have_an_effect_or_the_pair_is_refused() {
    let schema = serde_json::to_value(schemars::schema_for!(GeneratorSpec)).expect("a schema");
    let mut wrong = BTreeSet::new();
    let mut pairs = 0;
    for text in WORKLOADS {
        let spec: GeneratorSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut described = serde_json::to_value(&spec).expect("a description");
        // An early end would hide the effects of other keys.
        for end in ["duration", "total"] {
            described.as_object_mut().expect("a table").remove(end);
        }
        for stream in described["stream"].as_array_mut().expect("streams") {
            stream.as_object_mut().expect("a table").remove("total");
        }
        let (_, plain) = asked(&described).expect("sound");
        let keys = keys::keys(&schema, &described);
        let first = |key: &'_ Key| {
            key.alternatives.iter().find_map(|value| {
                let (_, asked) = asked(&key.set(&described, value))?;
                (asked != plain).then(|| (value.clone(), asked))
            })
        };
        let alone: Vec<_> =
            keys.iter().filter_map(|key| first(key).map(|(value, asked)| (key, value, asked))).collect();
        for (n, (first, value, with_first)) in alone.iter().enumerate() {
            let with_first_set = first.set(&described, value);
            let with_second_set = |second: &Key, value: &Value| second.set(&described, value);
            for (second, value, with_second) in alone[n + 1..].iter().filter(|(key, ..)| !key.overlaps(first)) {
                pairs += 1;
                let Some((_, both)) = asked(&second.set(&with_first_set, value)) else { continue };
                let beside = [
                    (second, first, with_first, &with_first_set),
                    (first, second, with_second, &with_second_set(second, value)),
                ];
                for (idle, other, with_other, set) in beside {
                    let acts =
                        |value: &Value| asked(&idle.set(set, value)).is_some_and(|(_, asked)| asked != *with_other);
                    // The sizes of one kind can only be removed, and then `sizes` may give the same ones.
                    let falls_back = idle.name.ends_with("_sizes") && other.name.starts_with("stream[].sizes");
                    if both == *with_other
                        && !falls_back
                        && !ENDS.contains(&&*other.name)
                        && !ENDS.contains(&&*idle.name)
                        && !idle.alternatives.iter().any(acts)
                    {
                        wrong.insert(format!("{} has no effect beside {}", idle.name, other.name));
                    }
                }
            }
        }
    }
    assert!(pairs > 500, "{pairs} pairs are few");
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), Vec::from_iter(wrong).join("\n"));
}

/// Keys of a workload that only inform its readers.
const WORDS: [&str; 3] = ["name", "description", "stream[].name"];

/// Keys that select which requests are measured, and change none of them: `crates/study/tests/measured.rs` tests them.
const MEASURED: [&str; 4] = ["warm-up", "measure", "until", "round"];

/// Shares that sum to one with others, so that none can change alone.
const SUMS: [&str; 7] = [
    "stream[].share",
    "stream[].sizes[].share",
    "stream[].read_sizes[].share",
    "stream[].write_sizes[].share",
    "stream[].discard_sizes[].share",
    "stream[].address(zoned).zones[].access",
    "stream[].address(zoned).zones[].space",
];
