//! Google's storage traces synthesised by Thesios: a CSV with a header; each row is a request to a server with one disk.
//!
//! The request is the operation on the disk: `op_type` at `file_offset` of `filename`, of `disk_io_size_bytes`, at
//! `start_time` in seconds. Offsets are those of files, so each file is a volume, and requests are widened to whole sectors.
//! Reads that the server's buffer cache answered (`cache_hit` 1) are left out. `c_time` is the creation of the file.

use base::io::IoKind;

use super::csv::{fields, positions};
use super::field::{FieldFault, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str = "filename,file_offset,application,op_type,cache_hit,request_io_size_bytes,disk_io_size_bytes,start_time\n\
     1f,8192,blobstore,READ,0,4096,4608,1705305600.015989780\n2e,0,spanner,WRITE,-1,512,512,1705305600.054320574\n";

/// The columns that are read, in the order of their use.
const NAMES: [[&str; 1]; 6] =
    [["filename"], ["file_offset"], ["op_type"], ["cache_hit"], ["disk_io_size_bytes"], ["start_time"]];
/// The kind of requests that never reach the disk.
const CACHED: &str = "reads from the server's buffer cache";

pub(crate) struct Thesios {
    units: Units,
    /// The positions of the columns; `None` before the header.
    columns: Option<[usize; 6]>,
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| positions(line, b',', &NAMES).is_some())
}

impl LineFormat for Thesios {
    const LAYOUT: &'static str = "the columns of the header: filename, file_offset, op_type, cache_hit, \
                                  disk_io_size_bytes, start_time";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format), columns: None })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        // Files often join the parts of a day, each with its header.
        if line.starts_with(b"filename")
            && let Some(columns) = positions(line, b',', &NAMES)
        {
            self.columns = Some(columns);
            return Ok(LineContent::Skip(Skip::Header));
        }
        let Some(columns) = self.columns else { return Err(FieldFault::new("there is no header before this line")) };
        let mut cells = [None; 6];
        for (n, field) in fields(line, b',').enumerate() {
            if let Some(column) = columns.iter().position(|column| *column == n) {
                cells[column] = Some(field);
            }
        }
        let [file, offset, op, hit, size, time] = cells;
        let file = present(file, "file name")?;
        let offset = whole(offset, "offset")?;
        let op = present(op, "operation")?;
        let kind = match op {
            _ if op.eq_ignore_ascii_case(b"read") => IoKind::Read,
            _ if op.eq_ignore_ascii_case(b"write") => IoKind::Write,
            _ => return Err(FieldFault::new(format!("the operation is neither READ nor WRITE: `{}`", printable(op)))),
        };
        let hit = present(hit, "cache hit")? == b"1";
        let size = whole(size, "size on the disk")?;
        let at = self.units.time(time, "start time")?;
        if hit {
            return Ok(LineContent::Skip(context.leave_out(CACHED)));
        }
        let extent = self.units.extent(offset, size)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(file))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, read};
    use super::*;

    const HEADER: &str =
        "filename,file_offset,c_time,op_type,cache_hit,request_io_size_bytes,disk_io_size_bytes,start_time";

    #[test]
    fn the_request_is_the_operation_on_the_disk() {
        let text = format!(
            "{HEADER}\na,1000,17,WRITE,-1,24,24,1705305600.5\n{HEADER}\nb,512,18,READ,0,100,1024,1705305601.5\n\
             b,0,18,READ,1,512,0,1705305601.6\na,0,17,WRITE,-1,0,0,1705305601.7\n"
        );
        assert_eq!(detected(&text), Some(Format::Thesios));
        let (records, context) = read(Format::Thesios, &text);
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].start, records[0].sectors, records[0].widened), (1, 1, true));
        assert_eq!((records[1].start, records[1].sectors, records[1].widened), (1, 2, false));
        assert_eq!(records[1].at - records[0].at, 1_000_000_000_000);
        assert_eq!(context.volumes.names(), ["a", "b"]);
        assert_eq!((context.stats.left_out[CACHED], context.stats.empty, context.stats.headers), (1, 1, 2));
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Thesios, "a,1,2,READ,0,1,1,1.0\n").contains("no header"));
        assert!(fault(Format::Thesios, &format!("{HEADER}\na,1,2,SCAN,0,1,1,1.0\n")).contains("neither READ"));
        assert!(fault(Format::Thesios, &format!("{HEADER}\na,1,2,READ,0,1,1\n")).contains("ends before its start"));
    }
}
