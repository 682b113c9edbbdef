//! A CSV with columns that the user names, for files without a known format.
//!
//! See [`Columns`] for the description. Fields may be in double quotes. Numbers are decimal, or hexadecimal after `0x`.
//! Unless the description gives the words, the first letter selects the operation, in either case: R is a read, W a
//! write, D, T or U (unmap) a discard, F or S (sync) a flush.

use base::io::IoKind;

use super::columns::{ColumnPlace, Columns, Delimiter};
use super::field::{FieldFault, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::{Format, TraceOptions};

/// The most columns of a table.
pub(crate) const MOST: usize = 1_000;

/// The name of the placement column in messages.
pub(crate) const PLACEMENT: &str = "placement identifier";

/// A small valid file with the default names of columns.
pub(super) const SAMPLE: &str = "time,op,offset,size\n1000,w,16,4096\n2500,r,0x40,512\n3000,R,0x10,\"1024\"\n";

pub(crate) struct Csv {
    columns: Columns,
    /// The positions of the columns, once known: time, operation, offset, size, and optionally volume and placement
    /// identifier.
    at: Option<ColumnPositions>,
    header: bool,
}

#[derive(Clone, Copy)]
struct ColumnPositions {
    time: usize,
    op: usize,
    offset: usize,
    size: usize,
    volume: Option<usize>,
    placement: Option<usize>,
}

/// Splits a line into its fields; delimiters inside double quotes do not count.
pub(crate) fn fields(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let begin = text.trim_ascii_start();
        let blanks = text.len() - begin.len();
        // A quoted field ends after its closing quote; two quotes inside it stand for one.
        let mut from = 0;
        if begin.first() == Some(&b'"') && !text[..blanks].contains(&delimiter) {
            let mut at = blanks + 1;
            while let Some(quote) = text[at..].iter().position(|byte| *byte == b'"') {
                at += quote + 1;
                if text.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            from = at;
        }
        let end = text[from..].iter().position(|byte| *byte == delimiter).map(|at| from + at);
        rest = end.map(|end| &text[end + 1..]);
        let field = text[..end.unwrap_or(text.len())].trim_ascii();
        Some(match field {
            [b'"', inner @ .., b'"'] => inner.trim_ascii(),
            other => other,
        })
    })
}

impl Csv {
    /// A reader of these columns.
    pub(crate) fn new(columns: Columns) -> Self {
        let header = columns.header;
        Self { columns, at: None, header }
    }

    fn split<'a>(&self, line: &'a [u8]) -> SplitLine<'a> {
        match self.columns.delimiter {
            Delimiter::Blanks => SplitLine::Blanks(super::field::Words::new(line)),
            delimiter => SplitLine::Fields(Box::new(fields(line, delimiter.byte()))),
        }
    }

    /// Finds the columns in the header line.
    fn find(&self, line: &[u8]) -> Result<ColumnPositions, FieldFault> {
        let names: Vec<&[u8]> = self.split(line).take(MOST).collect();
        let find = |place: &ColumnPlace, what: &str| match place {
            ColumnPlace::Numbered(number) => Ok(*number),
            ColumnPlace::Named(name) => {
                let exact = names.iter().position(|other| *other == name.as_bytes());
                let close = || names.iter().position(|other| other.eq_ignore_ascii_case(name.as_bytes()));
                exact.or_else(close).ok_or_else(|| {
                    let there: Vec<_> = names.iter().map(|name| printable(name)).collect();
                    FieldFault::new(format!(
                        "the header has no column `{name}` for the {what}; it has {}",
                        there.join(", ")
                    ))
                })
            }
        };
        let Columns { time, op, offset, size, volume, placement, .. } = &self.columns;
        Ok(ColumnPositions {
            time: find(time, "time")?,
            op: find(op, "operation")?,
            offset: find(offset, "offset")?,
            size: find(size, "size")?,
            volume: volume.as_ref().map(|place| find(place, "volume")).transpose()?,
            placement: placement.as_ref().map(|place| find(place, PLACEMENT)).transpose()?,
        })
    }

    fn kind(&self, op: &[u8]) -> Result<IoKind, FieldFault> {
        let Columns { reads, writes, .. } = &self.columns;
        let is = |words: &[String]| words.iter().any(|word| op.eq_ignore_ascii_case(word.as_bytes()));
        if is(reads) {
            return Ok(IoKind::Read);
        }
        if is(writes) {
            return Ok(IoKind::Write);
        }
        if let Some(kind) = IoKind::ALL.into_iter().find(|kind| op.eq_ignore_ascii_case(kind.name().as_bytes())) {
            return Ok(kind);
        }
        match op {
            [b'R' | b'r', ..] if reads.is_empty() => Ok(IoKind::Read),
            [b'W' | b'w', ..] if writes.is_empty() => Ok(IoKind::Write),
            [b'D' | b'd' | b'T' | b't' | b'U' | b'u', ..] => Ok(IoKind::Discard),
            [b'F' | b'f' | b'S' | b's', ..] => Ok(IoKind::Flush),
            _ => Err(FieldFault::new(format!(
                "the operation is neither a read nor a write: `{}` (give the words for them: read=..., write=...)",
                printable(op)
            ))),
        }
    }
}

/// A line, split into its columns.
enum SplitLine<'a> {
    Blanks(super::field::Words<'a>),
    Fields(Box<dyn Iterator<Item = &'a [u8]> + 'a>),
}

impl<'a> Iterator for SplitLine<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match self {
            Self::Blanks(words) => words.next(),
            Self::Fields(fields) => fields.next(),
        }
    }
}

/// An integer, decimal or hexadecimal after `0x`.
pub(crate) fn number(field: Option<&[u8]>, what: &str) -> Result<u64, FieldFault> {
    let field = present(field, what)?;
    let Some(digits) = field.strip_prefix(b"0x").or_else(|| field.strip_prefix(b"0X")) else {
        return whole(Some(field), what);
    };
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    text.and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or_else(|| FieldFault::new(format!("the {what} is not a number of 64 bits: `{}`", printable(field))))
}

/// A placement identifier; an empty field is a write without one.
fn placement_id(field: &[u8]) -> Result<u16, FieldFault> {
    if field.is_empty() {
        return Ok(0);
    }
    let id = number(Some(field), PLACEMENT)?;
    u16::try_from(id).map_err(|_| FieldFault::new(format!("the {PLACEMENT} is above 65535: `{}`", printable(field))))
}

impl LineFormat for Csv {
    const LAYOUT: &'static str = "the columns named with --columns";

    fn start(_: &Head<'_>, _: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        let mut csv = Self::new(options.columns.clone().unwrap_or_default());
        if !csv.header {
            csv.at = Some(csv.find(b"")?);
        }
        Ok(csv)
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if self.header {
            self.at = Some(self.find(line)?);
            self.header = false;
            return Ok(LineContent::Skip(Skip::Header));
        }
        let Some(at) = self.at else { return Err(FieldFault::new("there is no header")) };
        let [mut time, mut op, mut offset, mut size, mut volume, mut placement] = [None; 6];
        for (n, field) in self.split(line).take(MOST).enumerate() {
            // Two roles may share a column.
            for (place, slot) in [
                (Some(at.time), &mut time),
                (Some(at.op), &mut op),
                (Some(at.offset), &mut offset),
                (Some(at.size), &mut size),
                (at.volume, &mut volume),
                (at.placement, &mut placement),
            ] {
                if place == Some(n) {
                    *slot = Some(field);
                }
            }
        }
        self.request([time, op, offset, size, volume, placement], context)
    }
}

impl Csv {
    /// The request of these fields: time, operation, offset, size, volume, placement identifier.
    pub(crate) fn request(&self, fields: [Option<&[u8]>; 6], context: &mut Context) -> Result<LineContent, FieldFault> {
        let [time, op, offset, size, volume, placement] = fields;
        let units = self.columns.units;
        let at_ps = match time {
            Some(text) if self.columns.decimal_comma && text.contains(&b',') => {
                let text: Vec<u8> = text.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect();
                units.time(Some(&text), "time")?
            }
            time => units.time(time, "time")?,
        };
        let kind = self.kind(present(op, "operation")?)?;
        let volume = match self.columns.volume {
            Some(_) => context.volumes.id(present(volume, "volume")?),
            None => context.volumes.id(b""),
        };
        if kind == IoKind::Flush {
            return Ok(LineContent::Request(TraceRecord::flush(at_ps, volume)));
        }
        let is_action = kind.is_bare();
        let size = if is_action { 0 } else { number(size, "size")? };
        let offset = if kind == IoKind::HandleUpdate { 0 } else { number(offset, "offset")? };
        let extent = units.extent(offset, size)?;
        if extent.sectors == 0 && !is_action {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let placement = match placement {
            Some(field) if kind.names_handle() && self.columns.placement.is_some() => placement_id(field)?,
            _ => 0,
        };
        Ok(LineContent::Request(TraceRecord { placement, ..TraceRecord::new(at_ps, kind, extent, volume) }))
    }
}

/// The positions of columns in a header line: for each, the first field with one of its names, in upper or lower case.
/// `None` if a column is missing.
pub(crate) fn positions<const COLUMNS: usize, const NAMES: usize>(
    line: &[u8],
    delimiter: u8,
    names: &[[&str; NAMES]; COLUMNS],
) -> Option<[usize; COLUMNS]> {
    let cells: Vec<&[u8]> = fields(line, delimiter).take(MOST).collect();
    let mut positions = [0; COLUMNS];
    for (position, names) in positions.iter_mut().zip(names) {
        let is = |cell: &&[u8]| names.iter().any(|name| cell.eq_ignore_ascii_case(name.as_bytes()));
        *position = cells.iter().position(is)?;
    }
    Some(positions)
}

#[cfg(test)]
mod tests {
    use super::super::profile::suggestion;
    use super::super::testing::file;
    use super::super::{Format, TraceInfo, TraceOptions, info, open};
    use super::*;
    use crate::{Arrival, Source, SourceError};

    fn options(columns: &str) -> TraceOptions {
        TraceOptions { columns: Some(columns.parse().unwrap()), ..TraceOptions::default() }
    }

    fn read(columns: &str, text: &str) -> Result<Vec<Arrival>, SourceError> {
        let file = file(text.as_bytes());
        let mut source = open(file.path(), &options(columns))?;
        assert_eq!(source.format(), Format::Csv);
        let mut out = Vec::new();
        while let Some(arrival) = source.next()? {
            out.push(arrival);
        }
        Ok(out)
    }

    fn shape(arrivals: &[Arrival]) -> Vec<(u64, IoKind, u64, u64)> {
        arrivals.iter().map(|a| (a.at.as_ps() / 1_000_000, a.io.kind, a.io.start.get(), a.io.sectors.get())).collect()
    }

    #[test]
    fn columns_are_found_by_name_and_by_number() {
        use IoKind::{Discard, Flush, Read, Write};
        let wanted = [(0, Read, 16, 8), (5, Write, 24, 1), (6, Discard, 0, 8), (7, Flush, 0, 0)];
        let named = "\u{feff}id,ts,\"rw\",LBA,len\r\n1,10,Read,16,4096\r\n2,15,w,0x18,512\r\n3,16,TRIM,0,4096\r\n4,17,sync,,\r\n";
        assert_eq!(shape(&read("time=ts:us,op=rw,offset=lba:512B,size=len:B", named).unwrap()), wanted);
        let numbered = "# a comment\n10;R;16;4096\n15;W;24;\"512\"\n16;discard;0;4096\n17;flush;0;0\n";
        let columns = "time=1:us,op=2,offset=3:512B,size=4:B,delimiter=semicolon";
        assert_eq!(shape(&read(columns, numbered).unwrap()), wanted);
        let blanks = "time  op off n\n 10   1  2   1 \n\t15   0  3   1\n";
        let columns = "time=1:us,op=op,offset=3:4KiB,size=4:4KiB,read=1,write=0,delimiter=blanks";
        assert_eq!(shape(&read(columns, blanks).unwrap()), [(0, Read, 16, 8), (5, Write, 24, 8)]);
        let commas = "1,000001;R;8;1;a\n1,000003;R;8;1;a\n";
        let columns = "time=1:s,op=2,offset=3:512B,size=4:512B,volume=5,delimiter=semicolon,decimal=comma";
        assert_eq!(shape(&read(columns, commas).unwrap()), [(0, Read, 8, 1), (2, Read, 8, 1)]);
    }

    #[test]
    fn writes_take_their_placement_identifiers_from_their_column() {
        let columns = "time=ts:us,op=rw,offset=lba:512B,size=len:B,placement=pid";
        let ids = |text: &str| {
            let ids = |all: Vec<Arrival>| all.iter().map(|a| a.io.placement.get()).collect::<Vec<_>>();
            read(columns, text).map(ids)
        };
        // Only writes have an identifier; an empty field means none, and so does a field that a short line lacks.
        let text = "ts,rw,lba,len,pid\n1,w,2,512,0x10\n2,r,2,512,3\n3,d,2,512,x\n4,f,,,3\n5,w,2,512,\n6,w,2,512\n7,w,2,512,65535\n";
        assert_eq!(ids(text), Ok(vec![16, 0, 0, 0, 0, 0, 65_535]));
        for (id, what) in [("x", "is not a number: `x`"), ("65536", "is above 65535"), ("-1", "is negative")] {
            let error = ids(&format!("ts,rw,lba,len,pid\n1,r,2,512,\n2,w,2,512,{id}\n")).unwrap_err();
            let message = error.message();
            assert!(message.contains("placement identifier") && message.contains(what), "{error}");
            assert_eq!(error.line(), Some(3));
        }
        let error = read(columns, "ts,rw,lba,len\n1,r,2,512\n").unwrap_err();
        assert!(error.message().contains("no column `pid` for the placement identifier"), "{error}");
    }

    #[test]
    fn bad_lines_are_named() {
        let columns = "time=ts:us,op=rw,offset=lba:512B,size=len:B";
        for (text, line, what) in [
            ("ts,rw,lba\n1,r,2\n", 1, "no column `len` for the size; it has ts, rw, lba"),
            ("ts,rw,lba,len\n1,r,2\n", 2, "ends before its size"),
            ("ts,rw,lba,len\n1,x,2,3\n", 2, "neither a read nor a write: `x`"),
            ("ts,rw,lba,len\n1,,2,3\n", 2, "ends before its operation"),
            ("ts,rw,lba,len\nx,r,2,3\n", 2, "the time is not a number: `x`"),
            ("ts,rw,lba,len\n1,r,0xg,3\n", 2, "the offset is not a number"),
            ("ts,rw,lba,len\n1,r,-2,3\n", 2, "the offset is negative"),
            ("ts,rw,lba,len\n1,r,18446744073709551615,3\n", 2, "too large"),
        ] {
            let error = read(columns, text).unwrap_err();
            assert!(error.message().contains(what) && error.line() == Some(line), "{text}: {error}");
        }
        assert!(
            read("time=9:us,op=1,offset=2:B,size=3:B", "r,1,2\n").unwrap_err().message().contains("before its time")
        );
        let words = "time=1:us,op=2,offset=3:B,size=4:B,read=0,write=1";
        assert!(read(words, "1,2,3,4\n").unwrap_err().message().contains("read=..."));
    }

    #[test]
    fn quotes_hide_delimiters() {
        let all: Vec<_> = fields(b"a, \"b,\"\"c\" ,,\"d", b',').collect();
        assert_eq!(all, [&b"a"[..], b"b,\"\"c", b"", b"\"d"]);
    }

    #[test]
    fn the_error_of_an_unknown_format_names_the_csv_option() {
        for (text, wanted) in [
            (
                "when,op,LBA,bytes\n5,RD,1,2\n",
                "--columns 'time=when:us,op=op,offset=LBA:512B,size=bytes:B' (correct its",
            ),
            (
                "id|timestamp|rw|offset|length\n1|5|R|0|512\n",
                "--columns 'time=timestamp:us,op=rw,offset=offset:B,size=length:B,delimiter=bar'",
            ),
            (
                "stamp_ms\trw\tlba\tlen\n1\tR\t0\t512\n",
                "--columns 'time=stamp_ms:ms,op=rw,offset=lba:512B,size=len:B,delimiter=tab'",
            ),
            ("7,R,4096,512,1000\n", "--columns 'time=1:us,op=2,offset=3:B,size=4:B'"),
            ("hello world\n", "--columns 'time=ts:us,op=rw,offset=lba:512B,size=len:B'"),
        ] {
            let error = info(file(text.as_bytes()).path(), &TraceOptions::default()).unwrap_err();
            let all = error.to_string();
            assert!(all.contains(wanted), "{text}: {all}");
        }
        // The suggestion can be used as it is.
        let text = "id|timestamp|rw|offset|length\n1|5|R|0|512\n2|9|W|512|512\n";
        let (columns, own) = suggestion(&Head::of(text.as_bytes()));
        let info: TraceInfo = info(file(text.as_bytes()).path(), &options(&columns)).unwrap();
        assert!(own && info.requests == 2 && info.format == "csv");
    }
}
