//! A small validator for JSON schemas: it knows the keywords of Flashloom's schemas and refuses all others.

use serde_json::{Map, Value};

/// All violations of the schema in `value`, with their paths.
///
/// # Panics
/// If the schema has an unknown keyword, because its check would be skipped.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Walk { root: schema, found: &mut found }.value(schema, value, "");
    found
}

/// Keywords that do not constrain values.
const SILENT: [&str; 6] = ["$schema", "$defs", "title", "description", "format", "default"];

struct Walk<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema has the type `{other}`"),
    }
}

fn size(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        _ => None,
    }
}

impl Walk<'_> {
    fn wrong(&mut self, at: &str, why: impl std::fmt::Display) {
        let at = if at.is_empty() { "/" } else { at };
        self.found.push(format!("{at}: {why}"));
    }

    /// The violations of one branch of a schema, which are not added to the result.
    fn against(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let mut found = Vec::new();
        Walk { root: self.root, found: &mut found }.value(schema, value, at);
        found
    }

    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let words = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return self.wrong(at, "must not be there"),
            Value::Object(words) => words,
            other => panic!("{at}: the schema is {other}"),
        };
        for (word, said) in words {
            self.word(words, (word, said), value, at);
        }
    }

    fn word(&mut self, words: &Map<String, Value>, (word, said): (&str, &Value), value: &Value, at: &str) {
        let list = || said.as_array().expect("a list");
        let bound = || said.as_f64().expect("a number");
        match word {
            word if SILENT.contains(&word) => {}
            "$ref" => {
                let way = said.as_str().and_then(|way| way.strip_prefix('#')).expect("a way inside the schema");
                let target = self.root.pointer(way).unwrap_or_else(|| panic!("`{way}` leads nowhere"));
                self.value(target, value, at);
            }
            "type" => {
                let all = said.as_array().map_or_else(|| vec![said], |all| all.iter().collect());
                if !all.iter().any(|kind| is_a(kind.as_str().expect("a type"), value)) {
                    self.wrong(at, format_args!("{value} is no {said}"));
                }
            }
            "const" if said != value => self.wrong(at, format_args!("{value} is not {said}")),
            "enum" if !list().contains(value) => self.wrong(at, format_args!("{value} is none of {said}")),
            "const" | "enum" => {}
            "anyOf" | "oneOf" => {
                let tried: Vec<_> = list().iter().map(|branch| self.against(branch, value, at)).collect();
                let sound = tried.iter().filter(|faults| faults.is_empty()).count();
                match (word, sound) {
                    (_, 0) => self.found.extend(tried.into_iter().min_by_key(Vec::len).unwrap_or_default()),
                    ("oneOf", 2..) => self.wrong(at, "has more than one of the forms of which it may have one"),
                    _ => {}
                }
            }
            "minimum" if value.as_f64().is_some_and(|number| number < bound()) => self.wrong(at, "is too small"),
            "maximum" if value.as_f64().is_some_and(|number| number > bound()) => self.wrong(at, "is too large"),
            "minItems" | "minLength" if size(value).is_some_and(|size| (size as f64) < bound()) => {
                self.wrong(at, "is too short");
            }
            "maxItems" | "maxLength" if size(value).is_some_and(|size| size as f64 > bound()) => {
                self.wrong(at, "is too long");
            }
            "minimum" | "maximum" | "minItems" | "minLength" | "maxItems" | "maxLength" => {}
            "required" => {
                let keys = list().iter().map(|key| key.as_str().expect("a key"));
                for key in keys.filter(|key| value.as_object().is_some_and(|keys| !keys.contains_key(*key))) {
                    self.wrong(at, format_args!("`{key}` is missing"));
                }
            }
            "properties" => {
                for (key, schema) in said.as_object().expect("keys") {
                    if let Some(value) = value.get(key) {
                        self.value(schema, value, &format!("{at}/{key}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = words.get("properties").and_then(Value::as_object);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(key)) {
                        self.value(said, value, &format!("{at}/{key}"));
                    }
                }
            }
            "propertyNames" => {
                for key in value.as_object().into_iter().flat_map(Map::keys) {
                    self.value(said, &key.as_str().into(), &format!("{at}/{key}"));
                }
            }
            "prefixItems" => {
                for (i, (schema, value)) in list().iter().zip(value.as_array().into_iter().flatten()).enumerate() {
                    self.value(schema, value, &format!("{at}/{i}"));
                }
            }
            "items" => {
                let before = words.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                for (i, value) in value.as_array().into_iter().flatten().enumerate().skip(before) {
                    self.value(said, value, &format!("{at}/{i}"));
                }
            }
            other => panic!("{at}: the schema says `{other}`, which is not checked"),
        }
    }
}
