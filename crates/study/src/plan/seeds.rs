//! The key `seeds` of a study: a list, or the number of seeds from zero on.

use std::borrow::Cow;
use std::fmt;

use base::fault::Fault;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use super::StudySpec;

/// The most seeds of a study; each point runs with all of them.
pub const MOST_SEEDS: u32 = 10_000;

/// Returns `count` consecutive seeds from `first` on.
#[must_use]
pub fn seeds_from(first: u64, count: u32) -> Vec<u64> {
    (0..u64::from(count)).map(|i| first.wrapping_add(i)).collect()
}

/// A type that stands for the schema of the key.
pub(super) struct Seeds;

impl JsonSchema for Seeds {
    fn schema_name() -> Cow<'static, str> {
        "Seeds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The number of seeds, from zero on, or a list of seeds.",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": MOST_SEEDS },
                { "type": "array", "items": { "type": "integer", "format": "uint64", "minimum": 0 } },
            ],
            "examples": [5],
        })
    }
}

/// Reads the key, in either form.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    struct SeedsVisitor;

    impl<'de> Visitor<'de> for SeedsVisitor {
        type Value = Vec<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a number of seeds from 1 to {MOST_SEEDS}, or a list of seeds")
        }

        fn visit_u64<E: de::Error>(self, count: u64) -> Result<Vec<u64>, E> {
            let count = u32::try_from(count).ok().filter(|count| (1..=MOST_SEEDS).contains(count));
            let count = count.ok_or_else(|| E::invalid_value(de::Unexpected::Other("this number"), &self))?;
            Ok(seeds_from(0, count))
        }

        fn visit_i64<E: de::Error>(self, count: i64) -> Result<Vec<u64>, E> {
            self.visit_u64(u64::try_from(count).unwrap_or_default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u64>, A::Error> {
            let mut seeds = Vec::new();
            while let Some(seed) = list.next_element()? {
                seeds.push(seed);
            }
            Ok(seeds)
        }
    }

    from.deserialize_any(SeedsVisitor)
}

/// The seeds of a study, from its own key or from its table `run`.
pub(super) fn of(spec: &StudySpec) -> Vec<u64> {
    match in_run(spec) {
        Some(count) => seeds_from(0, count),
        None => spec.seeds.clone(),
    }
}

/// The number of seeds in the table `run`; `None` if it has none, or not a number.
fn in_run(spec: &StudySpec) -> Option<u32> {
    spec.run.get("seeds")?.as_integer().and_then(|count| u32::try_from(count).ok())
}

pub(super) fn faults(spec: &StudySpec) -> Vec<Fault> {
    let mut faults = Vec::new();
    match in_run(spec) {
        Some(_) if spec.seeds != super::zero() => {
            let message = "the study has `seeds` of its own";
            faults.push(Fault::new("run.seeds", message, "leave one of them out"));
        }
        Some(count) if !(1..=MOST_SEEDS).contains(&count) => {
            let remedy = format!("write a number from 1 to {MOST_SEEDS}, e.g. 5");
            faults.push(Fault::new("run.seeds", format!("{count} seeds"), remedy));
        }
        _ => {}
    }
    if spec.seeds.is_empty() {
        faults.push(Fault::new("seeds", "the list is empty", "give at least one seed, or leave it out"));
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = spec.seeds.iter().find(|seed| !seen.insert(**seed)) {
        let message = format!("{twice} occurs twice: two runs with one seed are the same run");
        faults.push(Fault::new(
            "seeds",
            message,
            "leave one of them out, or write how many seeds to run, e.g. seeds = 5",
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Document;
    use crate::plan::Plan;

    #[test]
    fn seeds_are_a_number_or_a_list() {
        let read = |text: &str| {
            let text = format!("name = \"s\"\ndevice = \"demo\"\nworkload = \"oltp\"\n{text}");
            toml::from_str::<StudySpec>(&text).map(|spec| spec.seeds)
        };
        assert_eq!(read("seeds = 3"), Ok(vec![0, 1, 2]));
        assert_eq!(read("seeds = [7, 9]"), Ok(vec![7, 9]));
        assert_eq!(read(""), Ok(vec![0]));
        for wrong in ["seeds = 0", "seeds = -1", "seeds = 10001", "seeds = [-1]", "seeds = \"5\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seeds_from(5, 3), [5, 6, 7]);
    }

    #[test]
    fn the_table_run_may_have_the_number_of_seeds() {
        let plan = |text: &str| {
            let text = format!("name = \"s\"\ndevice = \"demo\"\nworkload = \"oltp\"\n{text}");
            Plan::new(&Document::parse(Path::new("s.toml"), text).expect("TOML"))
        };
        let sound = plan("run = { seeds = 3, limit = 5 }").unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!((&sound.spec.seeds[..], sound.points[0].run.seeds), (&[0, 1, 2][..], None));
        assert!(!sound.spec.run.contains_key("seeds"), "it is not a key of a point");
        let axis = "[[axis]]\nname = \"n\"\nkey = \"run.seeds\"\nvalues = [2]";
        for (text, key) in [
            ("seeds = 2\nrun = { seeds = 3 }", "run.seeds"),
            ("run = { seeds = 0 }", "run.seeds"),
            ("seeds = [1, 1]", "seeds"),
            ("set = { run = { seeds = 3 } }", "set.run.seeds"),
            (axis, "axis[0].values[0]"),
        ] {
            let faults = plan(text).expect_err(text);
            assert_eq!(faults.0[0].key, key, "{faults}");
        }
    }
}
