//! Time without power, between the preconditioning of a drive, or its snapshot, and the run.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base::fault::Fault;
use base::units::{Age, Exact, Temperature};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ResolvedDevice;

/// The temperature of stored drives if none is given: the temperature of JESD218 for client drives without power.
const STORED_AT: Temperature = Temperature::from_celsius(30);

/// The oldest age, at the temperature for which the part's errors are known.
const OLDEST: Age = Age::from_days(100 * 365);

/// The time for which a drive is without power before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A client drive in JESD218: a year at 30 C.
    Client,
    /// An enterprise drive in JESD218: three months at 40 C.
    Enterprise,
    /// A time of the user's choice.
    Time(Age),
}

impl Storage {
    /// The time and the temperature.
    #[must_use]
    pub fn conditions(self, temperature: Option<Temperature>) -> (Age, Temperature) {
        match self {
            Self::Client => (Age::from_days(365), Temperature::from_celsius(30)),
            Self::Enterprise => (Age::from_days(91), Temperature::from_celsius(40)),
            Self::Time(age) => (age, temperature.unwrap_or(STORED_AT)),
        }
    }

    /// The fault of an age and a temperature for a drive, with the key at fault.
    #[must_use]
    pub fn fault(
        storage: Option<Self>,
        temperature: Option<Temperature>,
        drive: Option<&ResolvedDevice>,
    ) -> Option<Fault> {
        let Some(storage) = storage else {
            let message = "the drive is never without power";
            return temperature.map(|_| Fault::new("temperature", message, "add `age`, or leave it out"));
        };
        if temperature.is_some() && !matches!(storage, Self::Time(_)) {
            let message = format!("`age` of {storage} has a temperature of its own");
            return Some(Fault::new("temperature", message, "leave it out, or write `age` as a time, e.g. 90d"));
        }
        if let Some(hot) = temperature.filter(|temperature| *temperature > Temperature::HOTTEST) {
            let remedy = format!("use at most {}", Temperature::HOTTEST);
            return Some(Fault::new("temperature", format!("is {hot}"), remedy));
        }
        let Some(model) = &drive?.backend.errors else {
            let message = "reads of this drive have no errors, so its age changes nothing";
            return Some(Fault::new("age", message, "leave it out, or add [flash.errors] to the device"));
        };
        let (age, at) = storage.conditions(temperature);
        let aged = age.as_secs() as f64 * model.pace(Some(at));
        (aged > OLDEST.as_secs() as f64).then(|| {
            let years = aged / Age::from_days(365).as_secs() as f64;
            let message =
                format!("{} at {at} are {years:.0} years at the temperature of the part's errors", age.exact());
            Fault::new("age", message, "use a shorter or a cooler one: at most 100 years")
        })
    }
}

/// The error for a text that is not a time without power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseStorageError(String);

impl fmt::Display for ParseStorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "`{text}` is not a time without power: write a number with one of the units s, min, h, d, y, e.g. \"90d\", or \
             client or enterprise"
        )
    }
}

impl std::error::Error for ParseStorageError {}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => f.write_str("client"),
            Self::Enterprise => f.write_str("enterprise"),
            Self::Time(age) => f.write_str(&age.exact()),
        }
    }
}

impl FromStr for Storage {
    type Err = ParseStorageError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "client" => Ok(Self::Client),
            "enterprise" => Ok(Self::Enterprise),
            _ => text.parse().map(Self::Time).map_err(|_| ParseStorageError(text.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for Storage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Storage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Storage {
    fn schema_name() -> Cow<'static, str> {
        "Storage".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A time without power, or the conditions of JESD218: `client` (a year at 30 C) or `enterprise` \
                            (three months at 40 C).",
            "examples": ["90d", "client"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_power_is_read_and_written() {
        for text in ["client", "enterprise", "90d", "1y", "0s"] {
            assert_eq!(text.parse::<Storage>().expect(text).to_string(), text);
        }
        let error = "90 days".parse::<Storage>().expect_err("no unit").to_string();
        assert!(error.starts_with("`90 days` is not a time without power: write"), "{error}");
        let forty = Temperature::from_celsius(40);
        assert_eq!(Storage::Client.conditions(None), (Age::from_days(365), Temperature::from_celsius(30)));
        assert_eq!(Storage::Enterprise.conditions(None), (Age::from_days(91), forty));
        let ninety = Storage::Time(Age::from_days(90));
        assert_eq!(ninety.conditions(Some(forty)), (Age::from_days(90), forty));
        assert_eq!(ninety.conditions(None).1, STORED_AT);
        let fault = |storage, temperature| Storage::fault(storage, temperature, None).map(|fault| fault.path);
        assert_eq!(fault(None, Some(forty)).as_deref(), Some("temperature"));
        assert_eq!(fault(Some(Storage::Client), Some(forty)).as_deref(), Some("temperature"));
        assert_eq!(fault(Some(ninety), Some(forty)), None);
    }
}
