//! Quantities of workload files as text: amounts, size ranges, request rates.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base::units::{Bytes, Exact, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes, or a share of a whole: `"10GiB"` or `"25%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// An absolute number of bytes.
    Bytes(Bytes),
    /// A share of a whole that depends on the key.
    Share(Ratio),
}

/// A range of request sizes, both ends included: `"4KiB"` or `"8KiB..64KiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeRange {
    /// The smallest size of the range.
    pub min: Bytes,
    /// The largest size of the range.
    pub max: Bytes,
}

/// Requests per second: `"14/s"`, `"2.5k/s"`, `"1M/s"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestRate(f64);

impl RequestRate {
    /// Creates a rate of `per_second` requests each second.
    ///
    /// # Panics
    ///
    /// If `per_second` is not a finite number above zero: no request would ever arrive.
    #[must_use]
    pub fn new(per_second: f64) -> Self {
        assert!(per_second > 0.0 && per_second.is_finite(), "a rate of {per_second} requests per second");
        Self(per_second)
    }

    /// The rate in requests per second; positive and finite.
    #[must_use]
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl SizeRange {
    /// A range with the single size `size`.
    #[must_use]
    pub const fn exactly(size: Bytes) -> Self {
        Self { min: size, max: size }
    }
}

/// The error for a text that is not a quantity of the right kind: the fault and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError(String);

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseQuantityError {}

impl FromStr for Amount {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let parsed = if text.trim_end().ends_with('%') {
            text.parse().map(Self::Share).ok()
        } else {
            text.parse().map(Self::Bytes).ok()
        };
        parsed.ok_or_else(|| {
            ParseQuantityError(format!(
                "`{text}` is neither a size nor a share: write bytes with one of the units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB or a share in %, e.g. \"10GiB\" or \"25%\""
            ))
        })
    }
}

impl FromStr for SizeRange {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let (min, max) = text.split_once("..").unwrap_or((text, text));
        let parse = |part: &str| part.parse::<Bytes>().map_err(|e| ParseQuantityError(e.to_string()));
        let range = Self { min: parse(min)?, max: parse(max)? };
        if range.min <= range.max {
            Ok(range)
        } else {
            let message = format!("`{text}` ends below its start: write the smaller size first, e.g. \"8KiB..64KiB\"");
            Err(ParseQuantityError(message))
        }
    }
}

const RATE_UNITS: [(&str, f64); 3] = [("k/s", 1e3), ("M/s", 1e6), ("/s", 1.0)];

impl FromStr for RequestRate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let number = |(unit, size): (&str, f64)| {
            let digits = text.trim().strip_suffix(unit)?.trim_end();
            let plain = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'_'));
            let value = digits.replace('_', "").parse::<f64>().ok()? * size;
            (plain && value > 0.0 && value.is_finite()).then_some(Self(value))
        };
        RATE_UNITS.into_iter().find_map(number).ok_or_else(|| {
            ParseQuantityError(format!(
                "`{text}` is not a rate of requests: write a number above zero with one of the units /s, k/s, M/s, e.g. \"14/s\""
            ))
        })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{}", exact(*bytes)),
            Self::Share(share) => f.write_str(&share.exact()),
        }
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            f.write_str(&exact(self.min))
        } else {
            write!(f, "{}..{}", exact(self.min), exact(self.max))
        }
    }
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// A text that parses back to exactly these bytes.
fn exact(bytes: Bytes) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let n = bytes.get();
    let unit = UNITS.into_iter().find(|(size, _)| n > 0 && n.is_multiple_of(*size));
    unit.map_or_else(|| format!("{n}B"), |(size, name)| format!("{}{name}", n / size))
}

/// Gives a quantity a serde string form with a unit of measure, and a JSON schema.
macro_rules! as_text {
    ($type:ty, $what:literal, [$($example:literal),+]) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " as text with a unit, e.g. ", $(stringify!($example), " "),+))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$type, E> {
                        self.visit_f64(v as f64)
                    }
                    fn visit_u64<E: de::Error>(self, v: u64) -> Result<$type, E> {
                        self.visit_f64(v as f64)
                    }
                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<$type, E> {
                        let examples = [$(stringify!($example)),+].join(" or ");
                        Err(E::custom(format!(
                            "`{v}` has no unit: {} is written as text with a unit, e.g. {examples}", $what
                        )))
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": concat!($what, " with its unit."),
                    "examples": [$($example),+],
                })
            }
        }
    };
}

as_text!(Amount, "a size or a share", ["10GiB", "25%"]);
as_text!(SizeRange, "a size or a range of sizes, both ends included,", ["4KiB", "8KiB..64KiB"]);
as_text!(RequestRate, "a rate of requests", ["14/s", "2.5k/s"]);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_notation_of_a_quantity_parses_and_prints_again() {
        for text in ["10GiB", "25%", "1000B", "0B", "300%"] {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), text);
        }
        for text in ["4KiB", "8KiB..64KiB", "512B..1KiB"] {
            assert_eq!(text.parse::<SizeRange>().unwrap().to_string(), text);
        }
        assert!((("2.5k/s".parse::<RequestRate>().unwrap()).per_second() - 2500.0).abs() < 1e-9);
        assert_eq!("1_000/s".parse::<RequestRate>().unwrap().to_string(), "1000/s");
    }

    proptest! {
        #[test]
        fn every_printed_quantity_parses_to_the_same(count in 1..u64::MAX, more in any::<u64>(), bits in any::<u64>()) {
            let amount = Amount::Bytes(Bytes::new(count));
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
            let range = SizeRange { min: Bytes::new(count.min(more)), max: Bytes::new(count.max(more)) };
            prop_assert_eq!(range.to_string().parse(), Ok(range));
            let number = f64::from_bits(bits).abs();
            if number.is_finite() && number > 0.0 {
                prop_assert_eq!(RequestRate::new(number).to_string().parse(), Ok(RequestRate::new(number)));
                let share = Amount::Share(Ratio::new(number % 1e9));
                prop_assert_eq!(share.to_string().parse(), Ok(share));
            }
        }
    }

    #[test]
    fn an_error_about_a_quantity_names_the_right_units() {
        for text in ["10", "10 apples", "-1B", "%", ""] {
            assert!(text.parse::<Amount>().unwrap_err().to_string().contains("\"10GiB\" or \"25%\""), "{text}");
        }
        for text in ["0/s", "-1/s", "14", "1e3/s", "nan/s", "inf/s", "14Hz"] {
            assert!(text.parse::<RequestRate>().unwrap_err().to_string().contains("/s, k/s, M/s"), "{text}");
        }
        assert!("64KiB..8KiB".parse::<SizeRange>().unwrap_err().to_string().contains("smaller size first"));
        assert!("4KiB..8".parse::<SizeRange>().unwrap_err().to_string().contains("KiB"));
    }
}
