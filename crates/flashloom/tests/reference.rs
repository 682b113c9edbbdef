//! The guide's reference pages, which are generated from the program's own types. A test compares them; with
//! `FLASHLOOM_BLESS` set it rewrites them: `FLASHLOOM_BLESS=1 cargo test -p flashloom --test it reference`.

mod effects;
mod fields;
mod keys;
mod mqsim;
mod pages;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use ssd::Spec;
use study::plan::{self, StudySpec};
use testkit::keys::drives::fixtures;
use workload::ZoneWritesSpec;
use workload::generate::{GeneratorSpec, builtin};
use workload::script::ScriptSpec;

use effects::Effects;
use fields::FieldNames;
use keys::{Source, sections};

use crate::common::program;

/// The folder of the guide's pages.
pub(crate) fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(book().join(name)).unwrap_or_else(|error| panic!("docs/src/{name}: {error}"))
}

/// The standard output of the command.
fn printed(arguments: &[&str]) -> String {
    let output = program().args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

pub(crate) fn schema(kind: &str) -> Value {
    serde_json::from_str(&printed(&["schema", kind])).expect("JSON")
}

/// A TOML file as JSON; `None` if it is not TOML.
fn read(text: &str) -> Value {
    text.parse::<toml::Table>().map_or(Value::Null, |table| serde_json::to_value(table).expect("JSON"))
}

/// The order of keys, taken from files that have every table.
fn fields() -> FieldNames {
    let mut fields = FieldNames::default();
    let devices = fixtures().into_iter().map(|fixture| serde_json::to_value(&fixture.spec).expect("a description"));
    for device in devices.chain(ssd::builtin().iter().map(|(_, text)| read(text))) {
        fields.note::<Spec>(&device);
    }
    builtin().iter().for_each(|(_, text)| fields.note::<GeneratorSpec>(&read(text)));
    plan::builtin().iter().for_each(|(_, text)| fields.note::<StudySpec>(&read(text)));
    fields.note::<ScriptSpec>(&read("name = \"s\"\n[[request]]\nkind = \"read\"\n"));
    fields.note::<ZoneWritesSpec>(&read("name = \"z\"\nrequests = 1\nsize = \"4KiB\"\n[zones]\nsize = \"4KiB\"\n"));
    fields
}

fn device_keys(fields: &FieldNames) -> String {
    let schema = schema("device");
    let effects = Effects::of_devices(&schema);
    let intro = "# Keys of a device file\n\nA device file describes a drive in TOML. `flashloom check FILE` summarises it or \
                 lists its errors, `--set KEY=VALUE` changes a key for one run. A key that would have no effect on a drive \
                 is refused, and the message says why; the column *counts with* names the values of \
                 `ftl.kind` under which a key counts, if some refuse it. Terms are in the [glossary](../glossary.md).\n";
    format!("{intro}{}", sections(&Source { schema: &schema, fields, effects: &effects }))
}

fn workload_keys(fields: &FieldNames) -> String {
    let effects = Effects::unknown();
    let [generator, script, zones] = ["workload", "script", "zone-writes"].map(schema);
    let intro = "# Keys of a workload file\n\nA workload file in TOML describes a generator of requests, or lists them one \
                 by one: a file with a `[[request]]` is a list. A file with a table `[zones]` fills zones. Traces and fio jobs need no such file. Terms are in the \
                 [glossary](../glossary.md).\n";
    let [generated, listed, zoned] = [&generator, &script, &zones].map(|schema| {
        let text = sections(&Source { schema, fields, effects: &effects }).replace("\n## `", "\n### `");
        let (keys, quantities) = text.split_once("\n## Quantities").expect("quantities");
        (keys.to_owned(), quantities.to_owned())
    });
    let quantities = generated.1;
    format!(
        "{intro}\n## A generator\n{}\n## A list of requests\n{}\n## Writes to zones\n{}\n## Quantities{quantities}",
        generated.0, listed.0, zoned.0
    )
}

fn study_keys(fields: &FieldNames) -> String {
    let schema = schema("study");
    let intro = "# Keys of a study file\n\nA study file in TOML names a device, a workload, axes along which keys change, and \
                 what is expected of the results. [Metrics](metrics.md) has all numbers that it can name. Terms are in the \
                 [glossary](../glossary.md).\n";
    format!("{intro}{}", sections(&Source { schema: &schema, fields, effects: &Effects::unknown() }))
}

/// All pages that are generated.
fn pages() -> Vec<(&'static str, String)> {
    let fields = fields();
    vec![
        ("device-keys", device_keys(&fields)),
        ("workload-keys", workload_keys(&fields)),
        ("study-keys", study_keys(&fields)),
        ("metrics", pages::metrics()),
        ("columns", pages::columns()),
        ("exit-codes", pages::exit_codes(&printed(&["--help"]))),
        ("formats", pages::formats()),
        ("zone-transitions", pages::zone_transitions()),
        ("fio-options", pages::fio_options()),
    ]
}

const BANNER: &str = "<!-- Generated: crates/flashloom/tests/reference.rs says how. Do not edit. -->\n\n";

#[test]
fn reference_pages_match_the_program() {
    #[allow(clippy::disallowed_methods)] // The user who runs the test asks for new pages.
    let bless = std::env::var_os("FLASHLOOM_BLESS").is_some();
    let mut stale = Vec::new();
    for (name, text) in pages() {
        let path = book().join(format!("reference/{name}.md"));
        let text = format!("{BANNER}{text}");
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        if bless {
            fs::write(&path, text).expect("written");
        } else {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "docs/src/reference is out of date: {}; write it with\n    FLASHLOOM_BLESS=1 cargo test -p flashloom --test it reference",
        stale.join(", ")
    );
}

/// No key, metric or column is without a meaning.
#[test]
fn every_row_of_the_reference_has_a_meaning() {
    for (name, text) in pages() {
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            assert!(cells.len() > 1 && !cells[1].is_empty(), "{name}: {row}");
            count += 1;
        }
        assert!(count > 3, "{name} has {count} lines");
    }
}

#[test]
fn every_key_has_a_row_in_the_reference() {
    let fields = fields();
    for (kind, text) in [
        ("device", device_keys(&fields)),
        ("workload", workload_keys(&fields)),
        ("script", workload_keys(&fields)),
        ("zone-writes", workload_keys(&fields)),
        ("study", study_keys(&fields)),
    ] {
        for key in testkit::keys::every_key(&schema(kind)) {
            let last = key.rsplit(['.', ')']).next().expect("a name");
            let last = last.trim_end_matches("[]");
            assert!(text.contains(&format!("`{last}`")) || text.contains(&format!("`{{ {last} = ")), "{kind}: {key}");
        }
    }
}
