//! Writes a trace during the recording: the file is complete after each group of requests.
//!
//! The writer returns bytes. The bytes of the groups follow one another and do not change. After the last group come
//! the bytes that end the file, the checksum and the footer, which the next group replaces.

use std::sync::Arc;

use base::io::Io;
use base::units::Time;
use flate2::Crc;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::convert::{CREATOR, numbers, texts};
use super::parquet::{PACING, RECORDED, pacing_text};
use super::seal::sealed;
use crate::Pacing;
use crate::field::{message, metadata};

/// A request of a recording, with the times of its arrival and its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The time at which the drive received the request.
    pub at: Time,
    /// Kind, address and length of the request.
    pub io: Io,
    /// The time at which the request completed; its time of arrival if it never did.
    pub end: Time,
    /// The name of the status with which the request ended.
    pub status: &'static str,
    /// The submission queue of the drive.
    pub queue: u16,
}

/// Computes the bytes of a recording.
pub struct TraceWriter {
    groups: SerializedFileWriter<Vec<u8>>,
    keys: Vec<KeyValue>,
    /// The checksum of all bytes except those that end the file.
    crc: Crc,
    rows: i64,
}

fn failed(error: ParquetError) -> std::io::Error {
    std::io::Error::other(error)
}

impl TraceWriter {
    /// Creates the writer of a recording whose requests are issued at their own times.
    ///
    /// # Errors
    ///
    /// If Parquet refuses the columns.
    pub fn new() -> std::io::Result<Self> {
        let keys = [&[KeyValue::new(PACING.to_owned(), pacing_text(Pacing::Open))][..], &metadata(&RECORDED)].concat();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(CREATOR.to_owned())
            .build();
        let schema = parse_message_type(&message(&RECORDED)).map_err(failed)?;
        let groups = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Self { groups, keys, crc: Crc::new(), rows: 0 })
    }

    /// Returns the bytes of a group of requests, which must be in order of arrival and not earlier than those of
    /// earlier groups.
    ///
    /// # Errors
    ///
    /// If Parquet refuses them.
    pub fn group(&mut self, rows: &[RecordedRequest]) -> std::io::Result<Vec<u8>> {
        let kinds = base::io::IoKind::ALL.map(|kind| ByteArray::from(kind.name()));
        let mut group = self.groups.next_row_group().map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| row.at.as_ps()).collect()).map_err(failed)?;
        texts(&mut group, rows.iter().map(|row| kinds[row.io.kind as usize].clone()).collect()).map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| row.io.start.get()).collect()).map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| row.io.sectors.get()).collect()).map_err(failed)?;
        texts(&mut group, vec![ByteArray::from(""); rows.len()]).map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| row.io.placement.get().into()).collect()).map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| (row.end - row.at).as_ps()).collect()).map_err(failed)?;
        texts(&mut group, rows.iter().map(|row| ByteArray::from(row.status)).collect()).map_err(failed)?;
        numbers(&mut group, rows.iter().map(|row| row.queue.into()).collect()).map_err(failed)?;
        group.close().map_err(failed)?;
        self.groups.flush()?;
        self.rows += rows.len() as i64;
        let bytes = std::mem::take(self.groups.inner_mut());
        self.crc.update(&bytes);
        Ok(bytes)
    }

    /// Returns the bytes that end the file after the groups so far.
    ///
    /// # Errors
    ///
    /// If Parquet refuses the footer.
    pub fn end(&self) -> std::io::Result<Vec<u8>> {
        let schema = parse_message_type(&message(&RECORDED)).map_err(failed)?;
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let (creator, keys) = (Some(CREATOR.to_owned()), Some(self.keys.clone()));
        let file = FileMetaData::new(2, self.rows, creator, keys, schema, None);
        let metadata = ParquetMetaData::new(file, self.groups.flushed_row_groups().to_vec());
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &metadata).finish().map_err(failed)?;
        Ok(sealed(&self.crc, &footer))
    }
}

#[cfg(test)]
mod tests {
    use base::io::{IoKind, PlacementId};
    use base::units::{Lba, Sectors, Span};

    use super::super::testing::file;
    use super::super::{Format, TraceOptions, info, open};
    use super::*;
    use crate::Source;

    fn row(n: u64) -> RecordedRequest {
        let kind = IoKind::UNZONED[(n % 4) as usize];
        let (start, sectors) = if kind == IoKind::Flush { (0, 0) } else { (n * 3, 1 + n % 7) };
        let placement = PlacementId::new(if kind == IoKind::Write { n as u16 } else { 0 });
        let io = Io { placement, ..Io::new(kind, Lba::new(start), Sectors::new(sectors)) };
        // Times are beyond the picoseconds that a floating-point number holds exactly.
        let at = Time::from_ps((1 << 60) + n * 1_000_003);
        RecordedRequest { at, io, end: at + Span::from_ps(n), status: "done", queue: (n % 5) as u16 }
    }

    #[test]
    fn a_recording_is_a_trace_after_every_group() {
        let rows: Vec<_> = (0..1_000).map(row).collect();
        let mut writer = TraceWriter::new().expect("columns");
        let (mut bytes, mut written) = (Vec::new(), 0);
        for group in rows.chunks(300) {
            bytes.extend(writer.group(group).expect("rows"));
            written += group.len();
            let whole = file(&[&bytes[..], &writer.end().expect("a footer")].concat());
            let mut source = open(whole.path(), &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(source.format(), Format::Parquet);
            for row in &rows[..written] {
                let arrival = source.next().expect("sound").expect("a request");
                let wanted = (Time::ZERO + (row.at - rows[0].at), row.io, Some(row.queue));
                assert_eq!((arrival.at, arrival.io, arrival.queue), wanted);
            }
            assert_eq!(source.next(), Ok(None));
            let info = info(whole.path(), &TraceOptions::default()).expect("sound");
            assert_eq!(info.volumes.len(), 1);
            // A group without its end is refused, and so is any other damage.
            for cut in [1, 7, 100] {
                let length = whole.as_file().metadata().expect("there").len() as usize;
                let cut = file(&[&bytes[..], &writer.end().expect("a footer")].concat()[..length - cut]);
                assert!(open(cut.path(), &TraceOptions::default()).is_err());
            }
        }
    }
}
