//! WiscSee's events: `pid [action] read|write|discard byte bytes seconds wait True|False`, made from blkparse's output.
//!
//! The action is blktrace's letter; one action stands for a request, as in blkparse's text: issues, else queued
//! requests, else completions. Older files have no action. The wait, which is the time since the previous event, is
//! included in the times. Offsets count from the start of a partition; requests before it, whose offsets are negative,
//! are left out.

use base::io::IoKind;

use super::field::{FieldFault, Words, bytes_extent, is_number, present, printable, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::{Event, Format, TraceOptions, actions};

/// A small valid file.
pub(super) const SAMPLE: &str = "29162 D read 299008 4096 0.000000000 0 False\n29162 C read 299008 4096 0.000223461 0.000223461 False\n\
     29162 D write 8192 4096 0.000323461 0.0001 True\n";

pub(crate) struct Wiscsee {
    /// The action that stands for a request; `None` if the lines have none.
    action: Option<u8>,
}

/// The action of a line that is an event: `Some(None)` for an event without one, `None` for another line.
fn event(line: &[u8]) -> Option<Option<u8>> {
    let words: Vec<&[u8]> = Words::new(line).take(9).collect();
    let (action, op, numbers) = match words[..] {
        [_, [action], op, ref numbers @ .., b"True" | b"False"] => (Some(*action), op, numbers),
        [_, op, ref numbers @ .., b"True" | b"False"] => (None, op, numbers),
        _ => return None,
    };
    let sound = kind(op).is_some() && numbers.len() == 4 && numbers[..3].iter().all(|field| is_number(field));
    (sound && is_number(words[0])).then_some(action)
}

fn kind(op: &[u8]) -> Option<IoKind> {
    match op {
        b"read" => Some(IoKind::Read),
        b"write" => Some(IoKind::Write),
        b"discard" => Some(IoKind::Discard),
        _ => None,
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| event(line).is_some())
}

impl LineFormat for Wiscsee {
    const LAYOUT: &'static str = "pid [action] read|write|discard byte bytes seconds wait True|False";

    fn start(head: &Head<'_>, _: Format, options: &TraceOptions, context: &mut Context) -> Result<Self, FieldFault> {
        let mut seen = [false; 256];
        for action in head.lines().filter_map(event).flatten() {
            seen[usize::from(action)] = true;
        }
        let action = match options.event {
            Event::Auto => b"DQC".iter().copied().find(|action| seen[usize::from(*action)]),
            Event::Queue => Some(b'Q'),
            Event::Issue => Some(b'D'),
            Event::Complete => Some(b'C'),
        };
        context.stats.event = action.map(char::from);
        Ok(Self { action })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let mut words = Words::new(line);
        whole(words.next(), "process")?;
        if let Some(wanted) = self.action {
            let action = present(words.next(), "action")?;
            if action != [wanted] {
                return Ok(LineContent::Skip(context.leave_out(actions::name(action[0]))));
            }
        }
        let op = present(words.next(), "operation")?;
        let kind = kind(op).ok_or_else(|| {
            FieldFault::new(format!("the operation is none of read, write and discard: `{}`", printable(op)))
        })?;
        let offset = present(words.next(), "offset")?;
        // WiscSee subtracts the start of the partition that it traces.
        if let [b'-', digits @ ..] = offset
            && is_number(digits)
        {
            return Ok(LineContent::Skip(context.leave_out("requests before the partition")));
        }
        let offset = whole(Some(offset), "offset")?;
        let bytes = whole(words.next(), "size")?;
        let at = ticks(words.next(), 12, "time")?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, bytes_extent(offset, bytes)?, context.volumes.id(b""))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn issues_stand_for_requests() {
        assert_eq!(detected(SAMPLE), Some(Format::Wiscsee));
        let (records, context) = read(Format::Wiscsee, SAMPLE);
        let kinds: Vec<_> = records.iter().map(|record| record.kind).collect();
        assert_eq!((kinds, records[1].start), (vec![IoKind::Read, IoKind::Write], 16));
        assert_eq!(records[1].at, 323_461_000);
        assert_eq!((context.stats.event, context.stats.left_out["completed (C)"]), (Some('D'), 1));
        let older = "7 write 0 4096 0.5 0 True\n7 discard 0 4096 0.75 NA False\n";
        assert_eq!(detected(older), Some(Format::Wiscsee));
        assert_eq!(read(Format::Wiscsee, older).0[1].kind, IoKind::Discard);
    }

    #[test]
    fn bad_lines_are_named() {
        let bad = |line: &str| fault(Format::Wiscsee, &format!("{SAMPLE}{line}\n"));
        assert!(bad("1 D read 0").contains("ends before its size"));
        assert!(bad("1 D seek 0 512 0.5 0 True").contains("none of read"));
        assert!(bad("1 D read x 512 0.5 0 True").contains("the offset is not a number"));
        let (records, context) = read(Format::Wiscsee, &format!("{SAMPLE}1 D read -512 512 0.5 0 True\n"));
        assert_eq!((records.len(), context.stats.left_out["requests before the partition"]), (2, 1));
    }
}
