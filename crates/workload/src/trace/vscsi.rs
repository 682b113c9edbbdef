//! CloudPhysics vscsi, binary, little-endian.
//!
//! Version 1, 32 bytes: serial u32, bytes u32, segments u32, command u16, version u16, sector u64, time u64 (us).
//! Version 2, 40 bytes: command u16, version u16, serial u32, bytes u32, segments u32, sector u64, time u64, response
//! u64. The high byte of the version field is the version. Only READ and WRITE commands of SCSI become requests; others
//! are skipped.

use base::io::IoKind;

use super::field::bytes_extent;
use super::head::Head;
use super::input::Input;
use super::record::{Context, Records, Skip, TraceRecord};
use super::{Format, TraceOptions};
use crate::SourceError;

/// The number of picoseconds per tick of the clock.
const TICK: i128 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

struct Vscsi {
    input: Input,
    version: Version,
}

/// The kind of left-out events in a trace of SCSI commands.
pub(crate) const OTHER_COMMANDS: &str = "SCSI commands that neither read nor write";

/// The kind of a SCSI opcode, if it is a read or a write.
pub(crate) fn kind(opcode: u16) -> Option<IoKind> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(IoKind::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(IoKind::Write),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

impl Version {
    const fn bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    fn command_and_version(self, record: &[u8]) -> (u16, u16) {
        match self {
            Self::One => (u16_at(record, 12), u16_at(record, 14)),
            Self::Two => (u16_at(record, 0), u16_at(record, 2)),
        }
    }

    fn fits(self, record: &[u8]) -> bool {
        let (command, version) = self.command_and_version(record);
        command <= 0xff && usize::from(version >> 8) == self as usize + 1
    }

    /// The version of the format, if every record of the head has its mark.
    fn of(head: &[u8]) -> Option<Self> {
        [Self::One, Self::Two].into_iter().find(|version| {
            let mut records = head.chunks_exact(version.bytes()).take(64).peekable();
            records.peek().is_some() && records.all(|record| version.fits(record))
        })
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    Version::of(head.raw).is_some()
}

pub(crate) fn open(
    mut input: Input,
    _: Format,
    _: &TraceOptions,
    _: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    let path = input.path().to_path_buf();
    match Version::of(input.head()?) {
        Some(version) => Ok(Box::new(Vscsi { input, version })),
        None => {
            Err(SourceError::new("the first records are vscsi of neither version", "name another format with --format")
                .in_file(&path))
        }
    }
}

impl Records for Vscsi {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        loop {
            let version = self.version;
            let Some(record) = self.input.record(version.bytes())? else { return Ok(None) };
            let fits = version.fits(record);
            let (command, _) = version.command_and_version(record);
            let (bytes, sector, time) = match version {
                Version::One => (u32_at(record, 4), u64_at(record, 16), u64_at(record, 24)),
                Version::Two => (u32_at(record, 8), u64_at(record, 16), u64_at(record, 24)),
            };
            let line = self.input.count();
            let damaged = |what: String| {
                SourceError::new(format!("record {line} is damaged: {what}"), "fetch the file again")
                    .in_file(self.input.path())
            };
            if !fits {
                return Err(damaged("its version mark is missing".into()));
            }
            let Some(kind) = kind(command) else {
                context.leave_out(OTHER_COMMANDS);
                continue;
            };
            if bytes == 0 {
                context.stats.pass_over(Skip::Empty);
                continue;
            }
            let extent = sector.checked_mul(512).map(|offset| bytes_extent(offset, u64::from(bytes)));
            let Some(Ok(extent)) = extent else {
                return Err(damaged(format!("sector {sector} is beyond 2^64 bytes")));
            };
            let at = i128::from(time) * TICK;
            let record = TraceRecord::new(at, kind, extent, context.volumes.id(b""));
            return Ok(Some(TraceRecord { line, ..record }));
        }
    }

    fn is_binary(&self) -> bool {
        true
    }
}

/// Records of version 1: serial number, bytes, segments, command, version, lba, time.
pub(super) fn sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..4_u32 {
        for word in [i, 4096, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0x2a_u16.to_le_bytes());
        bytes.extend(0x0100_u16.to_le_bytes());
        bytes.extend(u64::from(1000 + i * 8).to_le_bytes());
        bytes.extend(u64::from(5_000_000 + i * 100).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected_bytes, read_bytes, try_read};
    use super::*;

    fn one(command: u16, bytes: u32, sector: u64, time: u64) -> Vec<u8> {
        let mut v = Vec::new();
        v.extend_from_slice(&7u32.to_le_bytes());
        v.extend_from_slice(&bytes.to_le_bytes());
        v.extend_from_slice(&1u32.to_le_bytes());
        v.extend_from_slice(&command.to_le_bytes());
        v.extend_from_slice(&0x0100u16.to_le_bytes());
        v.extend_from_slice(&sector.to_le_bytes());
        v.extend_from_slice(&time.to_le_bytes());
        v
    }

    fn two(command: u16, bytes: u32, sector: u64, time: u64) -> Vec<u8> {
        let mut v = Vec::new();
        v.extend_from_slice(&command.to_le_bytes());
        v.extend_from_slice(&0x0200u16.to_le_bytes());
        v.extend_from_slice(&7u32.to_le_bytes());
        v.extend_from_slice(&bytes.to_le_bytes());
        v.extend_from_slice(&1u32.to_le_bytes());
        v.extend_from_slice(&sector.to_le_bytes());
        v.extend_from_slice(&time.to_le_bytes());
        v.extend_from_slice(&99u64.to_le_bytes());
        v
    }

    #[test]
    fn both_versions_are_detected_and_read() {
        for build in [one, two] {
            let file = [build(0x2a, 1024, 50, 1_000), build(0x12, 36, 0, 1_001), build(0x28, 512, 9, 1_002)].concat();
            assert_eq!(detected_bytes(&file), Some(Format::Vscsi));
            let (records, context) = read_bytes(Format::Vscsi, &file);
            assert_eq!(records.len(), 2);
            assert_eq!((records[0].kind, records[0].start, records[0].sectors), (IoKind::Write, 50, 2));
            assert_eq!(records[1].at - records[0].at, 2_000_000);
            assert_eq!(context.stats.other_events, 1);
        }
    }

    #[test]
    fn a_cut_record_is_an_error() {
        let file = [one(0x2a, 1024, 50, 1_000), one(0x2a, 1024, 50, 1_000)].concat();
        let error = try_read(Format::Vscsi, &file[..50]).unwrap_err();
        assert!(error.message().contains("cut short: after record 1"), "{error}");
    }
}
