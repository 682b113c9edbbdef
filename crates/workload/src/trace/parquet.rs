//! Flashloom's own Parquet format: one row per request, in order of time.
//!
//! A converted trace has the columns [`FIELDS`], a recording [`RECORDED`]; a file of another tool may leave out
//! `volume`, `placement` and `queue`.
//!
//! Columns are found by name and others are ignored, so that any tool may write such a file. The key `flashloom.pacing`
//! (`open`, `closed:DEPTH` or `replay:DEPTH`) has the pacing of the source. Files written by Flashloom have a
//! [checksum](super::seal), which is checked before any decoding.

use std::fs::File;

use base::io::IoKind;
use parquet::basic::{self, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::field::{Extent, FieldFault, sectors_extent};
use super::head::Head;
use super::input::{Input, open_file};
use super::record::{Context, Records, Skip, TraceRecord};
use super::seal::{self, Seal};
use super::{Format, TraceOptions, profile};
use crate::field::{Field, UnitOfMeasure, Values};
use crate::{Pacing, SourceError};

const AT: Field = Field::new("at_ps", Values::Count, UnitOfMeasure::Picoseconds, "Arrival, from the first request");
const KIND: Field = Field::new(
    "kind",
    Values::Text,
    UnitOfMeasure::None,
    "`read`, `write`, `flush`, `discard`, `append`, or an action on a zone such as `zone_reset`",
);
const LBA: Field = Field::new("lba", Values::Count, UnitOfMeasure::Sectors, "First sector of 512 bytes");
const SECTORS: Field = Field::new("sectors", Values::Count, UnitOfMeasure::Sectors, "Number of sectors");
const VOLUME: Field = Field::new(
    "volume",
    Values::Text,
    UnitOfMeasure::None,
    "The volume, as the trace names it; a reader takes files without it",
);
const PLACEMENT: Field = Field::new(
    "placement",
    Values::Count,
    UnitOfMeasure::None,
    "The placement identifier of a write; a reader takes files without it",
);
const LATENCY: Field = Field::new(
    "latency_ps",
    Values::Count,
    UnitOfMeasure::Picoseconds,
    "From arrival to completion; zero if it never completed",
);
const STATUS: Field = Field::new(
    "status",
    Values::Text,
    UnitOfMeasure::None,
    "`done`, `uncorrectable`, `read_only`, a failure of zones such as `zone_full`, or `lost` if the power was cut before it completed",
);

const QUEUE: Field = Field::new(
    "queue",
    Values::Count,
    UnitOfMeasure::None,
    "The submission queue of the drive, from 0 on; a reader takes files without it",
);

/// The columns of the traces that Flashloom converts.
pub const FIELDS: [Field; 6] = [AT, KIND, LBA, SECTORS, VOLUME, PLACEMENT];
/// The columns of the traces that Flashloom records: those of converted traces, the queue, and the latency and status
/// of each request, which readers of traces ignore.
pub const RECORDED: [Field; 9] = [AT, KIND, LBA, SECTORS, VOLUME, PLACEMENT, LATENCY, STATUS, QUEUE];
/// The key of the pacing in the metadata.
pub(crate) const PACING: &str = "flashloom.pacing";
pub(crate) const REMEDY: &str = "write or fetch the file again (with another tool: uncompressed or with zstd)";
/// The number of rows decoded at once.
const BATCH: usize = 8192;

/// The first bytes of a Parquet file.
pub(crate) const MAGIC: &[u8] = b"PAR1";

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.raw.starts_with(MAGIC)
}

pub(crate) fn pacing_text(pacing: Pacing) -> String {
    match pacing {
        Pacing::Open => "open".to_owned(),
        Pacing::Closed { depth } => format!("closed:{depth}"),
        Pacing::Replay { depth } => format!("replay:{depth}"),
    }
}

fn parse_pacing(text: &str) -> Option<Pacing> {
    let depth = |text: &str| text.parse().ok().filter(|depth| *depth > 0);
    match text.split_once(':') {
        Some(("closed", text)) => depth(text).map(|depth| Pacing::Closed { depth }),
        Some(("replay", text)) => depth(text).map(|depth| Pacing::Replay { depth }),
        _ => (text == "open").then_some(Pacing::Open),
    }
}

#[derive(Clone, Copy)]
struct Columns {
    at: usize,
    at_signed: bool,
    kind: usize,
    lba: usize,
    sectors: usize,
    volume: Option<usize>,
    placement: Option<usize>,
    queue: Option<usize>,
}

struct Parquet {
    path: std::path::PathBuf,
    reader: SerializedFileReader<File>,
    columns: Columns,
    pacing: Pacing,
    group: usize,
    open: Option<RowGroup>,
    row: u64,
}

/// The columns of an open row group.
struct RowGroup {
    left: usize,
    at: ColumnBuffer<Int64Type>,
    kind: ColumnBuffer<ByteArrayType>,
    lba: ColumnBuffer<Int64Type>,
    sectors: ColumnBuffer<Int64Type>,
    volume: Option<ColumnBuffer<ByteArrayType>>,
    placement: Option<ColumnBuffer<Int64Type>>,
    queue: Option<ColumnBuffer<Int64Type>>,
    next: usize,
    held: usize,
}

struct ColumnBuffer<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Vec<i16>,
}

impl<T: DataType> ColumnBuffer<T> {
    fn new(reader: ColumnReader) -> Self {
        Self { reader: get_typed_column_reader(reader), values: Vec::new(), levels: Vec::new() }
    }

    fn fill(&mut self, rows: usize) -> Result<(), ParquetError> {
        self.values.clear();
        self.levels.clear();
        while self.values.len() < rows {
            let left = rows - self.values.len();
            let (records, values, _) =
                self.reader.read_records(left, Some(&mut self.levels), None, &mut self.values)?;
            if values < records {
                return Err(ParquetError::General("a value is null".into()));
            }
            if records == 0 {
                return Err(ParquetError::General("a column is shorter than its row group".into()));
            }
        }
        Ok(())
    }
}

pub(crate) fn open(
    mut input: Input,
    _: Format,
    _: &TraceOptions,
    _: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    let path = input.path().to_path_buf();
    let refuse = |message: String, remedy: &str| SourceError::new(message, remedy).in_file(&path);
    let damaged = |why: String| refuse(format!("the Parquet data is damaged or cut short ({why})"), REMEDY);
    // Parquet is read from the end of a file, so other input is first written to a file.
    let file = if input.is_plain_file() { open_file(&path)? } else { input.spool()? };
    let twin = file.try_clone().map_err(|e| damaged(e.to_string()))?;
    let seal = seal::check(twin).map_err(|e| damaged(e.to_string()))?;
    if seal == Seal::Broken {
        return Err(damaged("its checksum is not that of its bytes".into()));
    }
    let reader = SerializedFileReader::new(file).map_err(|e| damaged(e.to_string()))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let find = |name: &str, physical: basic::Type| {
        let at = (0..schema.num_columns()).find(|n| schema.column(*n).path().string() == name)?;
        let column = schema.column(at);
        let fits = column.physical_type() == physical && column.max_rep_level() == 0 && column.max_def_level() <= 1;
        fits.then_some(at)
    };
    let has = |name: &str| (0..schema.num_columns()).any(|n| schema.column(n).path().string() == name);
    let needed = |name: &str, physical: basic::Type| {
        find(name, physical).ok_or_else(|| {
            let there: Vec<String> = (0..schema.num_columns()).map(|n| schema.column(n).path().string()).collect();
            let (columns, _) = profile::suggestion(&Head::of(there.join(",").as_bytes()));
            let remedy = format!(
                "name its columns with --columns, for example --columns '{columns}' (with its own columns and units); it has {}",
                there.join(", ")
            );
            refuse(format!("there is no column `{name}` of type {physical}"), &remedy)
        })
    };
    let at = needed("at_ps", basic::Type::INT64)?;
    let unsigned = matches!(schema.column(at).logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed);
    let columns = Columns {
        at,
        at_signed: !unsigned,
        kind: needed("kind", basic::Type::BYTE_ARRAY)?,
        lba: needed("lba", basic::Type::INT64)?,
        sectors: needed("sectors", basic::Type::INT64)?,
        volume: find("volume", basic::Type::BYTE_ARRAY),
        // Checked, because otherwise a column of another type would count as a trace without identifiers.
        placement: has("placement").then(|| needed("placement", basic::Type::INT64)).transpose()?,
        queue: has("queue").then(|| needed("queue", basic::Type::INT64)).transpose()?,
    };
    let keys = reader.metadata().file_metadata().key_value_metadata();
    let own = keys.and_then(|keys| keys.iter().find(|key| key.key == PACING));
    if own.is_some() && seal == Seal::None {
        return Err(damaged("its checksum is missing".into()));
    }
    let pacing = own.and_then(|key| key.value.as_deref()).and_then(parse_pacing).unwrap_or(Pacing::Open);
    Ok(Box::new(Parquet { path, reader, columns, pacing, group: 0, open: None, row: 0 }))
}

impl Parquet {
    /// Decodes a row if necessary; returns false at the end.
    fn decode(&mut self) -> Result<bool, ParquetError> {
        loop {
            if let Some(group) = &mut self.open {
                if group.next < group.held {
                    return Ok(true);
                }
                if group.left > 0 {
                    let rows = group.left.min(BATCH);
                    group.at.fill(rows)?;
                    group.kind.fill(rows)?;
                    group.lba.fill(rows)?;
                    group.sectors.fill(rows)?;
                    if let Some(volume) = &mut group.volume {
                        volume.fill(rows)?;
                    }
                    if let Some(placement) = &mut group.placement {
                        placement.fill(rows)?;
                    }
                    if let Some(queue) = &mut group.queue {
                        queue.fill(rows)?;
                    }
                    (group.left, group.next, group.held) = (group.left - rows, 0, rows);
                    return Ok(true);
                }
            }
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group)?;
            self.group += 1;
            let columns = self.columns;
            self.open = Some(RowGroup {
                left: group.metadata().num_rows() as usize,
                at: ColumnBuffer::new(group.get_column_reader(columns.at)?),
                kind: ColumnBuffer::new(group.get_column_reader(columns.kind)?),
                lba: ColumnBuffer::new(group.get_column_reader(columns.lba)?),
                sectors: ColumnBuffer::new(group.get_column_reader(columns.sectors)?),
                volume: columns.volume.map(|n| group.get_column_reader(n)).transpose()?.map(ColumnBuffer::new),
                placement: columns.placement.map(|n| group.get_column_reader(n)).transpose()?.map(ColumnBuffer::new),
                queue: columns.queue.map(|n| group.get_column_reader(n)).transpose()?.map(ColumnBuffer::new),
                next: 0,
                held: 0,
            });
        }
    }

    /// The next row; `None` at the end.
    fn next_row(&mut self, context: &mut Context) -> Result<Option<Result<TraceRecord, Skip>>, FieldFault> {
        if !self.decode().map_err(|e| FieldFault::new(format!("the Parquet data is damaged: {e}")))? {
            return Ok(None);
        }
        let Some(group) = &mut self.open else { return Ok(None) };
        let n = group.next;
        group.next += 1;
        self.row += 1;
        let kind = kind(&group.kind.values[n])?;
        let volume = match &group.volume {
            Some(volume) => context.volumes.id(volume.values[n].data()),
            None => context.volumes.id(b""),
        };
        let raw = group.at.values[n];
        let at = if self.columns.at_signed { i128::from(raw) } else { i128::from(raw as u64) };
        let mut extent = Extent::default();
        if kind != IoKind::Flush {
            let start = positive(group.lba.values[n], "lba")?;
            let sectors = positive(group.sectors.values[n], "number of sectors")?;
            extent = sectors_extent(start, sectors)?;
            if sectors == 0 && !kind.is_bare() {
                return Ok(Some(Err(Skip::Empty)));
            }
        }
        let placement = match &group.placement {
            Some(ids) if kind.names_handle() => placement_id(ids.values[n])?,
            _ => 0,
        };
        let queue = group.queue.as_ref().map(|queues| queue_number(queues.values[n])).transpose()?;
        Ok(Some(Ok(TraceRecord { line: self.row, placement, queue, ..TraceRecord::new(at, kind, extent, volume) })))
    }
}

fn positive(value: i64, what: &str) -> Result<u64, FieldFault> {
    u64::try_from(value).map_err(|_| FieldFault::new(format!("the {what} is negative: {value}")))
}

fn placement_id(value: i64) -> Result<u16, FieldFault> {
    u16::try_from(value)
        .map_err(|_| FieldFault::new(format!("the placement identifier is not within 0 to 65535: {value}")))
}

fn queue_number(value: i64) -> Result<u16, FieldFault> {
    u16::try_from(value).map_err(|_| FieldFault::new(format!("the queue is not within 0 to 65535: {value}")))
}

fn kind(name: &ByteArray) -> Result<IoKind, FieldFault> {
    IoKind::ALL.into_iter().find(|kind| kind.name().as_bytes() == name.data()).ok_or_else(|| {
        FieldFault::new(format!(
            "the kind is none of read, write, flush, discard, append, handle_update and those of zones: {name}"
        ))
    })
}

impl Records for Parquet {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        loop {
            match self.next_row(context) {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(record))) => return Ok(Some(record)),
                Ok(Some(Err(skip))) => context.stats.pass_over(skip),
                Err(fault) => {
                    let message = format!("row {}: {}", self.row, fault.message());
                    return Err(SourceError::new(message, REMEDY).in_file(&self.path));
                }
            }
        }
    }

    fn pacing(&self) -> Pacing {
        self.pacing
    }

    fn len_hint(&self) -> Option<u64> {
        u64::try_from(self.reader.metadata().file_metadata().num_rows()).ok()
    }

    fn is_binary(&self) -> bool {
        true
    }
}
