//! blkreplay `.load`: prose, then `start ; sector; length ; op ; ...`, then lines of that shape.
//!
//! Everything before the line of column names is header. Seconds, sectors, and an operation whose first
//! letter is R or W; `RA` is read-ahead and a read like any other.

use flash::io::IoKind;

use super::TraceOptions;
use super::format::Head;
use super::record::{Context, Record, Skip};
use super::text::{Fault, Fields, LineFormat, Parsed, present, printable, sectors_extent, ticks, whole};

pub(crate) struct Blkreplay {
    in_header: bool,
}

fn is_title(line: &[u8]) -> bool {
    let mut fields = Fields::new(line, b';');
    fields.next() == Some(b"start") && fields.next() == Some(b"sector")
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().any(is_title)
}

impl LineFormat for Blkreplay {
    const LAYOUT: &'static str = "seconds ; sector ; sectors ; R|W ; replay delay ; replay duration";

    fn start(head: &Head<'_>, _: &TraceOptions, _: &mut Context) -> Result<Self, Fault> {
        // Excerpts may come without their header.
        Ok(Self { in_header: looks(head) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<Parsed, Fault> {
        if self.in_header || is_title(line) {
            self.in_header = !is_title(line);
            return Ok(Parsed::Skip(Skip::Header));
        }
        let mut fields = Fields::new(line, b';');
        let at = ticks(fields.next(), 12, "time")?;
        let start = whole(fields.next(), "sector")?;
        let sectors = whole(fields.next(), "length")?;
        let kind = match present(fields.next(), "operation")? {
            [b'R' | b'r', ..] => IoKind::Read,
            [b'W' | b'w', ..] => IoKind::Write,
            other => return Err(Fault::new(format!("the operation is neither R nor W: `{}`", printable(other)))),
        };
        let (start, sectors) = sectors_extent(start, sectors)?;
        if sectors == 0 {
            return Ok(Parsed::Skip(Skip::Empty));
        }
        Ok(Parsed::Request(Record { at, line: 0, start, sectors, volume: context.volumes.id(b""), kind }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn prose_is_passed_over_up_to_the_column_names() {
        let text = "Some words, 1 of them a number.\n\nstart ; sector; length ; op ;  replay_delay=0\n\
                    \x20  0.5 ;  8 ; 16 ;RA ; 0.0\n  1.0 ; 8 ; 1 ; W ; 0.0 ; 0.0\n";
        assert_eq!(detected(text), Some(Format::Blkreplay));
        let (records, context) = read(Format::Blkreplay, text);
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].start, records[0].sectors, records[0].kind), (8, 16, IoKind::Read));
        assert_eq!((context.stats.headers, context.stats.blank), (2, 1));
        assert!(fault(Format::Blkreplay, "start ; sector\n 1.0 ; 8 \n").contains("ends before its length"));
    }
}
