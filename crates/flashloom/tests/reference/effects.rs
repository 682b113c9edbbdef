//! The FTL families under which each key of a device has an effect, and the range of the key. The test sets each key of
//! small drives of every family to other values and reads the refusals.

use std::collections::{BTreeMap, BTreeSet};

use base::fault::{Fault, Faults};
use ftl::Site;
use serde_json::{Value, json};
use ssd::{FtlKind, ResolvedDevice, Spec};
use testkit::keys::drives::fixtures;
use testkit::keys::{Key, keys};

/// The beginning of a fault that refuses a key without effect.
const NO_EFFECT: &str = "has no effect here: ";

/// The range of a number that cannot be zero.
const POSITIVE: &str = "1 or more";

/// The facts found about one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// Families that accept another value.
    taken: BTreeSet<&'static str>,
    /// Families under which the key was tried.
    tried: BTreeSet<&'static str>,
    /// Families that refuse the key themselves.
    refused: BTreeSet<&'static str>,
    /// The reasons for which families refuse the key as one without effect, each with its families.
    reasons: BTreeMap<String, BTreeSet<&'static str>>,
    /// The faults of numbers beyond the key's range.
    ranges: BTreeSet<String>,
    /// Values that equal the default.
    same: BTreeSet<String>,
}

impl Effect {
    /// The range of a whole number, if all drives agree on it.
    pub(crate) fn range(&self) -> Option<&str> {
        let mut ranges = self.ranges.iter().filter(|range| self.ranges.len() == 1 || *range != POSITIVE);
        ranges.next().filter(|_| ranges.next().is_none()).map(String::as_str)
    }

    /// The default, if it is the same for all drives.
    pub(crate) fn left_out(&self) -> Option<&str> {
        self.same.first().filter(|_| self.same.len() == 1).map(String::as_str)
    }

    /// Families under which the key has an effect; none if it has one under all.
    pub(crate) fn counts(&self) -> Vec<&'static str> {
        let refused = |name: &&str| self.refused.contains(name) && !self.taken.contains(name);
        let names = FtlKind::EVERY.map(FtlKind::name);
        if names.iter().any(&refused) { names.into_iter().filter(|name| !refused(name)).collect() } else { Vec::new() }
    }

    /// The reasons for which families refuse the key as one without effect, each with its families, unless all families
    /// with the key give the reason.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&str, Vec<&'static str>)> {
        self.reasons.iter().map(|(why, families)| {
            let only = families != &self.tried;
            (why.as_str(), if only { families.iter().copied().collect() } else { Vec::new() })
        })
    }
}

/// The effects of keys by their names, as `testkit` writes them: `ftl.map(dftl).cmt`.
#[derive(Debug, Default)]
pub(crate) struct Effects(BTreeMap<String, Effect>);

impl Effects {
    /// No facts about any key.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    /// Tries every key of a device.
    pub(crate) fn of_devices(schema: &Value) -> Self {
        let mut all: BTreeMap<String, Effect> = BTreeMap::new();
        let fixtures: Vec<Value> =
            fixtures().iter().map(|fixture| serde_json::to_value(&fixture.spec).expect("a description")).collect();
        for described in &fixtures {
            let resolved = read(described).expect("a description").resolve().expect("a sound fixture");
            for mut key in keys(schema, described) {
                // Tables that belong to other drives.
                let at = format!("/{}", path(&key.name).replace('.', "/"));
                if key.alternatives.iter().any(Value::is_object) && described.pointer(&at).is_none() {
                    key.alternatives.extend(fixtures.iter().filter_map(|other| other.pointer(&at).cloned()));
                }
                let effect = all.entry(key.name.clone()).or_default();
                look(&key, described, &resolved, effect);
            }
        }
        Self(all)
    }

    /// The facts about a key. A family accepts a table if it accepts one of its keys, and refuses it if it refuses all
    /// of them.
    pub(crate) fn get(&self, name: &str) -> Effect {
        let is_inside = |rest: &str| rest.starts_with(['.', '(', '[']);
        let inside = || self.0.iter().filter(|(other, _)| other.strip_prefix(name).is_some_and(is_inside));
        let mut sum = self.0.get(name).cloned().unwrap_or_default();
        for family in FtlKind::EVERY.map(FtlKind::name) {
            let tried: Vec<&Effect> = inside().map(|(_, key)| key).filter(|key| key.tried.contains(family)).collect();
            if tried.iter().any(|key| key.taken.contains(family)) {
                sum.taken.insert(family);
            } else if !tried.is_empty() && tried.iter().all(|key| key.refused.contains(family)) {
                sum.refused.insert(family);
            }
        }
        sum
    }
}

fn read(description: &Value) -> Option<Spec> {
    serde_json::from_value(description.clone()).ok()
}

/// The faults that the families find in a description, given the drive without the change.
fn refused_by_family(spec: &Spec, before: &ResolvedDevice) -> Faults {
    let mut faults = Faults::default();
    let confines = spec.host.queue.iter().any(|queue| queue.dies.is_some() || queue.channels.is_some());
    let site = Site {
        ftl: &spec.ftl,
        flash: &spec.flash,
        slc: spec.slc.as_ref(),
        part: &before.part,
        confines,
        buffered: spec.buffer.is_some(),
        flush_log: None,
    };
    let family = spec.ftl.kind.family();
    for other in FtlKind::EVERY.into_iter().filter(|kind| *kind != spec.ftl.kind) {
        other.family().check_absent(&site, &mut faults);
    }
    family.check(&site, &mut faults);
    let sets = 1 + usize::from(confines);
    family.check_array(&site, &before.geometry, &before.backend.timing, sets, &mut faults);
    for idle in family.idle(&site).into_iter().filter(|idle| idle.is_set) {
        faults.add(idle.path, idle.why, idle.remedy);
    }
    // A fault with a number is about this drive only.
    faults.0.retain(|fault| !fault.message.contains(|c: char| c.is_ascii_digit()) && !fault.message.contains("zero"));
    faults
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

fn look(key: &Key, described: &Value, resolved: &ResolvedDevice, effect: &mut Effect) {
    let path = path(&key.name);
    let family = resolved.spec.ftl.kind.name();
    effect.tried.insert(family);
    for value in &key.alternatives {
        let Some(spec) = read(&key.set(described, value)) else { continue };
        match spec.resolve() {
            Ok(other) if other.spec != resolved.spec => {
                effect.taken.insert(family);
            }
            Ok(_) => effect.same.extend(value.as_str().map(str::to_owned)),
            Err(faults) => {
                let all =
                    faults.iter().filter_map(|fault| fault.message.strip_prefix(NO_EFFECT).map(|why| (fault, why)));
                for (_, why) in all.filter(|(fault, _)| covers(fault, &path)) {
                    effect.reasons.entry(why.to_owned()).or_default().insert(family);
                }
                if refused_by_family(&spec, resolved).0.iter().any(|fault| covers(fault, &path)) {
                    effect.refused.insert(family);
                }
            }
        }
    }
    if key.alternatives.iter().any(Value::is_u64) {
        for beyond in [0, u32::MAX] {
            let faults = read(&key.set(described, &json!(beyond))).and_then(|spec| spec.resolve().err());
            let faults = faults.unwrap_or_default();
            let about = faults.iter().find(|fault| is_about(fault, &path));
            effect.ranges.extend(about.and_then(|fault| range(fault, beyond)));
        }
    }
}

/// The range that a fault of a number states, if it does not depend on the drive.
fn range(fault: &Fault, value: u32) -> Option<String> {
    if fault.message == format!("is {value}") {
        fault.remedy.strip_prefix("use ").map(str::to_owned)
    } else {
        fault.message.starts_with("is zero").then(|| POSITIVE.to_owned())
    }
}
