//! The key `until`: `steady`, or `steady:METRIC`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::metric::Metric;

/// The state of a drive in which a measurement begins: steady state of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Until {
    /// The metric that must be steady.
    pub metric: Metric,
}

/// The error of a text that names no state of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoState(String);

impl fmt::Display for NoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Metric::ALL.map(|metric| format!("steady:{metric}")).join(", ");
        write!(f, "`{}` is no state of a drive to wait for; write steady, or one of {known}", self.0)
    }
}

impl std::error::Error for NoState {}

impl FromStr for Until {
    type Err = NoState;

    fn from_str(text: &str) -> Result<Self, NoState> {
        let metric = match text.split_once(':') {
            None if text == "steady" => Some(Metric::default()),
            Some(("steady", metric)) => metric.parse().ok(),
            None | Some(_) => None,
        };
        metric.map(|metric| Self { metric }).ok_or_else(|| NoState(text.to_owned()))
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steady:{}", self.metric)
    }
}

impl Serialize for Until {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Until {
    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let metrics = Metric::ALL.map(|metric| format!("steady:{metric}"));
        let names: Vec<String> = std::iter::once("steady".to_owned()).chain(metrics).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_names_its_metric() {
        assert_eq!("steady".parse(), Ok(Until { metric: Metric::Rate }));
        assert_eq!("steady:waf".parse(), Ok(Until { metric: Metric::Waf }));
        for wrong in ["steady:iops", "stable", "steady:", ""] {
            assert!(wrong.parse::<Until>().expect_err(wrong).to_string().contains("steady:latency"), "{wrong}");
        }
        let until = Until { metric: Metric::Latency };
        assert_eq!(until.to_string().parse(), Ok(until));
    }
}
