//! A TOML file on its way to a type.
//!
//! A deserializer stops at the first fault. To report all of them, the key that is at fault is noted,
//! taken out, and the rest is tried again, until nothing is left to complain about.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use toml::de::DeTable;
use toml::{Table, Value};

use super::limited;
use super::place::{Step, joined, line_at, line_of, split};
use super::suggest::{expected, nearest};
use super::{Fault, Faults};

/// More faults than anyone reads at once.
const MOST_FAULTS: usize = 50;

/// A parsed file with the values given on the command line put in.
#[derive(Clone, Debug)]
pub struct Document {
    path: PathBuf,
    source: String,
    table: Table,
    /// Keys that were set otherwise, with the file that did; `None` for the command line.
    overridden: BTreeMap<String, Option<PathBuf>>,
}

/// Reads `path` into a `T`.
///
/// # Errors
/// All faults of the file.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, Faults> {
    Document::read(path)?.decode()
}

impl Document {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// If it cannot be read or is not TOML.
    pub fn read(path: &Path) -> Result<Self, Faults> {
        let whole = |message: String, remedy: &str| Fault {
            path: Some(path.to_owned()),
            line: None,
            key: String::new(),
            message,
            remedy: remedy.to_owned(),
        };
        let bytes = limited::read(path).map_err(|error| whole(format!("cannot be read: {error}"), "check its name"))?;
        let source = String::from_utf8(bytes).map_err(|error| Fault {
            line: Some(
                error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1,
            ),
            ..whole("is not a text in UTF-8".into(), "give a TOML file")
        })?;
        Self::parse(path, source)
    }

    /// Parses a text that came from `path`.
    ///
    /// # Errors
    /// Everything in it that is not TOML.
    pub fn parse(path: &Path, source: String) -> Result<Self, Faults> {
        let (_, errors) = DeTable::parse_recoverable(&source);
        let fault = |error: &toml::de::Error| Fault {
            path: Some(path.to_owned()),
            line: error.span().map(|span| line_at(&source, span.start)),
            key: String::new(),
            message: error.message().trim().replace('\n', ", "),
            remedy: "correct the TOML; text values need quotes, e.g. \"25us\"".into(),
        };
        // One slip of the pen makes several errors on its line: the first is the one to read.
        let mut faults: Vec<Fault> = errors.iter().map(fault).collect();
        faults.dedup_by_key(|fault| fault.line);
        faults.truncate(MOST_FAULTS);
        if !faults.is_empty() {
            return Err(Faults(faults));
        }
        let table = source.parse::<Table>().map_err(|error| fault(&error))?;
        Ok(Self { path: path.to_owned(), source, table, overridden: BTreeMap::new() })
    }

    /// Sets one value, as in `ftl.gc.threshold=5%`; the value is TOML, or else text.
    ///
    /// # Errors
    /// If it is not of that form, or the key leads through something that is not a table.
    pub fn set(&mut self, assignment: &str) -> Result<(), Faults> {
        let fault = |key: &str, message: String, remedy: &str| Fault {
            path: None,
            line: None,
            key: key.to_owned(),
            message,
            remedy: remedy.to_owned(),
        };
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(fault("", format!("`{assignment}` sets nothing"), "write key=value").into());
        };
        let (key, text) = (key.trim(), text.trim());
        let value = format!("value = {text}")
            .parse::<Table>()
            .ok()
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(text.to_owned()));
        let steps = split(key);
        if steps.is_empty() || joined(&steps) != key {
            return Err(fault(key, "is not a key".into(), "write names joined by dots, as in ftl.gc").into());
        }
        let slot = make(&mut self.table, &steps)
            .ok_or_else(|| fault(key, "leads through something that is not a table".into(), "check the key"))?;
        *slot = value;
        self.overridden.insert(key.to_owned(), None);
        Ok(())
    }

    /// Sets every value of `changes`, which stand in another file: tables are merged, everything else is
    /// replaced.
    pub fn merge(&mut self, changes: &Table, from: &Path) {
        merge(&mut self.table, changes, &mut Vec::new(), &mut |key| {
            self.overridden.insert(key, Some(from.to_owned()));
        });
    }

    /// The file it came from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The parsed values.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// A fault of the value at `key`, for what is only found out when the values are taken together.
    #[must_use]
    pub fn fault(&self, key: &str, message: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let steps = split(key);
        let set = |set: &str| key == set || key.starts_with(&format!("{set}."));
        let given = self.overridden.iter().find(|(other, _)| set(other)).map(|(_, from)| from.clone());
        Fault {
            line: if given.is_some() { None } else { line_of(&self.source, &steps) },
            path: given.unwrap_or_else(|| Some(self.path.clone())),
            key: key.to_owned(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The faults of a whole description, each at its line, in the order of their lines.
    #[must_use]
    pub fn faults(&self, faults: Vec<flash::fault::Fault>) -> Faults {
        let mut faults: Vec<_> =
            faults.into_iter().map(|fault| self.fault(&fault.path, fault.message, fault.remedy)).collect();
        faults.sort_by_key(|fault| fault.line.unwrap_or(usize::MAX));
        Faults(faults)
    }

    /// Makes a `T` of it.
    ///
    /// # Errors
    /// All faults, in the order of their lines.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Faults> {
        let mut root = Value::Table(self.table.clone());
        let mut faults: Vec<Fault> = Vec::new();
        let mut removed: BTreeSet<String> = BTreeSet::new();
        loop {
            let error = match attempt::<T>(&root) {
                Ok(value) if faults.is_empty() => return Ok(value),
                Ok(_) => break,
                Err(error) => error,
            };
            let steps = self.culprit::<T>(&root, &error);
            if let Some(name) = quoted(&error.message, "missing field ") {
                let key = joined(&[error.steps.clone(), vec![Step::Key(name.to_owned())]].concat());
                if !removed.contains(&key) {
                    let remedy = "add it; `flashloom schema` lists all keys";
                    let mut fault = self.fault(&key, "is missing", remedy);
                    fault.line = line_of(&self.source, &error.steps).filter(|_| !error.steps.is_empty());
                    faults.push(fault);
                }
            } else {
                faults.push(self.explain(&steps, &error.message));
            }
            // At the root there is nothing left to take out.
            if faults.len() >= MOST_FAULTS || steps.is_empty() || !take_out(&mut root, &steps) {
                break;
            }
            removed.insert(joined(&steps));
        }
        faults.sort_by_key(|fault| fault.line.unwrap_or(usize::MAX));
        Err(Faults(faults))
    }

    /// Which key to blame for an error. Serde names the way to it, but for tagged enums, whose content
    /// it looks at only after it has read all of it; there, the key without which the error changes is
    /// the one.
    fn culprit<T: DeserializeOwned>(&self, root: &Value, error: &Attempt) -> Vec<Step> {
        let mut steps = error.steps.clone();
        if error.message.starts_with("missing field ") {
            return steps;
        }
        if let Some(name) = quoted(&error.message, "unknown field ") {
            if steps.last() != Some(&Step::Key(name.to_owned())) {
                steps.push(Step::Key(name.to_owned()));
            }
            if find(root, &steps).is_some() {
                return steps;
            }
            steps.pop();
        }
        while let Some(children) = find(root, &steps).map(children).filter(|children| !children.is_empty()) {
            let to_blame = |step: &Step| {
                let way = [steps.clone(), vec![step.clone()]].concat();
                let mut without = root.clone();
                take_out(&mut without, &way);
                let unmentioned = find(root, &way)
                    .and_then(|value| match value {
                        Value::String(text) => Some(text.clone()),
                        Value::Table(_) | Value::Array(_) => None,
                        other => Some(other.to_string()),
                    })
                    .is_some_and(|text| !error.message.contains(&text));
                attempt::<T>(&without).err().is_none_or(|other| other.message != error.message).then_some(unmentioned)
            };
            let blamed = children.into_iter().filter_map(|step| to_blame(&step).map(|rank| (rank, step)));
            // The first of those whose value the message names, or else the first.
            let Some((_, step)) = blamed.min_by_key(|(unmentioned, _)| *unmentioned) else { break };
            steps.push(step);
        }
        steps
    }

    fn explain(&self, steps: &[Step], message: &str) -> Fault {
        let key = joined(steps);
        let candidates = expected(message);
        let list = candidates.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if let Some(name) = quoted(message, "unknown field ") {
            let remedy = match nearest(name, &candidates) {
                Some(near) => format!("did you mean `{near}`?"),
                None if candidates.is_empty() => "remove it: there are no keys here".into(),
                None => format!("the keys here are {list}"),
            };
            return self.fault(&key, "is not a known key", remedy);
        }
        if let Some(name) = quoted(message, "unknown variant ") {
            let remedy = match nearest(name, &candidates) {
                Some(near) => format!("did you mean `{near}`? There are {list}"),
                None => format!("choose one of {list}"),
            };
            return self.fault(&key, format!("`{name}` is none of its values"), remedy);
        }
        // The messages of the unit types say what is wrong, a colon, and what to write instead.
        match message.trim().split_once(": ") {
            Some((wrong, remedy)) if wrong.contains('`') && !wrong.starts_with("invalid") => {
                self.fault(&key, wrong, remedy)
            }
            _ => self.fault(&key, message.trim().replace('\n', ", "), ""),
        }
    }
}

/// Why a value is no `T`, and the way to where that was noticed.
struct Attempt {
    steps: Vec<Step>,
    message: String,
}

fn attempt<T: DeserializeOwned>(root: &Value) -> Result<T, Attempt> {
    serde_path_to_error::deserialize::<_, T>(root.clone()).map_err(|error| {
        let steps = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                Segment::Map { key } => Some(Step::Key(key.clone())),
                Segment::Seq { index } => Some(Step::Item(*index)),
                Segment::Enum { .. } | Segment::Unknown => None,
            })
            .collect::<Vec<_>>();
        // The name of an enum's variant is a key in a file as well; keep only the way that exists.
        let real = (0..=steps.len()).rev().find(|n| find(root, &steps[..*n]).is_some()).unwrap_or(0);
        Attempt { steps: steps[..real].to_vec(), message: error.inner().message().to_owned() }
    })
}

/// The name in back-quotes after `prefix` at the start of a message.
fn quoted<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    message.strip_prefix(prefix)?.strip_prefix('`')?.split('`').next()
}

fn children(value: &Value) -> Vec<Step> {
    match value {
        Value::Table(table) => table.keys().cloned().map(Step::Key).collect(),
        Value::Array(items) => (0..items.len()).map(Step::Item).collect(),
        _ => Vec::new(),
    }
}

fn find<'a>(root: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(root, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Item(index) => value.get(*index),
    })
}

/// Takes a value out; false if there is none. An array loses all its items from this one on, because
/// the numbers of the others must not change.
fn take_out(root: &mut Value, steps: &[Step]) -> bool {
    let Some((last, way)) = steps.split_last() else { return false };
    let parent = way.iter().try_fold(root, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Item(index) => value.get_mut(*index),
    });
    match (parent, last) {
        (Some(Value::Table(table)), Step::Key(key)) => table.remove(key).is_some(),
        (Some(Value::Array(items)), Step::Item(index)) if *index < items.len() => {
            items.truncate(*index);
            true
        }
        _ => false,
    }
}

/// Puts `changes` into `table` and names every key that is set.
fn merge(table: &mut Table, changes: &Table, way: &mut Vec<Step>, set: &mut dyn FnMut(String)) {
    for (name, change) in changes {
        way.push(Step::Key(name.clone()));
        match (table.get_mut(name), change) {
            (Some(Value::Table(inner)), Value::Table(changes)) => merge(inner, changes, way, set),
            _ => {
                table.insert(name.clone(), change.clone());
                set(joined(way));
            }
        }
        way.pop();
    }
}

/// The place of a value that may not be there yet, tables on the way included.
fn make<'a>(table: &'a mut Table, steps: &[Step]) -> Option<&'a mut Value> {
    let (first, rest) = steps.split_first()?;
    let Step::Key(key) = first else { return None };
    let start = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
    rest.iter().try_fold(start, |value, step| match (value, step) {
        (Value::Table(table), Step::Key(key)) => {
            Some(table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new())))
        }
        (Value::Array(items), Step::Item(index)) => items.get_mut(*index),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
