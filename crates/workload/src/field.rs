//! Fields of tables in files: the name, type, unit of measure and meaning of each column, in one place.
//!
//! A Parquet file's schema, its metadata, the header of a CSV and the reference page are made from one list of
//! [`Field`]s.

mod arrow;

use std::borrow::Cow;

use parquet::file::metadata::KeyValue;

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Unsigned whole numbers of 64 bits.
    Count,
    /// Floating-point numbers; empty for a missing value.
    Number,
    /// Strings in UTF-8.
    Text,
}

impl Values {
    /// The name of the type in the reference and in `flashloom schema results`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "whole number",
            Self::Number => "number or empty",
            Self::Text => "text",
        }
    }
}

/// The unit of measure of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitOfMeasure {
    /// No unit: a text, a count or a quotient.
    None,
    /// Whole picoseconds, the unit of simulated time.
    Picoseconds,
    /// Microseconds, with a fraction.
    Microseconds,
    /// Seconds, with a fraction.
    Seconds,
    /// Bytes, as a whole number.
    Bytes,
    /// Sectors of 512 bytes.
    Sectors,
    /// Bytes per second, with a fraction.
    BytesPerSecond,
    /// Requests per second.
    PerSecond,
    /// Joules, with a fraction.
    Joules,
    /// Watts, with a fraction.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// A share of a whole, which is 1.
    Share,
}

impl UnitOfMeasure {
    /// Every unit, for the reference.
    pub const ALL: [Self; 12] = [
        Self::None,
        Self::Picoseconds,
        Self::Microseconds,
        Self::Seconds,
        Self::Bytes,
        Self::Sectors,
        Self::BytesPerSecond,
        Self::PerSecond,
        Self::Joules,
        Self::Watts,
        Self::Celsius,
        Self::Share,
    ];

    /// The unit's symbol in metadata; empty without a unit.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Picoseconds => "ps",
            Self::Microseconds => "us",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Sectors => "512B",
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "1/s",
            Self::Joules => "J",
            Self::Watts => "W",
            Self::Celsius => "Cel",
            Self::Share => "1",
        }
    }

    /// The end of a column's name that states the unit. Empty for counts of sectors, shares and numbers without a unit,
    /// whose names are clear without it.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None | Self::Sectors | Self::Share => "",
            Self::Picoseconds => "_ps",
            Self::Microseconds => "_us",
            Self::Seconds => "_s",
            Self::Bytes => "_bytes",
            Self::BytesPerSecond => "_bytes_per_s",
            Self::PerSecond => "_per_s",
            Self::Joules => "_j",
            Self::Watts => "_w",
            Self::Celsius => "_celsius",
        }
    }

    /// True if a column's name ends with this unit.
    #[must_use]
    pub fn ends(self, name: &str) -> bool {
        name.ends_with(self.suffix()) || name == self.suffix().trim_start_matches('_')
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the column, with its unit at the end.
    pub name: Cow<'static, str>,
    /// Type of the values, which decides the type of a column.
    pub values: Values,
    /// Unit of measure of the values, which names of columns end with.
    pub unit: UnitOfMeasure,
    /// The meaning of the values, as a sentence for readers.
    pub meaning: Cow<'static, str>,
}

impl Field {
    /// Creates a column with constant name and meaning.
    #[must_use]
    pub const fn new(name: &'static str, values: Values, unit: UnitOfMeasure, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), values, unit, meaning: Cow::Borrowed(meaning) }
    }

    /// Creates a column whose name and meaning are computed.
    #[must_use]
    pub const fn named(name: String, values: Values, unit: UnitOfMeasure, meaning: String) -> Self {
        Self { name: Cow::Owned(name), values, unit, meaning: Cow::Owned(meaning) }
    }
}

/// The schema of a Parquet file with these columns, as Parquet writes schemas.
#[must_use]
pub fn message(fields: &[Field]) -> String {
    let line = |field: &Field| match field.values {
        Values::Count => format!("required int64 {} (INTEGER(64,false));\n", field.name),
        Values::Number => format!("optional double {};\n", field.name),
        Values::Text => format!("required binary {} (STRING);\n", field.name),
    };
    format!("message flashloom {{\n{}}}", fields.iter().map(line).collect::<String>())
}

/// The metadata of a Parquet file that describe its columns. Readers that know Arrow's fields (pyarrow, pandas, polars)
/// find `description` and `unit` of each column; all others find a key `flashloom.column.NAME`.
#[must_use]
pub fn metadata(fields: &[Field]) -> Vec<KeyValue> {
    let entry = |field: &Field| {
        let unit =
            if field.unit == UnitOfMeasure::None { String::new() } else { format!(" [{}]", field.unit.symbol()) };
        KeyValue::new(format!("flashloom.column.{}", field.name), format!("{}{unit}", field.meaning))
    };
    let arrow = KeyValue::new(arrow::KEY.to_owned(), arrow::schema(fields));
    std::iter::once(arrow).chain(fields.iter().map(entry)).collect()
}
