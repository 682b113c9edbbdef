//! No key is accepted that has no effect, and what is written down of a device is what ran.

use std::collections::{BTreeMap, BTreeSet};

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use ssd::{Resolved, Spec};
use testkit::keys::drives::{Fixture, Load, fixtures, run};
use testkit::keys::{every_key, keys};

/// What became of a key that was set to other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// No other value is accepted.
    Refused,
    /// Other values are accepted, and nothing happens at another time.
    Nothing,
    /// Something happens at another time.
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

/// Sets each key of a device to other values, and says what became of it.
fn outcomes(fixture: &Fixture, schema: &Value) -> BTreeMap<String, Outcome> {
    let name = fixture.name;
    let described = serde_json::to_value(&fixture.spec).expect("a description");
    let plain = read(&described).unwrap_or_else(|| panic!("{name}: {:?}", fixture.spec.resolve().err()));
    reads_back(&plain, name);
    let before = Load::EVERY.map(|load| run(&plain, load));
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for key in keys(schema, &described) {
        let mut best = Outcome::Refused;
        for value in &key.alternatives {
            let Some(resolved) = read(&key.set(&described, value)) else { continue };
            reads_back(&resolved, &format!("{name}, {} = {value}", key.name));
            let other = |(load, before): (&Load, &u64)| {
                let hash = catch_unwind(AssertUnwindSafe(|| run(&resolved, *load)));
                hash.unwrap_or_else(|_| panic!("{name}, {} = {value}, under {load:?}", key.name)) != *before
            };
            let changes = Load::EVERY.iter().zip(&before).any(other);
            best = best.max(if changes { Outcome::Changes } else { Outcome::Nothing });
            if changes {
                break;
            }
        }
        let known = outcomes.entry(key.name).or_insert(best);
        *known = best.max(*known);
    }
    outcomes
}

#[test]
fn fixtures_run() {
    let schema = schema();
    let mut all: BTreeMap<String, BTreeMap<Outcome, Vec<&str>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for f in fixtures() {
        let t = std::time::Instant::now();
        for (key, outcome) in outcomes(&f, &schema) {
            seen.insert(key.clone());
            all.entry(key).or_default().entry(outcome).or_default().push(f.name);
        }
        println!("{} {:?}", f.name, t.elapsed());
    }
    for (key, by) in &all {
        if let Some(n) = by.get(&Outcome::Nothing) {
            println!("NOTHING {key}: {n:?}    CHANGES in {:?}", by.get(&Outcome::Changes).map_or(0, Vec::len));
        }
        if !by.contains_key(&Outcome::Changes) {
            println!("NEVER {key}: {by:?}");
        }
    }
    for key in every_key(&schema) {
        if !seen.contains(&key) { println!("UNSEEN {key}"); }
    }
}
