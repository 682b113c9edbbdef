//! Values with a syntax of their own: texts with a unit of measure, preconditioning steps, metrics. The schema knows
//! them only as texts; their types parse them.

use base::units::{
    Age, Bytes, Current, Frequency, LaneRate, Power, Rate, Ratio, Span, Temperature, ThermalResistance, Voltage,
};
use serde::de::DeserializeOwned;
use ssd::{Digits, LinkSpec, Precondition, Storage};
use toml::Value;
use workload::generate::{Amount, RequestRate, SizeRange};

use crate::metric::Metric;

/// The message with which a type refuses a value.
type Refusal = fn(&Value) -> Option<String>;

/// The types, by their names in the schema.
const TEXTS: [(&str, Refusal); 20] = [
    ("Age", refusal::<Age>),
    ("Amount", refusal::<Amount>),
    ("Bytes", refusal::<Bytes>),
    ("Current", refusal::<Current>),
    ("Digits", refusal::<Digits>),
    ("Frequency", refusal::<Frequency>),
    ("LaneRate", refusal::<LaneRate>),
    ("LinkSpec", refusal::<LinkSpec>),
    ("Metric", refusal::<Metric>),
    ("Power", refusal::<Power>),
    ("Precondition", refusal::<Precondition>),
    ("Rate", refusal::<Rate>),
    ("Ratio", refusal::<Ratio>),
    ("RequestRate", refusal::<RequestRate>),
    ("SizeRange", refusal::<SizeRange>),
    ("Span", refusal::<Span>),
    ("Storage", refusal::<Storage>),
    ("Temperature", refusal::<Temperature>),
    ("ThermalResistance", refusal::<ThermalResistance>),
    ("Voltage", refusal::<Voltage>),
];

fn refusal<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value.clone()).err().map(|error| error.message().trim().to_owned())
}

/// True if the schema's type of this name parses its values itself.
pub(super) fn is_known(name: &str) -> bool {
    TEXTS.iter().any(|(known, _)| *known == name)
}

/// The fault and remedy with which the type of this name refuses a value.
pub(super) fn refused(name: &str, value: &Value) -> Option<(String, String)> {
    let (_, refusal) = TEXTS.iter().find(|(known, _)| *known == name)?;
    let message = refusal(value)?;
    // These messages have the form "fault: remedy".
    let (wrong, remedy) = message.split_once(": ").unwrap_or((&message, "see `flashloom schema`"));
    Some((wrong.to_owned(), remedy.to_owned()))
}
