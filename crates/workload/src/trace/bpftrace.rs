//! Lines that a bpftrace program prints for block and NVMe events: pairs `KEY=VALUE` with the names of the tracepoint's
//! arguments, e.g. `1093456789 dd 4179 dev=253,16 rwbs=WS sector=43276368 bytes=4096`.
//!
//! A request needs a sector and a size; its operation is `rwbs=` (or `op=`), or a word of RWBS letters. The key of the
//! time states its unit (`nsecs=`, `time_us=`). A bare first word is in seconds if it has a decimal point, and in
//! nanoseconds if it has ten digits or more. If lines have no times, the requests run one after another. Output of
//! programs with another form is read with `--columns`.

use base::io::IoKind;

use super::doubt::Doubt;
use super::field::{FieldFault, Words, is_number, parse_whole, present, printable, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::{SizeUnit, TimeUnit, Units};
use super::{Format, TraceOptions, actions};
use crate::Pacing;

/// A small valid file.
pub(super) const SAMPLE: &str = "Attaching 1 probe...\n\
     1093456789012 kworker/2:0H     26     dev=253,16  rwbs=WS   sector=43276368   bytes=4096\n\
     1093456889012 dd               4179   dev=253,16  rwbs=R    sector=17641288   bytes=8192\n";

/// The number of lines in which the first request must occur, after a banner of the program.
const PREAMBLE: usize = 50;
/// The least number of digits of a whole number that is a time of the kernel's clock in nanoseconds.
const CLOCK_DIGITS: usize = 10;

const SECTORS: [&[u8]; 4] = [b"sector", b"slba", b"lba", b"block"];
const BYTES: [&[u8]; 2] = [b"bytes", b"size"];
const COUNTS: [&[u8]; 5] = [b"nr_sector", b"nr_sectors", b"sectors", b"nlb", b"blocks"];
const OPS: [&[u8]; 4] = [b"rwbs", b"op", b"rw", b"type"];
const DEVICES: [&[u8]; 3] = [b"dev", b"disk", b"device"];
const TIMES: [(&[u8], TimeUnit); 9] = [
    (b"nsecs", TimeUnit::Nanosecond),
    (b"ts_ns", TimeUnit::Nanosecond),
    (b"time_ns", TimeUnit::Nanosecond),
    (b"timestamp_ns", TimeUnit::Nanosecond),
    (b"ts_us", TimeUnit::Microsecond),
    (b"time_us", TimeUnit::Microsecond),
    (b"ts_ms", TimeUnit::Millisecond),
    (b"time_ms", TimeUnit::Millisecond),
    (b"time_s", TimeUnit::Second),
];

pub(crate) struct Bpftrace {
    timed: bool,
}

/// The value of the first of these keys that a line has.
fn value<'a>(line: &'a [u8], keys: &[&[u8]]) -> Option<&'a [u8]> {
    let pairs =
        || Words::new(line).filter_map(|word| word.iter().position(|byte| *byte == b'=').map(|at| word.split_at(at)));
    let of = |wanted: &&[u8]| pairs().find_map(|(key, value)| key.eq_ignore_ascii_case(wanted).then_some(&value[1..]));
    let found = keys.iter().find_map(of)?;
    Some(found.strip_suffix(b",").unwrap_or(found))
}

fn time(line: &[u8]) -> Option<(&[u8], TimeUnit)> {
    let named = TIMES.iter().find_map(|(key, unit)| Some((value(line, &[key])?, *unit)));
    named.or_else(|| {
        let first = Words::new(line).next()?;
        let first = first.strip_suffix(b":").unwrap_or(first);
        match is_number(first) {
            true if first.contains(&b'.') => Some((first, TimeUnit::Second)),
            true if first.len() >= CLOCK_DIGITS => Some((first, TimeUnit::Nanosecond)),
            _ => None,
        }
    })
}

/// The letters or the word of the operation.
fn operation(line: &[u8]) -> Option<&[u8]> {
    let is_rwbs = |word: &&[u8]| {
        let letters = word.strip_prefix(b"F").unwrap_or(word);
        matches!(letters, [b'R' | b'W' | b'D', rest @ ..] if rest.iter().all(|byte| b"FSAMU".contains(byte)))
    };
    value(line, &OPS).or_else(|| Words::new(line).find(is_rwbs))
}

fn is_request(line: &[u8]) -> bool {
    let sized = value(line, &BYTES).or_else(|| value(line, &COUNTS)).and_then(parse_whole);
    value(line, &SECTORS).and_then(parse_whole).is_some() && sized.is_some() && operation(line).is_some()
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().take(PREAMBLE).any(is_request)
}

impl LineFormat for Bpftrace {
    const LAYOUT: &'static str = "[time] ... rwbs=RWBS sector=SECTOR bytes=BYTES";

    fn start(head: &Head<'_>, _: Format, _: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let first = head.lines().find(|line| is_request(line));
        let first = first
            .ok_or_else(|| FieldFault::new("no line in the first 64 KiB has a sector, a size and an operation"))?;
        let timed = time(first).is_some();
        if !timed {
            context.doubt(Doubt::Times);
        }
        Ok(Self { timed })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let Some(sector) = value(line, &SECTORS) else {
            // Other output of the program: its banner, histograms, other events.
            let banner = [&b"Attach"[..], b"Tracing", b"Detach", b"^C"];
            let banner = banner.iter().any(|start| line.starts_with(start));
            return Ok(LineContent::Skip(if banner {
                Skip::Header
            } else {
                context.leave_out("lines without a sector")
            }));
        };
        let at = match time(line) {
            Some((text, unit)) if self.timed => ticks(Some(text), unit.digits(), "time")?,
            None if self.timed => return Err(FieldFault::new("the line has no time, and the first one has")),
            _ => 0,
        };
        let volume = context.volumes.id(value(line, &DEVICES).unwrap_or_default());
        let word = present(operation(line), "operation")?;
        let (kind, flush) = match word {
            _ if word.eq_ignore_ascii_case(b"read") => (Some(IoKind::Read), false),
            _ if word.eq_ignore_ascii_case(b"write") => (Some(IoKind::Write), false),
            _ if word.eq_ignore_ascii_case(b"flush") => (None, true),
            _ if word.eq_ignore_ascii_case(b"discard") => (Some(IoKind::Discard), false),
            letters => actions::kind(letters),
        };
        let Some(kind) = kind else {
            return Ok(match flush {
                true => LineContent::Request(TraceRecord::flush(at, volume)),
                false if word.first() == Some(&b'N') => LineContent::Skip(context.leave_out(actions::NO_DATA)),
                false => return Err(FieldFault::new(format!("the operation is not known: `{}`", printable(word)))),
            });
        };
        let (size, unit) = match value(line, &BYTES) {
            Some(bytes) => (bytes, SizeUnit::BYTE),
            None => (present(value(line, &COUNTS), "size")?, SizeUnit::SECTOR),
        };
        let units = Units::new(TimeUnit::Nanosecond, SizeUnit::SECTOR, unit);
        let extent = units.extent(whole(Some(sector), "sector")?, whole(Some(size), "size")?)?;
        let record = TraceRecord::new(at, kind, extent, volume);
        Ok(match (extent.sectors, flush) {
            (0, true) => LineContent::Request(TraceRecord::flush(at, volume)),
            (0, false) => LineContent::Skip(Skip::Empty),
            (_, true) => LineContent::FlushThen(record),
            (_, false) => LineContent::Request(record),
        })
    }

    fn pacing(&self) -> Pacing {
        if self.timed { Pacing::Open } else { Pacing::Closed { depth: 1 } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, file, read};
    use super::super::{TraceOptions, open};
    use super::*;
    use crate::Source;

    #[test]
    fn pairs_are_read_in_any_order_and_unit() {
        assert_eq!(detected(SAMPLE), Some(Format::Bpftrace));
        let (records, context) = read(Format::Bpftrace, SAMPLE);
        assert_eq!((records[0].kind, records[0].start, records[0].sectors), (IoKind::Write, 43_276_368, 8));
        assert_eq!(records[1].at - records[0].at, 100_000_000);
        assert_eq!((context.volumes.names().join(" "), context.stats.headers), ("253,16".to_owned(), 1));
        let text = "Attaching 2 probes...\nBlock requests, by hand\n\
             10.5 fio FWFS nr_sector=16 sector=64\n10.6 fio op=flush sector=0 bytes=0\n10.7: fio rwbs=N sector=0 bytes=36\n@usecs:\n";
        let (records, context) = read(Format::Bpftrace, text);
        use IoKind::{Flush, Write};
        assert_eq!(records.iter().map(|record| record.kind).collect::<Vec<_>>(), [Flush, Write, Flush]);
        assert_eq!((records[1].sectors, records[2].at - records[1].at), (16, 100_000_000_000));
        assert_eq!(context.stats.left_out["lines without a sector"], 2);
        let named = "time_us=5 disk=nvme0n1 op=read slba=8 nlb=8\n";
        assert_eq!(read(Format::Bpftrace, named).0[0].at, 5_000_000);
    }

    #[test]
    fn requests_without_times_run_one_after_another() {
        let text = "kworker/2:0H 26 dev=253,16 rwbs=WS sector=43276368 bytes=4096\n".repeat(3);
        let source = open(file(text.as_bytes()).path(), &TraceOptions::default()).unwrap();
        assert_eq!((source.format(), source.pacing()), (Format::Bpftrace, Pacing::Closed { depth: 1 }));
        assert_eq!(source.doubts(), [Doubt::Times]);
    }

    #[test]
    fn bad_lines_are_named() {
        let bad = |line: &str| fault(Format::Bpftrace, &format!("{SAMPLE}{line}\n"));
        assert!(bad("dd rwbs=R sector=8 bytes=512").contains("has no time, and the first one has"));
        assert!(bad("1093456989012 rwbs=R sector=8").contains("ends before its size"));
        assert!(bad("1093456989012 rwbs=X sector=8 bytes=512").contains("the operation is not known: `X`"));
        assert!(bad("1093456989012 rwbs=R sector=x bytes=512").contains("the sector is not a number"));
    }
}
