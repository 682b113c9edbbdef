//! The schemas of `flashloom schema` for `--json` output: results of every kind and family match them, and altered
//! results do not.

use crate::common::schema::faults;
use crate::common::{ALL_KINDS, WorkFolder, buffered};
use serde_json::{Value, json};

/// Commands that print JSON, each with the name of its schema and the version in its result.
const KINDS: [(&str, &str, &[&str]); 12] = [
    ("result", "flashloom-result-3", &["run", "d.toml", "w.toml", "--precondition", "fill", "--verify"]),
    ("seeds-result", "flashloom-seeds-1", &["run", "d.toml", "w.toml", "--seeds", "2"]),
    ("study-result", "flashloom-study-2", &["study", "s.toml"]),
    ("compare-result", "flashloom-compare-2", &["compare", "w.toml", "d.toml", "chang.toml", "--explain"]),
    ("explain-result", "flashloom-explain-3", &["explain", "d.toml", "w.toml", "--request", "7"]),
    ("explain-result", "flashloom-explain-3", &["explain", "d.toml", "w.toml", "--what-if"]),
    ("check-result", "flashloom-check-1", &["check", "d.toml", "demo"]),
    ("shard-result", "flashloom-shard-1", &["study", "s.toml", "--shard", "2/2", "--store", "store"]),
    ("keys-result", "flashloom-keys-1", &["study", "s.toml", "--keys", "keys"]),
    ("torture-result", "flashloom-torture-1", &["torture", "torture.toml"]),
    (
        "serve-result",
        "flashloom-serve-1",
        &[
            "serve",
            "--export",
            "a=d.toml",
            "--export",
            "b=plain.toml",
            "--nvme",
            "127.0.0.1:0",
            "--socket",
            "s",
            "--run",
            "true",
        ],
    ),
    ("trace-info-result", "flashloom-trace-info-1", &["trace", "info", "t.csv"]),
];

const STUDY: &str = r#"name = "s"
device = "d.toml"
workload = "w.toml"
seeds = [1, 2]
run = { limit = 300 }
metrics = ["read.mean"]
[[axis]]
name = "depth"
key = "run.depth"
values = [1, 4]
[[claim]]
id = "A"
says = "a"
[[claim.expect]]
metric = "read.mean"
known = "why"
within = { between = ["0ns", "1ns"] }
"#;

/// Small drives of the families, by the files that describe them.
const FAMILIES: [(&str, &str); 5] = [
    (
        "page.toml",
        r#"flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { map-unit = "1KiB", over-provisioning = "60%", map = { kind = "fmmu", cmt = "1KiB", ctp = "4KiB", ways = 2 } }
"#,
    ),
    (
        "fast.toml",
        r#"flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 20, pages = 8 }
ftl = { kind = "fast", over-provisioning = "40%", log = { blocks = 6 } }
"#,
    ),
    (
        "bast.toml",
        r#"flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 20, pages = 8 }
ftl = { kind = "bast", over-provisioning = "40%", log = { blocks = 6 } }
"#,
    ),
    (
        "chang.toml",
        r#"flash = { part = "K9GAG08U0M", channels = 1, chips = 1, blocks = 64, pages = 16 }
slc = { part = "K9WAG08U1A", blocks = 8, pages = 16 }
ftl = { kind = "chang", over-provisioning = "40%" }
"#,
    ),
    (
        "plain.toml",
        r#"flash = { part = "dirik-2009", channels = 1, chips = 1, blocks = 40, pages = 16 }
ftl = { over-provisioning = "40%" }
"#,
    ),
];

/// A folder with drives of all families, and their workloads.
fn place() -> WorkFolder {
    let fails = "faults = { program-failures = \"0.01%\", erase-failures = \"0.01%\", initial-bad-blocks = \"1%\" }";
    let reads = ALL_KINDS.replace("50%", "100%").replace("5%\"\nsizes", "0%\"\nsizes").replace("flush =", "# flush =");
    let files = [
        ("d.toml", buffered(fails)),
        ("w.toml", ALL_KINDS.replace("20_000", "2_000")),
        ("r.toml", reads.replace("20_000", "200").replace("discards = \"0%\"\n", "")),
        ("s.toml", STUDY.to_owned()),
        ("j.fio", "[global]\niodepth=4\nbs=4k\nsize=1m\n[a]\nrw=write\n[b]\nstonewall\nrw=randread\n".to_owned()),
        ("t.csv", crate::common::TRACE.to_owned()),
        ("torture.toml", crate::torture::TORTURE.replace("random = 40", "random = 10")),
        // A layout without units of measure, and sizes that may be pages.
        ("ones.trace", (0..200).map(|i| format!("{}.5 0 {} 1 {}\n", i, i * 97 % 1000, i % 2)).collect()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let place = WorkFolder::with(&files);
    for (name, text) in FAMILIES {
        place.write(name, format!("name = \"{}\"\n{text}", name.trim_end_matches(".toml")));
    }
    place
}

fn schema(place: &WorkFolder, name: &str) -> Value {
    place.json(&["schema", name])
}

#[track_caller]
fn sound(schema: &Value, result: &Value, what: &str) {
    let faults = faults(schema, result);
    assert!(faults.is_empty(), "{what}: {}", faults.join("\n"));
}

#[test]
fn every_kind_of_result_matches_its_schema_and_has_its_version() {
    let place = place();
    for (name, version, arguments) in KINDS {
        let schema = schema(&place, name);
        assert_eq!(schema["title"], version);
        let text = place.printed(&[arguments, &["--json"]].concat());
        let result: Value = serde_json::from_str(&text).expect("JSON");
        sound(&schema, &result, name);
        // The key `schema` comes first, so that the kind of a file is known from its beginning.
        let opening = text.trim_start_matches(|c: char| c.is_whitespace() || "[{".contains(c));
        let opening = opening.replacen(": ", ":", 1);
        assert!(opening.starts_with(&format!("\"schema\":\"{version}\"")), "{name}: {}", &opening[..60]);
        // The schemas of all other kinds refuse the result.
        for (other, ..) in KINDS.iter().filter(|(other, ..)| *other != name) {
            assert!(!faults(&self::schema(&place, other), &result).is_empty(), "{name} is taken for {other}");
        }
    }
}

#[test]
fn results_of_every_family_match_the_schema() {
    let place = place();
    let schema = schema(&place, "result");
    let mut runs: Vec<String> = Vec::new();
    for (name, _) in FAMILIES {
        runs.push(format!("run {name} w.toml --precondition fill,random:x0.5 --out out --force"));
        // A drive that has written nothing has no write amplification.
        runs.push(format!("run {name} r.toml --verify"));
    }
    runs.push("run hydra-prototype oltp --limit 200".into());
    runs.push("run d.toml j.fio --verify --out out --force".into());
    runs.push("run d.toml w.toml --flow r.toml,depth=2,name=b --out out --force".into());
    for what in runs {
        let arguments: Vec<&str> = what.split(' ').collect();
        let result = place.json(&[&arguments[..], &["--json", "--quiet"]].concat());
        sound(&schema, &result, &what);
        if arguments.contains(&"--out") {
            let written: Value = serde_json::from_str(&place.read("out/summary.json")).expect("JSON");
            sound(&schema, &written, &format!("summary.json of {what}"));
        }
    }
}

#[test]
fn the_folders_of_a_study_and_of_a_comparison_hold_a_study_result() {
    let place = place();
    let schema = schema(&place, "study-result");
    for arguments in [&["study", "s.toml"][..], &["compare", "w.toml", "d.toml", "fast.toml"]] {
        place.printed(&[arguments, &["--out", "out", "--quiet"]].concat());
        let written: Value = serde_json::from_str(&place.read("out/study.json")).expect("JSON");
        sound(&schema, &written, arguments[0]);
    }
}

#[test]
fn the_doubts_about_a_trace_are_in_its_result() {
    let place = place();
    let schema = schema(&place, "trace-info-result");
    let result = place.json(&["trace", "info", "ones.trace", "--json"]);
    sound(&schema, &result, "ones.trace");
    let signs: Vec<&Value> = result["doubts"].as_array().expect("doubts").iter().map(|doubt| &doubt["sign"]).collect();
    assert!(signs.contains(&&json!({ "kind": "ones", "share": 1.0 })), "{signs:?}");
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded/programs.parquet");
    sound(&schema, &place.json(&["trace", "info", recorded, "--json"]), recorded);
}

/// Every object in `value`, by its pointer.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            found.push(at.to_owned());
            keys.iter().for_each(|(key, inner)| objects(inner, &format!("{at}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, inner)| objects(inner, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

/// Tables whose keys are names that devices give.
const OPEN: [&str; 2] = ["/by_name_j", "/parts"];

#[test]
fn the_schema_refuses_an_unknown_key_in_any_object() {
    let place = place();
    for (name, _, arguments) in KINDS {
        let schema = schema(&place, name);
        let result = place.json(&[arguments, &["--json"]].concat());
        let mut all = Vec::new();
        objects(&result, "", &mut all);
        let closed = all.iter().filter(|at| !OPEN.iter().any(|open| at.ends_with(open)));
        for at in closed {
            let mut strange = result.clone();
            let table = strange.pointer_mut(at).and_then(Value::as_object_mut).expect("an object");
            table.insert("unheard-of".into(), json!(1));
            assert!(!faults(&schema, &strange).is_empty(), "{name}: {at}/unheard-of is taken");
        }
    }
}

#[test]
fn the_schema_refuses_a_missing_key_and_a_wrong_type() {
    let place = place();
    let schema = schema(&place, "result");
    let result = place.json(&["run", "d.toml", "w.toml", "--json", "--quiet"]);
    sound(&schema, &result, "the run");
    for at in ["/schema", "/requests", "/write_amplification", "/energy", "/kinds/read/latency_us", "/flash/0/op"] {
        let (table, key) = at.rsplit_once('/').expect("a way");
        let mut less = result.clone();
        less.pointer_mut(table).and_then(Value::as_object_mut).expect("an object").remove(key).expect("it was there");
        assert!(!faults(&schema, &less).is_empty(), "{at} is not missed");
    }
    for (at, other) in [
        ("/schema", json!("flashloom-result-4")),
        ("/requests", json!("many")),
        ("/requests", json!(-1)),
        ("/requests", json!(1.5)),
        ("/seed", Value::Null),
        ("/flash/0/cause", json!("whim")),
        ("/utilisation/dies", json!([1.0, "half"])),
        ("/kinds/read", json!([])),
    ] {
        let mut wrong = result.clone();
        *wrong.pointer_mut(at).expect("it is there") = other.clone();
        assert!(!faults(&schema, &wrong).is_empty(), "{other} is taken for {at}");
    }
}

#[test]
fn the_validator_enforces_each_keyword_of_a_schema() {
    for (schema, sound, wrong) in [
        (json!({ "type": ["integer", "null"] }), json!(null), json!(1.5)),
        (json!({ "const": "a" }), json!("a"), json!("b")),
        (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
        (json!({ "minimum": 0, "maximum": 9 }), json!(9), json!(10)),
        (json!({ "minimum": 0 }), json!(0), json!(-1)),
        (json!({ "minLength": 1, "maxLength": 1 }), json!("a"), json!("ab")),
        (json!({ "minItems": 1 }), json!([1]), json!([])),
        (json!({ "maxItems": 1 }), json!([1]), json!([1, 2])),
        (json!({ "items": { "type": "string" } }), json!(["a"]), json!(["a", 1])),
        (json!({ "prefixItems": [{ "type": "string" }], "items": false }), json!(["a"]), json!(["a", 1])),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "properties": { "a": { "type": "null" } } }), json!({ "b": 1 }), json!({ "a": 1 })),
        (json!({ "properties": { "a": true }, "additionalProperties": false }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "additionalProperties": { "type": "string" } }), json!({ "a": "b" }), json!({ "a": 1 })),
        (json!({ "propertyNames": { "enum": ["a"] } }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] }), json!("a"), json!(1)),
        (json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] }), json!(1.5), json!(1)),
        (json!({ "$defs": { "a": { "type": "null" } }, "$ref": "#/$defs/a" }), json!(null), json!(1)),
    ] {
        assert_eq!(faults(&schema, &sound), Vec::<String>::new(), "{schema}");
        assert_eq!(faults(&schema, &wrong).len(), 1, "{schema}");
    }
    let unknown = std::panic::catch_unwind(|| faults(&json!({ "not": {} }), &json!(1)));
    assert!(unknown.is_err(), "a word that is not checked");
}
