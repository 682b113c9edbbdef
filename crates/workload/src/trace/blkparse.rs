//! The default text output of blkparse: `maj,min cpu seq seconds pid action RWBS sector + sectors [process]`.
//!
//! One action stands for a request: queued (`Q`), issued to the driver (`D`), or completed (`C`). By default it is the
//! first of Q, D, I, C that occurs in the first 64 KiB. Among the RWBS letters, R, W and D are the kind; a leading F is
//! a flush, which precedes the write if there is one. FUA after the W counts as a plain write, because requests here
//! have no FUA.
//!
//! Counted by kind and skipped are other actions, passthrough commands (`N 0 (00 ..)`), requests without data (N), and
//! the summary, which is everything from its first line on that does not begin with a device.
//!
//! blkparse prints time stamps from before the reference of the recording as 2^64 ns minus the distance, with the
//! seconds cut to 32 bits: 1266874889.x. The reader corrects them. blkparse also sorts these events to the end; such an
//! event that is late by more than the tolerance gets the time of the event before it in the file.

use super::field::{
    Extent, FieldFault, Words, is_number, parse_whole, present, printable, sectors_extent, ticks, whole,
};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::{Event, Format, TraceOptions, actions};

/// 2^64 ns in picoseconds, with the seconds modulo 2^32.
const WRAP: i128 = (1_266_874_889 * 1_000_000_000 + 709_551_616) * 1_000;
/// The longest plausible time of an event before its reference.
const HOUR: i128 = 3_600 * 1_000_000_000_000;

/// A small valid file.
pub(super) const SAMPLE: &str = "  8,16   3        4     0.000011950  3645  Q   R 4938888 + 256 [java]\n  8,16   3        5     0.000026421  3645  D   R 4938888 + 256 [java]\n\
     8,16   1        7     0.001795683  3557  C   R 4938888 + 256 [0]\n  8,0    1        9     1.5 35  Q FWFSM 100 + 8 [jbd2/sda1-8]\nCPU0 (8,16):\n Reads Queued: 1\n";

pub(crate) struct Blkparse {
    action: u8,
    newest: Option<i128>,
    tolerance: i128,
    /// True after a line of the summary.
    in_summary: bool,
}

fn action_of(line: &[u8]) -> Option<&[u8]> {
    let mut words = Words::new(line);
    let device = words.next()?;
    let comma = device.iter().position(|b| *b == b',')?;
    let numeric = is_number(&device[..comma]) && is_number(&device[comma + 1..]);
    let numbers = (0..4).all(|_| words.next().is_some_and(is_number));
    words.next().filter(|action| numeric && numbers && action.len() <= 2)
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| action_of(line).is_some())
}

/// True for a line of the summaries, or a message about the recording.
fn is_summary(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 11] = [
        b"CPU",
        b"Total",
        b"Read",
        b"Write",
        b"PC ",
        b"IO unplugs",
        b"Throughput",
        b"Events",
        b"Skips",
        b"Input file",
        b"==",
    ];
    let line = line.trim_ascii_start();
    STARTS.iter().any(|start| line.starts_with(start)) || is_process(line)
}

/// True for the title of a process in the summary of `blkparse -s`: `NAME (PID)`.
fn is_process(line: &[u8]) -> bool {
    let Some(inside) = line.trim_ascii_end().strip_suffix(b")") else { return false };
    let from = inside.iter().rposition(|byte| *byte == b'(').filter(|at| *at > 0);
    from.is_some_and(|at| inside[at - 1] == b' ' && parse_whole(&inside[at + 1..]).is_some())
}

/// True if a line begins with the device of an event, `maj,min`.
fn has_device(line: &[u8]) -> bool {
    let device = Words::new(line).next().unwrap_or_default();
    let comma = device.iter().position(|byte| *byte == b',');
    comma.is_some_and(|comma| is_number(&device[..comma]) && is_number(&device[comma + 1..]))
}

impl LineFormat for Blkparse {
    const LAYOUT: &'static str = "maj,min cpu sequence seconds pid action RWBS sector + sectors [process]";

    fn start(head: &Head<'_>, _: Format, options: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let action = match options.event {
            Event::Queue => b'Q',
            Event::Issue => b'D',
            Event::Complete => b'C',
            Event::Auto => {
                let mut seen = [false; 256];
                for line in head.lines() {
                    if let Some([action]) = action_of(line) {
                        seen[usize::from(*action)] = true;
                    }
                }
                *b"QDIC"
                    .iter()
                    .find(|action| seen[usize::from(**action)])
                    .ok_or_else(|| FieldFault::new("none of the actions Q, D, I and C occurs in the first 64 KiB"))?
            }
        };
        context.stats.event = Some(char::from(action));
        let tolerance = i128::from(options.tolerance.as_ps());
        Ok(Self { action, newest: None, tolerance, in_summary: false })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        // Only events begin with a device, and only lines of the summary follow its first line.
        if is_summary(line) || self.in_summary && !has_device(line) {
            self.in_summary = true;
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut words = Words::new(line);
        let device = present(words.next(), "device")?;
        if !device.contains(&b',') {
            return Err(FieldFault::new(format!("neither an event nor a summary: `{}`", printable(line))));
        }
        whole(words.next(), "CPU")?;
        whole(words.next(), "sequence number")?;
        let time = ticks(words.next(), 12, "time")?;
        whole(words.next(), "process")?;
        let action = present(words.next(), "action")?;
        if action != [self.action] {
            return Ok(LineContent::Skip(context.leave_out(actions::name(action[0]))));
        }
        let rwbs = present(words.next(), "RWBS letters")?;
        let (kind, flush) = actions::kind(rwbs);
        // Without an extent, the name of the process follows.
        let extent = match words.next() {
            Some([b'[', ..]) => Extent::default(),
            // The bytes of a passthrough command are in parentheses, after the length of its data if there is one.
            Some([b'(', ..]) => return Ok(LineContent::Skip(context.leave_out(actions::PASSTHROUGH))),
            word => {
                let start = whole(word, "sector")?;
                match words.next() {
                    Some(b"+") => sectors_extent(start, whole(words.next(), "number of sectors")?)?,
                    Some([b'[', ..]) => Extent { start, ..Extent::default() },
                    Some([b'(', ..]) => return Ok(LineContent::Skip(context.leave_out(actions::PASSTHROUGH))),
                    Some(other) => {
                        return Err(FieldFault::new(format!("`+` is missing before `{}`", printable(other))));
                    }
                    None => return Err(FieldFault::new("the line is cut short: it ends before its number of sectors")),
                }
            }
        };
        let at = self.put_right(time, context);
        let volume = context.volumes.id(device);
        let record = |kind| TraceRecord::new(at, kind, extent, volume);
        Ok(match (kind, flush) {
            (Some(kind), false) if extent.sectors > 0 => LineContent::Request(record(kind)),
            (Some(kind), true) if extent.sectors > 0 => LineContent::FlushThen(record(kind)),
            (_, true) => LineContent::Request(TraceRecord::flush(at, volume)),
            (Some(_), false) => LineContent::Skip(Skip::Empty),
            (None, false) => LineContent::Skip(context.leave_out(actions::NO_DATA)),
        })
    }
}

impl Blkparse {
    fn put_right(&mut self, time: i128, context: &mut Context) -> i128 {
        let mut at = time;
        if (WRAP - HOUR..WRAP).contains(&time) {
            context.stats.wrapped_stamps += 1;
            at = time - WRAP;
            if let Some(newest) = self.newest.filter(|newest| newest - at > self.tolerance) {
                context.stats.restamped += 1;
                at = newest;
            }
        }
        self.newest = Some(self.newest.map_or(at, |newest| newest.max(at)));
        at
    }
}

#[cfg(test)]
mod tests {
    use base::io::IoKind;

    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    const TEXT: &str = "\
  8,0    1        1     0.000000000   100  Q   R 640 + 8 [a b]
  8,0    1        2     0.000000100   100  G   R 640 + 8 [a b]
  8,0    1        3     0.000000200   100  D   R 640 + 8 [a b]
  8,0    1        4     0.000001000   100  Q FWS [a]
  8,0    1        5     0.000002000   100  Q FWFS 128 + 16 [a]
  8,0    1        6     0.000003000   100  Q  DS 0 + 2048 [a]
  8,0    1        7     0.000003500   100  Q   N 0 [a]
  8,0    0        0     0.000003600     0  m   N cfq nothing
  8,0    1        8 1266874889.709551516   100  Q   W 9 + 1 [a]
  8,0    1        9     0.000004000   100  Q   N 0 (00 ..) [a]
  8,0    1       10     0.000004100   100  Q   R 36 (12 01 00 00 fc 00 ..) [a]
  8,0    1       11     0.000004200   100  C   N (12 01 ..) [0]
a tool (100)
 Reads Queued:           1,        4KiB\t Writes Queued:           2,        8KiB

Total (8,0):
Throughput (R/W): 0KiB/s / 0KiB/s
 PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB
some words of another version
Skips: 0 forward (0 -   0.0%)
";

    #[test]
    fn flags_flushes_and_summaries_are_understood() {
        assert_eq!(detected(TEXT), Some(Format::Blkparse));
        let (records, context) = read(Format::Blkparse, TEXT);
        let kinds: Vec<_> = records.iter().map(|r| r.kind).collect();
        use IoKind::{Discard, Flush, Read, Write};
        assert_eq!(kinds, [Read, Flush, Flush, Write, Discard, Write]);
        assert_eq!((records[3].start, records[3].sectors), (128, 16));
        assert_eq!(records[5].at, -100_000);
        assert_eq!(context.stats.event, Some('Q'));
        assert_eq!(context.stats.wrapped_stamps, 1);
        assert_eq!(context.stats.headers, 7);
        let left_out: Vec<(&str, u64)> = context.stats.left_out.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        let wanted = [
            ("completed (C)", 1),
            ("issued (D)", 1),
            ("messages", 1),
            ("passthrough commands", 2),
            ("request allocated (G)", 1),
            ("requests without data (N)", 1),
        ];
        assert_eq!((left_out.as_slice(), context.stats.other_events), (&wanted[..], 7));
    }

    #[test]
    fn passthrough_commands_are_left_out_of_completions_too() {
        let text = "8,0 1 1 0.5 9 C R 0 + 8 [0]\n8,0 1 2 0.6 9 C N (00 ..) [0]\n8,0 1 3 0.7 9 C R (12 ..) [0]\n";
        let (records, context) = read(Format::Blkparse, text);
        assert_eq!((records.len(), context.stats.left_out[actions::PASSTHROUGH]), (1, 2));
    }

    #[test]
    fn a_wrapped_stamp_at_the_end_keeps_its_place() {
        let text = "8,0 1 1 0.5 9 C R 0 + 8 [0]\n8,0 1 1 90.5 9 C R 0 + 8 [0]\n8,0 1 1 1266874889.7 9 C R 0 + 8 [0]\n";
        let (records, context) = read(Format::Blkparse, text);
        assert_eq!(records[2].at, records[1].at);
        assert_eq!((context.stats.restamped, context.stats.event), (1, Some('C')));
    }

    #[test]
    fn bad_lines_are_named() {
        let good = "8,0 1 1 0.5 9 Q R 0 + 8 [a]\n";
        assert!(fault(Format::Blkparse, &format!("{good}8,0 1 2 0.6 9 Q R 77")).contains("number of sectors"));
        assert!(fault(Format::Blkparse, &format!("{good}8,0 1 2 0.6")).contains("ends before its process"));
        assert!(fault(Format::Blkparse, &format!("{good}hello\n")).contains("neither an event nor a summary"));
    }
}
