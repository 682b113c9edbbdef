//! Converts a trace of any format to Parquet.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::parquet::{FIELDS, PACING, pacing_text};
use super::pass::{Pass, TimedRequest};
use super::record::Context;
use super::seal::Sealer;
use super::stored::TraceFile;
use super::{TraceOptions, TraceStats};
use crate::SourceError;
use crate::field::{message, metadata};

/// The number of rows of a row group, which is in memory; some 100 bytes each.
const ROWS: usize = 131_072;

/// The creator that Flashloom's Parquet traces name.
pub const CREATOR: &str = "flashloom trace";

/// Counts of a conversion of a trace to Parquet.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversionResult {
    /// The number of requests written.
    pub requests: u64,
    /// The numbers of requests read, skipped and corrected.
    pub stats: TraceStats,
    /// Notes about skipped and corrected requests, and about facts that the file does not state.
    pub notes: Vec<String>,
}

/// Writes a trace into an empty file as Parquet and returns its statistics. Messages call the file `to`.
///
/// The columns are [`FIELDS`]; rows are in the order of time, and groups of 131,072 rows bound the memory.
///
/// The options' skip, limit, volume, tolerance and gap limit apply. Volumes and addresses are not changed, so that
/// every reader of the output can choose its own rules for them.
///
/// # Errors
///
/// If the trace cannot be read or the file cannot be written.
pub fn convert(from: &Path, into: &File, to: &Path, options: &TraceOptions) -> Result<ConversionResult, SourceError> {
    let mut context = Context::new(options);
    let pass = Pass::open(&TraceFile::at(from), options, &mut context)?;
    let requests = write(pass, &mut context, options, into, to)?;
    Ok(ConversionResult {
        requests,
        notes: context.doubts.iter().map(ToString::to_string).chain(context.stats.notes()).collect(),
        stats: context.stats,
    })
}

fn unwritable(to: &Path, why: &str) -> SourceError {
    SourceError::new(format!("cannot be written: {why}"), "check the folder, its permissions and the free space")
        .in_file(to)
}

fn write(
    mut pass: Pass,
    context: &mut Context,
    options: &TraceOptions,
    into: &File,
    to: &Path,
) -> Result<u64, SourceError> {
    let failed = |e: ParquetError| unwritable(to, &e.to_string());
    let pacing = pacing_text(options.pacing.unwrap_or_else(|| pass.pacing()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(CREATOR.to_owned())
        .set_key_value_metadata(Some([&[KeyValue::new(PACING.to_owned(), pacing)][..], &metadata(&FIELDS)].concat()))
        .build();
    let schema = parse_message_type(&message(&FIELDS)).map_err(failed)?;
    let mut writer =
        SerializedFileWriter::new(Sealer::new(BufWriter::new(into)), Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
    let (mut rows, mut written) = (Vec::with_capacity(ROWS), 0);
    loop {
        rows.clear();
        while rows.len() < ROWS {
            match pass.next(context)? {
                Some(timed) => rows.push(timed),
                None => break,
            }
        }
        if rows.is_empty() {
            break;
        }
        let names: Vec<_> = context.volumes.names().iter().map(|name| ByteArray::from(name.as_str())).collect();
        let mut group = writer.next_row_group().map_err(failed)?;
        write_group(&mut group, &rows, &names).map_err(failed)?;
        group.close().map_err(failed)?;
        written += rows.len() as u64;
    }
    // The checksum must include the rows that the writer still buffers, before the footer is held back.
    writer.flush().map_err(|e| unwritable(to, &e.to_string()))?;
    writer.inner_mut().hold();
    let sealer = writer.into_inner().map_err(failed)?;
    let mut buffered = sealer.seal().map_err(|e| unwritable(to, &e.to_string()))?;
    buffered.flush().map_err(|e| unwritable(to, &e.to_string()))?;
    Ok(written)
}

type RowGroupWriter<'a, 'f> = SerializedRowGroupWriter<'a, Sealer<BufWriter<&'f File>>>;

/// Writes the columns in the order of the schema.
fn write_group(
    group: &mut RowGroupWriter<'_, '_>,
    rows: &[TimedRequest],
    names: &[ByteArray],
) -> Result<(), ParquetError> {
    let kinds = base::io::IoKind::ALL.map(|kind| ByteArray::from(kind.name()));
    numbers(group, rows.iter().map(|row| row.at.as_ps()).collect())?;
    texts(group, rows.iter().map(|row| kinds[row.io.kind as usize].clone()).collect())?;
    numbers(group, rows.iter().map(|row| row.io.start.get()).collect())?;
    numbers(group, rows.iter().map(|row| row.io.sectors.get()).collect())?;
    texts(group, rows.iter().map(|row| names[row.volume as usize].clone()).collect())?;
    numbers(group, rows.iter().map(|row| row.io.placement.get().into()).collect())
}

pub(super) fn numbers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: Vec<u64>,
) -> Result<(), ParquetError> {
    // Parquet stores unsigned numbers in the bits of signed ones.
    let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("a column too few".into()))?;
    column.typed::<Int64Type>().write_batch(&values, None, None)?;
    column.close()
}

pub(super) fn texts<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: Vec<ByteArray>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("a column too few".into()))?;
    column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::super::testing::file;
    use super::super::{ExtentRule, Format, VolumeRule, info, open};
    use super::*;
    use crate::{Arrival, Pacing, Source};
    use proptest::prelude::*;

    fn converted(from: &Path, to: &Path, options: &TraceOptions) -> Result<TraceStats, SourceError> {
        convert(from, &File::create(to).unwrap(), to, options).map(|converted| converted.stats)
    }

    fn all(path: &Path, options: &TraceOptions) -> Vec<Arrival> {
        let mut source = open(path, options).unwrap();
        let mut out = Vec::new();
        while let Some(arrival) = source.next().unwrap() {
            out.push(arrival);
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_converted_trace_reads_back(
            requests in prop::collection::vec(
                (0_u64..3, 0_u64..1 << 40, 1_u64..10_000, any::<bool>(), 0_u64..10), 1..200
            )
        ) {
            let mut text = String::new();
            for (n, (step, start, sectors, write, asu)) in requests.iter().enumerate() {
                let bytes = sectors * 512;
                let op = if *write { 'w' } else { 'r' };
                text.push_str(&format!("{asu},{start},{bytes},{op},{n}.{step:012}\n"));
            }
            let from = file(text.as_bytes());
            let dir = tempfile::tempdir().unwrap();
            let to = dir.path().join("t.parquet");
            let options = TraceOptions { volumes: VolumeRule::Overlay, ..TraceOptions::default() };
            converted(from.path(), &to, &options).unwrap();
            prop_assert_eq!(all(from.path(), &options), all(&to, &options));
            let (before, after) = (info(from.path(), &options).unwrap(), info(&to, &options).unwrap());
            prop_assert_eq!(before.volumes, after.volumes);
            prop_assert_eq!(before.footprint, after.footprint);
            let source = open(&to, &options).unwrap();
            prop_assert_eq!((source.format(), source.len_hint()), (Format::Parquet, Some(requests.len() as u64)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn one_wrong_byte_is_always_refused(at in any::<prop::sample::Index>(), change in 1_u8..) {
            let from = file(b"0,0,512,w,1.0\n1,8,4096,r,1.5\n0,16,512,w,1.75\n");
            let dir = tempfile::tempdir().unwrap();
            let to = dir.path().join("t.parquet");
            converted(from.path(), &to, &TraceOptions::default()).unwrap();
            let mut bytes = std::fs::read(&to).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert!(open(file(&bytes).path(), &TraceOptions::default()).is_err());
        }
    }

    #[test]
    fn conversion_keeps_pacing_and_flushes() {
        let from = file(b"fio version 2 iolog\nf write 0 4096\nf sync 0 0\nf trim 4096 512\n");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("t.parquet");
        converted(from.path(), &to, &TraceOptions::default()).unwrap();
        let options = TraceOptions::default();
        assert_eq!(open(&to, &options).unwrap().pacing(), Pacing::Closed { depth: 1 });
        assert_eq!(all(from.path(), &options), all(&to, &options));
    }

    #[test]
    fn conversion_keeps_placement_identifiers() {
        let from = file(b"1,w,8,1,3\n2,r,8,1,3\n3,w,9,1,\n4,w,9,1,65535\n");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("t.parquet");
        let columns = "time=1:us,op=2,offset=3:512B,size=4:512B,placement=5".parse().ok();
        let options = TraceOptions { columns, ..TraceOptions::default() };
        converted(from.path(), &to, &options).unwrap();
        let ids = |all: Vec<Arrival>| all.iter().map(|arrival| arrival.io.placement.get()).collect::<Vec<_>>();
        assert_eq!(ids(all(from.path(), &options)), [3, 0, 0, 65_535]);
        assert_eq!(ids(all(&to, &TraceOptions::default())), [3, 0, 0, 65_535]);
        // Compaction moves the chunks of a request, and the requests keep their identifiers.
        let compact = TraceOptions { extent: ExtentRule::Compact, ..TraceOptions::default() };
        assert_eq!(ids(all(&to, &compact)), [3, 0, 0, 65_535]);
    }

    #[test]
    fn convert_reports_the_requests_it_wrote() {
        let from = file(b"0,0,512,w,1.0\n0,1,512,w,2.0\n0,2,512,r,3.0\n");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("t.parquet");
        let options = TraceOptions { format: Some(Format::Spc), ..TraceOptions::default() };
        for (skip, limit, requests) in [(0, None, 3), (0, Some(2), 2), (1, None, 2), (1, Some(1), 1)] {
            let options = TraceOptions { skip, limit, ..options.clone() };
            let converted = convert(from.path(), &File::create(&to).unwrap(), &to, &options).unwrap();
            assert_eq!(converted.requests, requests);
            assert_eq!(all(&to, &TraceOptions::default()).len() as u64, requests);
        }
    }

    #[test]
    fn an_unreadable_input_or_unwritable_output_is_an_error() {
        let from = file(b"0,0,512,w,1.0\n0,0,512");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("t.parquet");
        let options = TraceOptions { format: Some(Format::Spc), ..TraceOptions::default() };
        assert!(converted(from.path(), &to, &options).is_err());
        let unwritable = File::open(&to).unwrap();
        let error = convert(from.path(), &unwritable, &to, &TraceOptions { limit: Some(1), ..options }).unwrap_err();
        assert!(error.to_string().contains("t.parquet: cannot be written"), "{error}");
    }

    #[test]
    fn damaged_parquet_is_an_error() {
        let from = file(b"0,0,512,w,1.0\n");
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("t.parquet");
        converted(from.path(), &to, &TraceOptions::default()).unwrap();
        let bytes = std::fs::read(&to).unwrap();
        let cut = file(&bytes[..bytes.len() - 5]);
        let error = open(cut.path(), &TraceOptions::default()).err().unwrap();
        assert!(error.message().contains("Parquet data is damaged"), "{error}");
    }
}
