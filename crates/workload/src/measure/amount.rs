//! Amounts as text: `100000` requests, `8GiB`, `2s`, `0.5x` the capacity.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base::units::{Bytes, Exact, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The length of a part of a run: a number of requests, an amount of data, or a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// The part ends when this many requests of all flows together have completed.
    Requests(u64),
    /// The part ends when requests have read and written this many bytes.
    Bytes(Bytes),
    /// The part ends after this much simulated time.
    Time(Span),
    /// The part ends when requests have written the capacity of the drive this many times; if there are no writes, when
    /// they have read it.
    Capacities(f64),
}

impl Amount {
    /// True if the amount is zero.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        match *self {
            Self::Requests(requests) => requests == 0,
            Self::Bytes(bytes) => bytes.get() == 0,
            Self::Time(span) => span.is_zero(),
            Self::Capacities(times) => times <= 0.0,
        }
    }
}

/// The error for a text that is not an amount: the fault and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAmountError(String);

impl fmt::Display for ParseAmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseAmountError {}

impl FromStr for Amount {
    type Err = ParseAmountError;

    fn from_str(text: &str) -> Result<Self, ParseAmountError> {
        let text = text.trim();
        let number = |digits: &str| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'));
            plain.then(|| digits.replace('_', ""))
        };
        let requests = || number(text)?.parse().map(Self::Requests).ok();
        let capacities = || {
            let times: f64 = number(text.strip_suffix('x')?)?.parse().ok()?;
            times.is_finite().then_some(Self::Capacities(times))
        };
        let found = requests().or_else(capacities).or_else(|| text.parse().map(Self::Bytes).ok());
        found.or_else(|| text.parse().map(Self::Time).ok()).filter(|amount| !amount.is_nothing()).ok_or_else(|| {
            ParseAmountError(format!(
                "`{text}` is no part of a run; write a number of requests (100000), an amount of data (8GiB), a simulated \
                 time (2s), or how often the capacity is written (0.5x), above zero"
            ))
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requests(requests) => requests.fmt(f),
            Self::Bytes(bytes) => f.write_str(&bytes.exact()),
            Self::Time(span) => f.write_str(&span.exact()),
            Self::Capacities(times) => write!(f, "{times}x"),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Requests(requests) => to.serialize_u64(*requests),
            text => to.collect_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of requests, or a text such as \"8GiB\", \"2s\" or \"0.5x\"")
            }

            fn visit_u64<E: de::Error>(self, requests: u64) -> Result<Amount, E> {
                requests.to_string().parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, requests: i64) -> Result<Amount, E> {
                requests.to_string().parse().map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
        }

        from.deserialize_any(Visitor)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "RunAmount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of requests, or a text: an amount of data, a simulated time, or how often the capacity is written.",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }],
            "examples": [100_000, "8GiB", "2s", "0.5x"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_amount_has_a_text() {
        for (text, amount) in [
            ("100_000", Amount::Requests(100_000)),
            ("8GiB", Amount::Bytes(Bytes::new(8 << 30))),
            ("2s", Amount::Time(Span::from_secs(2))),
            ("0.5x", Amount::Capacities(0.5)),
            ("2x", Amount::Capacities(2.0)),
        ] {
            assert_eq!(text.parse(), Ok(amount), "{text}");
            assert_eq!(amount.to_string().parse(), Ok(amount), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_remedy() {
        for text in ["", "0", "0x", "-5", "1.5", "x", "8", "1e9x", "8 parsecs", "0s", "infx", "NaNx"] {
            let parsed = text.parse::<Amount>();
            assert_eq!(parsed.is_ok(), text == "8", "{text}: {parsed:?}");
        }
        assert!("soon".parse::<Amount>().expect_err("no amount").to_string().contains("8GiB"));
    }
}
