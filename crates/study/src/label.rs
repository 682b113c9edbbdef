//! Labels of points on axes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The label of a point on an axis: the text of a number, string or truth value in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// The label of a value; `None` for tables and arrays.
    #[must_use]
    pub fn of(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::String(text) => Some(Self(text.clone())),
            toml::Value::Table(_) | toml::Value::Array(_) => None,
            other => Some(Self(other.to_string())),
        }
    }

    /// Parses the label as a number, without a unit; `None` if it is not one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.0.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The label's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        Self::of(&value)
            .ok_or_else(|| de::Error::custom(format!("`{value}` is not a name for a point: write a number or a text")))
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl JsonSchema for Label {
    fn schema_name() -> Cow<'static, str> {
        "Label".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "The name of a point of an axis.";
        if generator.contract().is_serialize() {
            return json_schema!({ "type": "string", "description": about });
        }
        json_schema!({ "type": ["string", "number", "boolean"], "description": about })
    }
}

/// One label, or several of which any may match.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// A single label, written without a list.
    One(Label),
    /// Any of these labels.
    Many(Vec<Label>),
}

impl OneOrMany {
    /// Returns the labels as a slice, also for a single one.
    #[must_use]
    pub fn labels(&self) -> &[Label] {
        match self {
            Self::One(label) => std::slice::from_ref(label),
            Self::Many(labels) => labels,
        }
    }
}

/// Labels that select points, by the name of their axis: `{ banks = 4, bandwidth = ["50MB/s", "100MB/s"] }`.
pub type Assignment = BTreeMap<String, OneOrMany>;
