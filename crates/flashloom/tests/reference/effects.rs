//! Which keys of a device count under which family of FTLs, and in which range: found by setting each key of small
//! drives of every family to other values, and reading what is refused.

use std::collections::{BTreeMap, BTreeSet};

use base::fault::Fault;
use serde_json::{Value, json};
use ssd::{Resolved, Spec};
use testkit::keys::drives::fixtures;
use testkit::keys::{Key, keys};

/// How a fault begins that refuses a key because it would do nothing.
const NO_EFFECT: &str = "has no effect here: ";

/// What is known of one key.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// Families under which another value is taken.
    pub(crate) taken: BTreeSet<&'static str>,
    /// Families under which none is.
    pub(crate) refused: BTreeSet<&'static str>,
    /// Why it is refused where it would have no effect, and under which families.
    pub(crate) reasons: BTreeMap<String, BTreeSet<&'static str>>,
    /// What is said of numbers beyond its range; empty where a drive takes them, or does not say the range.
    ranges: BTreeSet<String>,
}

impl Effect {
    /// The range of a whole number, if all drives agree on it.
    pub(crate) fn range(&self) -> Option<&str> {
        self.ranges.first().filter(|range| self.ranges.len() == 1 && !range.is_empty()).map(String::as_str)
    }
}

/// The effects of keys by their names, as `testkit` writes them: `ftl.map(dftl).cmt`.
#[derive(Debug, Default)]
pub(crate) struct Effects(BTreeMap<String, Effect>);

impl Effects {
    /// Nothing is known of any key.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    /// Looks at every key of a device.
    pub(crate) fn of_devices(schema: &Value) -> Self {
        let mut all: BTreeMap<String, Effect> = BTreeMap::new();
        for fixture in fixtures() {
            let described = serde_json::to_value(&fixture.spec).expect("a description");
            let resolved = resolve(&described).expect("a sound fixture");
            let family = fixture.spec.ftl.kind.name();
            for key in keys(schema, &described) {
                let effect = all.entry(key.name.clone()).or_default();
                look(&key, &described, &resolved, family, effect);
            }
        }
        Self(all)
    }

    /// What is known of a key, the keys in its table included.
    pub(crate) fn get(&self, name: &str) -> Effect {
        let mut sum = Effect::default();
        for (other, effect) in &self.0 {
            let Some(rest) = other.strip_prefix(name) else { continue };
            if !rest.is_empty() && !rest.starts_with(['.', '(', '[']) {
                continue;
            }
            sum.taken.extend(&effect.taken);
            if rest.is_empty() {
                sum.refused.extend(&effect.refused);
                sum.reasons.extend(effect.reasons.clone());
                sum.ranges.extend(effect.ranges.iter().cloned());
            }
        }
        sum.refused.retain(|family| !sum.taken.contains(family));
        sum
    }
}

fn resolve(description: &Value) -> Result<Resolved, Vec<Fault>> {
    serde_json::from_value::<Spec>(description.clone()).map_err(|_| Vec::new())?.resolve()
}

/// The path by which faults name a key: without the forms of tables and the members of lists.
fn path(name: &str) -> String {
    let mut path = String::new();
    let mut depth = 0;
    for c in name.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            c if depth == 0 => path.push(c),
            _ => {}
        }
    }
    path
}

/// Whether a fault is about this key.
fn is_about(fault: &Fault, path: &str) -> bool {
    self::path(&fault.path) == path
}

/// Whether a fault is about this key or about the table that it is in.
fn covers(fault: &Fault, path: &str) -> bool {
    path.strip_prefix(&*self::path(&fault.path)).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn look(key: &Key, described: &Value, resolved: &Resolved, family: &'static str, effect: &mut Effect) {
    let path = path(&key.name);
    let mut refused = false;
    for value in &key.alternatives {
        match resolve(&key.set(described, value)) {
            Ok(other) if other.spec != resolved.spec => {
                effect.taken.insert(family);
            }
            Ok(_) => {}
            Err(faults) => {
                for fault in faults.iter().filter(|fault| covers(fault, &path)) {
                    refused = true;
                    if let Some(why) = fault.message.strip_prefix(NO_EFFECT) {
                        effect.reasons.entry(why.to_owned()).or_default().insert(family);
                    }
                }
            }
        }
    }
    if refused && !effect.taken.contains(family) {
        effect.refused.insert(family);
    }
    if key.alternatives.iter().any(Value::is_u64) {
        for beyond in [json!(0), json!(u32::MAX)] {
            let faults = resolve(&key.set(described, &beyond)).err().unwrap_or_default();
            let about = faults.iter().find(|fault| is_about(fault, &path) && !fault.message.starts_with(NO_EFFECT));
            effect.ranges.extend(about.and_then(|fault| fault.remedy.strip_prefix("use ")).map(str::to_owned));
        }
    }
}
