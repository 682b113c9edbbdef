//! Traversal of a schema, alone or beside a description.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::alternatives::{alternatives, tag};
use super::schema::Schema;
use super::{Key, PathSegment};

/// Returns the name of a table's form; empty if the table has only one.
fn form_name(forms: &[&Value], form: &Value) -> String {
    if forms.len() < 2 {
        return String::new();
    }
    tag(form).map_or_else(|| "(table)".into(), |tag| format!("({tag})"))
}

fn properties(form: &Value) -> Option<&Map<String, Value>> {
    form["properties"].as_object()
}

/// Lists the names of all keys of a schema.
#[must_use]
pub fn every_key(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    names_of(Schema::of(schema), schema, "", &mut names);
    names
}

fn names_of(schema: Schema<'_>, node: &Value, name: &str, names: &mut BTreeSet<String>) {
    let (node, _) = schema.resolve(node);
    if !node["items"].is_null() {
        return names_of(schema, &node["items"], &format!("{name}[]"), names);
    }
    let forms = schema.forms(node);
    for form in &forms {
        let Some(properties) = properties(form) else { continue };
        let form_name = form_name(&forms, form);
        for (key, node) in properties.iter().filter(|(_, node)| node["const"].is_null()) {
            let name = format!("{name}{form_name}.{key}");
            let name = name.trim_start_matches('.').to_owned();
            names_of(schema, node, &name, names);
            names.insert(name);
        }
    }
}

/// Lists all keys of a description, including those that it leaves out.
#[must_use]
pub fn keys(schema: &Value, description: &Value) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut path = Vec::new();
    keys_of(Schema::of(schema), schema, ("", &mut path), description, &mut keys);
    keys
}

fn keys_of(
    schema: Schema<'_>,
    node: &Value,
    (name, path): (&str, &mut Vec<PathSegment>),
    value: &Value,
    keys: &mut Vec<Key>,
) {
    let (node, _) = schema.resolve(node);
    if let (Some(items), false) = (value.as_array(), node["items"].is_null()) {
        for (i, item) in items.iter().enumerate() {
            path.push(PathSegment::Item(i));
            let name = format!("{name}[]");
            if !item.is_object() {
                keys.push(Key {
                    name: name.clone(),
                    path: path.clone(),
                    alternatives: alternatives(schema, &node["items"], Some(item)),
                });
            }
            keys_of(schema, &node["items"], (&name, path), item, keys);
            path.pop();
        }
        return;
    }
    let Some(table) = value.as_object() else { return };
    let forms = schema.forms(node);
    // A table whose keys the schema does not name counts as one value.
    if node["properties"].is_null() && node["additionalProperties"].is_object() {
        return;
    }
    let fits = |form: &&&Value| {
        let Some(properties) = properties(form) else { return false };
        let constant =
            |(key, node): (&String, &Value)| node["const"].is_null() || table.get(key) == Some(&node["const"]);
        properties.iter().all(constant) && table.keys().all(|key| properties.contains_key(key))
    };
    let Some(form) = forms.iter().find(fits) else { panic!("{name}: {value} has no form in the schema") };
    let form_name = form_name(&forms, form);
    for (key, node) in properties(form).into_iter().flatten().filter(|(_, node)| node["const"].is_null()) {
        let name = format!("{name}{form_name}.{key}");
        let name = name.trim_start_matches('.');
        path.push(PathSegment::Key(key.clone()));
        let value = table.get(key);
        let others = alternatives(schema, node, value);
        keys.push(Key { name: name.to_owned(), path: path.clone(), alternatives: others });
        if let Some(value) = value {
            keys_of(schema, node, (name, path), value, keys);
        }
        path.pop();
    }
}
