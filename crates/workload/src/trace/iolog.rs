//! fio's I/O log. Version 2: `file action [offset bytes]`; version 3: `microseconds file action [offset bytes]`.
//!
//! Version 2 without waits has no times and asks for a closed loop of depth one. With waits it is replayed: a request
//! is issued when the one before has completed, and not before the wait ends. The length of a wait has two readings:
//! fio ends a wait that many milliseconds after the start of the job, so waits do not add up; fio's manual says
//! microseconds after the previous wait. The reader does what fio does, unless the user gives `us` as the unit of
//! times.
//!
//! Version 3 has a time stamp in each line, and requests arrive at their times. `sync`, `datasync` and
//! `sync_file_range` are flushes, `trim` is a discard; `add`, `open`, `close` and `unlink` are left out. Each file is a
//! volume.

use base::io::IoKind;

use super::doubt::Doubt;
use super::field::{FieldFault, Words, bytes_extent, present, printable, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::TimeUnit;
use super::{Format, TraceOptions};
use crate::Pacing;

/// A small valid file.
pub(super) const SAMPLE: &str = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 4096 4096\n/dev/sdb wait 10\n/dev/sdb read 0 512\n/dev/sdb sync\n/dev/sdb close\n";

pub(crate) struct Iolog {
    /// True if every action has a time stamp.
    stamped: bool,
    /// The meaning of the waits of version 2; `None` if the first 64 KiB have none.
    waits: Option<Waits>,
    /// The earliest time of the next request according to the waits of version 2, in picoseconds.
    now: i128,
}

/// The meaning of the length of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Milliseconds from the start of the job to the end of the wait, as in fio.
    Absolute,
    /// Microseconds from the end of the previous wait, as in fio's manual.
    Relative,
}

fn version(line: &[u8]) -> Option<&[u8]> {
    let mut words = Words::new(line);
    let version = [b"fio".as_slice(), b"version"].into_iter().all(|word| words.next() == Some(word));
    version.then(|| words.next()).flatten().filter(|_| words.next() == Some(b"iolog"))
}

/// True for a wait of version 2.
fn is_wait(line: &[u8]) -> bool {
    Words::new(line).nth(1) == Some(b"wait")
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().next().is_some_and(|line| version(line).is_some())
}

impl LineFormat for Iolog {
    const LAYOUT: &'static str = "[microseconds] file action [offset bytes]";

    fn start(head: &Head<'_>, _: Format, options: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let unit = options.units.time;
        match head.lines().next().and_then(version) {
            Some(b"2") if !head.lines().any(is_wait) => match unit {
                None => Ok(Self { stamped: false, waits: None, now: 0 }),
                Some(_) => Err(FieldFault::new("--time-unit has no effect: the first 64 KiB have no wait")),
            },
            Some(b"2") => {
                let waits = match unit {
                    None | Some(TimeUnit::Millisecond) => Waits::Absolute,
                    Some(TimeUnit::Microsecond) => Waits::Relative,
                    Some(other) => return Err(FieldFault::new(format!("waits are in ms or us, not in {other}"))),
                };
                if unit.is_none() {
                    context.doubt(Doubt::Waits);
                }
                Ok(Self { stamped: false, waits: Some(waits), now: 0 })
            }
            Some(b"3") if unit.is_some() => {
                Err(FieldFault::new("--time-unit has no effect: version 3 has times in us"))
            }
            Some(b"3") => Ok(Self { stamped: true, waits: None, now: 0 }),
            Some(other) => Err(FieldFault::new(format!("iolog version `{}` is neither 2 nor 3", printable(other)))),
            None => Err(FieldFault::new("the first line is not `fio version 2 iolog` or `fio version 3 iolog`")),
        }
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if version(line).is_some() {
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut words = Words::new(line);
        let at = if self.stamped { ticks(words.next(), 6, "time")? } else { self.now };
        let file = present(words.next(), "file name")?;
        let kind = match present(words.next(), "action")? {
            b"read" => IoKind::Read,
            b"write" => IoKind::Write,
            b"trim" => IoKind::Discard,
            b"sync" | b"datasync" | b"sync_file_range" => {
                return Ok(LineContent::Request(TraceRecord::flush(at, context.volumes.id(file))));
            }
            b"wait" if !self.stamped => {
                let length = i128::from(whole(words.next(), "length of the wait")?);
                self.now = match self.waits {
                    Some(Waits::Absolute) => self.now.max(length * i128::from(TimeUnit::Millisecond.ps())),
                    Some(Waits::Relative) => self.now + length * i128::from(TimeUnit::Microsecond.ps()),
                    None => {
                        return Err(FieldFault::new(format!(
                            "the first wait comes after 64 KiB of a log that began as one without waits (write `{} wait 0 \
                             0` as its second line, so that it is replayed by its waits)",
                            printable(file)
                        )));
                    }
                };
                return Ok(LineContent::Skip(Skip::Header));
            }
            action @ (b"add" | b"open" | b"close" | b"unlink") => {
                return Ok(LineContent::Skip(context.leave_out(&printable(action))));
            }
            other => return Err(FieldFault::new(format!("the action is not one of fio's: `{}`", printable(other)))),
        };
        let offset = whole(words.next(), "offset")?;
        let bytes = whole(words.next(), "size")?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let extent = bytes_extent(offset, bytes)?;
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(file))))
    }

    fn pacing(&self) -> Pacing {
        match self.waits {
            _ if self.stamped => Pacing::Open,
            Some(_) => Pacing::Replay { depth: 1 },
            None => Pacing::Closed { depth: 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, file, read, try_read_with};
    use super::super::{NamedUnits, open};
    use super::*;
    use crate::Source;

    #[test]
    fn version_two_has_waits_and_version_three_time_stamps() {
        let two = "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x write 4096 8192\n/dev/x wait 250 0\n\
                   /dev/x datasync 0 0\n/dev/x wait 200 0\n/dev/x trim 0 1024\n/dev/x close\n";
        assert_eq!(detected(two), Some(Format::Iolog));
        let (records, context) = read(Format::Iolog, two);
        let kinds: Vec<_> = records.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, [IoKind::Write, IoKind::Flush, IoKind::Discard]);
        // As in fio: 250 ms after the start, and the second wait has ended by then.
        assert_eq!((records[0].start, records[0].sectors, records[1].at), (8, 16, 250_000_000_000));
        assert_eq!(records[2].at, records[1].at);
        assert_eq!(
            (context.stats.headers, context.stats.other_events, &context.doubts[..]),
            (3, 3, &[Doubt::Waits][..])
        );
        assert_eq!(context.stats.left_out["close"], 1);
        let options = |unit| TraceOptions {
            units: NamedUnits { time: Some(unit), ..NamedUnits::default() },
            ..TraceOptions::default()
        };
        let (confirmed, context) = try_read_with(Format::Iolog, two, &options(TimeUnit::Millisecond)).unwrap();
        assert_eq!((confirmed, context.doubts), (records, Vec::new()));
        // As in the manual: the waits add up.
        let (records, _) = try_read_with(Format::Iolog, two, &options(TimeUnit::Microsecond)).unwrap();
        assert_eq!((records[1].at, records[2].at), (250_000_000, 450_000_000));
        let error = try_read_with(Format::Iolog, two, &options(TimeUnit::Second)).unwrap_err();
        assert!(error.message().contains("waits are in ms or us, not in s"), "{error}");

        let three = "fio version 3 iolog\n10 f add\n12 f open\n15 f read 512 512\n20 f sync\n";
        let (records, _) = read(Format::Iolog, three);
        assert_eq!(records[1].at - records[0].at, 5_000_000);
        assert_eq!(records[1].kind, IoKind::Flush);
    }

    #[test]
    fn the_pacing_follows_from_the_waits() {
        let pacing = |text: &str| open(file(text.as_bytes()).path(), &TraceOptions::default()).unwrap().pacing();
        assert_eq!(
            pacing("fio version 2 iolog\nf read 0 4096\nf wait 5 0\nf read 0 4096\n"),
            Pacing::Replay { depth: 1 }
        );
        assert_eq!(pacing("fio version 2 iolog\nf read 0 4096\n"), Pacing::Closed { depth: 1 });
        assert_eq!(pacing("fio version 3 iolog\n10 f read 0 4096\n"), Pacing::Open);
        // A wait that does not occur in the beginning of the file would be lost.
        let late = format!("fio version 2 iolog\n{}f wait 5 0\nf read 0 512\n", "f read 0 4096\n".repeat(6_000));
        let text = fault(Format::Iolog, &late);
        assert!(text.contains(":6002: the first wait comes after 64 KiB") && text.contains("f wait 0 0"), "{text}");
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Iolog, "fio version 9 iolog\n").contains("neither 2 nor 3"));
        assert!(fault(Format::Iolog, "fio version 2 iolog\n/dev/x write 40").contains("ends before its size"));
        assert!(fault(Format::Iolog, "fio version 2 iolog\n/dev/x erase 0 1\n").contains("not one of fio's"));
    }
}
