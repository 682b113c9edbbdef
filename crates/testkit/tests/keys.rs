//! No key is accepted that has no effect, and what is written down of a device is what ran.

mod keys {
    pub(super) mod exceptions;
}

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use ssd::{Resolved, Spec};
use testkit::keys::drives::{Fixture, Load, Ran, fixtures, run};
use testkit::keys::{Key, every_key, keys as keys_of};

use keys::exceptions::{EXCEPTIONS, Exception};

/// What became of a key that was set to other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// No other value is accepted.
    Refused,
    /// Other values are accepted, and nothing happens at another time or wears another block.
    Nothing,
    /// Something does.
    Changes,
}

fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Spec)).expect("a schema")
}

fn read(description: &Value) -> Option<Resolved> {
    let spec: Spec = serde_json::from_value(description.clone()).ok()?;
    spec.resolve().ok()
}

/// What the resolved description comes to when it is read again is what was resolved.
fn reads_back(resolved: &Resolved, of: &str) {
    let text = toml::to_string(&resolved.spec).unwrap_or_else(|error| panic!("{of}: {error}"));
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{of}: {text}: {error}"));
    let again = spec.resolve().unwrap_or_else(|faults| panic!("{of}: {text}: {faults:?}"));
    // A run is a function of this and the seed.
    assert_eq!(format!("{again:?}"), format!("{resolved:?}"), "{of}");
}

/// A device and its runs.
struct Plain<'a> {
    fixture: &'a Fixture,
    described: Value,
    resolved: Resolved,
    before: Vec<(Load, Ran)>,
}

impl<'a> Plain<'a> {
    fn new(fixture: &'a Fixture) -> Self {
        let described = serde_json::to_value(&fixture.spec).expect("a description");
        let resolved =
            read(&described).unwrap_or_else(|| panic!("{}: {:?}", fixture.name, fixture.spec.resolve().err()));
        reads_back(&resolved, fixture.name);
        let before = Load::EVERY.map(|load| (load, run(&resolved, load))).to_vec();
        Self { fixture, described, resolved, before }
    }

    /// Sets a key to other values, and says what came of it.
    fn outcome(&self, key: &Key) -> Outcome {
        let mut best = Outcome::Refused;
        for value in &key.alternatives {
            let Some(resolved) = read(&key.set(&self.described, value)) else { continue };
            let what = format!("{}, {} = {value}", self.fixture.name, key.name);
            reads_back(&resolved, &what);
            if resolved.spec == self.resolved.spec {
                // Said in other words.
                continue;
            }
            let changes = self.before.iter().any(|(load, before)| {
                let ran = catch_unwind(AssertUnwindSafe(|| run(&resolved, *load)));
                ran.unwrap_or_else(|_| panic!("{what}, under {load:?}")) != *before
            });
            if changes {
                return Outcome::Changes;
            }
            best = Outcome::Nothing;
        }
        best
    }
}

/// Does something for every number below `count`, on all cores.
fn each(count: usize, work: impl Fn(usize) + Sync) {
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
    let outcomes: Mutex<BTreeMap<String, BTreeMap<&str, Outcome>>> = Mutex::default();
    each(fixtures.len(), |i| {
        let plain = Plain::new(&fixtures[i]);
        for key in keys_of(&schema, &plain.described) {
            // What is only printed is printed alike of every device: one has to do.
            let printed =
                EXCEPTIONS.iter().any(|exception| exception.devices.is_empty() && exception.covers(&key.name));
            if printed && !["page, one queue", "chang, chains behind SLC"].contains(&plain.fixture.name) {
                continue;
            }
            let outcome = plain.outcome(&key);
            let mut outcomes = outcomes.lock().expect("nobody has panicked");
            let known = outcomes.entry(key.name).or_default().entry(plain.fixture.name).or_insert(outcome);
            *known = outcome.max(*known);
        }
    });
    let outcomes = outcomes.into_inner().expect("nobody has panicked");
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (key, by_device) in &outcomes {
        for (device, outcome) in by_device {
            let listed = EXCEPTIONS.iter().position(|exception| exception.is_about(device, key));
            match (outcome, listed) {
                (Outcome::Nothing, Some(number)) => {
                    used.insert(number);
                }
                (Outcome::Nothing, None) => wrong.push(format!("{device}: {key} is accepted and has no effect")),
                (Outcome::Changes, Some(number)) => {
                    let Exception { reason, .. } = EXCEPTIONS[number];
                    wrong.push(format!("{device}: {key} has an effect, and is listed as one that has none: {reason}"));
                }
                _ => {}
            }
        }
        let counts = |wanted: Outcome| by_device.values().any(|outcome| *outcome == wanted);
        if !counts(Outcome::Changes) && !is_table(&outcomes, key) {
            if let Some(number) = EXCEPTIONS.iter().position(|exception| exception.covers(key)) {
                used.insert(number);
                continue;
            }
            wrong.push(format!("{key}: no other value was tried: give a device a value that can be changed"));
        }
    }
    for key in every_key(&schema).iter().filter(|key| !outcomes.contains_key(*key)) {
        wrong.push(format!("{key}: no device has it: add one to testkit::keys::drives"));
    }
    for (number, exception) in EXCEPTIONS.iter().enumerate().filter(|(number, _)| !used.contains(number)) {
        wrong.push(format!("exception {number} is not needed any more: {exception:?}"));
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// True if a key is a table, or a list, whose keys are tried one by one.
fn is_table(outcomes: &BTreeMap<String, BTreeMap<&str, Outcome>>, key: &str) -> bool {
    outcomes.keys().any(|other| other.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '(', '['])))
}

#[test]
fn a_device_that_comes_along_runs_as_it_is_written_down() {
    let all = ssd::builtin();
    each(all.len(), |i| {
        let (name, text) = all[i];
        let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        reads_back(&resolved, name);
    });
}
