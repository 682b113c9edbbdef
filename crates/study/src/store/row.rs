//! A result as a Parquet file of one row: the run, its metrics, and its summary.
//!
//! All files have the same columns, so that other programs read a store as one table. The texts of the key and of the
//! summary are the result; the metrics are copies for other programs.

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use workload::field::{Field, UnitOfMeasure, Values, message};

use super::digest::Digest;
use super::key::Key;
use crate::metric::{Dimension, Metric, MetricEntry, catalogue};
use crate::summary::Summary;

/// The program that writes these files, in their metadata.
const CREATOR: &str = "flashloom point";
/// The entry of the metadata with the digest of the texts.
const CHECK: &str = "flashloom.check";

/// The columns before the metrics.
const FIRST: [Field; 5] = [
    Field::new("digest", Values::Text, UnitOfMeasure::None, "The digest of the key"),
    Field::new("model", Values::Count, UnitOfMeasure::None, "Version of the model"),
    Field::new("device", Values::Text, UnitOfMeasure::None, "Name of the device"),
    Field::new("workload", Values::Text, UnitOfMeasure::None, "Name of the workload"),
    Field::new("seed", Values::Count, UnitOfMeasure::None, "Seed of all random streams"),
];
/// The columns behind the metrics.
const LAST: [Field; 2] = [
    Field::new("key", Values::Text, UnitOfMeasure::None, "The key of the run as JSON: all that determines the result"),
    Field::new("summary", Values::Text, UnitOfMeasure::None, "The result as JSON: what `run --json` prints"),
];
/// The names of the last two columns.
const KEY: &str = "key";
const SUMMARY: &str = "summary";

/// A result in a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The key of the run.
    pub key: Key,
    /// The result of the run.
    pub summary: Summary,
}

impl Row {
    /// The bytes of the result's file.
    #[must_use]
    pub fn bytes(key: &Key, summary: &Summary) -> Vec<u8> {
        write(key, summary)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// If they are damaged, of another kind, or of another version.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, RowError> {
        read(Bytes::from(bytes))
    }
}

#[derive(Clone, Debug)]
struct MetricColumn {
    metric: Metric,
    field: Field,
}

/// The reason that a file is not a result.
#[derive(Debug)]
pub enum RowError {
    /// The file is not a Parquet file, or is damaged.
    Parquet(ParquetError),
    /// The file is a Parquet file of another kind.
    Foreign,
    /// The texts have another digest than the one written with them.
    Damaged,
    /// The file is a result of another version.
    Other,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parquet(error) => write!(f, "is damaged or not a Parquet file ({error})"),
            Self::Foreign => f.write_str("is not the result of a run"),
            Self::Damaged => f.write_str("is damaged"),
            Self::Other => f.write_str("is a result of another version of Flashloom"),
        }
    }
}

impl std::error::Error for RowError {}

impl From<ParquetError> for RowError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

/// The column of a metric: its name with underscores, and with its unit of measure at the end.
fn field(metric: &Metric, meaning: &str) -> Field {
    let unit = match metric.dimension() {
        Dimension::Time => UnitOfMeasure::Microseconds,
        Dimension::Rate => UnitOfMeasure::BytesPerSecond,
        Dimension::PerSecond => UnitOfMeasure::PerSecond,
        Dimension::Energy => UnitOfMeasure::Joules,
        Dimension::Share => UnitOfMeasure::Share,
        Dimension::Count | Dimension::Plain => UnitOfMeasure::None,
    };
    let name = metric.to_string().replace(['.', '-'], "_");
    let name = if unit.ends(&name) { name } else { name + unit.suffix() };
    Field::named(name, Values::Number, unit, format!("The metric `{metric}`: {meaning}"))
}

/// The columns of the metrics: all of the catalogue except metrics of single flows and of flash commands by cause,
/// which the summary has.
fn metrics() -> &'static [MetricColumn] {
    static COLUMNS: LazyLock<Vec<MetricColumn>> = LazyLock::new(|| {
        let entries = catalogue().into_iter().flat_map(|group| group.entries);
        let single = |entry: &MetricEntry| !entry.name.contains("CAUSE") && !entry.name.contains("NAME");
        let columns = |entry: MetricEntry| {
            let column = move |metric: Metric| MetricColumn { field: field(&metric, entry.meaning), metric };
            entry.metrics().into_iter().map(column).collect::<Vec<_>>()
        };
        entries.filter(single).flat_map(columns).collect()
    });
    &COLUMNS
}

/// The columns of a result's file.
#[must_use]
pub fn columns() -> Vec<Field> {
    let metrics = metrics().iter().map(|column| column.field.clone());
    FIRST.into_iter().chain(metrics).chain(LAST).collect()
}

/// The digest of both texts, to find a damaged file.
fn check(key: &str, summary: &str) -> String {
    Digest::of(format!("{key}\n{summary}").as_bytes()).to_string()
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// The file of a result.
///
/// # Panics
/// Never: memory can be written, and every result has a text.
#[must_use]
pub(super) fn write(key: &Key, summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    into(&mut bytes, key, summary).expect("memory can be written");
    bytes
}

fn into(bytes: &mut Vec<u8>, key: &Key, summary: &Summary) -> Result<(), ParquetError> {
    let [key_text, summary_text] = [serde_json::to_string(key), serde_json::to_string(summary)];
    let [key_text, summary_text] = [key_text, summary_text].map(|text| text.expect("numbers, texts and tables"));
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATOR.to_owned())
        // A single row needs neither, and both would make each file three times as long.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![KeyValue::new(CHECK.to_owned(), check(&key_text, &summary_text))]));
    for name in [KEY, SUMMARY] {
        let path = ColumnPath::from(name);
        properties = properties.set_column_compression(path, Compression::ZSTD(ZstdLevel::try_new(3)?));
    }
    let schema = Arc::new(parse_message_type(&message(&columns()))?);
    let mut file = SerializedFileWriter::new(bytes, schema, Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    let text = |text: &str| [ByteArray::from(text)];
    put::<ByteArrayType>(&mut group, &text(&key.digest().to_string()), None)?;
    put::<Int64Type>(&mut group, &[i64::from(key.model)], None)?;
    put::<ByteArrayType>(&mut group, &text(&summary.device), None)?;
    put::<ByteArrayType>(&mut group, &text(&summary.workload), None)?;
    // By Parquet's logical type, the column has the bits of an unsigned number.
    put::<Int64Type>(&mut group, &[key.seed.cast_signed()], None)?;
    for column in metrics() {
        let value = column.metric.of(summary);
        put::<DoubleType>(&mut group, value.as_slice(), Some(&[i16::from(value.is_some())]))?;
    }
    put::<ByteArrayType>(&mut group, &text(&key_text), None)?;
    put::<ByteArrayType>(&mut group, &text(&summary_text), None)?;
    group.close()?;
    file.close().map(drop)
}

/// The text in a column, of which there is only one row.
fn text(file: &dyn FileReader, name: &str) -> Result<String, RowError> {
    let columns = file.metadata().file_metadata().schema_descr();
    let number = columns.columns().iter().position(|column| column.name() == name).ok_or(RowError::Foreign)?;
    let mut reader = get_typed_column_reader::<ByteArrayType>(file.get_row_group(0)?.get_column_reader(number)?);
    let mut values = Vec::new();
    reader.read_records(1, None, None, &mut values)?;
    let [value] = &values[..] else { return Err(RowError::Damaged) };
    Ok(value.as_utf8().map_err(|_| RowError::Damaged)?.to_owned())
}

/// The texts of the key and of the summary, checked by their digest.
fn texts(file: &dyn FileReader) -> Result<[String; 2], RowError> {
    let meta = file.metadata().file_metadata();
    if meta.created_by() != Some(CREATOR) || meta.num_rows() != 1 || file.num_row_groups() != 1 {
        return Err(RowError::Foreign);
    }
    let entries = meta.key_value_metadata();
    let found = entries.and_then(|all| all.iter().find(|entry| entry.key == CHECK)?.value.clone());
    let [key, summary] = [text(file, KEY)?, text(file, SUMMARY)?];
    if found != Some(check(&key, &summary)) {
        return Err(RowError::Damaged);
    }
    Ok([key, summary])
}

/// Reads the result of a run.
///
/// # Errors
///
/// If it is damaged, of another kind, or of another version.
pub(super) fn read<R: ChunkReader + 'static>(from: R) -> Result<Row, RowError> {
    let bytes = from.get_bytes(0, from.len() as usize)?;
    let file = SerializedFileReader::new(bytes.clone())?;
    let row = row_of(&file)?;
    // The digest covers the texts, and neither the other columns nor the description of the file. So the file is
    // compared with the one that this version writes for the run. Only a version with more or fewer columns writes
    // another one.
    let is_of_this_version = file.metadata().file_metadata().schema_descr().num_columns() == columns().len();
    if is_of_this_version && write(&row.key, &row.summary) != bytes {
        return Err(RowError::Damaged);
    }
    Ok(row)
}

fn row_of(file: &dyn FileReader) -> Result<Row, RowError> {
    let [key, text] = texts(file)?;
    let key = Key::parse(&key).map_err(|_| RowError::Other)?;
    let summary: Summary = serde_json::from_str(&text).map_err(|_| RowError::Other)?;
    // A result of a version with other keys reads differently when it is written again.
    if serde_json::to_string(&summary).is_ok_and(|again| again == text) {
        Ok(Row { key, summary })
    } else {
        Err(RowError::Other)
    }
}

/// The facts that every version of Flashloom can read of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Version of the model with which the result was computed.
    pub model: u32,
    /// Name of the device in its description.
    pub device: String,
    /// Name of the workload in its description.
    pub workload: String,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Reads the facts that every version can read of a result.
///
/// # Errors
///
/// If it is damaged or of another kind.
pub(super) fn facts<R: ChunkReader + 'static>(from: R) -> Result<Facts, RowError> {
    /// The keys that every version of this document has.
    #[derive(serde::Deserialize)]
    struct Head {
        model: u32,
        seed: u64,
    }
    let file = SerializedFileReader::new(from)?;
    if file.metadata().file_metadata().created_by() != Some(CREATOR) || file.num_row_groups() != 1 {
        return Err(RowError::Foreign);
    }
    let head: Head = serde_json::from_str(&text(&file, KEY)?).map_err(|_| RowError::Other)?;
    let [device, workload] = [text(&file, "device")?, text(&file, "workload")?];
    Ok(Facts { model: head.model, device, workload, seed: head.seed })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::path::Path;

    use parquet::record;

    use super::*;

    /// Compares the columns of a file with its summary.
    pub(in crate::store) fn check_columns(path: &Path) {
        let file = SerializedFileReader::new(File::open(path).expect("there")).expect("Parquet");
        let mut rows = file.get_row_iter(None).expect("rows");
        let record: record::Row = rows.next().expect("a row").expect("sound");
        assert!(rows.next().is_none(), "one row");
        let Row { key, summary } = super::row_of(&file).expect("a result");
        let mut seen = Vec::new();
        for (name, value) in record.get_column_iter() {
            seen.push(name.clone());
            let metric = metrics().iter().find(|column| column.field.name == **name);
            let wanted = metric.map(|column| column.metric.of(&summary));
            match (value, wanted) {
                (record::Field::Double(value), Some(Some(wanted))) => {
                    assert_eq!(value.to_bits(), wanted.to_bits(), "{name}")
                }
                (record::Field::Null, Some(None)) => {}
                (record::Field::ULong(number), None) if name == "seed" => assert_eq!(*number, key.seed),
                (record::Field::ULong(number), None) if name == "model" => assert_eq!(*number, u64::from(key.model)),
                (record::Field::Str(text), None) if name == "digest" => assert_eq!(*text, key.digest().to_string()),
                (record::Field::Str(text), None) if name == "device" => assert_eq!(*text, summary.device),
                (record::Field::Str(text), None) if name == "workload" => assert_eq!(*text, summary.workload),
                (record::Field::Str(_), None) if [KEY, SUMMARY].contains(&name.as_str()) => {}
                other => panic!("{name}: {other:?}"),
            }
        }
        let columns: Vec<String> = columns().into_iter().map(|field| field.name.into_owned()).collect();
        assert_eq!(seen, columns, "all files have the same columns");
    }

    #[test]
    fn columns_have_their_units_of_measure_in_their_names() {
        let names: Vec<String> = columns().into_iter().map(|field| field.name.into_owned()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no name twice");
        for name in
            ["read_p99_us", "rate_bytes_per_s", "requests_per_s", "energy_j", "slc_wear", "log_k", "map_hit_ratio"]
        {
            assert!(names.iter().any(|other| other == name), "{name}");
        }
        assert!(columns().iter().all(|field| !field.meaning.is_empty() && field.unit.ends(&field.name)));
    }
}
