//! The text of a preconditioning step, on the command line and in studies.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base::units::{Bytes, Exact};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Precondition;

/// A text that names no preconditioning step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePreconditionError(String);

impl fmt::Display for ParsePreconditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is not a preconditioning step: write fill, preload:PIECE:EXTENT (e.g. preload:26KiB:2GiB), \
             random:xN (N above 0, at most 1000, e.g. random:x2), steady or steady:model"
        )
    }
}

impl std::error::Error for ParsePreconditionError {}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fill => f.write_str("fill"),
            Self::Preload { piece, extent } => write!(f, "preload:{}:{}", piece.exact(), extent.exact()),
            Self::RandomOverwrite(times) => write!(f, "random:x{times}"),
            Self::Steady => f.write_str("steady"),
            Self::SteadyModel => f.write_str("steady:model"),
        }
    }
}

impl FromStr for Precondition {
    type Err = ParsePreconditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(':').collect();
        let step = match parts[..] {
            ["fill"] => Some(Self::Fill),
            ["steady"] => Some(Self::Steady),
            ["steady", "model"] => Some(Self::SteadyModel),
            ["preload", piece, extent] => preload(piece, extent),
            ["random", times] => times.strip_prefix('x').and_then(|times| times.parse().ok()).and_then(random),
            _ => None,
        };
        step.ok_or_else(|| ParsePreconditionError(text.to_owned()))
    }
}

fn preload(piece: &str, extent: &str) -> Option<Precondition> {
    let (piece, extent): (Bytes, Bytes) = (piece.parse().ok()?, extent.parse().ok()?);
    (!piece.is_zero() && !extent.is_zero()).then_some(Precondition::Preload { piece, extent })
}

fn random(times: f64) -> Option<Precondition> {
    (times > 0.0 && times <= super::MOST_TIMES).then_some(Precondition::RandomOverwrite(times))
}

impl<'de> Deserialize<'de> for Precondition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Precondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Precondition {
    fn schema_name() -> Cow<'static, str> {
        "Precondition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A preconditioning step: fill, preload:PIECE:EXTENT, random:xN, steady or steady:model.",
            "examples": ["fill", "random:x2"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preconditioning_steps_parse_as_they_print() {
        for text in ["fill", "preload:26KiB:2GiB", "random:x0.5", "random:x2", "random:x1000", "steady", "steady:model"]
        {
            assert_eq!(text.parse::<Precondition>().expect(text).to_string(), text);
        }
        // 1,234,567 sectors are no multiple of a round size.
        for text in ["preload:512B:632098304B", "preload:4608B:3MiB", "random:x0.1234567890123"] {
            let step: Precondition = text.parse().expect(text);
            assert_eq!(step.to_string().parse(), Ok(step));
        }
        for wrong in [
            "",
            "random",
            "random:2",
            "random:x0",
            "random:xinf",
            "random:x-1",
            "random:x1e30",
            "random:x1001",
            "random:xnan",
            "Fill",
            "steady:fill",
            "steady:model:1",
            "preload",
            "preload:0B:1GiB",
            "preload:26:2GiB",
            "preload:26KiB",
        ] {
            assert!(wrong.parse::<Precondition>().is_err(), "{wrong}");
        }
    }
}
