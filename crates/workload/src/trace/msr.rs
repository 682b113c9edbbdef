//! MSR Cambridge (SNIA IOTTA 388): `file time,host,disk,Read|Write,byte,bytes,response`.
//!
//! Times are Windows file times, 100 ns each. Host and disk together (`hm,0`) name the volume. The response time, in
//! the same unit, is that of the disks of 2007 and ignored. Tools of others write a header line with the names of the
//! columns, which may occur again where files were joined.

use base::io::IoKind;

use super::csv::positions;
use super::field::{FieldFault, Fields, is_number, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str =
    "128166372003061629,hm,0,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,23736\n";

pub(crate) struct Msr {
    units: Units,
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        if is_header(line) {
            return true;
        }
        let fields: Vec<_> = Fields::new(line, b',').take(7).collect();
        matches!(fields[..], [at, _, disk, op, offset, size, ..]
            if [at, disk, offset, size].into_iter().all(is_number) && kind(op).is_some())
    })
}

/// True for a line with the names of the columns.
fn is_header(line: &[u8]) -> bool {
    const NAMES: [[&str; 2]; 6] = [
        ["timestamp", "time"],
        ["hostname", "host"],
        ["disknumber", "disk_number"],
        ["type", "op"],
        ["offset", "byteoffset"],
        ["size", "length"],
    ];
    let first = line.first().is_some_and(|byte| !byte.is_ascii_digit());
    first && positions(line, b',', &NAMES).is_some()
}

#[inline]
fn kind(op: &[u8]) -> Option<IoKind> {
    match op {
        b"Read" => Some(IoKind::Read),
        b"Write" => Some(IoKind::Write),
        _ if op.eq_ignore_ascii_case(b"read") => Some(IoKind::Read),
        _ if op.eq_ignore_ascii_case(b"write") => Some(IoKind::Write),
        _ => None,
    }
}

impl LineFormat for Msr {
    const LAYOUT: &'static str = "file time,host,disk,Read|Write,byte,bytes,response";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if is_header(line) {
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut fields = Fields::new(line, b',');
        let at = self.units.time(fields.next(), "time")?;
        let host = present(fields.next(), "host")?;
        let disk = present(fields.next(), "disk number")?;
        let op = present(fields.next(), "type")?;
        let offset = whole(fields.next(), "offset")?;
        let bytes = whole(fields.next(), "size")?;
        // The field is ignored, but if it is missing, the size before it may be cut.
        present(fields.next(), "response time")?;
        let kind = kind(op)
            .ok_or_else(|| FieldFault::new(format!("the type is neither Read nor Write: `{}`", printable(op))))?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let extent = self.units.extent(offset, bytes)?;
        // Host and disk are adjacent, so the name of the volume is a slice of the line.
        let from = host.as_ptr() as usize - line.as_ptr() as usize;
        let to = disk.as_ptr() as usize - line.as_ptr() as usize + disk.len();
        let volume = context.volumes.id(&line[from..to]);
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, volume)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn file_times_are_exact_and_odd_offsets_are_widened() {
        let (records, context) = read(
            Format::Msr,
            "128166000000000001,alpha,2,Read,1000,4096,77\r\n128166000000000004,alpha,2,write,4096,512,1\r\n",
        );
        assert_eq!(records[1].at - records[0].at, 300_000);
        assert_eq!((records[0].start, records[0].sectors), (1, 9));
        assert_eq!((records[1].start, records[1].sectors, records[1].kind), (8, 1, IoKind::Write));
        assert_eq!(context.volumes.names(), ["alpha,2"]);
    }

    #[test]
    fn a_header_may_stand_before_each_part() {
        let part =
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166000000000001,a,2,Read,0,4096,77\n";
        assert_eq!(detected(part), Some(Format::Msr));
        let (records, context) = read(Format::Msr, &part.repeat(2));
        assert_eq!((records.len(), context.stats.headers), (2, 2));
    }

    #[test]
    fn bad_lines_are_named() {
        let good = "128166000000000001,a,2,Read,0,4096,77\n";
        assert!(fault(Format::Msr, &format!("{good}128166000000000001,a,2,Re")).contains("ends before its offset"));
        assert!(fault(Format::Msr, &format!("{good}128166000000000001,a,2,Read,0,40")).contains("response"));
        assert!(fault(Format::Msr, &format!("{good}128166000000000001,a,2,Read,0,-1,1")).contains("negative"));
        assert!(fault(Format::Msr, &format!("{good}128166000000000001,a,2,Trim,0,1,1")).contains("neither Read"));
    }
}
