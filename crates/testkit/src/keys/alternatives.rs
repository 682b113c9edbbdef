//! Alternative values for the type of a key.

use std::str::FromStr;

use base::units::{
    Bytes, Current, Exact, Frequency, Power, Rate, Ratio, Span, Temperature, ThermalResistance, Voltage,
};
use serde_json::{Map, Value, json};

use super::schema::Schema;

/// Returns the word that identifies a form of a table: the value of its constant key, or its only required key.
pub(super) fn tag(form: &Value) -> Option<&str> {
    let constant = form["properties"].as_object()?.values().find_map(|node| node["const"].as_str());
    let required = form["required"].as_array().map_or(&[][..], Vec::as_slice);
    constant.or_else(|| required.first().filter(|_| required.len() == 1)?.as_str())
}

/// Lists alternative values for a key, the simplest first.
pub(super) fn alternatives(schema: Schema<'_>, node: &Value, value: Option<&Value>) -> Vec<Value> {
    let (found, name) = schema.resolve(node);
    let mut others = Vec::new();
    for form in schema.forms(node) {
        if !form["const"].is_null() {
            others.push(form["const"].clone());
        } else if form["properties"].is_object() {
            // A table that already has this form is changed key by key instead.
            let same = value.and_then(Value::as_object).is_some_and(|table| is_of(form, table));
            if !same {
                others.extend(minimal(schema, form));
            }
        } else {
            others.extend(plain(schema, found, form, name, value));
        }
    }
    others.retain(|other| Some(other) != value);
    others
}

fn is_of(form: &Value, table: &Map<String, Value>) -> bool {
    let Some(properties) = form["properties"].as_object() else { return false };
    table.keys().all(|key| properties.contains_key(key))
        && properties.iter().all(|(key, node)| node["const"].is_null() || table.get(key) == Some(&node["const"]))
}

/// Creates a table of this form with only the required keys.
fn minimal(schema: Schema<'_>, form: &Value) -> Option<Value> {
    let mut table = Map::new();
    for key in form["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let node = &form["properties"][key];
        let value = if node["const"].is_null() {
            alternatives(schema, node, None).first()?.clone()
        } else {
            node["const"].clone()
        };
        table.insert(key.to_owned(), value);
    }
    Some(Value::Object(table))
}

fn plain(schema: Schema<'_>, node: &Value, form: &Value, name: Option<&str>, value: Option<&Value>) -> Vec<Value> {
    let kind = &form["type"];
    let is = |wanted: &str| kind == wanted || kind.as_array().is_some_and(|kinds| kinds.iter().any(|k| k == wanted));
    if is("array") {
        return lists(schema, node, value);
    }
    if is("object") && form["additionalProperties"].is_object() {
        return tables(schema, form, value);
    }
    if is("boolean") {
        return vec![json!(true), json!(false)];
    }
    if is("integer") {
        return match value.and_then(Value::as_u64) {
            Some(n) => [n + 1, n * 2, n * 4, n / 2, n.saturating_sub(1), n + 7, n + 500].map(|n| json!(n)).to_vec(),
            None => [1, 2, 3, 4, 8, 32].map(|n| json!(n)).to_vec(),
        };
    }
    if is("number") {
        return vec![json!(value.and_then(Value::as_f64).unwrap_or(1.5) * 1.75)];
    }
    let text = value.and_then(Value::as_str);
    let mut others = Vec::new();
    match name.unwrap_or_default() {
        "Span" => others.extend(scaled(text, Span::as_ps, Span::from_ps, &[])),
        "Bytes" => {
            others.extend(scaled(text, Bytes::get, Bytes::new, &["512B", "1KiB", "2KiB", "8KiB", "16KiB", "64KiB"]))
        }
        "Rate" | "LaneRate" => others.extend(scaled(text, Rate::get, Rate::new, &[])),
        "Frequency" => others.extend(scaled(text, Frequency::get, Frequency::new, &[])),
        "Power" => others.extend(scaled(text, Power::as_uw, Power::from_uw, &["1mW", "1W", "4W"])),
        "ThermalResistance" => {
            others.extend(scaled(
                text,
                ThermalResistance::as_thousandths,
                ThermalResistance::from_thousandths,
                &["9K/W"],
            ));
        }
        "Voltage" => others.extend(scaled(text, Voltage::as_mv, Voltage::from_mv, &[])),
        "Current" => others.extend(scaled(text, Current::as_ua, Current::from_ua, &[])),
        "Temperature" => {
            others.extend(scaled(text, Temperature::as_thousandths, Temperature::from_thousandths, &[]));
        }
        "Ratio" => {
            let share = text.and_then(|text| text.parse::<Ratio>().ok()).map_or(0.0, Ratio::get);
            // The shares have more digits than users write: a run must not round them.
            let others_of =
                [share * 0.837_264_918_273_645, share * 0.5 + 0.012_345_678_9, share * 0.5 + 0.412_345_678_901_2];
            others.extend(others_of.into_iter().chain([1.0, 0.9, 0.0]).map(|share| json!(Ratio::new(share).exact())));
        }
        "Digits" => {
            others.extend(
                ["chip-channel-die-plane", "plane-die-chip-channel", "die-plane-chip-channel"].map(Value::from),
            );
        }
        _ => {
            others.extend(form["examples"].as_array().into_iter().flatten().cloned());
            others.push(json!("something else"));
        }
    }
    if text.is_none() {
        others.extend(form["examples"].as_array().into_iter().flatten().cloned());
    }
    others
}

/// Creates tables whose keys the schema does not name, with other values for the keys that `value` has.
fn tables(schema: Schema<'_>, form: &Value, value: Option<&Value>) -> Vec<Value> {
    let table = value.and_then(Value::as_object).cloned().unwrap_or_default();
    let others = |key: &String, value: &Value| {
        let others = alternatives(schema, &form["additionalProperties"], Some(value));
        others.into_iter().map(|other| (key.clone(), other)).collect::<Vec<_>>()
    };
    let changes = table.iter().flat_map(|(key, value)| others(key, value));
    let changed = changes.map(|(key, other)| {
        let mut changed = table.clone();
        changed.insert(key, other);
        Value::Object(changed)
    });
    changed.collect()
}

/// Multiples and fractions of a quantity.
fn scaled<T: FromStr + Exact>(text: Option<&str>, count: fn(T) -> u64, of: fn(u64) -> T, more: &[&str]) -> Vec<Value> {
    let mut others = Vec::new();
    if let Some(n) = text.and_then(|text| text.parse().ok()).map(count) {
        let counts = [n * 2, n + n / 2, n / 2, n * 4, n + 10_000_019, 7_000_003];
        others.extend(counts.into_iter().filter(|n| *n > 0).map(|n| json!(of(n).exact())));
    }
    others.extend(more.iter().map(|text| json!(text)));
    others
}

fn lists(schema: Schema<'_>, node: &Value, value: Option<&Value>) -> Vec<Value> {
    let mut others = Vec::new();
    match value.and_then(Value::as_array) {
        Some(items) if !items.is_empty() => {
            others.push(json!(items[..items.len() - 1]));
            others.push(json!([&items[..], &items[..1]].concat()));
        }
        _ => others.extend(
            alternatives(schema, &node["items"], None).into_iter().flat_map(|one| [json!([one, one]), json!([one])]),
        ),
    }
    others
}
