//! A JSON schema prepared for the pages of keys: references followed, unions as lists of forms, values as TOML.

use serde_json::{Map, Value};

/// True if a form may be of this type.
pub(crate) fn is(form: &Value, kind: &str) -> bool {
    form["type"] == kind || form["type"].as_array().is_some_and(|all| all.iter().any(|one| one == kind))
}

/// The keys of a form that is a table.
pub(crate) fn properties(form: &Value) -> Option<&Map<String, Value>> {
    form["properties"].as_object()
}

/// True if a table must have this key.
pub(crate) fn is_required(form: &Value, key: &str) -> bool {
    form["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key))
}

/// The key of a table whose value tells its form from the others, and that value.
pub(crate) fn tag(form: &Value) -> Option<(&str, &str)> {
    properties(form)?.iter().find_map(|(key, node)| Some((key.as_str(), node["const"].as_str()?)))
}

/// The name of one of several forms, as `testkit` writes it in the names of keys.
pub(crate) fn form_name(forms: &[&Value], form: &Value) -> String {
    if forms.len() < 2 {
        return String::new();
    }
    let only = || form["required"].as_array().filter(|all| all.len() == 1)?.first()?.as_str();
    tag(form).map(|(_, value)| value).or_else(only).map_or_else(|| "(table)".into(), |name| format!("({name})"))
}

/// A description as one line of Markdown: links to the code are plain code.
pub(crate) fn described(node: &Value) -> String {
    let text = node["description"].as_str().unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("[`", "`").replace("`]", "`").replace('|', "\\|").replace('<', "&lt;")
}

/// A value as it is written in a file.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Object(table) if table.is_empty() => "{}".into(),
        Value::Object(table) => {
            let keys: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", written(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        other => other.to_string(),
    }
}
