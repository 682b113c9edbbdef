//! fio's I/O log. Version 2: `file action [offset bytes]`; version 3: `microseconds file action [offset bytes]`.
//!
//! Version 2 has no times but `wait`s (microseconds, relative to the last), so that it asks for a closed loop; version
//! 3 is replayed by its times. `sync`, `datasync` and `sync_file_range` are flushes, `trim` is a discard; `add`, `open`
//! and `close` are skipped. Each file is a volume.

use base::io::IoKind;

use super::format::Head;
use super::record::{Context, Record, Skip};
use super::text::{Fault, LineFormat, Parsed, Words, bytes_extent, present, printable, ticks, whole};
use super::{Format, TraceOptions};
use crate::Pacing;

/// Picoseconds per microsecond.
const MICROSECOND: i128 = 1_000_000;

/// A small valid file.
pub(super) const SAMPLE: &str = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 4096 4096\n/dev/sdb wait 10\n/dev/sdb read 0 512\n/dev/sdb sync\n/dev/sdb close\n";

pub(crate) struct Iolog {
    /// True if every action has a time stamp.
    stamped: bool,
    /// The sum of the waits of version 2.
    now: i128,
}

fn version(line: &[u8]) -> Option<&[u8]> {
    let mut words = Words::new(line);
    let version = [b"fio".as_slice(), b"version"].into_iter().all(|word| words.next() == Some(word));
    version.then(|| words.next()).flatten().filter(|_| words.next() == Some(b"iolog"))
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().next().is_some_and(|line| version(line).is_some())
}

impl LineFormat for Iolog {
    const LAYOUT: &'static str = "[microseconds] file action [offset bytes]";

    fn start(head: &Head<'_>, _: Format, _: &TraceOptions, _: &mut Context) -> Result<Self, Fault> {
        match head.lines().next().and_then(version) {
            Some(b"2") => Ok(Self { stamped: false, now: 0 }),
            Some(b"3") => Ok(Self { stamped: true, now: 0 }),
            Some(other) => Err(Fault::new(format!("iolog version `{}` is neither 2 nor 3", printable(other)))),
            None => Err(Fault::new("the first line is not `fio version 2 iolog` or `fio version 3 iolog`")),
        }
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<Parsed, Fault> {
        if version(line).is_some() {
            return Ok(Parsed::Skip(Skip::Header));
        }
        let mut words = Words::new(line);
        let at = if self.stamped { ticks(words.next(), 6, "time")? } else { self.now };
        let file = present(words.next(), "file name")?;
        let kind = match present(words.next(), "action")? {
            b"read" => IoKind::Read,
            b"write" => IoKind::Write,
            b"trim" => IoKind::Discard,
            b"sync" | b"datasync" | b"sync_file_range" => {
                let volume = context.volumes.id(file);
                return Ok(Parsed::Request(Record {
                    at,
                    line: 0,
                    part: 0,
                    start: 0,
                    sectors: 0,
                    volume,
                    kind: IoKind::Flush,
                }));
            }
            b"wait" if !self.stamped => {
                self.now += i128::from(whole(words.next(), "length of the wait")?) * MICROSECOND;
                return Ok(Parsed::Skip(Skip::Event));
            }
            b"add" | b"open" | b"close" | b"unlink" => return Ok(Parsed::Skip(Skip::Event)),
            other => return Err(Fault::new(format!("the action is not one of fio's: `{}`", printable(other)))),
        };
        let offset = whole(words.next(), "offset")?;
        let bytes = whole(words.next(), "size")?;
        if bytes == 0 {
            return Ok(Parsed::Skip(Skip::Empty));
        }
        let (start, sectors) = bytes_extent(offset, bytes)?;
        Ok(Parsed::Request(Record { at, line: 0, part: 0, start, sectors, volume: context.volumes.id(file), kind }))
    }

    fn pacing(&self) -> Pacing {
        if self.stamped { Pacing::Open } else { Pacing::Closed { depth: 1 } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn version_two_has_waits_and_version_three_time_stamps() {
        let two = "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x write 4096 8192\n/dev/x wait 250 0\n\
                   /dev/x datasync 0 0\n/dev/x trim 0 1024\n/dev/x close\n";
        assert_eq!(detected(two), Some(Format::Iolog));
        let (records, context) = read(Format::Iolog, two);
        let kinds: Vec<_> = records.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, [IoKind::Write, IoKind::Flush, IoKind::Discard]);
        assert_eq!((records[0].start, records[0].sectors, records[1].at), (8, 16, 250_000_000));
        assert_eq!((context.stats.headers, context.stats.other_events), (1, 4));

        let three = "fio version 3 iolog\n10 f add\n12 f open\n15 f read 512 512\n20 f sync\n";
        let (records, _) = read(Format::Iolog, three);
        assert_eq!(records[1].at - records[0].at, 5_000_000);
        assert_eq!(records[1].kind, IoKind::Flush);
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Iolog, "fio version 9 iolog\n").contains("neither 2 nor 3"));
        assert!(fault(Format::Iolog, "fio version 2 iolog\n/dev/x write 40").contains("ends before its size"));
        assert!(fault(Format::Iolog, "fio version 2 iolog\n/dev/x erase 0 1\n").contains("not one of fio's"));
    }
}
