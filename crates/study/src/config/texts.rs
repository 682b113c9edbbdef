//! Values that are more than their kind: texts with a unit, orders, metrics. A schema says that they are texts; only
//! their type can read them.

use base::units::{Bytes, Current, Frequency, Rate, Ratio, Span, Voltage};
use serde::de::DeserializeOwned;
use ssd::{Digits, LinkSpec, Precondition};
use toml::Value;
use workload::generate::{Amount, RequestRate, SizeRange};

use crate::metric::Metric;

/// What a type has against a value, in its own words.
type Refusal = fn(&Value) -> Option<String>;

/// The types by the name that a schema has for them.
const TEXTS: [(&str, Refusal); 14] = [
    ("Amount", refusal::<Amount>),
    ("Bytes", refusal::<Bytes>),
    ("Current", refusal::<Current>),
    ("Digits", refusal::<Digits>),
    ("Frequency", refusal::<Frequency>),
    ("LinkSpec", refusal::<LinkSpec>),
    ("Metric", refusal::<Metric>),
    ("Precondition", refusal::<Precondition>),
    ("Rate", refusal::<Rate>),
    ("Ratio", refusal::<Ratio>),
    ("RequestRate", refusal::<RequestRate>),
    ("SizeRange", refusal::<SizeRange>),
    ("Span", refusal::<Span>),
    ("Voltage", refusal::<Voltage>),
];

fn refusal<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value.clone()).err().map(|error| error.message().trim().to_owned())
}

/// Whether the schema's type of this name reads its values itself.
pub(super) fn is_known(name: &str) -> bool {
    TEXTS.iter().any(|(known, _)| *known == name)
}

/// What the type of this name has against a value: what is wrong, and the remedy.
pub(super) fn refused(name: &str, value: &Value) -> Option<(String, String)> {
    let (_, refusal) = TEXTS.iter().find(|(known, _)| *known == name)?;
    let message = refusal(value)?;
    // They say what is wrong, a colon, and what to write instead.
    let (wrong, remedy) = message.split_once(": ").unwrap_or((&message, "see `flashloom schema`"));
    Some((wrong.to_owned(), remedy.to_owned()))
}
