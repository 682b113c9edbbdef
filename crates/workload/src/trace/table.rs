//! A table whose columns the user names, as text or as Parquet.
//!
//! Columns of Parquet are named as in its schema, or numbered from 1. Their values have the meaning of the same text in
//! a CSV, with the units that the user gives; a column whose schema states another unit of time is refused.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{self, LogicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use super::columns::{ColumnPlace, Columns};
use super::csv::{Csv, PLACEMENT};
use super::field::FieldFault;
use super::input::{Input, open_file};
use super::record::{Context, Records, TraceRecord};
use super::text::{self, LineContent};
use super::units::TimeUnit;
use super::{Format, TraceOptions};
use crate::SourceError;

/// The roles of columns, as messages name them.
const ROLES: [&str; 6] = ["time", "operation", "offset", "size", "volume", PLACEMENT];

pub(crate) fn open(
    mut input: Input,
    format: Format,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    if input.head()?.starts_with(super::parquet::MAGIC) {
        let columns = options.columns.clone().unwrap_or_default();
        return Ok(Box::new(ForeignParquet::open(input, columns)?));
    }
    text::open::<Csv>(input, format, options, context)
}

/// A Parquet file of another program.
struct ForeignParquet {
    path: PathBuf,
    rows: RowIter<'static>,
    csv: Csv,
    /// The position of the column of each role in a row.
    places: [Option<usize>; 6],
    /// The write after a preflush, which makes two requests of one row.
    pending: Option<TraceRecord>,
    row: u64,
}

/// The columns of a schema that hold single values, by the places that the user gave.
fn find(fields: &[Arc<Type>], columns: &Columns) -> Result<[Option<usize>; 6], FieldFault> {
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    let position = |place: &ColumnPlace, role: &str| {
        let at = match place {
            ColumnPlace::Numbered(n) => Some(*n).filter(|n| *n < names.len()),
            ColumnPlace::Named(name) => {
                let exact = names.iter().position(|other| other == name);
                exact.or_else(|| names.iter().position(|other| other.eq_ignore_ascii_case(name)))
            }
        };
        let shown = match place {
            ColumnPlace::Numbered(n) => (n + 1).to_string(),
            ColumnPlace::Named(name) => format!("`{name}`"),
        };
        let missing = || {
            FieldFault::new(format!(
                "the Parquet file has no column {shown} for the {role}; it has {}",
                names.join(", ")
            ))
        };
        let at = at.ok_or_else(missing)?;
        if fields[at].is_group() {
            return Err(FieldFault::new(format!("the column {shown} for the {role} holds lists or groups")));
        }
        Ok(at)
    };
    let Columns { time, op, offset, size, volume, placement, .. } = columns;
    let mut places = [None; 6];
    let wanted = [Some(time), Some(op), Some(offset), Some(size), volume.as_ref(), placement.as_ref()];
    for (n, place) in wanted.into_iter().enumerate() {
        places[n] = place.map(|place| position(place, ROLES[n])).transpose()?;
    }
    Ok(places)
}

fn stated(field: &Type) -> Option<TimeUnit> {
    match field.get_basic_info().logical_type_ref()? {
        LogicalType::Timestamp(stamp) => Some(match stamp.unit {
            basic::TimeUnit::MILLIS => TimeUnit::Millisecond,
            basic::TimeUnit::MICROS => TimeUnit::Microsecond,
            basic::TimeUnit::NANOS => TimeUnit::Nanosecond,
        }),
        _ => None,
    }
}

impl ForeignParquet {
    fn open(mut input: Input, columns: Columns) -> Result<Self, SourceError> {
        let path = input.path().to_path_buf();
        let damaged = |error: ParquetError| {
            SourceError::new(format!("the Parquet data is damaged or cut short ({error})"), super::parquet::REMEDY)
                .in_file(&path)
        };
        let refuse = |fault: FieldFault| {
            SourceError::new(fault.message(), "correct --columns: a column is a name of the schema or a number from 1")
                .in_file(&path)
        };
        let file: File = if input.is_plain_file() { open_file(&path)? } else { input.spool()? };
        let reader = SerializedFileReader::new(file).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
        let fields = schema.get_fields();
        let places = find(fields, &columns).map_err(refuse)?;
        if let Some(unit) = places[0].and_then(|time| stated(&fields[time]))
            && unit != columns.units.time
        {
            let message =
                format!("the schema says that times are in {unit}, and --columns says {}", columns.units.time);
            return Err(refuse(FieldFault::new(message)));
        }
        // Only the needed columns are decoded, in the order of the schema.
        let used: Vec<usize> = (0..fields.len()).filter(|n| places.contains(&Some(*n))).collect();
        let kept = used.iter().map(|n| Arc::clone(&fields[*n])).collect();
        let projection = Type::group_type_builder(schema.name()).with_fields(kept).build().map_err(damaged)?;
        let rows = reader.into_iter().project(Some(projection)).map_err(damaged)?;
        let places = places.map(|place| place.and_then(|place| used.iter().position(|n| *n == place)));
        Ok(Self { path, rows, csv: Csv::new(columns), places, pending: None, row: 0 })
    }

    fn parse(&self, row: &Row, context: &mut Context) -> Result<LineContent, FieldFault> {
        let cells: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        let mut texts: [Option<String>; 6] = Default::default();
        for (n, text) in texts.iter_mut().enumerate() {
            *text =
                self.places[n].and_then(|place| cells.get(place)).map(|field| shown(field, ROLES[n])).transpose()?;
        }
        self.csv.request(texts.each_ref().map(|text| text.as_ref().map(String::as_bytes)), context)
    }
}

/// A value as a CSV would have it; empty for a null.
fn shown(field: &Field, role: &str) -> Result<String, FieldFault> {
    Ok(match field {
        Field::Null => String::new(),
        Field::Bool(value) => u8::from(*value).to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) | Field::TimestampMillis(value) | Field::TimestampMicros(value) => value.to_string(),
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        Field::Bytes(value) => String::from_utf8_lossy(value.data()).into_owned(),
        other => return Err(FieldFault::new(format!("the {role} is neither a number nor a text: {other}"))),
    })
}

impl Records for ForeignParquet {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        if let Some(record) = self.pending.take() {
            return Ok(Some(record));
        }
        loop {
            self.row += 1;
            let failed = |message: &str, remedy: &str| {
                SourceError::new(format!("row {}: {message}", self.row), remedy).in_file(&self.path)
            };
            let Some(row) = self.rows.next() else { return Ok(None) };
            let row =
                row.map_err(|error| failed(&format!("the Parquet data is damaged: {error}"), super::parquet::REMEDY))?;
            let parsed = self.parse(&row, context);
            let remedy = "correct the row, or the columns in --columns";
            match parsed.map_err(|fault| failed(fault.message(), remedy))? {
                LineContent::Request(record) => return Ok(Some(TraceRecord { line: self.row, ..record })),
                LineContent::FlushThen(record) => {
                    let record = TraceRecord { line: self.row, ..record };
                    self.pending = Some(record);
                    return Ok(Some(TraceRecord { line: self.row, ..TraceRecord::flush(record.at, record.volume) }));
                }
                LineContent::Skip(skip) => context.stats.pass_over(skip),
            }
        }
    }

    fn is_binary(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use base::io::IoKind;
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::super::testing::file;
    use super::super::{TraceOptions, info, open};
    use super::*;
    use crate::{Arrival, Source};

    /// A file as pandas or Spark writes it, with other columns between those of a trace.
    fn foreign(time: &str) -> Vec<u8> {
        let message = format!(
            "message schema {{ optional double latency; {time}; optional binary op (UTF8); required int64 offset; \
             optional int32 size; }}"
        );
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
        let schema = Arc::new(parse_message_type(&message).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5; 3], Some(&[1; 3]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        if time.contains("double") {
            column.typed::<DoubleType>().write_batch(&[1.5, 2.5, 2.75], None, None).unwrap();
        } else {
            column.typed::<Int64Type>().write_batch(&[1_500, 2_500, 2_750], None, None).unwrap();
        }
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ops = ["R", "Write", "r"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&ops, Some(&[1; 3]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[4096, 8192, 0], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[512, 1024, 0], Some(&[1; 3]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    fn read(bytes: &[u8], columns: &str) -> Result<Vec<Arrival>, SourceError> {
        let options = TraceOptions { columns: Some(columns.parse().unwrap()), ..TraceOptions::default() };
        let file = file(bytes);
        let mut source = open(file.path(), &options)?;
        let mut out = Vec::new();
        while let Some(arrival) = source.next()? {
            out.push(arrival);
        }
        assert_eq!(source.stats().empty, 1);
        Ok(out)
    }

    #[test]
    fn foreign_parquet_is_read_by_name_and_by_number() {
        let whole = foreign("required int64 ts");
        let named = read(&whole, "time=ts:ms,op=op,offset=offset:B,size=size:B").unwrap();
        let kinds: Vec<_> = named.iter().map(|arrival| (arrival.io.kind, arrival.io.start.get())).collect();
        assert_eq!(kinds, [(IoKind::Read, 8), (IoKind::Write, 16)]);
        assert_eq!(named[1].at.as_ps(), 1_000_000_000_000);
        assert_eq!(read(&whole, "time=2:ms,op=3,offset=4:B,size=5:B").unwrap(), named);
        let decimals = foreign("required double ts");
        assert_eq!(read(&decimals, "time=ts:s,op=op,offset=offset:B,size=size:B").unwrap(), named);
        let packed = zstd::encode_all(&whole[..], 1).unwrap();
        assert_eq!(read(&packed, "time=ts:ms,op=op,offset=offset:B,size=size:B").unwrap(), named);
        // A unit that differs from the schema's is refused.
        let stamps = foreign("required int64 ts (TIMESTAMP(MILLIS,true))");
        assert_eq!(read(&stamps, "time=ts:ms,op=op,offset=offset:B,size=size:B").unwrap(), named);
        let error = read(&stamps, "time=ts:us,op=op,offset=offset:B,size=size:B").unwrap_err();
        assert!(error.message().contains("the schema says that times are in ms"), "{error}");
    }

    #[test]
    fn faults_name_the_row_or_the_column() {
        let whole = foreign("required int64 ts");
        let refused = |columns: &str| read(&whole, columns).unwrap_err().to_string();
        let missing = refused("time=when:ms,op=op,offset=offset:B,size=size:B");
        assert!(missing.contains("no column `when` for the time; it has latency, ts, op, offset, size"), "{missing}");
        assert!(refused("time=ts:ms,op=9,offset=offset:B,size=size:B").contains("no column 9 for the operation"));
        assert!(
            refused("time=ts:ms,op=latency,offset=offset:B,size=size:B").contains("row 1: the operation is neither")
        );
        let options = TraceOptions::default();
        let error = info(file(&whole).path(), &options).unwrap_err();
        assert!(error.remedy().contains("--columns") && error.remedy().contains("latency"), "{error}");
    }
}
