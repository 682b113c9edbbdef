//! The page for users of MQSim is hand-written; every key and option that it names must exist.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use study::metric::Metric;

use testkit::keys::Schema;

use super::schema::properties;

/// Keys by their path in a file, with the values that have names.
type Keys = BTreeMap<String, BTreeSet<String>>;

fn collect(schema: Schema<'_>, node: &Value, path: &str, keys: &mut Keys) {
    let (node, _) = schema.resolve(node);
    if !node["items"].is_null() {
        return collect(schema, &node["items"], path, keys);
    }
    for form in schema.forms(node) {
        if let Some(value) = form["const"].as_str() {
            keys.entry(path.to_owned()).or_default().insert(value.to_owned());
        }
        for (key, node) in properties(form).into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            keys.entry(path.clone()).or_default();
            collect(schema, node, &path, keys);
        }
    }
}

fn keys() -> Keys {
    let mut keys = Keys::new();
    for kind in ["device", "workload"] {
        let schema = super::schema(kind);
        collect(Schema::of(&schema), &schema, "", &mut keys);
    }
    keys
}

fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The fault of a Flashloom name; `None` if the name exists.
fn fault(name: &str, keys: &Keys, help: &str) -> Option<String> {
    if name.starts_with("--") {
        let is_there = help.split_whitespace().any(|word| word == name);
        return (!is_there).then(|| format!("there is no option {name}"));
    }
    let (key, value) = name.split_once(" = ").map_or((name, None), |(key, value)| (key, Some(value.trim_matches('"'))));
    match (keys.get(key), value) {
        (None, _) => Some(format!("there is no key {key}")),
        (Some(values), Some(value)) if !values.contains(value) => Some(format!("{key} cannot be {value}")),
        _ => None,
    }
}

/// The rows of the tables below a heading.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, text) = page.split_once(heading).expect(heading);
    let text = text.split("\n## ").next().expect("a section");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_table_for_mqsim_names_keys_that_exist() {
    let (page, keys, help) = (super::page("reference/mqsim.md"), keys(), super::printed(&["run", "--help"]));
    let mut wrong = Vec::new();
    let mut count = 0;
    for (heading, column) in [
        ("## Host", 1),
        ("## Drive", 1),
        ("## Flash part", 1),
        ("## Workloads", 1),
        ("## Without a counterpart in MQSim", 0),
    ] {
        for row in rows(&page, heading) {
            assert!(row.len() >= 2 && !row[column].is_empty(), "{row:?}");
            for name in code(row[column]) {
                wrong.extend(fault(name, &keys, &help));
                count += 1;
            }
            // Remarks name Flashloom's keys by their whole path.
            for name in row.last().into_iter().flat_map(|cell| code(cell)).filter(|name| name.contains('.')) {
                let is_path = name.split('.').all(|part| part.starts_with(|c: char| c.is_ascii_lowercase()));
                if is_path && !name.contains("..") && !name.ends_with(".parquet") {
                    wrong.extend(fault(name, &keys, &help));
                }
            }
        }
    }
    for row in rows(&page, "## Results") {
        for name in code(row[1]) {
            count += 1;
            wrong.extend(name.parse::<Metric>().err().map(|error| error.to_string()));
        }
    }
    assert!(wrong.is_empty() && count > 70, "{count} names, of which wrong: {wrong:#?}");
}

#[test]
fn an_unknown_name_in_the_table_for_mqsim_is_found() {
    let (keys, help) = (keys(), super::printed(&["run", "--help"]));
    for wrong in ["flash.chanels", "ftl.map.kind = \"dtfl\"", "--sed", "ftl"] {
        assert_eq!(fault(wrong, &keys, &help).is_some(), wrong != "ftl", "{wrong}");
    }
}
