//! blkreplay `.load`: prose, then `start ; sector; length ; op ; ...`, then lines of that form.
//!
//! Published files have several such headers in sequence (a licence, comments, each with a line of column names);
//! everything before the first line of four fields is header. Times are in seconds, extents in sectors. The first
//! letter of an operation is R or W; `RA` is read-ahead and counts as a read.

use base::io::IoKind;

use super::field::{FieldFault, Fields, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str = "Copyright\n\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n\
     0.000000000 ;  1234 ; 8 ; R ; 0.0 ; 0.0\n0.100000000 ;  1235 ; 16 ; W ; 0.0 ; 0.0\n";

pub(crate) struct Blkreplay {
    units: Units,
    /// True until the first request; until then, lines of another form are prose.
    in_header: bool,
}

/// The least number of fields of a request.
const FIELDS: usize = 4;

fn is_title(line: &[u8]) -> bool {
    let mut fields = Fields::new(line, b';');
    fields.next() == Some(b"start") && fields.next() == Some(b"sector")
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.lines().any(is_title)
}

impl LineFormat for Blkreplay {
    const LAYOUT: &'static str = "seconds ; sector ; sectors ; R|W ; replay delay ; replay duration";

    fn start(head: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        // Excerpts may lack the header.
        Ok(Self { units: options.units_of(format), in_header: looks(head) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if is_title(line) || self.in_header && Fields::new(line, b';').take(FIELDS).count() < FIELDS {
            return Ok(LineContent::Skip(Skip::Header));
        }
        self.in_header = false;
        let mut fields = Fields::new(line, b';');
        let at = self.units.time(fields.next(), "time")?;
        let start = whole(fields.next(), "sector")?;
        let sectors = whole(fields.next(), "length")?;
        let kind = match present(fields.next(), "operation")? {
            [b'R' | b'r', ..] => IoKind::Read,
            [b'W' | b'w', ..] => IoKind::Write,
            other => return Err(FieldFault::new(format!("the operation is neither R nor W: `{}`", printable(other)))),
        };
        let extent = self.units.extent(start, sectors)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(b""))))
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
        let cut = "start ; sector ; length ; op\n 1.0 ; 8 ; 1 ; R\n 2.0 ; 8 \n";
        assert!(fault(Format::Blkreplay, cut).contains("ends before its length"));
    }

    #[test]
    fn any_number_of_headers_may_stand_before_the_first_request() {
        let title = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n";
        let text = format!(
            "A licence; with a semicolon.\n{title}Comments, and once more:\n\n###\n{title}More prose.\n{title}\
             \x20 0.5 ;  8 ; 16 ; r ; 0.0 ; 0.0\n{title}  1.5 ;  8 ; 16 ; W ; 0.0 ; 0.0\n"
        );
        assert_eq!(detected(&text), Some(Format::Blkreplay));
        let (records, context) = read(Format::Blkreplay, &text);
        assert_eq!((records.len(), context.stats.headers), (2, 7));
        assert_eq!(records[1].at - records[0].at, 1_000_000_000_000);
        // Prose between requests is damage, and so is a malformed first request.
        let prose = format!("{title} 0.5 ; 8 ; 16 ; R ; 0\nprose\n");
        assert!(fault(Format::Blkreplay, &prose).contains(":3: the time is not a number"));
        let damaged = format!("{title} o.5 ; 8 ; 16 ; R ; 0\n");
        assert!(fault(Format::Blkreplay, &damaged).contains(":2: the time is not a number"));
    }
}
