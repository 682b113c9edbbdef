//! What the JSON of results looks like, as a schema.
//!
//! A schema follows from the types that are written, so that it cannot say anything else. It is that of one version of
//! Flashloom: every key that may be missing is named, and no other key may be there.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The schema of results of this type.
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

/// Names that all keys of a table are among.
pub(crate) fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "enum": names.into_iter().collect::<Vec<_>>() })
}
