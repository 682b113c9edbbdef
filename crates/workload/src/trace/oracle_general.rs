//! libCacheSim's binary `oracleGeneral`: records of 24 bytes, little-endian: seconds u32, object u64, bytes u32, and
//! the number of the next request to this object, i64 (-1: none).
//!
//! The file has no magic number. Two properties distinguish it from other binary files: times never go back, and the
//! next request to an object is always a later one. The object of a block trace is the first sector of the request. The
//! object of a cache of keys is a hash, which is not an address. There are no operations: all requests are read as
//! reads.

use std::collections::HashSet;

use base::io::IoKind;

use super::doubt::Doubt;
use super::head::Head;
use super::input::Input;
use super::record::{Context, Records, Skip, TraceRecord};
use super::units::{SizeUnit, Units};
use super::{Format, TraceOptions};
use crate::SourceError;

const BYTES: usize = 24;
/// The least number of records for detection.
const FEW: usize = 3;
/// The largest request of a block trace, in bytes.
const LARGEST: u32 = 1 << 30;

/// A small valid file: three requests, two of them to one object.
pub(super) fn sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (time, object, size, next) in [(10_u32, 4096_u64, 4096_u32, 3_i64), (10, 64, 8192, -1), (11, 4096, 4096, -1)] {
        bytes.extend(time.to_le_bytes());
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
    }
    bytes
}

#[derive(Clone, Copy)]
struct Fields {
    seconds: u32,
    object: u64,
    size: u32,
    next: i64,
}

impl Fields {
    fn of(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Self { seconds: word(0), object: long(4), size: word(12), next: long(16).cast_signed() }
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    let (records, _) = head.raw.as_chunks();
    let mut last = 0;
    let fits = |(n, record): (usize, &[u8; BYTES])| {
        let Fields { seconds, size, next, .. } = Fields::of(record);
        let later = next == -1 || next > n as i64;
        let sound = seconds >= last && later && size <= LARGEST;
        last = seconds;
        sound
    };
    let sizes = records.iter().any(|record| Fields::of(record).size > 0);
    records.len() >= FEW && sizes && records.iter().enumerate().all(fits) && repeats_are_announced(records)
}

/// True if each record announces the next request to its object, as far as these records have it.
fn repeats_are_announced(records: &[[u8; BYTES]]) -> bool {
    let mut later = HashSet::new();
    let among = 1..=records.len() as i64;
    records
        .iter()
        .rev()
        .map(Fields::of)
        .all(|Fields { object, next, .. }| later.insert(object) || among.contains(&next))
}

struct OracleGeneral {
    input: Input,
    units: Units,
}

pub(crate) fn open(
    input: Input,
    format: Format,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    let units = options.units_of(format);
    context.doubt(Doubt::Operations);
    if options.units.address.is_none() {
        context.doubt(Doubt::Objects { taken: SizeUnit::SECTOR });
    }
    Ok(Box::new(OracleGeneral { input, units }))
}

impl Records for OracleGeneral {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        loop {
            let Some(bytes) = self.input.record(BYTES)? else { return Ok(None) };
            let Some(Fields { seconds, object, size, .. }) = bytes.first_chunk().map(Fields::of) else {
                return Ok(None);
            };
            if size == 0 {
                context.stats.pass_over(Skip::Empty);
                continue;
            }
            let line = self.input.count();
            let extent = self.units.extent(object, u64::from(size)).map_err(|_| {
                SourceError::new(
                    format!("record {line}: the object {object} is no address on a drive: it may be the hash of a key"),
                    "give a trace of a block device, or the unit of its addresses with --address-unit",
                )
                .in_file(self.input.path())
            })?;
            let at = i128::from(seconds) * i128::from(self.units.time.ps());
            return Ok(Some(TraceRecord {
                line,
                ..TraceRecord::new(at, IoKind::Read, extent, context.volumes.id(b""))
            }));
        }
    }

    fn is_binary(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected_bytes, read_bytes, try_read};
    use super::*;

    fn record(seconds: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
        let mut bytes = seconds.to_le_bytes().to_vec();
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    }

    #[test]
    fn objects_are_sectors_and_all_requests_reads() {
        let (records, context) = read_bytes(Format::OracleGeneral, &sample());
        assert_eq!((records[0].start, records[0].sectors, records[0].kind), (4096, 8, IoKind::Read));
        assert_eq!(records[2].at - records[0].at, 1_000_000_000_000);
        assert_eq!(context.doubts, [Doubt::Operations, Doubt::Objects { taken: SizeUnit::SECTOR }]);
    }

    #[test]
    fn other_binary_files_are_not_taken_for_it() {
        let back = [record(10, 1, 512, -1), record(9, 2, 512, -1), record(11, 3, 512, -1)].concat();
        let earlier = [record(10, 1, 512, -1), record(10, 2, 512, 1), record(11, 3, 512, -1)].concat();
        let alike = b"\x00\xff\x80\x13".repeat(200);
        let silent = [record(10, 1, 512, -1), record(11, 1, 512, -1), record(12, 3, 512, -1)].concat();
        for bytes in [back, earlier, alike, silent, vec![0; 4096], vec![0xff; 4096]] {
            assert_ne!(detected_bytes(&bytes), Some(Format::OracleGeneral));
        }
    }

    #[test]
    fn hashes_and_cut_files_are_refused() {
        let hashed = [sample(), record(12, u64::MAX / 3, 100, -1)].concat();
        let error = try_read(Format::OracleGeneral, &hashed).unwrap_err();
        assert!(error.message().contains("record 4: the object 6148914691236517205 is no address"), "{error}");
        let error = try_read(Format::OracleGeneral, &sample()[..60]).unwrap_err();
        assert!(error.message().contains("cut short: after record 2"), "{error}");
    }
}
