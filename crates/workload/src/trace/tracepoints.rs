//! The events of Linux's tracepoints as text: ftrace's `trace` and `trace_pipe`, `trace-cmd report`, `perf script`.
//!
//! All of them print `TASK ... [CPU] ... SECONDS: EVENT: FIELDS`; perf writes the group before the event
//! (`block:block_rq_issue`). One event stands for a request. By default it is the first in this list that occurs in the
//! first 64 KiB: `block_rq_issue`, `nvme_setup_cmd`, `block_bio_queue`, `block_rq_insert`, `block_io_start`, and then
//! completions. If none of them occurs there, the first that occurs later is taken. Issues come first, unlike in
//! blktrace's files, because tracepoints record all devices: a stack of device-mapper targets queues one request on
//! each of its devices, and only the last one issues it.
//!
//! Fields of a block event are `maj,min RWBS [bytes] [(command)] sector + sectors`. An NVMe command counts logical
//! blocks of its namespace, whose size the event does not state; it is assumed to be 512 bytes.

use base::io::IoKind;

use super::doubt::Doubt;
use super::field::{Extent, FieldFault, Words, is_number, present, printable, sectors_extent, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::{Event, Format, TraceOptions, actions};

/// A small valid file.
pub(super) const SAMPLE: &str = "# tracer: nop\n\
     fio-4238 [009] .....  4148.126843: block_rq_issue: 259,0 WFS 16384 () 768 + 32 none,0,0 [fio]\n\
     <idle>-0 [009] d.h..  4148.126993: block_rq_complete: 259,0 WFS () 768 + 32 none,0,0 [0]\n\
     fio-4238 [009] .....  4148.127843: block_rq_issue: 259,0 R 4096 () 1024 + 8 none,0,0 [fio]\n";

/// The events that can stand for a request, in the order in which detection prefers them, with blktrace's letter for
/// each.
const EVENTS: [(&[u8], Event, char); 8] = [
    (b"block_rq_issue", Event::Issue, 'D'),
    (b"nvme_setup_cmd", Event::Issue, 'D'),
    (b"block_bio_queue", Event::Queue, 'Q'),
    (b"block_rq_insert", Event::Queue, 'I'),
    (b"block_io_start", Event::Issue, 'D'),
    (b"block_rq_complete", Event::Complete, 'C'),
    (b"block_bio_complete", Event::Complete, 'C'),
    (b"block_io_done", Event::Complete, 'C'),
];
const NVME: &[u8] = b"nvme_setup_cmd";
/// The number of lines in which an event must occur: trace-cmd writes a line for each idle CPU before the first event.
const PREAMBLE: usize = 300;
/// The kind of gaps in a recording whose buffer overflowed.
const LOST: &str = "gaps in which the recording lost events";

pub(crate) struct Tracepoints {
    /// The event that stands for a request; `None` until one occurs.
    event: Option<&'static [u8]>,
    /// The step of a request that the user chose.
    step: Event,
}

/// A line with an event.
struct Line<'a> {
    time: &'a [u8],
    name: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Line<'a> {
    /// Parses the event of a line: the first decimal number with a colon after it is the time, and the next word is the
    /// event. The name of the task before it may have blanks.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut words = Words::new(line);
        while let Some(word) = words.next() {
            let Some(time) = word.strip_suffix(b":").filter(|time| time.contains(&b'.') && is_number(time)) else {
                continue;
            };
            let event = words.next()?.strip_suffix(b":")?;
            let name = event.rsplit(|byte| *byte == b':').next()?;
            return Some(Self { time, name, fields: words.remaining() });
        }
        None
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().take(PREAMBLE).any(|line| Line::of(line).is_some())
}

/// True for a line that the tools print around the events.
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b"cpus="[..], b"version", b"CPU ", b"trace-cmd", b"tracing"].iter().any(|start| line.starts_with(start))
}

/// True for a line of a call chain, which perf prints below an event: an address in hexadecimal, then a symbol.
fn is_call_chain(line: &[u8]) -> bool {
    let address = Words::new(line).next().unwrap_or_default();
    address.len() >= 6 && address.iter().all(u8::is_ascii_hexdigit)
}

impl Tracepoints {
    fn wants(&self, step: Event) -> bool {
        self.step == Event::Auto || self.step == step
    }

    /// Makes an event stand for a request.
    fn choose(&mut self, n: usize, context: &mut Context) {
        let (event, _, letter) = EVENTS[n];
        self.event = Some(event);
        context.stats.event = Some(letter);
        if event == NVME {
            context.doubt(Doubt::LogicalBlocks);
        }
    }
}

impl LineFormat for Tracepoints {
    const LAYOUT: &'static str = "TASK-PID [CPU] seconds: event: maj,min RWBS bytes () sector + sectors [process]";

    fn start(head: &Head<'_>, _: Format, options: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let mut reader = Self { event: None, step: options.event };
        let mut seen = [false; EVENTS.len()];
        for line in head.lines().filter_map(Line::of) {
            if let Some(n) = EVENTS.iter().position(|(name, ..)| *name == line.name) {
                seen[n] = true;
            }
        }
        if let Some((n, _)) = seen.iter().enumerate().find(|(n, seen)| **seen && reader.wants(EVENTS[*n].1)) {
            reader.choose(n, context);
        }
        if reader.event.is_none() && head.is_whole() {
            let wanted = EVENTS.iter().filter(|(_, step, _)| reader.wants(*step));
            let names: Vec<String> = wanted.map(|(name, ..)| printable(name)).collect();
            return Err(FieldFault::new(format!(
                "none of the events {} occurs (record one of them, e.g. with `trace-cmd record -e block:block_rq_issue`)",
                names.join(", ")
            )));
        }
        Ok(reader)
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let Some(Line { time, name, fields }) = Line::of(line) else {
            return match () {
                () if line.ends_with(b"EVENTS]") || line.ends_with(b"EVENTS DROPPED]") => {
                    Ok(LineContent::Skip(context.leave_out(LOST)))
                }
                () if is_header(line) => Ok(LineContent::Skip(Skip::Header)),
                () if is_call_chain(line) => Ok(LineContent::Skip(context.leave_out("lines of call chains"))),
                () => Err(FieldFault::new(format!("it is no event: `{}`", printable(line.trim_ascii())))),
            };
        };
        if self.event.is_none()
            && let Some(n) = EVENTS.iter().position(|(event, step, _)| *event == name && self.wants(*step))
        {
            self.choose(n, context);
        }
        if Some(name) != self.event {
            return Ok(LineContent::Skip(context.leave_out(&printable(name))));
        }
        let at = ticks(Some(time), 12, "time")?;
        if name == NVME { nvme(at, fields, context) } else { block(at, fields, context) }
    }
}

/// Parses a block event: `maj,min RWBS [bytes] [(command)] sector + sectors`.
fn block(at: i128, fields: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
    let mut words = Words::new(fields);
    let device = present(words.next(), "device")?;
    let (kind, flush) = actions::kind(present(words.next(), "RWBS letters")?);
    let rest = words.remaining();
    let closed = rest.iter().position(|byte| *byte == b')');
    let command = rest.iter().position(|byte| *byte == b'(').zip(closed).filter(|(open, closed)| open < closed);
    if let Some((open, closed)) = command
        && !rest[open + 1..closed].trim_ascii().is_empty()
    {
        return Ok(LineContent::Skip(context.leave_out(actions::PASSTHROUGH)));
    }
    let extent = match command {
        Some((_, closed)) => extent(&rest[closed + 1..])?,
        None => extent(rest)?,
    };
    let volume = context.volumes.id(device);
    Ok(match (kind, flush) {
        (Some(kind), false) if extent.sectors > 0 => LineContent::Request(TraceRecord::new(at, kind, extent, volume)),
        (Some(kind), true) if extent.sectors > 0 => LineContent::FlushThen(TraceRecord::new(at, kind, extent, volume)),
        (_, true) => LineContent::Request(TraceRecord::flush(at, volume)),
        (Some(_), false) => LineContent::Skip(Skip::Empty),
        (None, false) => LineContent::Skip(context.leave_out(actions::NO_DATA)),
    })
}

/// Parses `sector + sectors`, or `bytes sector + sectors` in descriptions that leave the command out.
fn extent(text: &[u8]) -> Result<Extent, FieldFault> {
    let mut words = Words::new(text);
    let mut start = whole(words.next(), "sector")?;
    let mut plus = present(words.next(), "number of sectors")?;
    if plus != b"+" {
        start = whole(Some(plus), "sector")?;
        plus = present(words.next(), "number of sectors")?;
    }
    if plus != b"+" {
        return Err(FieldFault::new(format!("`+` is missing before `{}`", printable(plus))));
    }
    sectors_extent(start, whole(words.next(), "number of sectors")?)
}

/// Parses an NVMe command: `nvme0: disk=nvme0n1, qid=1, ... cmd=(nvme_cmd_read slba=0, len=7, ...)`. Its length is
/// counted from zero.
fn nvme(at: i128, fields: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
    let value = |key: &[u8]| {
        let mut words = Words::new(fields);
        let found = words.find_map(|word| word.strip_prefix(key))?;
        Some(found.split(|byte| matches!(byte, b',' | b')')).next().unwrap_or_default())
    };
    let command = present(value(b"cmd=("), "command")?;
    if value(b"qid=") == Some(b"0") {
        return Ok(LineContent::Skip(context.leave_out("NVMe administration commands")));
    }
    let kind = match command {
        b"nvme_cmd_read" => IoKind::Read,
        b"nvme_cmd_write" => IoKind::Write,
        b"nvme_cmd_flush" => IoKind::Flush,
        other => return Ok(LineContent::Skip(context.leave_out(&printable(other)))),
    };
    let volume = context.volumes.id(present(value(b"disk="), "disk")?);
    if kind == IoKind::Flush {
        return Ok(LineContent::Request(TraceRecord::flush(at, volume)));
    }
    let start = whole(value(b"slba="), "first logical block")?;
    let blocks = whole(value(b"len="), "length")?;
    Ok(LineContent::Request(TraceRecord::new(at, kind, sectors_extent(start, blocks.saturating_add(1))?, volume)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, read, try_read_with};
    use super::*;

    const FTRACE: &str = "\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          Web Content-4238    [009] .....  4148.126843: block_bio_queue: 259,0 WFS 768 + 32 [Web Content]
          Web Content-4238    [009] .....  4148.126850: block_rq_issue: 259,0 FWFS 16384 () 768 + 32 none,0,0 [xfs_io]
          <idle>-0       [009] d.h..  4148.126855: block_rq_issue: 259,0 FF 0 () 0 + 0 [kworker]
CPU:3 [LOST 17 EVENTS]
          <idle>-0       [009] d.h..  4148.126860: block_rq_issue: 8,0 N 252 (12 01 00) 0 + 0 [smartctl]
          <idle>-0       [009] d.h..  4148.126870: block_rq_issue: 259,0 DS 4096 () 4096 + 8 [fstrim]
          <idle>-0       [009] d.h..  4148.126900: block_rq_complete: 259,0 WFS () 768 + 32 none,0,0 [0]
";

    #[test]
    fn issues_are_read_from_ftrace_and_other_events_are_named() {
        assert_eq!(detected(FTRACE), Some(Format::Tracepoints));
        let (records, context) = read(Format::Tracepoints, FTRACE);
        use IoKind::{Discard, Flush, Write};
        assert_eq!(records.iter().map(|record| record.kind).collect::<Vec<_>>(), [Flush, Write, Flush, Discard]);
        assert_eq!((records[1].start, records[1].sectors, records[1].at), (768, 32, 4_148_126_850_000_000));
        assert_eq!((context.stats.event, context.stats.other_events), (Some('D'), 4));
        let kinds: Vec<&str> = context.stats.left_out.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["block_bio_queue", "block_rq_complete", LOST, actions::PASSTHROUGH]);
        let queued = TraceOptions { event: Event::Queue, ..TraceOptions::default() };
        let (records, context) = try_read_with(Format::Tracepoints, FTRACE, &queued).unwrap();
        assert_eq!((records.len(), records[0].sectors, context.stats.event), (1, 32, Some('Q')));
    }

    #[test]
    fn perf_and_trace_cmd_print_the_same_events() {
        let perf = "  fs reader    6439 [001]  3399.871612:   block:block_rq_issue: 259,0 R 4096 () 429974552 + 8 [fs reader]\n\
                    \tffffffff8109cda4 blk_mq_start_request ([kernel.kallsyms])\n\
                    \x20 fs reader    6439 [001]  3399.871712:   sched:sched_switch: fs-reader:6439 [120] D ==> swapper/1:0\n";
        let trace_cmd = "cpus=8\nCPU 1 is empty\n\x20 fio-1 [003] d..1. 2847.331190123: block_rq_issue:       259,0 R 4096 0 + 8 [fio]\n";
        for (text, start, at) in [(perf, 429_974_552, 3_399_871_612_000_000), (trace_cmd, 0, 2_847_331_190_123_000)] {
            assert_eq!(detected(text), Some(Format::Tracepoints), "{text}");
            let (records, _) = read(Format::Tracepoints, text);
            assert_eq!(records.len(), 1, "{text}");
            assert_eq!((records[0].start, records[0].sectors, records[0].at), (start, 8, at), "{text}");
        }
    }

    #[test]
    fn an_event_may_occur_after_many_others() {
        let text = format!("{}{FTRACE}", "a-1 [0] .. 1.5: sched_switch: x\n".repeat(4_000));
        let (records, context) = read(Format::Tracepoints, &text);
        // The first event that occurs is taken, because the beginning has none.
        assert_eq!((records.len(), context.stats.event, context.stats.left_out["sched_switch"]), (1, Some('Q'), 4_000));
    }

    #[test]
    fn nvme_commands_count_logical_blocks_from_zero() {
        let event = |qid: u32, command: &str| {
            format!(
                "dd-1 [000] ....  913.45: nvme_setup_cmd: nvme0: disk=nvme0n1, qid={qid}, cmdid=2, nsid=1, flags=0x0, meta=0x0, cmd=({command})\n"
            )
        };
        let text = [
            event(0, "nvme_admin_identify cns=1"),
            event(1, "nvme_cmd_read slba=64, len=7, ctrl=0x0"),
            event(2, "nvme_cmd_flush nsid=1"),
            event(3, "nvme_cmd_dsm nr=0, attributes=4"),
        ]
        .concat();
        let (records, context) = read(Format::Tracepoints, &text);
        assert_eq!(records.iter().map(|record| record.kind).collect::<Vec<_>>(), [IoKind::Read, IoKind::Flush]);
        assert_eq!((records[0].start, records[0].sectors), (64, 8));
        assert_eq!(
            (context.volumes.names(), &context.doubts[..]),
            (&["nvme0n1".to_owned()][..], &[Doubt::LogicalBlocks][..])
        );
        assert_eq!(context.stats.other_events, 2);
    }

    #[test]
    fn bad_lines_are_named() {
        let good = "a-1 [0] .. 1.5: block_rq_issue: 8,0 R 4096 () 0 + 8 [a]\n";
        let bad = |line: &str| fault(Format::Tracepoints, &format!("{good}{line}\n"));
        assert!(bad("a-1 [0] .. 1.6: block_rq_issue: 8,0 R 4096 () 0 +").contains("ends before its number of sectors"));
        assert!(bad("a-1 [0] .. 1.6: block_rq_issue: 8,0 R 4096 () x + 8 [a]").contains("the sector is not a number"));
        assert!(bad("hello").contains("it is no event: `hello`"));
        let other = "a-1 [0] .. 1.5: sched_switch: x\n";
        assert!(
            fault(Format::Tracepoints, other).contains("none of the events block_rq_issue, ")
                && fault(Format::Tracepoints, other).contains("occurs (record")
        );
    }
}
