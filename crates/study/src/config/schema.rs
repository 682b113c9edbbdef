//! Compares a table with the schema of its kind of file in one pass: finds every key that is unknown, missing or of the
//! wrong type, and repairs the table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::suggest::nearest;
use schemars::JsonSchema;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::document::MOST_FAULTS;
use super::place::PathSegment;
use super::renamed::renamed;
use super::shown::shown;
use super::texts;

pub(super) struct Schema(Json);

/// The fault of a key.
#[derive(Debug)]
pub(super) enum Wrong<'a> {
    /// None of the schema's tables at this place has the key; these tables.
    Unknown(Vec<&'a Json>),
    /// A required key is missing.
    Missing(&'a Json),
    /// The value has another type, or is out of range.
    Value(&'a Json, Value),
    /// No form of the table has this name; `None` if the table names no form.
    Choice(&'a Json, Option<String>),
    /// Keys that exclude each other.
    Both(String, String),
    /// The value's own type refuses it: fault and remedy.
    Text(String, String),
}

/// One fault and the path to its value.
#[derive(Debug)]
pub(super) struct SchemaFault<'a> {
    pub(super) steps: Vec<PathSegment>,
    pub(super) wrong: Wrong<'a>,
}

/// The substitute for an unusable value. A fault that appears with both substitutes does not depend on the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Substitute {
    First,
    Second,
}

/// The state of one pass over a table.
pub(super) struct Walk<'a> {
    pub(super) schema: &'a Schema,
    pub(super) substitute: Substitute,
    pub(super) found: Vec<SchemaFault<'a>>,
    pub(super) visited: usize,
}

impl Schema {
    pub(super) fn of<T: JsonSchema>() -> Self {
        Self(schemars::schema_for!(T).to_value())
    }

    /// The schema of a type, built once per process because every point of a study is compared with it.
    pub(super) fn shared<T: JsonSchema>() -> Arc<Self> {
        static MADE: Mutex<BTreeMap<String, Arc<Schema>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(T::schema_id().into_owned()).or_insert_with(|| Arc::new(Self::of::<T>())).clone()
    }

    #[cfg(test)]
    pub(super) const fn root(&self) -> &Json {
        &self.0
    }

    /// Finds the faults of `table` and repairs them.
    pub(super) fn walk(&self, table: &mut Table, substitute: Substitute) -> Walk<'_> {
        let mut walk = Walk { schema: self, substitute, found: Vec::new(), visited: 0 };
        let mut root = Value::Table(std::mem::take(table));
        walk.value(&self.0, &mut root, &mut Vec::new());
        if let Value::Table(repaired) = root {
            *table = repaired;
        }
        walk
    }

    /// Follows a reference. Returns its target and its name.
    pub(super) fn follow<'a>(&'a self, schema: &'a Json) -> (&'a Json, Option<&'a str>) {
        let name = schema.get("$ref").and_then(Json::as_str).and_then(|way| way.strip_prefix("#/$defs/"));
        match name.and_then(|name| Some((self.0.get("$defs")?.get(name)?, name))) {
            Some((schema, name)) => (schema, Some(name)),
            None => (schema, None),
        }
    }

    /// The branches of a union, without the null branch of an optional value; empty if the schema is not a union.
    pub(super) fn branches<'a>(&'a self, schema: &'a Json) -> Vec<&'a Json> {
        let all = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array);
        all.into_iter().flatten().filter(|branch| kinds(branch) != ["null"]).collect()
    }

    /// The schema of the key at these steps, and true if the key is required.
    pub(super) fn at<'a>(&'a self, steps: &[PathSegment]) -> Option<(&'a Json, bool)> {
        let mut here = vec![&self.0];
        let mut needed = true;
        for step in steps {
            let tables = here.iter().flat_map(|schema| self.leaves(schema));
            let next: Vec<(&Json, bool)> = match step {
                PathSegment::Key(key) => tables
                    .filter_map(|table| {
                        let inner = table.get("properties").and_then(|keys| keys.get(key));
                        let inner = inner.or_else(|| table.get("additionalProperties").filter(|of| of.is_object()))?;
                        Some((inner, required(table).any(|other| other == key)))
                    })
                    .collect(),
                PathSegment::Item(_) => tables.filter_map(|list| Some((list.get("items")?, true))).collect(),
            };
            needed = next.first()?.1;
            here = next.into_iter().map(|(schema, _)| schema).collect();
        }
        here.first().map(|schema| (*schema, needed))
    }

    /// The schema itself, or the leaves of its branches if it is a union.
    pub(super) fn leaves<'a>(&'a self, schema: &'a Json) -> Vec<&'a Json> {
        let (schema, _) = self.follow(schema);
        match self.branches(schema) {
            branches if branches.is_empty() => vec![schema],
            branches => branches.into_iter().flat_map(|branch| self.leaves(branch)).collect(),
        }
    }

    /// Removes an unusable value from `table` or replaces it. Returns false if there is no such key, or its value is a
    /// table.
    pub(super) fn repair(&self, table: &mut Table, steps: &[PathSegment], substitute: Substitute) -> bool {
        let Some((schema, needed)) = self.at(steps) else { return false };
        let Some((PathSegment::Key(last), way)) = steps.split_last() else { return false };
        let parent = way.iter().try_fold(table, |table, step| match step {
            PathSegment::Key(key) => table.get_mut(key)?.as_table_mut(),
            PathSegment::Item(_) => None,
        });
        let Some(parent) = parent else { return false };
        match parent.get(last) {
            Some(Value::Table(_)) => return false,
            // The default might conflict with the other keys as well, so the key is not simply removed.
            Some(Value::Integer(_)) => parent.insert(last.clone(), Value::Integer(number(substitute))),
            Some(_) if !needed && substitute == Substitute::First => parent.remove(last),
            _ => parent.insert(last.clone(), self.example(schema, substitute)),
        };
        true
    }

    pub(super) fn example(&self, schema: &Json, substitute: Substitute) -> Value {
        let pick = |all: &[Json]| match substitute {
            Substitute::First => all.first().cloned(),
            Substitute::Second => all.last().cloned(),
        };
        let given = schema.get("examples").and_then(Json::as_array).and_then(|all| pick(all));
        let default = schema.get("default").filter(|of| substitute == Substitute::First && !of.is_null()).cloned();
        if let Some(value) = given.or(default).or_else(|| schema.get("const").cloned()) {
            return Value::try_from(value).unwrap_or_else(|_| Value::String(String::new()));
        }
        let (inner, _) = self.follow(schema);
        if !std::ptr::eq(inner, schema) {
            return self.example(inner, substitute);
        }
        let branches: Vec<Json> = self.branches(schema).into_iter().cloned().collect();
        if let Some(branch) = pick(&branches) {
            return self.example(&branch, substitute);
        }
        if let Some(name) = schema.get("enum").and_then(Json::as_array).and_then(|all| pick(all)) {
            return Value::try_from(name).unwrap_or_else(|_| Value::String(String::new()));
        }
        let first = substitute == Substitute::First;
        match kinds(schema).first() {
            Some(&"integer") => Value::Integer(number(substitute)),
            Some(&"number") => Value::Float(if first { 0.5 } else { 0.25 }),
            Some(&"boolean") => Value::Boolean(first),
            Some(&"array") => {
                let items = schema.get("items").map(|items| self.example(items, substitute));
                let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(1);
                Value::Array(items.into_iter().flat_map(|item| (0..least).map(move |_| item.clone())).collect())
            }
            Some(&"object") => {
                let keys = required(schema).filter_map(|key| {
                    let inner = schema.get("properties")?.get(key)?;
                    Some((key.to_owned(), self.example(inner, substitute)))
                });
                Value::Table(keys.collect())
            }
            _ => Value::String("text".to_owned()),
        }
    }
}

/// An integer that nearly every key accepts.
const fn number(substitute: Substitute) -> i64 {
    match substitute {
        Substitute::First => 8,
        Substitute::Second => 4,
    }
}

/// The types that a schema allows, null excepted.
pub(super) fn kinds(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).filter(|kind| *kind != "null").collect(),
        _ if schema.get("const").or_else(|| schema.get("enum")).is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

/// The required keys of a table.
pub(super) fn required(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

pub(super) fn keys(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(key, _)| key.as_str())
}

/// The names that a schema allows as values.
pub(super) fn names(schema: &Json) -> impl Iterator<Item = &str> {
    let all = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    schema.get("const").into_iter().chain(all).filter_map(Json::as_str)
}

/// The least and the greatest integer that a schema allows.
pub(super) fn range(schema: &Json) -> (i64, i64) {
    let (low, high) = match schema.get("format").and_then(Json::as_str) {
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("uint64" | "uint") => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    };
    let bound = |key| schema.get(key).and_then(Json::as_i64);
    (bound("minimum").unwrap_or(low).max(low), bound("maximum").unwrap_or(high).min(high))
}

/// True if a schema without branches accepts the value.
fn takes(schema: &Json, value: &Value) -> bool {
    kinds(schema).iter().any(|kind| match (*kind, value) {
        ("integer", Value::Integer(number)) => {
            let (low, high) = range(schema);
            (low..=high).contains(number)
        }
        ("number", Value::Integer(_) | Value::Float(_))
        | ("boolean", Value::Boolean(_))
        | ("array", Value::Array(_))
        | ("object", Value::Table(_)) => true,
        ("string", Value::String(text)) => {
            let mut names = names(schema).peekable();
            names.peek().is_none() || names.any(|name| name == text)
        }
        _ => false,
    })
}

impl<'a> Walk<'a> {
    fn note(&mut self, way: &[PathSegment], wrong: Wrong<'a>) -> bool {
        self.found.push(SchemaFault { steps: way.to_vec(), wrong });
        false
    }

    /// Returns false if the value is unusable. Faults inside a usable value are repaired.
    fn value(&mut self, schema: &'a Json, value: &mut Value, way: &mut Vec<PathSegment>) -> bool {
        self.visited += 1;
        let (schema, name) = self.schema.follow(schema);
        let Some(name) = name.filter(|name| texts::is_known(name)) else {
            return self.inside(schema, value, way);
        };
        // For a number without a unit of measure, the type of the value gives the best message.
        let plain = matches!(value, Value::Integer(_) | Value::Float(_)) && kinds(schema) == ["string"];
        let before = self.found.len();
        if !plain && (!self.inside(schema, value, way) || self.found.len() > before) {
            return false;
        }
        match texts::refused(name, value) {
            Some((message, _)) if message.starts_with("invalid ") => {
                self.note(way, Wrong::Value(schema, value.clone()))
            }
            Some((message, remedy)) => self.note(way, Wrong::Text(message, remedy)),
            None => true,
        }
    }

    fn inside(&mut self, schema: &'a Json, value: &mut Value, way: &mut Vec<PathSegment>) -> bool {
        let branches = self.schema.branches(schema);
        if !branches.is_empty() {
            return self.union(&branches, schema, value, way);
        }
        if kinds(schema).is_empty() {
            return true;
        }
        if !takes(schema, value) {
            let chosen = names(schema).next().is_some();
            return match value {
                Value::String(name) if chosen => self.note(way, Wrong::Choice(schema, Some(name.clone()))),
                _ => self.note(way, Wrong::Value(schema, value.clone())),
            };
        }
        match value {
            Value::Table(table) => {
                self.table(schema, table, way);
                true
            }
            Value::Array(items) => {
                let bound = |key| schema.get(key).and_then(Json::as_u64);
                let len = items.len() as u64;
                if bound("minItems").is_some_and(|least| len < least)
                    || bound("maxItems").is_some_and(|most| len > most)
                {
                    return self.note(way, Wrong::Value(schema, Value::Array(items.clone())));
                }
                let Some(of) = schema.get("items") else { return true };
                for (i, item) in items.iter_mut().enumerate() {
                    way.push(PathSegment::Item(i));
                    if !self.value(of, item, way) {
                        *item = self.schema.example(of, self.substitute);
                    }
                    way.pop();
                }
                true
            }
            _ => true,
        }
    }

    fn table(&mut self, schema: &'a Json, table: &mut Table, way: &mut Vec<PathSegment>) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let other = schema.get("additionalProperties");
        for name in table.keys().cloned().collect::<Vec<_>>() {
            let known = properties.and_then(|keys| keys.get(&name)).or_else(|| other.filter(|of| of.is_object()));
            let open = other.is_none_or(|of| of.as_bool() == Some(true));
            way.push(PathSegment::Key(name.clone()));
            match known {
                Some(of) => {
                    if table.get_mut(&name).is_some_and(|value| !self.value(of, value, way)) {
                        if self.substitute == Substitute::Second || required(schema).any(|key| key == name) {
                            table.insert(name, self.schema.example(of, self.substitute));
                        } else {
                            table.remove(&name);
                        }
                    }
                }
                None if open => {}
                None => {
                    self.visited += 1;
                    self.note(way, Wrong::Unknown(vec![schema]));
                    self.rename(schema, table, &name, way);
                }
            }
            way.pop();
        }
        for name in required(schema).filter(|name| !table.contains_key(*name)).collect::<Vec<_>>() {
            let Some(of) = properties.and_then(|keys| keys.get(name)) else { continue };
            way.push(PathSegment::Key(name.to_owned()));
            self.note(way, Wrong::Missing(of));
            way.pop();
            table.insert(name.to_owned(), self.schema.example(of, self.substitute));
        }
    }

    /// Treats an unknown key as the known key that the writer probably meant, so that the known one is not reported as
    /// missing.
    fn rename(&mut self, schema: &'a Json, table: &mut Table, name: &str, way: &mut Vec<PathSegment>) {
        let Some(mut value) = table.remove(name) else { return };
        if self.found.len() > MOST_FAULTS {
            return;
        }
        let candidates: Vec<&str> = keys(schema).collect();
        let near = renamed(name, candidates.iter().copied()).or_else(|| nearest(name, &candidates));
        let Some(near) = near.filter(|near| !table.contains_key(*near)) else { return };
        let Some(of) = schema.get("properties").and_then(|keys| keys.get(near)) else { return };
        let before = self.found.len();
        let sound = self.value(of, &mut value, way);
        self.found.truncate(before);
        table.insert(near.to_owned(), if sound { value } else { self.schema.example(of, self.substitute) });
    }

    fn union(
        &mut self,
        branches: &[&'a Json],
        schema: &'a Json,
        value: &mut Value,
        way: &mut Vec<PathSegment>,
    ) -> bool {
        if let [only] = branches {
            return self.value(only, value, way);
        }
        let resolved: Vec<&'a Json> = branches.iter().map(|branch| self.schema.follow(branch).0).collect();
        if let Value::Table(table) = value {
            let tables: Vec<&'a Json> =
                resolved.iter().copied().filter(|branch| kinds(branch).contains(&"object")).collect();
            match tables[..] {
                [] => {}
                [only] => {
                    self.table(only, table, way);
                    return true;
                }
                _ => return self.one_of(&tables, schema, table, way),
            }
        }
        // A branch is itself a union if an optional value has several forms.
        let nested = |branch: &&&Json| !self.schema.branches(branch).is_empty();
        let taken = branches.iter().zip(&resolved).find(|(_, branch)| takes(branch, value));
        match taken.map(|(branch, _)| branch).or_else(|| resolved.iter().find(nested)) {
            Some(branch) => self.value(branch, value, way),
            None => match value {
                Value::String(name) if resolved.iter().any(|branch| names(branch).next().is_some()) => {
                    self.note(way, Wrong::Choice(schema, Some(name.clone())))
                }
                _ => self.note(way, Wrong::Value(schema, value.clone())),
            },
        }
    }

    /// A table with several forms: either a tag key names the form, or each form has its own key.
    fn one_of(&mut self, tables: &[&'a Json], schema: &'a Json, table: &mut Table, way: &mut Vec<PathSegment>) -> bool {
        if let Some(tag) = tag(tables) {
            let form = |name: &str| tables.iter().find(|form| named(form, tag) == Some(name));
            return match table.get(tag) {
                None => {
                    way.push(PathSegment::Key(tag.to_owned()));
                    self.note(way, Wrong::Choice(schema, None));
                    way.pop();
                    false
                }
                Some(Value::String(name)) if form(name).is_some() => {
                    let form = form(name).expect("it was just found");
                    self.table(form, table, way);
                    true
                }
                Some(other) => {
                    let wrong = match other {
                        Value::String(name) => Wrong::Choice(schema, Some(name.clone())),
                        other => Wrong::Choice(schema, Some(shown(other))),
                    };
                    way.push(PathSegment::Key(tag.to_owned()));
                    self.note(way, wrong);
                    way.pop();
                    false
                }
            };
        }
        let form = |key: &str| tables.iter().copied().find(|form| keys(form).any(|other| other == key));
        let known: Vec<String> = table.keys().filter(|key| form(key).is_some()).cloned().collect();
        let strange: Vec<String> = table.keys().filter(|key| form(key).is_none()).cloned().collect();
        for key in &strange {
            way.push(PathSegment::Key(key.clone()));
            self.note(way, Wrong::Unknown(tables.to_vec()));
            way.pop();
            table.remove(key);
        }
        match &known[..] {
            [key] => {
                let form = form(key).expect("it was just found");
                self.table(form, table, way);
                true
            }
            [] if !strange.is_empty() => false,
            [] => self.note(way, Wrong::Choice(schema, None)),
            [first, second, ..] => self.note(way, Wrong::Both(first.clone(), second.clone())),
        }
    }
}

/// The tag key, which has a different constant in every form of a table.
pub(super) fn tag<'a>(forms: &[&'a Json]) -> Option<&'a str> {
    let first = forms.first()?;
    keys(first).find(|key| forms.iter().all(|form| named(form, key).is_some()))
}

/// The constant that a form of a table has at `key`.
pub(super) fn named<'a>(form: &'a Json, key: &str) -> Option<&'a str> {
    form.get("properties")?.get(key)?.get("const")?.as_str()
}

impl Wrong<'_> {
    /// True if the fault's value is neither used nor substituted, so that no other fault can follow from it.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}
