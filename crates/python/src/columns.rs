//! Conversion of the columns of any Arrow table to plain values, whatever Arrow types they have.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{AnyDictionaryArray, Array, ArrowPrimitiveType, downcast_dictionary_array};
use arrow_schema::{DataType, TimeUnit};

/// The values of a column, `None` for rows without a value.
pub(crate) enum Values<'a> {
    /// Non-negative whole numbers.
    Whole(Vec<Option<u64>>),
    /// Floating-point numbers.
    Number(Vec<Option<f64>>),
    /// Texts of any Arrow string type.
    Text(Vec<Option<Cow<'a, str>>>),
}

/// Returns the picoseconds of the column's unit of time; `None` if the column has no times.
pub(crate) fn picoseconds(of: &DataType) -> Option<u64> {
    let (DataType::Duration(unit) | DataType::Timestamp(unit, _) | DataType::Time64(unit) | DataType::Time32(unit)) =
        of
    else {
        return None;
    };
    Some(match unit {
        TimeUnit::Second => 1_000_000_000_000,
        TimeUnit::Millisecond => 1_000_000_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000,
    })
}

/// Converts whole numbers; a negative one counts as missing.
fn whole<T: ArrowPrimitiveType>(column: &dyn Array) -> Option<Vec<Option<u64>>>
where
    T::Native: TryInto<u64>,
{
    let column = column.as_primitive_opt::<T>()?;
    Some(column.iter().map(|value| value.and_then(|value| value.try_into().ok())).collect())
}

fn number<T: ArrowPrimitiveType>(column: &dyn Array) -> Option<Vec<Option<f64>>>
where
    T::Native: Into<f64>,
{
    Some(column.as_primitive_opt::<T>()?.iter().map(|value| value.map(Into::into)).collect())
}

fn of_dictionary<K: ArrowDictionaryKeyType>(column: &arrow_array::DictionaryArray<K>) -> Option<Values<'_>> {
    let Values::Text(texts) = values(column.values())? else { return None };
    let keys = column.normalized_keys();
    let at = |(row, key): (usize, usize)| if column.is_null(row) { None } else { texts[key].clone() };
    Some(Values::Text(keys.into_iter().enumerate().map(at).collect()))
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Values<'a> {
    Values::Text(values.map(|text| text.map(Cow::Borrowed)).collect())
}

/// Returns the values of a column; `None` for a type that is neither of numbers, times nor texts.
pub(crate) fn values(column: &dyn Array) -> Option<Values<'_>> {
    Some(match column.data_type() {
        DataType::Utf8 => texts(column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(column.as_string::<i64>().iter()),
        DataType::Utf8View => texts(column.as_string_view().iter()),
        DataType::Dictionary(..) => return downcast_dictionary_array!(column => of_dictionary(column), _ => None),
        DataType::Float32 => Values::Number(number::<Float32Type>(column)?),
        DataType::Float64 => Values::Number(number::<Float64Type>(column)?),
        DataType::Int8 => Values::Whole(whole::<Int8Type>(column)?),
        DataType::Int16 => Values::Whole(whole::<Int16Type>(column)?),
        DataType::Int32 => Values::Whole(whole::<Int32Type>(column)?),
        DataType::Int64 => Values::Whole(whole::<Int64Type>(column)?),
        DataType::UInt8 => Values::Whole(whole::<UInt8Type>(column)?),
        DataType::UInt16 => Values::Whole(whole::<UInt16Type>(column)?),
        DataType::UInt32 => Values::Whole(whole::<UInt32Type>(column)?),
        DataType::UInt64 => Values::Whole(whole::<UInt64Type>(column)?),
        _ => return times(column).map(Values::Whole),
    })
}

/// Returns times in the unit of their type.
fn times(column: &dyn Array) -> Option<Vec<Option<u64>>> {
    use arrow_array::types;
    match column.data_type() {
        DataType::Duration(TimeUnit::Second) => whole::<types::DurationSecondType>(column),
        DataType::Duration(TimeUnit::Millisecond) => whole::<types::DurationMillisecondType>(column),
        DataType::Duration(TimeUnit::Microsecond) => whole::<types::DurationMicrosecondType>(column),
        DataType::Duration(TimeUnit::Nanosecond) => whole::<types::DurationNanosecondType>(column),
        DataType::Timestamp(TimeUnit::Second, _) => whole::<types::TimestampSecondType>(column),
        DataType::Timestamp(TimeUnit::Millisecond, _) => whole::<types::TimestampMillisecondType>(column),
        DataType::Timestamp(TimeUnit::Microsecond, _) => whole::<types::TimestampMicrosecondType>(column),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => whole::<types::TimestampNanosecondType>(column),
        _ => None,
    }
}
