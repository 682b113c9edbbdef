//! A parsed TOML file and the changes to it.
//!
//! A deserializer stops at the first fault. To report all of them, one pass compares the values with the schema of the
//! type (`schema`). A second step replaces the faulty values by valid ones and checks the description as a whole
//! (`decode`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::parse;
use super::place::{KeyPlace, PathSegment, joined, place_of, split};
use super::{ConfigFault, Faults};

/// The most faults that are reported at once.
pub(super) const MOST_FAULTS: usize = 50;

/// A parsed file with the changes that were made to its values.
#[derive(Clone, Debug)]
pub struct Document {
    path: PathBuf,
    source: Arc<str>,
    table: Table,
    /// Changed keys, with the origin of each change.
    overridden: BTreeMap<String, Setter>,
}

/// The origin of a change.
#[derive(Clone, Debug)]
enum Setter {
    /// An option of the command line.
    Option,
    /// A key of the file `path`; `source` is the text of that file, for messages.
    File { path: PathBuf, source: Arc<str>, key: String },
}

/// The layers that set values, in ascending order: a later layer replaces an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A value that the file gives.
    File,
    /// The key `set` of a study.
    Study,
    /// A value that an axis of a study sets.
    Axis,
    /// An option of the command line, which overrides all others.
    CommandLine,
}

/// Reads `path` into a `T`.
///
/// # Errors
/// All faults of the file.
pub fn load<T: DeserializeOwned + JsonSchema>(path: &Path) -> Result<T, Faults> {
    Document::read(path)?.decode()
}

impl Document {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// If it cannot be read or is not TOML.
    pub fn read(path: &Path) -> Result<Self, Faults> {
        Self::parse(path, parse::text(path, "a TOML file")?)
    }

    /// Parses a text; faults name `path` as its file.
    ///
    /// # Errors
    /// All places that are not TOML.
    pub fn parse(path: &Path, source: String) -> Result<Self, Faults> {
        let table = parse::table(&source).map_err(|faults| {
            let fault = |(line, message, remedy)| ConfigFault {
                path: Some(path.to_owned()),
                line,
                key: String::new(),
                message,
                remedy,
            };
            let more = faults.len().saturating_sub(MOST_FAULTS);
            let shown = faults.into_iter().take(MOST_FAULTS).map(fault).collect();
            Faults(shown).and_more(path, more)
        })?;
        Ok(Self { path: path.to_owned(), source: source.into(), table, overridden: BTreeMap::new() })
    }

    /// Creates a document of values that a program made. Faults name `path` as its file, without a line.
    #[must_use]
    pub fn of(path: &Path, table: Table) -> Self {
        Self { path: path.to_owned(), source: "".into(), table, overridden: BTreeMap::new() }
    }

    /// Sets one value, as in `ftl.gc.threshold=5%`. The value is parsed as TOML, otherwise taken as text.
    ///
    /// # Errors
    /// If `assignment` has another form, or the key leads through a value that is not a table.
    pub fn set(&mut self, assignment: &str) -> Result<(), Faults> {
        let fault = |key: &str, message: String, remedy: &str| ConfigFault {
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
        let value = parse::table(&format!("value = {text}"))
            .ok()
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| Value::String(text.to_owned()));
        let steps = split(key);
        if steps.is_empty() || joined(&steps) != key {
            return Err(fault(key, "is not a key".into(), "write names joined by dots, as in ftl.gc").into());
        }
        let slot = make(&mut self.table, &steps)
            .ok_or_else(|| fault(key, "passes through a value that is not a table".into(), "check the key"))?;
        *slot = value;
        self.overridden.insert(key.to_owned(), Setter::Option);
        Ok(())
    }

    /// Appends a table to the list `key`, as `[[key]]` does in a file.
    ///
    /// # Errors
    /// If the value at `key` is no list.
    pub fn push(&mut self, key: &str, table: Table) -> Result<(), Faults> {
        let wrong = self.fault(key, "is not a list of tables", format!("write [[{key}]]"));
        let list = self.table.entry(key.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(items) = list else { return Err(wrong.into()) };
        self.overridden.insert(format!("{key}[{}]", items.len()), Setter::Option);
        items.push(Value::Table(table));
        Ok(())
    }

    /// Applies `changes`, the value of `key` in another file: tables are merged, all other values replaced. The origin
    /// of each change is its own key in the other file or, if `whole`, always `key` itself.
    pub fn merge(&mut self, changes: &Table, from: &Self, key: &str, whole: bool) {
        merge(&mut self.table, changes, &mut Vec::new(), &mut |set| {
            let key = if whole { key.to_owned() } else { format!("{key}.{set}") };
            let setter = Setter::File { path: from.path.clone(), source: Arc::clone(&from.source), key };
            self.overridden.insert(set, setter);
        });
    }

    /// Sets the value at `key` to the value that `from` has at `there`: a fault of the value is reported in that file.
    /// Returns false if `key` leads through a list that is too short, or a value that is not a table.
    pub(crate) fn put(&mut self, key: &str, value: Value, from: &Self, there: &str) -> bool {
        let Some(slot) = make(&mut self.table, &split(key)) else { return false };
        *slot = value;
        let (source, path) = (Arc::clone(&from.source), from.path.clone());
        let own = Setter::File { path, source, key: there.to_owned() };
        let setter = from.setter(there).map_or(own, |(set, setter)| setter.inside(set, there));
        self.overridden.insert(key.to_owned(), setter);
        true
    }

    /// Replaces the existing value at `key` by another notation of it. Faults of the value are still reported at its
    /// old place.
    ///
    /// # Panics
    ///
    /// If there is no value at `key`.
    pub(crate) fn put_in_place(&mut self, key: &str, value: Value) {
        *make(&mut self.table, &split(key)).expect("a value in tables and lists") = value;
    }

    /// Copies the document without one table.
    pub(crate) fn without(&self, key: &str) -> Self {
        let mut document = self.clone();
        document.table.remove(key);
        document.overridden.retain(|set, _| set != key && !within(key, set));
        document
    }

    /// The change that set the value at `key`, or a table around it.
    fn setter(&self, key: &str) -> Option<(&str, &Setter)> {
        // The innermost change is the latest.
        let around = self.overridden.iter().filter(|(set, _)| set.as_str() == key || within(set, key));
        around.max_by_key(|(set, _)| set.len()).map(|(set, setter)| (set.as_str(), setter))
    }

    /// The layers beside the file that set the value at `key`, a table around it, or a value in it.
    pub(super) fn ranks(&self, key: &str) -> impl Iterator<Item = Rank> {
        let touches = move |set: &str| set == key || within(set, key) || within(key, set);
        self.overridden.iter().filter(move |(set, _)| touches(set)).map(|(_, setter)| match setter {
            Setter::Option => Rank::CommandLine,
            Setter::File { key, .. } if key.starts_with("axis[") => Rank::Axis,
            Setter::File { .. } => Rank::Study,
        })
    }

    /// Copies the document so that the table `own` has the value of its neighbour `name` under `like`; both are in the
    /// table `at`. The keys of `own` are then differences from the thing that the name stands for. Nothing changes if
    /// either is missing, or `own` has `like` already.
    #[must_use]
    pub fn with_base(&self, at: &str, name: &str, own: &str, like: &str) -> Self {
        let mut document = self.clone();
        let Some(table) = document.table.get_mut(at).and_then(Value::as_table_mut) else { return document };
        let is_difference = table.get(own).and_then(Value::as_table).is_some_and(|own| !own.contains_key(like));
        if !is_difference || !table.get(name).is_some_and(Value::is_str) {
            return document;
        }
        let base = table.remove(name);
        if let (Some(own), Some(base)) = (table.get_mut(own).and_then(Value::as_table_mut), base) {
            own.insert(like.to_owned(), base);
        }
        document
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file that the document names: relative to the document's folder, or as it is if absolute.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        let there = self.path.parent().map(|folder| folder.join(path));
        there.filter(|there| there.exists()).unwrap_or_else(|| path.to_owned())
    }

    /// The text of the file.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The parsed values, with all changes.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The parsed values, to change them.
    pub(super) const fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// A fault of the value at `key`, for checks of several values together.
    #[must_use]
    pub fn fault(&self, key: &str, message: impl Into<String>, remedy: impl Into<String>) -> ConfigFault {
        let place = place_of(&self.source, &split(key));
        self.fault_at(key, place, message.into(), remedy.into())
    }

    pub(super) fn fault_at(&self, key: &str, place: KeyPlace, message: String, remedy: String) -> ConfigFault {
        let setter = self.setter(key).map(|(set, setter)| (set, setter.inside(set, key)));
        // No line of the file has this table: a change created it by setting a key in it.
        let setter = setter.or_else(|| {
            let inside = self.overridden.iter().find(|(set, _)| !place.there && !key.is_empty() && within(key, set));
            inside.map(|(set, setter)| (set.as_str(), setter.clone()))
        });
        let (path, line, key, message) = match setter {
            None => (Some(self.path.clone()), place.line, key.to_owned(), message),
            Some((_, Setter::Option)) => (None, None, key.to_owned(), message),
            Some((_, Setter::File { path, source, key: there })) => {
                let line = place_of(&source, &split(&there)).line;
                let message = match &self.path {
                    own if *own == path => message,
                    other => format!("sets {key} of {}: {message}", other.display()),
                };
                (Some(path), line, there, message)
            }
        };
        ConfigFault { path, line, key, message, remedy }
    }
}

/// True if the key `inner` lies inside of `outer`.
fn within(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[']))
}

impl Setter {
    /// The origin of the value at `key`, where `self` is the origin of the value at `set` around it.
    fn inside(&self, set: &str, key: &str) -> Self {
        match self {
            Self::File { path, source, key: there } => {
                let key = format!("{there}{}", key.strip_prefix(set).unwrap_or_default());
                Self::File { path: path.clone(), source: Arc::clone(source), key }
            }
            Self::Option => Self::Option,
        }
    }
}

/// Merges `changes` into `table` and calls `set` with every changed key.
fn merge(table: &mut Table, changes: &Table, way: &mut Vec<PathSegment>, set: &mut dyn FnMut(String)) {
    for (name, change) in changes {
        way.push(PathSegment::Key(name.clone()));
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

/// The place of a value in a table. Missing tables on the way are created; `None` if the way leads through another
/// value.
fn make<'a>(table: &'a mut Table, steps: &[PathSegment]) -> Option<&'a mut Value> {
    let (first, rest) = steps.split_first()?;
    let PathSegment::Key(key) = first else { return None };
    let start = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
    rest.iter().try_fold(start, |value, step| match (value, step) {
        (Value::Table(table), PathSegment::Key(key)) => {
            Some(table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new())))
        }
        (Value::Array(items), PathSegment::Item(index)) => items.get_mut(*index),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
