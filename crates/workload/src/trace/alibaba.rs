//! Alibaba's block traces of 2020: `device,R|W,byte,bytes,us`, as published, or after a header with the names of the
//! columns in any order.
//!
//! Times are microseconds since 1970. Each virtual disk is a volume. Without a header, the 16 digits of the time
//! distinguish the format from other tables of five columns.

use base::io::IoKind;

use super::csv::{fields, positions};
use super::field::{FieldFault, is_number, parse_whole, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str =
    "device_id,opcode,offset,length,timestamp\n3,R,1052672,4096,1577808000000046\n12,W,8192,65536,1577808000000426\n";

/// The columns: device, operation, offset, size, time, each with the names that other tools use for it.
const NAMES: [[&str; 3]; 5] = [
    ["device_id", "dev_id", "volume_id"],
    ["opcode", "op", "op_type"],
    ["offset", "byte_offset", "offset_bytes"],
    ["length", "size", "io_size"],
    ["timestamp", "time", "ts"],
];
/// The smallest time of 16 digits: September 2001 in microseconds.
const FIRST_TIME: u64 = 1_000_000_000_000_000;
const LAST_TIME: u64 = 9_999_999_999_999_999;

pub(crate) struct Alibaba {
    units: Units,
    columns: [usize; 5],
}

/// The positions of the columns, if the line is a header that names a device and an operation as Alibaba does.
fn header(line: &[u8]) -> Option<[usize; 5]> {
    if line.first().is_none_or(u8::is_ascii_digit) {
        return None;
    }
    let columns = positions(line, b',', &NAMES)?;
    fields(line, b',').any(|name| name.eq_ignore_ascii_case(b"device_id")).then_some(columns)
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let cells: Vec<_> = fields(line, b',').take(6).collect();
        let plain = match cells[..] {
            [device, op, offset, size, time] => {
                matches!(op, b"R" | b"W")
                    && [device, offset, size].into_iter().all(is_number)
                    && parse_whole(time).is_some_and(|time| (FIRST_TIME..=LAST_TIME).contains(&time))
            }
            _ => false,
        };
        plain || header(line).is_some()
    })
}

impl LineFormat for Alibaba {
    const LAYOUT: &'static str = "device,R|W,byte,bytes,us";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format), columns: [0, 1, 2, 3, 4] })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if let Some(columns) = header(line) {
            self.columns = columns;
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut cells = [None; 5];
        for (n, field) in fields(line, b',').enumerate() {
            if let Some(column) = self.columns.iter().position(|column| *column == n) {
                cells[column] = Some(field);
            }
        }
        let [device, op, offset, size, time] = cells;
        let device = present(device, "device")?;
        let kind = match present(op, "operation")? {
            b"R" | b"r" => IoKind::Read,
            b"W" | b"w" => IoKind::Write,
            other => return Err(FieldFault::new(format!("the operation is neither R nor W: `{}`", printable(other)))),
        };
        let (offset, size) = (whole(offset, "offset")?, whole(size, "size")?);
        let at = self.units.time(time, "time")?;
        let extent = self.units.extent(offset, size)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(device))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, read};
    use super::*;

    const PLAIN: &str = "7,R,1024,2048,1577808000000046\n8,W,4096,512,1577808000000426\n7,W,0,0,1577808000000427\n";

    #[test]
    fn devices_are_volumes_and_times_microseconds() {
        assert_eq!(detected(PLAIN), Some(Format::Alibaba));
        let (records, context) = read(Format::Alibaba, PLAIN);
        assert_eq!((records[0].kind, records[0].start, records[0].sectors), (IoKind::Read, 2, 4));
        assert_eq!(records[1].at - records[0].at, 380_000_000);
        assert_eq!((context.volumes.names().join(" "), context.stats.empty), ("7 8".to_owned(), 1));
    }

    #[test]
    fn a_header_gives_the_order_of_the_columns() {
        let (plain, _) = read(Format::Alibaba, PLAIN);
        let titled = format!("device_id,opcode,offset,length,timestamp\n{PLAIN}");
        assert_eq!(detected(&titled), Some(Format::Alibaba));
        let (records, context) = read(Format::Alibaba, &titled);
        assert_eq!((records.len(), context.stats.headers), (plain.len(), 1));
        let other = "timestamp,Device_ID,latency,op,size,offset\n1577808000000046,7,5,R,2048,1024\n";
        assert_eq!(detected(other), Some(Format::Alibaba));
        let record = read(Format::Alibaba, other).0[0];
        assert_eq!((record.start, record.sectors, record.at), (plain[0].start, plain[0].sectors, plain[0].at));
    }

    #[test]
    fn other_tables_of_five_columns_are_not_taken_for_it() {
        for text in ["7,R,4096,512,1000\n", "1,2,3,4,5\n", "time,op,offset,size,volume\n"] {
            assert_ne!(detected(text), Some(Format::Alibaba), "{text}");
        }
        assert!(fault(Format::Alibaba, "7,X,0,512,1577808000000046\n").contains("neither R nor W"));
        assert!(fault(Format::Alibaba, "7,R,0,512\n").contains("ends before its time"));
    }
}
