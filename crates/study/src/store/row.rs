//! A result as a Parquet file of one row: what it is of, its metrics, and its summary.
//!
//! All files have the same columns, so that other programs read a store as one table. The texts of the key and of the
//! summary are the result; the metrics are there for other programs, and are computed from it.

use std::fmt;
use std::sync::{Arc, LazyLock};

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

use super::digest::Digest;
use super::key::Key;
use crate::metric::{Dimension, Metric, catalogue};
use crate::summary::Summary;

/// The program that writes these files, in their metadata.
const CREATOR: &str = "flashloom point";
/// The entry of the metadata with the digest of the texts.
const CHECK: &str = "flashloom.check";

/// The columns before the metrics. Those with `true` hold texts, the others whole numbers.
const FIRST: [(&str, bool); 5] =
    [("digest", true), ("model", false), ("device", true), ("workload", true), ("seed", false)];
/// The columns behind the metrics.
const LAST: [&str; 2] = ["key", "summary"];

/// A result in a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The run.
    pub key: Key,
    /// Its result.
    pub summary: Summary,
}

/// A column of the metrics.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, with the unit of measure.
    pub name: String,
    /// The metric.
    pub metric: Metric,
    /// Its meaning.
    pub meaning: &'static str,
}

/// The reason that a file is not a result.
#[derive(Debug)]
pub(super) enum RowError {
    /// It is not a Parquet file, or damaged.
    Parquet(ParquetError),
    /// It is a Parquet file of something else.
    Foreign,
    /// Its texts are not those that were written.
    Damaged,
    /// It is a result of another version.
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

/// The name of a metric's column: with underscores, and with its unit of measure at the end.
fn column_name(metric: &Metric) -> String {
    let name = metric.to_string().replace(['.', '-'], "_");
    let unit = match metric.dimension() {
        Dimension::Time => "_us",
        Dimension::Rate => "_bytes_per_s",
        Dimension::Energy => "_j",
        Dimension::Share if !name.ends_with("ratio") => "_share",
        Dimension::PerSecond | Dimension::Share | Dimension::Count | Dimension::Plain => "",
    };
    name + unit
}

/// The columns of the metrics: all of the catalogue, but for flash commands by cause, of which there are too many; the
/// summary has them.
#[must_use]
pub fn columns() -> &'static [Column] {
    static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
        let entries = catalogue().into_iter().flat_map(|group| group.entries);
        entries
            .filter(|entry| !entry.name.contains("CAUSE"))
            .flat_map(|entry| {
                let meaning = entry.meaning;
                entry.metrics().into_iter().map(move |metric| Column { name: column_name(&metric), metric, meaning })
            })
            .collect()
    });
    &COLUMNS
}

/// The digest by which a damaged file is found.
fn check(key: &str, summary: &str) -> String {
    Digest::of(format!("{key}\n{summary}").as_bytes()).to_string()
}

fn schema() -> String {
    let first = FIRST.iter().map(|(name, is_text)| match is_text {
        true => format!("required binary {name} (STRING);\n"),
        false => format!("required int64 {name} (INTEGER(64,false));\n"),
    });
    let metrics = columns().iter().map(|column| format!("optional double {};\n", column.name));
    let last = LAST.iter().map(|name| format!("required binary {name} (STRING);\n"));
    format!("message flashloom {{\n{}}}", first.chain(metrics).chain(last).collect::<String>())
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
        // One row needs neither, and both would make each file three times as long.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![KeyValue::new(CHECK.to_owned(), check(&key_text, &summary_text))]));
    for name in LAST {
        let path = ColumnPath::from(name);
        properties = properties.set_column_compression(path, Compression::ZSTD(ZstdLevel::try_new(3)?));
    }
    let schema = Arc::new(parse_message_type(&schema())?);
    let mut file = SerializedFileWriter::new(bytes, schema, Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    let text = |text: &str| [ByteArray::from(text)];
    put::<ByteArrayType>(&mut group, &text(&key.digest().to_string()), None)?;
    put::<Int64Type>(&mut group, &[i64::from(key.model)], None)?;
    put::<ByteArrayType>(&mut group, &text(&summary.device), None)?;
    put::<ByteArrayType>(&mut group, &text(&summary.workload), None)?;
    // Parquet's logical type says that these are the bits of an unsigned number.
    put::<Int64Type>(&mut group, &[key.seed.cast_signed()], None)?;
    for column in columns() {
        let value = column.metric.of(summary);
        put::<DoubleType>(&mut group, value.as_slice(), Some(&[i16::from(value.is_some())]))?;
    }
    put::<ByteArrayType>(&mut group, &text(&key_text), None)?;
    put::<ByteArrayType>(&mut group, &text(&summary_text), None)?;
    group.close()?;
    file.close().map(drop)
}

/// The text in the only row of a column.
fn text(file: &dyn FileReader, name: &str) -> Result<String, RowError> {
    let columns = file.metadata().file_metadata().schema_descr();
    let number = columns.columns().iter().position(|column| column.name() == name).ok_or(RowError::Foreign)?;
    let mut reader = get_typed_column_reader::<ByteArrayType>(file.get_row_group(0)?.get_column_reader(number)?);
    let mut values = Vec::new();
    reader.read_records(1, None, None, &mut values)?;
    let [value] = &values[..] else { return Err(RowError::Damaged) };
    Ok(value.as_utf8().map_err(|_| RowError::Damaged)?.to_owned())
}

/// The texts of the key and of the summary of a file that is whole.
fn texts<R: ChunkReader + 'static>(from: R) -> Result<[String; 2], RowError> {
    let file = SerializedFileReader::new(from)?;
    let meta = file.metadata().file_metadata();
    if meta.created_by() != Some(CREATOR) || meta.num_rows() != 1 || file.num_row_groups() != 1 {
        return Err(RowError::Foreign);
    }
    let entries = meta.key_value_metadata();
    let found = entries.and_then(|all| all.iter().find(|entry| entry.key == CHECK)?.value.clone());
    let [key, summary] = [text(&file, LAST[0])?, text(&file, LAST[1])?];
    if found != Some(check(&key, &summary)) {
        return Err(RowError::Damaged);
    }
    Ok([key, summary])
}

/// Reads the result of a run.
///
/// # Errors
/// If it is damaged, something else, or of another version.
pub(super) fn read<R: ChunkReader + 'static>(from: R) -> Result<Row, RowError> {
    let [key, text] = texts(from)?;
    let key = Key::parse(&key).map_err(|_| RowError::Other)?;
    let summary: Summary = serde_json::from_str(&text).map_err(|_| RowError::Other)?;
    // A result of a version that had other keys would not be equal to one of today.
    if serde_json::to_string(&summary).is_ok_and(|again| again == text) {
        Ok(Row { key, summary })
    } else {
        Err(RowError::Other)
    }
}

/// What any version of Flashloom can say about a result: the model's version, the device, the workload and the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Version of the model.
    pub model: u32,
    /// Name of the device.
    pub device: String,
    /// Name of the workload.
    pub workload: String,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Reads what any version can say about a result.
///
/// # Errors
/// If it is damaged or something else.
pub(super) fn facts<R: ChunkReader + 'static>(from: R) -> Result<Facts, RowError> {
    /// What every version of a key has.
    #[derive(serde::Deserialize)]
    struct Head {
        model: u32,
        seed: u64,
    }
    let file = SerializedFileReader::new(from)?;
    if file.metadata().file_metadata().created_by() != Some(CREATOR) || file.num_row_groups() != 1 {
        return Err(RowError::Foreign);
    }
    let head: Head = serde_json::from_str(&text(&file, LAST[0])?).map_err(|_| RowError::Other)?;
    let [device, workload] = [text(&file, "device")?, text(&file, "workload")?];
    Ok(Facts { model: head.model, device, workload, seed: head.seed })
}
