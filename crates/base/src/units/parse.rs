//! Quantities as text with a unit of measure, and back. Only this module knows the prefixes.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    Age, Bytes, Current, Frequency, LaneRate, Power, Rate, Ratio, Span, Temperature, ThermalResistance, Voltage,
};

/// The error for a text that is not a quantity of the right kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    kind: &'static str,
    units: String,
    example: &'static str,
    /// The largest quantity, in the largest unit.
    most: String,
    wrong: Wrong,
}

/// The reason for which a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The text is not a number with a unit.
    Form,
    /// The number is below the least quantity.
    TooSmall,
    /// The number does not fit into 64 bits.
    TooLarge,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, kind, units, example, most, wrong } = self;
        match wrong {
            Wrong::Form => write!(
                f,
                "`{text}` is not a {kind}: write a number of at least zero with one of the units {units}, e.g. \"{example}\""
            ),
            Wrong::TooSmall => {
                write!(f, "`{text}` is a {kind} of zero: write one above zero, e.g. \"{example}\"")
            }
            Wrong::TooLarge => {
                write!(f, "`{text}` is too large for a {kind}: write at most {most}, e.g. \"{example}\"")
            }
        }
    }
}

impl std::error::Error for ParseUnitError {}

/// The unit names of one quantity, each with its size in the base unit.
struct UnitTable {
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
}

impl UnitTable {
    fn error(&self, text: &str, wrong: Wrong) -> ParseUnitError {
        let names: Vec<_> = self.units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
        let largest = self.units.iter().max_by_key(|(_, size)| *size);
        let most = largest.map_or_else(String::new, |(name, size)| format!("{}{name}", u64::MAX / size));
        let (text, units) = (text.to_owned(), names.join(", "));
        ParseUnitError { text, kind: self.name, units, example: self.example, most, wrong }
    }

    /// The value in base units: exact for whole numbers, nearest for fractions.
    fn parse(&self, text: &str) -> Result<u64, ParseUnitError> {
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(trimmed.len());
        let number = trimmed[..digits].replace('_', "");
        let unit = trimmed[digits..].trim_start();
        let (_, size) =
            self.units.iter().find(|(name, _)| *name == unit).ok_or_else(|| self.error(text, Wrong::Form))?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(*size).ok_or_else(|| self.error(text, Wrong::TooLarge));
        }
        let value = number.parse::<f64>().map_err(|_| self.error(text, Wrong::Form))? * *size as f64;
        if value < u64::MAX as f64 { Ok(value.round() as u64) } else { Err(self.error(text, Wrong::TooLarge)) }
    }
}

/// Implements `FromStr` for a quantity, and all traits of `as_text!`.
macro_rules! quantity {
    ($type:ty, $kind:ident, $from:expr) => {
        impl FromStr for $type {
            type Err = ParseUnitError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let from: fn(u64) -> Option<$type> = $from;
                from($kind.parse(text)?).ok_or_else(|| $kind.error(text, Wrong::TooSmall))
            }
        }

        as_text!($type, $kind);
    };
}

/// Implements serde for a quantity, as a string with a unit, and its JSON schema.
macro_rules! as_text {
    ($type:ty, $kind:ident) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text::<$type>::new(&$kind))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.exact())
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": format!("A {} with its unit.", $kind.name),
                    "examples": [$kind.example],
                })
            }
        }
    };
}

struct Text<T> {
    kind: &'static UnitTable,
    value: std::marker::PhantomData<T>,
}

impl<T> Text<T> {
    const fn new(kind: &'static UnitTable) -> Self {
        Self { kind, value: std::marker::PhantomData }
    }

    fn bare<E: de::Error>(&self, number: impl fmt::Display) -> E {
        E::custom(format!(
            "`{number}` has no unit: a {} is written as text with a unit, e.g. \"{}\"",
            self.kind.name, self.kind.example
        ))
    }
}

impl<T: FromStr<Err = ParseUnitError>> de::Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} as text with a unit, e.g. \"{}\"", self.kind.name, self.kind.example)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<T, E> {
        Err(self.bare(v))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<T, E> {
        Err(self.bare(v))
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<T, E> {
        Err(self.bare(v))
    }
}

static SPAN: UnitTable = UnitTable {
    name: "time",
    example: "25us",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
};
static BYTES: UnitTable = UnitTable {
    name: "size",
    example: "4KiB",
    units: &[
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
    ],
};
static RATE: UnitTable = UnitTable {
    name: "data rate",
    example: "667MB/s",
    units: &[
        ("B/s", 1),
        ("kB/s", 1_000),
        ("KB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
};
/// The notation of data sheets: a lane of eight bits moves a byte in each transfer.
static LANE_RATE: UnitTable = UnitTable {
    name: "data rate of an 8-bit lane",
    example: "1200MT/s",
    units: &[
        ("B/s", 1),
        ("kB/s", 1_000),
        ("KB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
        ("MT/s", 1_000_000),
        ("GT/s", 1_000_000_000),
    ],
};
static FREQUENCY: UnitTable = UnitTable {
    name: "frequency",
    example: "100MHz",
    units: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
};
static VOLTAGE: UnitTable = UnitTable { name: "voltage", example: "3.3V", units: &[("mV", 1), ("V", 1_000)] };
static CURRENT: UnitTable =
    UnitTable { name: "current", example: "15mA", units: &[("uA", 1), ("mA", 1_000), ("A", 1_000_000)] };
static POWER: UnitTable =
    UnitTable { name: "power", example: "2.5W", units: &[("uW", 1), ("mW", 1_000), ("W", 1_000_000)] };
static THERMAL_RESISTANCE: UnitTable =
    UnitTable { name: "thermal resistance", example: "8K/W", units: &[("mK/W", 1), ("K/W", 1_000)] };
static TEMPERATURE: UnitTable = UnitTable { name: "temperature", example: "40C", units: &[("mC", 1), ("C", 1_000)] };
/// A year has 365 days.
static AGE: UnitTable = UnitTable {
    name: "time without power",
    example: "90d",
    units: &[("s", 1), ("min", 60), ("h", 3_600), ("d", 86_400), ("y", 31_536_000)],
};
/// Ratios of at most [`DECIMALS`] decimals are computed in billionths.
static RATIO: UnitTable = UnitTable { name: "share", example: "7%", units: &[("%", 10_000_000)] };

quantity!(Span, SPAN, |ps| Some(Span::from_ps(ps)));
quantity!(Bytes, BYTES, |b| Some(Bytes::new(b)));
quantity!(Rate, RATE, |r| (r > 0).then(|| Rate::new(r)));
quantity!(LaneRate, LANE_RATE, |r| (r > 0).then(|| LaneRate(Rate::new(r))));
quantity!(Frequency, FREQUENCY, |h| (h > 0).then(|| Frequency::new(h)));
quantity!(Voltage, VOLTAGE, |mv| Some(Voltage::from_mv(mv)));
quantity!(Current, CURRENT, |ua| Some(Current::from_ua(ua)));
quantity!(Power, POWER, |uw| Some(Power::from_uw(uw)));
quantity!(ThermalResistance, THERMAL_RESISTANCE, |mk| Some(ThermalResistance::from_thousandths(mk)));
quantity!(Temperature, TEMPERATURE, |mc| Some(Temperature::from_thousandths(mc)));
quantity!(Age, AGE, |s| Some(Age::from_secs(s)));
as_text!(Ratio, RATIO);

/// The number of decimals of a percentage that billionths hold. A text with more decimals becomes the nearest number.
const DECIMALS: usize = 7;

/// The count of billionths below which `f64` holds every whole number.
const EXACT_BILLIONTHS: u64 = 1 << 53;

fn billionths(count: u64) -> f64 {
    count as f64 * 1e-9
}

impl FromStr for Ratio {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        RATIO.parse(text)?;
        let number = text.trim().trim_end_matches('%').trim_end().replace('_', "");
        let (whole, decimals) = number.split_once('.').unwrap_or((&number, ""));
        if decimals.len() <= DECIMALS {
            let near = format!("{whole}{decimals:0<DECIMALS$}").parse().unwrap_or(u64::MAX);
            if near < EXACT_BILLIONTHS {
                return Ok(Self::new(billionths(near)));
            }
        }
        format!("{number}e-2").parse().map(Self::new).map_err(|_| RATIO.error(text, Wrong::Form))
    }
}

/// The text of a quantity that reads back as exactly the same quantity, for files. `Display` is for people, and rounds.
pub trait Exact {
    /// The text that parses to exactly this value, in the largest unit that divides the value.
    fn exact(&self) -> String;
}

/// Uses the largest unit that divides `value`, so that no rounding is needed.
fn exact(kind: &UnitTable, value: u64) -> String {
    let best = kind.units.iter().filter(|(_, size)| value.is_multiple_of(*size)).max_by_key(|(_, size)| *size);
    let (name, size) = best.expect("every kind has a unit of size one");
    if value == 0 { format!("0{}", kind.units[0].0) } else { format!("{}{name}", value / size) }
}

impl Exact for Span {
    fn exact(&self) -> String {
        exact(&SPAN, self.as_ps())
    }
}

impl Exact for Bytes {
    fn exact(&self) -> String {
        exact(&BYTES, self.get())
    }
}

impl Exact for Rate {
    fn exact(&self) -> String {
        exact(&RATE, self.get())
    }
}

impl Exact for LaneRate {
    fn exact(&self) -> String {
        self.0.exact()
    }
}

impl Exact for Frequency {
    fn exact(&self) -> String {
        exact(&FREQUENCY, self.get())
    }
}

impl Exact for Voltage {
    fn exact(&self) -> String {
        exact(&VOLTAGE, self.as_mv())
    }
}

impl Exact for Current {
    fn exact(&self) -> String {
        exact(&CURRENT, self.as_ua())
    }
}

impl Exact for Power {
    fn exact(&self) -> String {
        exact(&POWER, self.as_uw())
    }
}

impl Exact for ThermalResistance {
    fn exact(&self) -> String {
        exact(&THERMAL_RESISTANCE, self.as_thousandths())
    }
}

impl Exact for Temperature {
    fn exact(&self) -> String {
        exact(&TEMPERATURE, self.as_thousandths())
    }
}

impl Exact for Age {
    fn exact(&self) -> String {
        exact(&AGE, self.as_secs())
    }
}

impl Exact for Ratio {
    fn exact(&self) -> String {
        // Short texts are parsed through billionths, so a share has a short text only if it is a number of billionths.
        let near = (self.get() * 1e9).round();
        if near < EXACT_BILLIONTHS as f64 && billionths(near as u64).to_bits() == self.get().to_bits() {
            let (whole, part) = (near as u64 / 10_000_000, near as u64 % 10_000_000);
            let text = format!("{whole}.{part:07}");
            return format!("{}%", text.trim_end_matches('0').trim_end_matches('.'));
        }
        // The shortest digits of the share, with the point moved by two places.
        let digits = self.get().to_string();
        let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
        let part = format!("{part:0<width$}", width = DECIMALS + 3);
        let whole = format!("{whole}{}", &part[..2]);
        let whole = whole.trim_start_matches('0');
        format!("{}.{}%", if whole.is_empty() { "0" } else { whole }, &part[2..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_notation_of_a_quantity_is_parsed() {
        assert_eq!("25us".parse(), Ok(Span::from_us(25)));
        assert_eq!("1.5 ms".parse(), Ok(Span::from_us(1500)));
        assert_eq!("4KiB".parse(), Ok(Bytes::new(4096)));
        assert_eq!("2KB".parse(), Ok(Bytes::new(2000)));
        assert_eq!("667MB/s".parse(), Ok(Rate::new(667_000_000)));
        assert_eq!("1200MT/s".parse(), Ok(LaneRate(Rate::new(1_200_000_000))));
        assert_eq!("1.2GT/s".parse(), "1200MB/s".parse::<LaneRate>());
        assert!("1200MT/s".parse::<Rate>().is_err(), "of a link nobody knows the width");
        assert_eq!("100MHz".parse(), Ok(Frequency::new(100_000_000)));
        assert_eq!("3.3V".parse(), Ok(Voltage::from_mv(3300)));
        assert_eq!("7%".parse::<Ratio>().map(Ratio::get), Ok(0.07));
    }

    #[test]
    fn an_error_about_a_wrong_unit_names_the_right_units() {
        for text in ["25", "25MB", "us", "-3us", "1e3us", "", "twenty us", "1.2.3us"] {
            let message = text.parse::<Span>().expect_err(text).to_string();
            assert!(message.contains("ps, ns, us, ms, s") && message.contains("25us"), "{message}");
        }
        for text in ["99999999999999999999s", "20000000s", "99999999999999.5s"] {
            let message = text.parse::<Span>().expect_err(text).to_string();
            assert!(message.contains("is too large for a time: write at most 18446744s"), "{message}");
        }
        let message = "0MB/s".parse::<Rate>().expect_err("nothing").to_string();
        assert_eq!(message, "`0MB/s` is a data rate of zero: write one above zero, e.g. \"667MB/s\"");
    }

    #[test]
    fn a_bare_number_in_a_file_is_refused() {
        #[derive(Debug, Deserialize)]
        #[allow(dead_code)]
        struct File {
            read: Span,
        }
        let message = toml::from_str::<File>("read = 25").expect_err("no unit").to_string();
        assert!(message.contains("has no unit") && message.contains("25us"), "{message}");
    }

    #[test]
    fn a_share_keeps_every_decimal() {
        for (text, wanted) in [("12.414348435332%", 0.124_143_484_353_32), ("0.00000001%", 1e-10), ("7%", 0.07)] {
            let share: Ratio = text.parse().expect(text);
            assert_eq!((share.get().to_bits(), share.exact().as_str()), (f64::to_bits(wanted), text));
        }
        assert_eq!((Ratio::ZERO.exact(), Ratio::new(3.0).exact()), ("0%".into(), "300%".into()));
    }

    #[test]
    fn a_large_share_parses_to_the_same_bits() {
        // The billionths of this share need more digits than the product of two floating-point numbers keeps.
        let share = Ratio::new(f64::from_bits(4_708_086_625_679_464_015));
        assert_eq!((share.exact().as_str(), share.exact().parse()), ("589398174.0499093%", Ok(share)));
    }

    proptest! {
        #[test]
        fn a_written_quantity_parses_to_the_same_value(value in any::<u64>()) {
            prop_assert_eq!(Span::from_ps(value).exact().parse(), Ok(Span::from_ps(value)));
            prop_assert_eq!(Bytes::new(value).exact().parse(), Ok(Bytes::new(value)));
            prop_assert_eq!(Voltage::from_mv(value).exact().parse(), Ok(Voltage::from_mv(value)));
            prop_assert_eq!(Current::from_ua(value).exact().parse(), Ok(Current::from_ua(value)));
            prop_assert_eq!(Power::from_uw(value).exact().parse(), Ok(Power::from_uw(value)));
            prop_assert_eq!(ThermalResistance::from_thousandths(value).exact().parse(), Ok(ThermalResistance::from_thousandths(value)));
            prop_assert_eq!(Temperature::from_thousandths(value).exact().parse(), Ok(Temperature::from_thousandths(value)));
            prop_assert_eq!(Age::from_secs(value).exact().parse(), Ok(Age::from_secs(value)));
            let above = value.max(1);
            prop_assert_eq!(Rate::new(above).exact().parse(), Ok(Rate::new(above)));
            prop_assert_eq!(Frequency::new(above).exact().parse(), Ok(Frequency::new(above)));
        }

        #[test]
        fn a_written_share_parses_to_the_same_bits(bits in any::<u64>(), billion in any::<u32>(), nearby in -2..=2_i64) {
            // Arbitrary shares, and the neighbours of shares with few decimals.
            let any = f64::from_bits(bits);
            let near = f64::from_bits((f64::from(billion) * 1e-9).to_bits().saturating_add_signed(nearby));
            for share in [any.abs(), near, f64::from(billion) / 1e9] {
                if share.is_finite() && share < 1e10 {
                    let text = Ratio::new(share).exact();
                    prop_assert_eq!(text.parse::<Ratio>().map(|r| r.get().to_bits()), Ok(share.to_bits()), "{}", text);
                }
            }
        }

        #[test]
        fn a_share_parses_to_the_percentage_written(percent in "[0-9]{1,3}(\\.[0-9]{1,20})?") {
            let share: Ratio = format!("{percent}%").parse().expect("a share");
            prop_assert_eq!(share.exact().parse(), Ok(share));
            let meant: f64 = format!("{percent}e-2").parse().expect("a number");
            prop_assert!((share.get() - meant).abs() < 1e-15 * meant.max(1e-3), "{} for {}", share.get(), meant);
        }
    }
}
