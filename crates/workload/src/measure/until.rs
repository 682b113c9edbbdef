//! The key `until`: `steady`, `steady:METRIC` or `worn`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::metric::Metric;

/// A state of a drive up to which a run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// Steady state of a metric, in which the measurement begins.
    Steady(Metric),
    /// The end of the drive's life: the measurement ends when the drive refuses a write because too many blocks have
    /// failed.
    Worn,
}

/// The error of a text that names no state of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoState(String);

impl fmt::Display for NoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Metric::ALL.map(|metric| format!("steady:{metric}")).join(", ");
        write!(f, "`{}` is no state of a drive to wait for; write steady, worn, or one of {known}", self.0)
    }
}

impl std::error::Error for NoState {}

impl FromStr for TargetState {
    type Err = NoState;

    fn from_str(text: &str) -> Result<Self, NoState> {
        let state = match text.split_once(':') {
            None if text == "steady" => Some(Self::Steady(Metric::default())),
            None if text == "worn" => Some(Self::Worn),
            Some(("steady", metric)) => metric.parse().ok().map(Self::Steady),
            None | Some(_) => None,
        };
        state.ok_or_else(|| NoState(text.to_owned()))
    }
}

impl fmt::Display for TargetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady(metric) => write!(f, "steady:{metric}"),
            Self::Worn => f.write_str("worn"),
        }
    }
}

impl Serialize for TargetState {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TargetState {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for TargetState {
    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let metrics = Metric::ALL.map(|metric| format!("steady:{metric}"));
        let names: Vec<String> = ["steady".to_owned()].into_iter().chain(metrics).chain(["worn".to_owned()]).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_names_its_metric() {
        assert_eq!("steady".parse(), Ok(TargetState::Steady(Metric::Rate)));
        assert_eq!("steady:waf".parse(), Ok(TargetState::Steady(Metric::Waf)));
        for wrong in ["steady:iops", "stable", "steady:", "worn:", "worn:waf", ""] {
            assert!(wrong.parse::<TargetState>().expect_err(wrong).to_string().contains("steady:latency"), "{wrong}");
        }
        for until in [TargetState::Steady(Metric::Latency), TargetState::Worn] {
            assert_eq!(until.to_string().parse(), Ok(until));
        }
    }
}
