//! The disk table of Windows Performance Analyzer, exported as CSV.
//!
//! Columns are found by name: `IO Type`, `Init Time`, `Size`, `Min Offset`, and `Disk` (the volume) if present. A unit
//! follows the name in parentheses (`Init Time (s)`, `Size (B)`). The language of the machine determines the notation
//! of numbers: either `;` between columns, decimal commas and points between thousands (`16.384`), or `,` between
//! columns, decimal points and commas between thousands (in quotes). Offsets are hexadecimal. Rows have the order of
//! the table, which may differ from that of time.

use base::io::IoKind;

use super::csv::fields;
use super::field::{FieldFault, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::{SizeUnit, TimeUnit, Units};
use super::{Format, TraceOptions};

const DELIMITERS: [u8; 3] = [b';', b',', b'\t'];

/// A small valid file.
pub(super) const SAMPLE: &str = "IO Type;Process (Name);Init Time (s);IO Time (\u{b5}s);Size (B);Min Offset;Disk\r\n\
     Read;b.exe;1,000000300;3,5;16.384;0x0000000000002000;1\r\nWrite;c;1,5;3,5;512;0x1000;1\r\n";

pub(crate) struct Wpa {
    table: WpaColumns,
    in_header: bool,
    scratch: Vec<u8>,
}

/// The positions of the columns, and the notation of numbers.
#[derive(Clone, Debug)]
struct WpaColumns {
    delimiter: u8,
    kind: usize,
    init: usize,
    size: usize,
    offset: usize,
    disk: Option<usize>,
    units: Units,
    decimal: u8,
}

/// Splits a name in the header into the name without its unit, and the unit.
fn split(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match name.iter().rposition(|byte| *byte == b'(') {
        Some(at) => (name[..at].trim_ascii(), name[at + 1..].strip_suffix(b")")),
        None => (name, None),
    }
}

fn header_of(line: &[u8]) -> Option<u8> {
    DELIMITERS.into_iter().find(|delimiter| {
        let has = |wanted: &[u8]| fields(line, *delimiter).any(|name| split(name).0.eq_ignore_ascii_case(wanted));
        has(b"IO Type") && has(b"Init Time")
    })
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().next().is_some_and(|line| header_of(line).is_some())
}

impl WpaColumns {
    fn of(line: &[u8]) -> Result<Self, FieldFault> {
        let delimiter = header_of(line)
            .ok_or_else(|| FieldFault::new("the first line does not name the columns IO Type and Init Time"))?;
        let names: Vec<_> = fields(line, delimiter).map(split).collect();
        let find = |wanted: &str| names.iter().position(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
        let need = |wanted: &str| {
            find(wanted).ok_or_else(|| {
                FieldFault::new(format!("the table has no column `{wanted}`: add it in the analyzer and export again"))
            })
        };
        let (kind, init) = (need("IO Type")?, need("Init Time")?);
        let (size, offset) = (need("Size")?, need("Min Offset")?);
        let unit = |column: usize| names[column].1.map(String::from_utf8_lossy);
        let time = match unit(init).as_deref() {
            None | Some("s") => TimeUnit::Second,
            Some("ms") => TimeUnit::Millisecond,
            Some("ns") => TimeUnit::Nanosecond,
            // The micro sign has several encodings.
            Some(text) if text.ends_with('s') && text.chars().count() <= 3 => TimeUnit::Microsecond,
            Some(other) => return Err(FieldFault::new(format!("the unit of Init Time is not known: `{other}`"))),
        };
        let bytes = match unit(size).as_deref() {
            None | Some("B" | "Bytes" | "bytes") => SizeUnit::BYTE,
            Some("KB" | "KiB") => "1KiB".parse().map_err(|_| FieldFault::new("KiB is a unit"))?,
            Some(other) => {
                return Err(FieldFault::new(format!("the unit of Size is not known: `{other}`: export it in bytes")));
            }
        };
        let units = Units::new(time, SizeUnit::BYTE, bytes);
        // With semicolons between columns, the decimal mark is a comma unless a row shows otherwise.
        Ok(Self { delimiter, kind, init, size, offset, disk: find("Disk"), units, decimal: b'.' })
    }

    /// Finds the decimal mark in the times of the first rows: it is the last mark in them.
    fn learn(&mut self, head: &Head<'_>) {
        for line in head.lines().skip(1).take(64) {
            let Some(time) = fields(line, self.delimiter).nth(self.init) else { continue };
            if let Some(mark) = time.iter().rev().find(|byte| matches!(byte, b',' | b'.')) {
                self.decimal = *mark;
                return;
            }
        }
    }
}

/// Removes the marks between thousands, and turns the decimal mark into a point.
fn plain<'a>(field: &[u8], decimal: u8, into: &'a mut Vec<u8>) -> &'a [u8] {
    into.clear();
    // Some languages use narrow blanks between thousands.
    let text = String::from_utf8_lossy(field);
    for c in text.chars().filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '\u{2019}')) {
        match c {
            ',' | '.' if c == char::from(decimal) => into.push(b'.'),
            ',' | '.' => {}
            c => into.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    into
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    let digits = field.strip_prefix(b"0x").or_else(|| field.strip_prefix(b"0X"))?;
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u64::from_str_radix(text, 16).ok()
}

impl LineFormat for Wpa {
    const LAYOUT: &'static str = "the columns of the header: IO Type, Init Time, Size, Min Offset";

    fn start(head: &Head<'_>, _: Format, _: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        let mut table = WpaColumns::of(head.lines().next().unwrap_or_default())?;
        table.learn(head);
        Ok(Self { table, in_header: true, scratch: Vec::new() })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if self.in_header {
            self.in_header = false;
            return Ok(LineContent::Skip(Skip::Header));
        }
        let table = &self.table;
        let [mut kind, mut init, mut size, mut offset, mut disk] = [None; 5];
        for (n, field) in fields(line, table.delimiter).enumerate() {
            match n {
                n if n == table.kind => kind = Some(field),
                n if n == table.init => init = Some(field),
                n if n == table.size => size = Some(field),
                n if n == table.offset => offset = Some(field),
                n if Some(n) == table.disk => disk = Some(field),
                _ => {}
            }
        }
        let kind = match present(kind, "IO Type")? {
            op if op.eq_ignore_ascii_case(b"read") => IoKind::Read,
            op if op.eq_ignore_ascii_case(b"write") => IoKind::Write,
            op if op.eq_ignore_ascii_case(b"flush") => IoKind::Flush,
            op => {
                return Err(FieldFault::new(format!(
                    "the IO Type is none of Read, Write and Flush: `{}`",
                    printable(op)
                )));
            }
        };
        let init = plain(present(init, "Init Time")?, table.decimal, &mut self.scratch);
        let at = table.units.time(Some(init), "Init Time")?;
        let volume = match table.disk {
            Some(_) => context.volumes.id(present(disk, "Disk")?),
            None => context.volumes.id(b""),
        };
        if kind == IoKind::Flush {
            return Ok(LineContent::Request(TraceRecord::flush(at, volume)));
        }
        // Numbers of bytes have no decimals, so every mark separates thousands.
        let size = whole(Some(plain(present(size, "Size")?, 0, &mut self.scratch)), "Size")?;
        let field = present(offset, "Min Offset")?;
        let offset = match hexadecimal(field) {
            Some(offset) => offset,
            None => whole(Some(plain(field, 0, &mut self.scratch)), "Min Offset")?,
        };
        let extent = table.units.extent(offset, size)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, volume)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    const COMMAS: &str = "\u{feff}IO Type;Process (Name);Init Time (s);IO Time (\u{b5}s);Size (B);Min Offset;Max Offset;Disk\r\n\
        Flush;a;1,000000100;1.024,5;0;0xFFFFFFFFFFFFFFFF;0xFFFFFFFFFFFFFFFF;1\r\n\
        Read;b.exe;1,000000300;3,5;16.384;0x0000000000002000;0x0000000000005FFF;1\r\n\
        Write;c;1,5;3,5;512;0x1000;0x11FF;1\r\n";
    const POINTS: &str = "Disk,Size (B),Min Offset,IO Type,Init Time (s)\n\
        1,0,0xFFFFFFFFFFFFFFFF,Flush,1.000000100\n1,\"16,384\",0x2000,Read,1.000000300\n1,512,0x1000,WRITE,1.5\n";

    #[test]
    fn both_notations_of_numbers_are_read() {
        for text in [COMMAS, POINTS] {
            assert_eq!(detected(text), Some(Format::Wpa), "{text}");
            let (records, context) = read(Format::Wpa, text);
            let seen: Vec<_> = records.iter().map(|r| (r.at / 1_000, r.kind, r.start, r.sectors)).collect();
            use IoKind::{Flush, Read, Write};
            let wanted = [(1_000_000_100, Flush, 0, 0), (1_000_000_300, Read, 16, 32), (1_500_000_000, Write, 8, 1)];
            assert_eq!(seen, wanted, "{text}");
            assert_eq!((context.stats.headers, context.volumes.names()), (1, &["1".to_owned()][..]));
        }
        let thousands = POINTS.replace("1.000000300", "\"1,234.5\"").replace("1.5\n", "\"1,234.6\"\n");
        assert_eq!(read(Format::Wpa, &thousands).0[1].at, 1_234_500_000_000_000);
    }

    #[test]
    fn other_units_are_read_from_the_header() {
        let text = POINTS.replace("(s)", "(ms)").replace("Size (B)", "Size (KB)");
        let (records, _) = read(Format::Wpa, &text);
        assert_eq!((records[1].at, records[2].sectors), (1_000_000_300, 1024));
        assert!(fault(Format::Wpa, &POINTS.replace("(s)", "(weeks)")).contains("unit of Init Time"));
        assert!(fault(Format::Wpa, &POINTS.replace("(B)", "(MB)")).contains("unit of Size"));
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Wpa, &POINTS.replace("Min Offset", "Max Offset")).contains("no column `Min Offset`"));
        assert!(fault(Format::Wpa, "1,2,3\n").contains("does not name the columns"));
        for (bad, what) in [
            ("1,512,0x1000,Trim,1.5", "none of Read, Write and Flush"),
            ("1,512,0x1000,Read", "ends before its Init Time"),
            ("1,512,0xzz,Read,1.5", "the Min Offset is not a number"),
            ("1,-512,0x1000,Read,1.5", "the Size is negative"),
            ("1,512,0x1000,Read,soon", "the Init Time is not a number"),
            ("1,512,0xFFFFFFFFFFFFFFFF,Read,1.5", "beyond 2^64"),
        ] {
            let seen = fault(Format::Wpa, &format!("{POINTS}{bad}\n"));
            assert!(seen.contains(what) && seen.contains(":5:"), "{bad}: {seen}");
        }
    }
}
