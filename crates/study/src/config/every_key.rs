//! Tests every key of every kind of file with a wrong value.

use std::path::Path;

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use ssd::Spec;
use toml::{Table, Value};
use workload::ZoneWritesSpec;
use workload::generate::{Generator, GeneratorSpec};
use workload::script::ScriptSpec;

use super::decode::touches;
use super::document::Document;
use super::place::{PathSegment, joined};
use super::schema::{Schema, Substitute, keys, kinds, names};
use super::{Faults, texts};
use crate::plan::{RunSpec, StudySpec};

/// Terms of Rust and its libraries, which messages must avoid.
const FORBIDDEN: [&str; 38] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "f32",
    "f64",
    "bool",
    "str",
    "struct",
    "enum",
    "tuple",
    "sequence",
    "seq",
    "map",
    "newtype",
    "variant",
    "untagged",
    "Option",
    "Some",
    "None",
    "Vec",
    "String",
    "NonZero",
    "non-zero",
    "deserialize",
    "expected",
    "invalid",
    "element",
    "elements",
    "identifier",
];

/// The first forbidden word of a message. Quotations and examples are exempt, because their words come from the file.
fn forbidden(message: &str) -> Option<&'static str> {
    let plain: String = message.split("e.g. ").next().unwrap_or_default().split('`').step_by(2).collect();
    let words: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    FORBIDDEN.into_iter().find(|word| words.contains(word))
}

/// Builds a valid file with this value at some key.
type FileBuilder<'a> = &'a dyn Fn(Value) -> Table;

fn walk(
    schema: &Schema,
    here: &Json,
    way: &mut Vec<PathSegment>,
    around: FileBuilder<'_>,
    each: &mut dyn FnMut(&[PathSegment], FileBuilder<'_>),
) {
    for leaf in schema.leaves(here) {
        if kinds(leaf) == ["array"] {
            let (Some(items), least) = (leaf.get("items"), leaf.get("minItems").and_then(Json::as_u64).unwrap_or(1))
            else {
                continue;
            };
            let rest = schema.example(items, Substitute::First);
            let inner = |value: Value| {
                let rest = std::iter::repeat_n(rest.clone(), least as usize - 1);
                around(Value::Array(std::iter::once(value).chain(rest).collect()))
            };
            way.push(PathSegment::Item(0));
            walk(schema, items, way, &inner, each);
            way.pop();
        }
        let Value::Table(base) = schema.example(leaf, Substitute::First) else { continue };
        for key in keys(leaf) {
            let inner = |value: Value| {
                let mut table = base.clone();
                table.insert(key.to_owned(), value);
                around(Value::Table(table))
            };
            way.push(PathSegment::Key(key.to_owned()));
            each(way, &inner);
            let of = leaf.get("properties").and_then(|keys| keys.get(key)).expect("it is one of the keys");
            walk(schema, of, way, &inner, each);
            way.pop();
        }
    }
}

fn each_key<T: JsonSchema>(each: &mut dyn FnMut(&[PathSegment], FileBuilder<'_>)) {
    let schema = Schema::of::<T>();
    let root = |value: Value| match value {
        Value::Table(table) => table,
        _ => panic!("a file is a table"),
    };
    walk(&schema, schema.root(), &mut Vec::new(), &root, each);
}

const HUGE: &str = "@huge@";

fn document(table: &Table) -> Document {
    let text = toml::to_string(table).expect("TOML").replace(&format!("\"{HUGE}\""), "99999999999999999999");
    Document::parse(Path::new("f.toml"), text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn every_wrong_value<T: DeserializeOwned + JsonSchema>() -> usize {
    let date = "d = 2026-01-02".parse::<Table>().expect("TOML")["d"].clone();
    let wrong = [
        Value::Integer(-2),
        Value::Float(2.5),
        Value::String("wrong kind".into()),
        Value::Boolean(true),
        Value::Array(vec![Value::Table(Table::new()), Value::Integer(-3)]),
        Value::Table(Table::from_iter([("strange".to_owned(), Value::Integer(1))])),
        date,
        Value::String(HUGE.into()),
    ];
    let mut refused = 0;
    each_key::<T>(&mut |way, around| {
        let mut some = false;
        for value in &wrong {
            let document = document(&around(value.clone()));
            let Err(Faults(faults)) = document.decode::<T>() else { continue };
            some = true;
            for fault in &faults {
                let text = fault.to_string();
                assert!(touches(&joined(way), &fault.key), "{value} at {}: {text}", joined(way));
                assert!(fault.line.is_some() && !fault.remedy.is_empty(), "{value} at {}: {text}", joined(way));
                let words = format!("{}; {}", fault.message, fault.remedy);
                assert_eq!(forbidden(&words), None, "{value} at {}: {text}", joined(way));
                assert!(!text.contains("not what belongs here"), "{value} at {}: {text}", joined(way));
            }
            assert!(!faults.is_empty());
        }
        // The study does not check tables that it passes on; the runs check them.
        let passed_on = way.iter().any(|step| *step == PathSegment::Key("run".into()));
        assert!(some || passed_on, "{} takes everything", joined(way));
        refused += 1;
    });
    refused
}

#[test]
fn no_error_at_a_key_of_a_device_names_a_type_of_rust() {
    assert!(every_wrong_value::<Spec>() > 200);
}

#[test]
fn no_error_at_a_key_of_a_workload_names_a_type_of_rust() {
    assert!(every_wrong_value::<GeneratorSpec>() > 50);
    assert!(every_wrong_value::<ScriptSpec>() >= 10);
    assert!(every_wrong_value::<ZoneWritesSpec>() >= 10);
}

#[test]
fn no_error_at_a_key_of_a_study_names_a_type_of_rust() {
    assert!(every_wrong_value::<StudySpec>() > 100);
    assert!(every_wrong_value::<RunSpec>() >= 13);
}

#[test]
fn every_formatted_text_has_a_known_type() {
    for schema in
        [Schema::of::<Spec>(), Schema::of::<GeneratorSpec>(), Schema::of::<ScriptSpec>(), Schema::of::<StudySpec>()]
    {
        let defs = schema.root().get("$defs").and_then(Json::as_object).expect("it has some");
        for (name, def) in defs {
            let text = kinds(def) == ["string"] && names(def).next().is_none();
            assert!(!text || texts::is_known(name), "{name} is not among the texts");
        }
    }
}

#[test]
fn the_examples_of_the_schemas_are_valid() {
    fn sound<T: DeserializeOwned + JsonSchema>() {
        let schema = Schema::of::<T>();
        for substitute in [Substitute::First, Substitute::Second] {
            let Value::Table(example) = schema.example(schema.root(), substitute) else { panic!("a file is a table") };
            if let Err(faults) = document(&example).decode::<T>() {
                panic!("{faults}");
            }
        }
    }
    sound::<Spec>();
    sound::<GeneratorSpec>();
    sound::<ScriptSpec>();
    sound::<ZoneWritesSpec>();
    sound::<StudySpec>();
}

/// A fault in a valid device file: the key, and the change.
#[derive(Clone, Copy, Debug)]
enum Slip {
    Unknown(&'static str),
    Missing(&'static str),
    Wrong(&'static str),
    /// A value of the right type that is out of place in the device: the key, and the value.
    Whole(&'static str, &'static str),
}

const SLIPS: [Slip; 20] = [
    Slip::Unknown("colour"),
    Slip::Unknown("flash.colour"),
    Slip::Unknown("host.colour"),
    Slip::Unknown("ftl.colour"),
    Slip::Missing("name"),
    Slip::Missing("flash.channels"),
    Slip::Missing("flash.chips"),
    Slip::Wrong("description"),
    Slip::Wrong("flash.width"),
    Slip::Wrong("flash.cache-mode"),
    Slip::Wrong("host.link"),
    Slip::Wrong("ftl.wear.dynamic"),
    Slip::Wrong("ftl.wear.threshold"),
    Slip::Whole("flash.gang", "0"),
    Slip::Whole("host.queue-depth", "0"),
    Slip::Whole("host.burst", "0"),
    Slip::Whole("ftl.gc.parallel", "0"),
    Slip::Whole("ftl.wear.check-every", "0"),
    Slip::Whole("flash.faults.program-failures", "\"100%\""),
    Slip::Whole("flash.part", "\"dirik-2010\""),
];

impl Slip {
    const fn key(self) -> &'static str {
        let (Self::Unknown(key) | Self::Missing(key) | Self::Wrong(key) | Self::Whole(key, _)) = self;
        key
    }

    fn plant(self, table: &mut Table) {
        let (key, mut table) = (self.key(), table);
        let mut names: Vec<&str> = key.split('.').collect();
        let last = names.pop().expect("a key has a name");
        for name in names {
            let inner = table.entry(name.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            table = inner.as_table_mut().expect("a table");
        }
        match self {
            Self::Missing(_) => drop(table.remove(last)),
            Self::Unknown(_) | Self::Wrong(_) => {
                let date = "d = 2026-01-02".parse::<Table>().expect("TOML")["d"].clone();
                table.insert(last.to_owned(), date);
            }
            Self::Whole(_, value) => {
                table.insert(last.to_owned(), format!("v = {value}").parse::<Table>().expect("TOML")["v"].clone());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Plants any combination of faults: all of them are reported, and nothing else is.
    #[test]
    fn all_wrong_values_of_a_device_are_found_at_once_and_no_others(which in proptest::sample::subsequence(SLIPS.to_vec(), 1..8), device in 0..64_usize) {
        // Devices of other families do not have all of these keys.
        let is_plain = |text: &str| {
            let table = text.parse::<Table>().expect("TOML");
            let kind = table.get("ftl").and_then(|ftl| ftl.get("kind")).and_then(Value::as_str);
            table["flash"].get("part").is_some() && kind.is_none_or(|kind| kind == "page")
        };
        let plain: Vec<_> = ssd::builtin().iter().filter(|(_, text)| is_plain(text)).collect();
        let (name, text) = plain[device % plain.len()];
        let mut table = text.parse::<Table>().expect("TOML");
        which.iter().for_each(|slip| slip.plant(&mut table));
        let faults = document(&table).decode_and(Spec::resolve).expect_err("faulty").0;
        let mut found: Vec<&str> = faults.iter().map(|fault| fault.key.as_str()).collect();
        let mut planted: Vec<&str> = which.iter().map(|slip| slip.key()).collect();
        found.sort_unstable();
        planted.sort_unstable();
        prop_assert_eq!(found, planted, "{}: {:#?}", name, faults);
    }

    /// Plants faults in workloads: all of them are reported.
    #[test]
    fn all_wrong_values_of_a_workload_are_found_at_once(streams in 1..4_usize, faulty in 0..8_u8) {
        let mut text = String::from("requests = 10\narrivals = { kind = \"closed\", depth = 4 }\n");
        let mut planted = vec!["name".to_owned()];
        for i in 0..streams {
            let (reads, size, theta) = (faulty & 1 > 0, faulty & 2 > 0, faulty & 4 > 0);
            text.push_str("[[stream]]\n");
            text.push_str(if reads { "reads = 70\n" } else { "reads = \"70%\"\n" });
            text.push_str(if size { "sizes = [{ size = \"4KiB..1KiB\" }]\n" } else { "sizes = [{ size = \"4KiB\" }]\n" });
            text.push_str(if theta { "address = { pattern = \"zipf\" }\n" } else { "address = { pattern = \"uniform\" }\n" });
            planted.extend(reads.then(|| format!("stream[{i}].reads")));
            planted.extend(size.then(|| format!("stream[{i}].sizes[0].size")));
            planted.extend(theta.then(|| format!("stream[{i}].address.theta")));
        }
        let document = Document::parse(Path::new("w.toml"), text).expect("TOML");
        let capacity = base::units::Sectors::new(1 << 30);
        let found = document.decode_and(|spec: &GeneratorSpec| Generator::new(spec, capacity, 0));
        let mut found: Vec<String> = found.expect_err("faulty").0.into_iter().map(|fault| fault.key).collect();
        found.sort_unstable();
        planted.sort_unstable();
        prop_assert_eq!(found, planted);
    }
}

#[test]
fn faults_of_types_and_of_ranges_are_found_at_once() {
    let text = r#"name = "d"
[flash]
part = "dirik-2009"
chips = -4
blocks = 64
[host]
queue-depth = 0
[ftl]
map-unit = "1000B"
gc = { start = 3, stop = 3 }
"#;
    let document = Document::parse(Path::new("d.toml"), text.to_owned()).expect("TOML");
    let faults = document.decode_and(Spec::resolve).expect_err("faulty").0;
    let keys: Vec<&str> = faults.iter().map(|fault| fault.key.as_str()).collect();
    assert_eq!(
        keys,
        ["flash.channels", "flash.chips", "host.queue-depth", "ftl.map-unit", "ftl.gc.stop"],
        "{faults:#?}"
    );
}
