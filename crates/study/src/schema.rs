//! JSON schemas of results.
//!
//! A schema is derived from the types that are written and therefore cannot disagree with them. It describes one
//! version of Flashloom: every optional key is listed, and other keys are refused.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The schema of a result of type `T`.
#[must_use]
pub fn of<T: JsonSchema>() -> Value {
    let closed = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("properties").is_some() {
            schema.insert("additionalProperties".into(), false.into());
        }
    });
    SchemaSettings::default()
        .for_serialize()
        .with_transform(closed)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// A schema that restricts the keys of a table to these names.
pub(crate) fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "enum": names.into_iter().collect::<Vec<_>>() })
}
