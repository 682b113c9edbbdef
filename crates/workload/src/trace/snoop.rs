//! The lists that biosnoop (bcc) and iosnoop (perf-tools) print: a banner, a header with the names of the columns, and
//! a line for each completed request.
//!
//! The name of the process may have blanks, so columns before it are read from the left, columns after it from the
//! right. biosnoop prints the time of completion; the request arrived earlier by the latency `LAT(ms)` and, if printed,
//! by the time in the queue, `QUE(ms)`. iosnoop prints `STARTs` with `-s` and `ENDs` with `-t`; without either there
//! are no times, and the requests run one after another.

use super::doubt::Doubt;
use super::field::{FieldFault, Words, present, printable, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::{SizeUnit, TimeUnit, Units};
use super::{Format, TraceOptions, actions};
use crate::Pacing;

/// A small valid file.
pub(super) const SAMPLE: &str = "Tracing... Hit Ctrl-C to end.\nTIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n\
     0.000740    postgres       1950   vda     W 13092560   4096       0.74\n0.001178    Web Content    1951   vda     R 13092432   8192       0.61\n";

/// The number of lines in which the header must occur.
const PREAMBLE: usize = 20;

/// The columns that are read. The columns with the name and number of the process are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The time of completion, in seconds.
    End,
    /// The time of the issue, in seconds.
    Start,
    /// The time from the issue to the completion, in milliseconds.
    Latency,
    /// The time from the entry into the queue to the issue, in milliseconds.
    Queued,
    Disk,
    Kind,
    Sector,
    Bytes,
    Other,
}

/// The columns before the name of the process, and those after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Header {
    before: Vec<Column>,
    after: Vec<Column>,
}

pub(crate) struct Snoop {
    header: Option<Header>,
    timed: bool,
}

impl Header {
    /// Parses a header; `None` unless the line has the columns of addresses and sizes.
    fn of(line: &[u8]) -> Option<Self> {
        let mut header = Self::default();
        let mut behind = false;
        for word in Words::new(line) {
            let column = match word {
                b"COMM" => {
                    behind = true;
                    continue;
                }
                b"TIME(s)" | b"ENDs" => Column::End,
                b"STARTs" => Column::Start,
                b"LAT(ms)" | b"LATms" => Column::Latency,
                b"QUE(ms)" => Column::Queued,
                b"DISK" | b"DEV" => Column::Disk,
                b"T" | b"TYPE" => Column::Kind,
                b"SECTOR" | b"BLOCK" => Column::Sector,
                b"BYTES" => Column::Bytes,
                _ => Column::Other,
            };
            if behind { header.after.push(column) } else { header.before.push(column) }
        }
        let needed = [Column::Kind, Column::Sector, Column::Bytes];
        (behind && needed.iter().all(|column| header.after.contains(column))).then_some(header)
    }

    fn has(&self, column: Column) -> bool {
        self.before.contains(&column) || self.after.contains(&column)
    }

    /// True if the arrival of each request can be computed.
    fn is_timed(&self) -> bool {
        self.has(Column::Start) || self.has(Column::End) && self.has(Column::Latency)
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().take(PREAMBLE).any(|line| Header::of(line).is_some())
}

/// True for lines that the tools print before and after the list.
fn is_banner(line: &[u8]) -> bool {
    [&b"Tracing"[..], b"Ending", b"Detaching", b"^C"].iter().any(|start| line.trim_ascii_start().starts_with(start))
}

impl LineFormat for Snoop {
    const LAYOUT: &'static str = "the columns of the header, e.g. TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";

    fn start(head: &Head<'_>, _: Format, _: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let header = head.lines().take(PREAMBLE).find_map(Header::of);
        let header = header.ok_or_else(|| FieldFault::new("no line names the columns COMM, T, SECTOR and BYTES"))?;
        if !header.is_timed() {
            context.doubt(Doubt::Times);
        }
        Ok(Self { timed: header.is_timed(), header: None })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if let Some(header) = Header::of(line) {
            self.header = Some(header);
            return Ok(LineContent::Skip(Skip::Header));
        }
        let Some(header) = self.header.as_ref().filter(|_| !is_banner(line)) else {
            return Ok(LineContent::Skip(Skip::Header));
        };
        if [&b"Possibly lost"[..], b"Lost", b"lost"].iter().any(|start| line.starts_with(start)) {
            return Ok(LineContent::Skip(context.leave_out("gaps in which the recording lost requests")));
        }
        let words: Vec<&[u8]> = Words::new(line).collect();
        let Header { before, after } = header;
        let least = before.len() + 1 + after.len();
        if words.len() < least {
            return Err(FieldFault::new(format!("the line is cut short: it has {} columns of {least}", words.len())));
        }
        let value = |wanted: Column| {
            let left = before.iter().position(|column| *column == wanted);
            let right = || after.iter().position(|column| *column == wanted).map(|n| words.len() - after.len() + n);
            left.or_else(right).map(|n| words[n])
        };
        let at = arrival(header, value)?;
        let letters = present(value(Column::Kind), "type")?;
        let volume = context.volumes.id(value(Column::Disk).unwrap_or_default());
        let (kind, flush) = actions::kind(letters);
        let Some(kind) = kind else {
            return Ok(match flush {
                true => LineContent::Request(TraceRecord::flush(at, volume)),
                false => LineContent::Skip(context.leave_out(actions::NO_DATA)),
            });
        };
        let bytes = whole(value(Column::Bytes), "number of bytes")?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let units = Units::new(TimeUnit::Second, SizeUnit::SECTOR, SizeUnit::BYTE);
        let extent = units.extent(whole(value(Column::Sector), "sector")?, bytes)?;
        let record = TraceRecord::new(at, kind, extent, volume);
        Ok(if flush { LineContent::FlushThen(record) } else { LineContent::Request(record) })
    }

    fn pacing(&self) -> Pacing {
        if self.timed { Pacing::Open } else { Pacing::Closed { depth: 1 } }
    }
}

/// The time at which a request arrived, in picoseconds; zero if the list has no times.
fn arrival<'a>(header: &Header, value: impl Fn(Column) -> Option<&'a [u8]>) -> Result<i128, FieldFault> {
    if !header.is_timed() {
        return Ok(0);
    }
    if header.has(Column::Start) {
        return ticks(value(Column::Start), 12, "start");
    }
    let end = ticks(value(Column::End), 12, "time").map_err(|fault| match value(Column::End) {
        Some(time) if time.contains(&b':') => FieldFault::new(format!(
            "the time is that of a clock on the wall: `{}` (record without -t)",
            printable(time)
        )),
        _ => fault,
    })?;
    let latency = ticks(value(Column::Latency), 9, "latency")?;
    let queued = match value(Column::Queued) {
        Some(text) => ticks(Some(text), 9, "time in the queue").unwrap_or(0),
        None => 0,
    };
    Ok(end - latency - queued)
}

#[cfg(test)]
mod tests {
    use base::io::IoKind;

    use super::super::testing::{detected, fault, file, read};
    use super::super::{TraceOptions, open};
    use super::*;
    use crate::Source;

    #[test]
    fn biosnoop_prints_completions_and_requests_arrive_a_latency_earlier() {
        let text = "Tracing block device I/O... Hit Ctrl-C to end.\n\
             TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
             2.003920    xfsaild md0    456     xvdc      W 62901512   8192      0.50    0.25\n\
             2.104034    ?              0       xvdb      FF 18446744073709551615 0     0.00    1.00\n\
             2.204034    a              1       xvdb      D 128        65536     -1      2.00\n\
             Possibly lost 12 samples\n^C\n";
        assert_eq!(detected(text), Some(Format::Snoop));
        let (records, context) = read(Format::Snoop, text);
        assert_eq!((records[0].at, records[0].start, records[0].sectors), (2_003_170_000_000, 62_901_512, 16));
        assert_eq!((records[1].kind, records[1].at), (IoKind::Flush, 2_103_034_000_000));
        assert_eq!((records[2].kind, records[2].sectors), (IoKind::Discard, 128));
        assert_eq!(context.volumes.names(), ["xvdc", "xvdb"]);
        assert_eq!((context.stats.headers, context.stats.other_events), (3, 1));
    }

    #[test]
    fn iosnoop_has_starts_or_ends_or_no_times() {
        let starts = "Tracing block I/O. Ctrl-C to end.\n\
             STARTs          ENDs            COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
             14545946.332115 14545946.344366 <...>        17185  WS   8,160    4840587442   4096      12.25\n";
        let (records, _) = read(Format::Snoop, starts);
        assert_eq!((records[0].at, records[0].sectors), (14_545_946_332_115_000_000, 8));
        let ends = "ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n10.5 a 1 R 8,0 64 4096 500.00\n";
        assert_eq!(read(Format::Snoop, ends).0[0].at, 10_000_000_000_000);
        let none = "COMM PID TYPE DEV BLOCK BYTES LATms\na 1 R 8,0 64 4096 0.20\nb 2 W 8,0 64 4096 0.20\n";
        let source = open(file(none.as_bytes()).path(), &TraceOptions::default()).unwrap();
        assert_eq!((source.format(), source.pacing()), (Format::Snoop, Pacing::Closed { depth: 1 }));
        assert_eq!(source.doubts(), [Doubt::Times]);
    }

    #[test]
    fn bad_lines_are_named() {
        let header = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
        let bad = |line: &str| fault(Format::Snoop, &format!("{header}{line}\n"));
        assert!(bad("1.0 a 1 sda R 8").contains("6 columns of 8"));
        assert!(bad("1.0 a 1 sda R x 512 0.1").contains("the sector is not a number"));
        assert!(bad("10:20:30.100 a 1 sda R 8 512 0.1").contains("record without -t"));
        // biosnoop.bt prints neither addresses nor sizes.
        assert_eq!(detected("TIME(ms)     DISK    COMM             PID    LAT(ms)\n611 nvme0n1 bash 4179 10\n"), None);
    }
}
